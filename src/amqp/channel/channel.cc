#include "retryq/amqp/channel.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "amqp/channel/channel_impl.h"
#include "amqp/codec/methods.h"
#include "amqp/codec/text.h"

namespace retryq::amqp {
namespace {

using Answer = absl::StatusOr<const ServerMethod*>;

Channel::Impl::OnReply ToStatus(Channel::Done done) {
  return [done = std::move(done)](const Answer& answer) {
    if (done != nullptr) done(answer.status());
  };
}

// Calls `done` with the result of `convert(Reply)`.
template <typename Reply, typename Result, typename Convert>
Channel::Impl::OnReply ToResult(std::function<void(absl::StatusOr<Result>)> done, Convert convert) {
  return [done = std::move(done), convert](const Answer& answer) {
    if (done == nullptr) return;
    if (!answer.ok()) return done(answer.status());
    done(convert(std::get<Reply>(**answer)));
  };
}

}  // namespace

Channel::Channel(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Channel::~Channel() { impl_->Detach(); }

void Channel::Close(std::function<void()> closed) { impl_->Close(std::move(closed)); }

bool Channel::is_open() const { return impl_->is_open(); }
std::uint64_t Channel::generation() const { return impl_->generation(); }
std::size_t Channel::unconfirmed() const { return impl_->unconfirmed(); }

void Channel::DeclareQueue(const QueueDeclaration& queue,
                           std::function<void(absl::StatusOr<DeclareOk>)> done) {
  std::string what =
      absl::StrCat(queue.passive ? "looking for" : "declaring", " queue '", queue.name, "'");
  auto on_reply = ToResult<method::QueueDeclareOk>(std::move(done), [](const auto& ok) {
    return DeclareOk{.message_count = ok.message_count, .consumer_count = ok.consumer_count};
  });
  const absl::StatusOr<std::string> arguments = queue.arguments.Encode();
  if (!arguments.ok()) {
    return impl_->Refuse(WithContext(what, arguments.status()), std::move(on_reply));
  }
  impl_->Call<method::QueueDeclareOk>(method::QueueDeclare{.queue = queue.name,
                                                           .passive = queue.passive,
                                                           .durable = queue.durable,
                                                           .arguments = TableView(*arguments)},
                                      std::move(what), std::move(on_reply));
}

void Channel::BindQueue(std::string_view queue, std::string_view exchange,
                        std::string_view routing_key, const Table& arguments, Done done) {
  std::string what =
      absl::StrCat("binding queue '", Text(queue), "' to exchange '", Text(exchange), "'");
  const absl::StatusOr<std::string> table = arguments.Encode();
  if (!table.ok()) {
    return impl_->Refuse(WithContext(what, table.status()), ToStatus(std::move(done)));
  }
  impl_->Call<method::QueueBindOk>(method::QueueBind{.queue = queue,
                                                     .exchange = exchange,
                                                     .routing_key = routing_key,
                                                     .arguments = TableView(*table)},
                                   std::move(what), ToStatus(std::move(done)));
}

void Channel::DeleteQueue(std::string_view queue,
                          std::function<void(absl::StatusOr<std::uint32_t>)> done) {
  impl_->Call<method::QueueDeleteOk>(
      method::QueueDelete{.queue = queue}, absl::StrCat("deleting queue '", Text(queue), "'"),
      ToResult<method::QueueDeleteOk>(std::move(done),
                                      [](const auto& ok) { return ok.message_count; }));
}

void Channel::PurgeQueue(std::string_view queue,
                         std::function<void(absl::StatusOr<std::uint32_t>)> done) {
  impl_->Call<method::QueuePurgeOk>(
      method::QueuePurge{.queue = queue}, absl::StrCat("purging queue '", Text(queue), "'"),
      ToResult<method::QueuePurgeOk>(std::move(done),
                                     [](const auto& ok) { return ok.message_count; }));
}

void Channel::DeclareExchange(const ExchangeDeclaration& exchange, Done done) {
  impl_->Call<method::ExchangeDeclareOk>(
      method::ExchangeDeclare{.exchange = exchange.name,
                              .type = exchange.type,
                              .durable = exchange.durable,
                              .auto_delete = exchange.auto_delete},
      absl::StrCat("declaring exchange '", exchange.name, "'"), ToStatus(std::move(done)));
}

void Channel::CheckExchange(std::string_view exchange, Done done) {
  // The broker ignores the type here, but it must be a valid one.
  impl_->Call<method::ExchangeDeclareOk>(
      method::ExchangeDeclare{.exchange = exchange, .type = "direct", .passive = true},
      absl::StrCat("looking for exchange '", Text(exchange), "'"), ToStatus(std::move(done)));
}

void Channel::DeleteExchange(std::string_view exchange, Done done) {
  impl_->Call<method::ExchangeDeleteOk>(method::ExchangeDelete{.exchange = exchange},
                                        absl::StrCat("deleting exchange '", Text(exchange), "'"),
                                        ToStatus(std::move(done)));
}

void Channel::ConfirmSelect(Done done) {
  impl_->Call<method::ConfirmSelectOk>(method::ConfirmSelect{}, "selecting confirm mode",
                                       ToStatus(std::move(done)));
}

void Channel::Publish(const PublishParams& params, std::function<void(const PublishResult&)> done) {
  if (done == nullptr) done = [](const PublishResult&) {};
  impl_->Publish(params, std::move(done));
}

void Channel::BeginPublish(const PublishParams& params, std::uint64_t body_size,
                           std::function<void(const PublishResult&)> done) {
  if (done == nullptr) done = [](const PublishResult&) {};
  impl_->Publish(params, std::move(done), body_size);
}

void Channel::AddBody(std::string_view part) { impl_->AddBody(part); }

void Channel::Qos(std::uint16_t prefetch, Done done) {
  impl_->Call<method::BasicQosOk>(method::BasicQos{.prefetch_count = prefetch},
                                  absl::StrCat("setting the prefetch to ", prefetch),
                                  ToStatus(std::move(done)));
}

void Channel::Consume(const ConsumeParams& params,
                      std::function<void(absl::StatusOr<std::string>)> done) {
  std::string what = absl::StrCat("consuming queue '", params.queue, "'");
  impl_->LimitBodies(params.max_body);
  auto on_reply = ToResult<method::BasicConsumeOk>(
      std::move(done), [](const auto& ok) { return std::string(ok.consumer_tag); });
  const absl::StatusOr<std::string> arguments = params.arguments.Encode();
  if (!arguments.ok()) {
    return impl_->Refuse(WithContext(what, arguments.status()), std::move(on_reply));
  }
  impl_->Call<method::BasicConsumeOk>(method::BasicConsume{.queue = params.queue,
                                                           .consumer_tag = params.consumer_tag,
                                                           .exclusive = params.exclusive,
                                                           .arguments = TableView(*arguments)},
                                      std::move(what), std::move(on_reply));
}

void Channel::Cancel(std::string_view consumer_tag, Done done) {
  // The broker's channel may keep acks of a quorum queue back, and passes them on before a cancel.
  impl_->FlushAcks();
  impl_->Call<method::BasicCancelOk>(method::BasicCancel{.consumer_tag = consumer_tag},
                                     absl::StrCat("cancelling consumer '", Text(consumer_tag), "'"),
                                     ToStatus(std::move(done)));
}

void Channel::Ack(std::uint64_t delivery_tag) { impl_->Ack(delivery_tag); }
void Channel::Reject(std::uint64_t delivery_tag, bool requeue) {
  impl_->Reject(delivery_tag, requeue);
}

}  // namespace retryq::amqp
