#ifndef RETRYQ_SRC_AMQP_CODEC_OVERLOADED_H_
#define RETRYQ_SRC_AMQP_CODEC_OVERLOADED_H_

namespace retryq::amqp {

// One function object of several lambdas, for std::visit.
template <typename... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <typename... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CODEC_OVERLOADED_H_
