#ifndef RETRYQ_SRC_AMQP_CODEC_OVERLOADED_H_
#define RETRYQ_SRC_AMQP_CODEC_OVERLOADED_H_

namespace retryq::amqp {

// Combines several lambdas into one function object, for std::visit.
template <typename... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <typename... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CODEC_OVERLOADED_H_
