#include "amqp/transport/link.h"

#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "amqp/transport/read_pace.h"
#include "loop/thrown.h"

namespace retryq::amqp {
namespace {

// Space after a large body: enough for the heads of the next frames, but little of the next body.
constexpr std::size_t kRoomBehindBody = std::size_t{4} << 10;

// libevent's default of 16 KiB would divide a turn into many calls.
constexpr std::size_t kMaxSingleRead = std::size_t{256} << 10;
constexpr std::size_t kMaxSingleWrite = std::size_t{1} << 20;

constexpr char kClosedByPeer[] = "closed by the peer";

// Names the callbacks of a connection in errors about exceptions that nothing else has caught.
constexpr char kWhose[] = "a callback of the AMQP connection";

// Does not let libevent create the socket, because child processes would inherit that. Returns -1
// if there is none.
evutil_socket_t OpenSocket(const SocketAddress& address) {
  const int fd =
      socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  const int on = 1;
  if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

// Returns the time until the next tick. It is counted from the beginning of the turn, like
// libevent's timers, so that all links that start a pause in one turn are called in one turn.
absl::Duration UntilTick(event_base* base, absl::Duration interval) {
  timeval now = {};
  event_base_gettimeofday_cached(base, &now);
  return interval - absl::DurationFromTimeval(now) % interval;
}

// Whether only a write failed. The peer is gone, but its last data may still be in the socket:
// reading returns this data before the end of the stream.
bool IsFailedWrite(short what) { return what == (BEV_EVENT_ERROR | BEV_EVENT_WRITING); }

}  // namespace

template <void (Link::*method)()>
void Link::Call(evutil_socket_t, short, void* self) {
  CallFromC(kWhose, [self] { (static_cast<Link*>(self)->*method)(); });
}

Link::Link(event_base* base, const SocketAddress& address, LinkOwner* owner)
    : owner_(owner),
      socket_(bufferevent_socket_new(base, OpenSocket(address), BEV_OPT_CLOSE_ON_FREE)),
      flush_(event_new(base, -1, 0, &Link::Call<&Link::OnTurnEnd>, this)) {
  bufferevent_set_max_single_read(socket_.get(), kMaxSingleRead);
  bufferevent_set_max_single_write(socket_.get(), kMaxSingleWrite);
  sockaddr_storage target = address.storage;
  const int started = bufferevent_socket_connect(
      socket_.get(), reinterpret_cast<sockaddr*>(&target), static_cast<int>(address.size));
  if (started < 0) {
    failure_ = evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR());
    Write();
    return;
  }
  bufferevent_setcb(
      socket_.get(), nullptr, nullptr,
      [](bufferevent*, short what, void* self) {
        CallFromC(kWhose, [=] { static_cast<Link*>(self)->OnEvent(what); });
      },
      this);
  bufferevent_enable(socket_.get(), EV_WRITE);
}

// Reads without libevent's buffer, which would ask the system for the amount of data before each
// read, and allocate memory for it.
void Link::StartPlain() {
  readable_.reset(event_new(bufferevent_get_base(socket_.get()), bufferevent_getfd(socket_.get()),
                            EV_READ | EV_PERSIST, &Link::Call<&Link::OnReadable>, this));
  event_add(readable_.get(), nullptr);
  tick_.reset(evtimer_new(bufferevent_get_base(socket_.get()), &Link::Call<&Link::OnTick>, this));
}

absl::Status Link::StartTls(const TlsContext& context, const std::string& host) {
  absl::StatusOr<std::unique_ptr<TlsClient>> tls = TlsClient::Create(context, host);
  if (!tls.ok()) return tls.status();
  tls_ = *std::move(tls);
  // Deferred callbacks: data that was decrypted before an end of TLS is then reported before it,
  // and no callback is called inside a write.
  tls_stream_.reset(bufferevent_openssl_filter_new(
      bufferevent_get_base(socket_.get()), socket_.get(), tls_->ssl(), BUFFEREVENT_SSL_CONNECTING,
      BEV_OPT_DEFER_CALLBACKS));
  if (tls_stream_ == nullptr) {
    tls_.reset();
    return absl::UnavailableError("libevent cannot set up TLS");
  }
  // AMQP has its own close, and its frames state their length.
  bufferevent_openssl_set_allow_dirty_shutdown(tls_stream_.get(), 1);
  bufferevent_setcb(
      tls_stream_.get(),
      [](bufferevent*, void* self) {
        CallFromC(kWhose, [self] { static_cast<Link*>(self)->OnDecrypted(); });
      },
      nullptr,
      [](bufferevent*, short what, void* self) {
        CallFromC(kWhose, [=] { static_cast<Link*>(self)->OnTlsEvent(what); });
      },
      this);
  bufferevent_enable(socket_.get(), EV_READ);
  bufferevent_enable(tls_stream_.get(), EV_READ | EV_WRITE);
  // The client writes first, and libevent waits for an event that reports a writable socket.
  bufferevent_trigger(socket_.get(), EV_WRITE, BEV_TRIG_IGNORE_WATERMARKS);
  return absl::OkStatus();
}

absl::Duration Link::RoundTrip() const {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  const bool says =
      getsockopt(bufferevent_getfd(socket_.get()), IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
      info.tcpi_rtt > 0;
  return says ? absl::Microseconds(info.tcpi_rtt) : absl::InfiniteDuration();
}

void Link::PauseReading() {
  if (readable_ != nullptr) {
    event_del(readable_.get());
    event_del(tick_.get());
  } else {
    bufferevent_disable(tls_stream_.get(), EV_READ);
  }
}

void Link::ResumeReading() {
  if (readable_ != nullptr) {
    event_add(readable_.get(), nullptr);
  } else {
    bufferevent_enable(tls_stream_.get(), EV_READ);
  }
}

Link::~Link() {
  if (!process_.is_here()) return;
  bufferevent_setcb(top(), nullptr, nullptr, nullptr, nullptr);
  Flush();
  if (tls_ != nullptr) {
    if (tls_->is_secured()) SSL_shutdown(tls_->ssl());
    ERR_clear_error();  // errors of a peer that ended TLS first
    tls_stream_.reset();
  }
  // A bufferevent that is freed drops its output, and keeps it frozen for others.
  const evutil_socket_t fd = bufferevent_getfd(socket_.get());
  evbuffer* output = bufferevent_get_output(socket_.get());
  if (fd < 0 || evbuffer_get_length(output) == 0) return;
  evbuffer_unfreeze(output, /*at_front=*/1);
  while (evbuffer_get_length(output) > 0 && evbuffer_write(output, fd) > 0) {
  }
}

// The system then reports data only if it is a lot; the timer handles the rest.
void Link::Gather(absl::Duration pause) {
  if (readable_ == nullptr) return;
  const bool gathers = pause > absl::ZeroDuration();
  if (gathers != gathers_) {
    const int low_water = gathers ? int{ReadPace::kFull} : 1;
    setsockopt(bufferevent_getfd(socket_.get()), SOL_SOCKET, SO_RCVLOWAT, &low_water,
               sizeof(low_water));
    gathers_ = gathers;
  }
  if (!gathers) {
    event_del(tick_.get());
  } else if (event_pending(tick_.get(), EV_TIMEOUT, nullptr) == 0) {
    StartTimer(tick_.get(), UntilTick(bufferevent_get_base(socket_.get()), pause));
  }
}

void Link::Read(bool at_tick) {
  for (std::size_t total = 0; total < ReadPace::kFull;) {
    const std::span<char> body = owner_->BodyRoom();
    std::span<char> room = input_->Room();
    if (large_) room = room.first(std::min(room.size(), kRoomBehindBody));
    const std::array<iovec, 2> rooms = {{{body.data(), body.size()}, {room.data(), room.size()}}};
    const ssize_t result = readv(bufferevent_getfd(socket_.get()), rooms.data(), rooms.size());
    if (result <= 0) return OnNothingRead(result == 0 ? 0 : errno, at_tick && total == 0);
    const auto size = static_cast<std::size_t>(result);
    const std::size_t body_size = std::min(size, body.size());
    const bool more = size == body.size() + room.size();
    input_->Added(size - body_size);
    total += size;
    if (!owner_->OnInput(body_size) || !more) return;
  }
}

void Link::OnNothingRead(int error, bool is_quiet) {
  if (error == EAGAIN || error == EINTR) {
    if (is_quiet) owner_->OnQuiet();
    return;
  }
  owner_->OnHungUp(error == 0 ? kClosedByPeer : evutil_socket_error_to_string(error));
}

void Link::OnDecrypted() {
  evbuffer* const decrypted = bufferevent_get_input(tls_stream_.get());
  while (evbuffer_get_length(decrypted) > 0) {
    const std::span<char> room = input_->Room();
    const int size = evbuffer_remove(decrypted, room.data(), room.size());
    input_->Added(static_cast<std::size_t>(std::max(size, 0)));
  }
  owner_->OnInput(/*body_size=*/0);
}

Outbox& Link::Write() {
  if (!std::exchange(flush_is_due_, true)) event_active(flush_.get(), EV_TIMEOUT, 0);
  return outbox_;
}

void Link::OnTurnEnd() {
  if (!failure_.empty()) return owner_->OnHungUp(failure_);
  owner_->BeforeFlush();
  Flush();
}

// Writes directly to the socket if no earlier data waits: libevent would need two changes of its
// epoll set, another turn of the loop and another copy.
void Link::Flush() {
  flush_is_due_ = false;
  if (outbox_.empty()) return;
  evbuffer* const output = bufferevent_get_output(top());
  if (connected_ && tls_stream_ == nullptr && evbuffer_get_length(output) == 0) {
    outbox_.SendTo(bufferevent_getfd(socket_.get()), output);
  } else {
    outbox_.MoveTo(output);
  }
  output_waits_ = tls_ != nullptr || evbuffer_get_length(output) > 0;
}

std::size_t Link::unsent() const {
  if (!output_waits_) return outbox_.size();
  const std::size_t encrypted =
      tls_ != nullptr ? evbuffer_get_length(bufferevent_get_output(socket_.get())) : 0;
  return outbox_.size() + evbuffer_get_length(bufferevent_get_output(top())) + encrypted;
}

void Link::OnEvent(short what) {
  if ((what & BEV_EVENT_CONNECTED) != 0) {
    connected_ = true;
    return owner_->OnConnected();
  }
  if (IsFailedWrite(what)) return;
  const int error = EVUTIL_SOCKET_ERROR();
  const bool closed = (what & BEV_EVENT_EOF) != 0 || error == 0;
  owner_->OnHungUp(closed ? kClosedByPeer : evutil_socket_error_to_string(error));
}

void Link::OnTlsEvent(short what) {
  if ((what & BEV_EVENT_CONNECTED) != 0) {
    tls_->OnSecured();
    return owner_->OnSecured();
  }
  if (IsFailedWrite(what)) return;
  // libevent returns the errors in reverse order, so the last one is the first that OpenSSL saw. An
  // error without a library only states the kind of error.
  unsigned long cause = 0;
  while (const unsigned long error = bufferevent_get_openssl_error(tls_stream_.get())) {
    if (ERR_GET_LIB(error) != 0) cause = error;
  }
  if (cause != 0 || !tls_->is_secured()) return owner_->OnTlsFailed(tls_->Explain(cause));
  OnEvent(what);
}

}  // namespace retryq::amqp
