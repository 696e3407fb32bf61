#include "cli/worker/metrics_connection.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace retryq::cli {
namespace {

// The most bytes that are read and discarded after a request.
constexpr std::size_t kMostDiscarded = 65536;

constexpr std::string_view kText = "text/plain; charset=utf-8";

const char* ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Service Unavailable";
  }
}

// Removes and returns the text before the next space; removes the space, too.
std::string_view NextWord(std::string_view* line) {
  const std::string_view word = line->substr(0, line->find(' '));
  line->remove_prefix(std::min(word.size() + 1, line->size()));
  return word;
}

// Returns the path of a request's target: "/metrics?x" or "http://host/metrics".
std::string_view PathOf(std::string_view target) {
  if (const std::size_t scheme = target.find("://");
      !target.starts_with('/') && scheme != std::string_view::npos) {
    target.remove_prefix(std::min(target.find('/', scheme + 3), target.size()));
  }
  return target.substr(0, target.find_first_of("?#"));
}

}  // namespace

MetricsConnection::MetricsConnection(event_base* base, Timers& timers, int socket, Page page,
                                     std::function<void()> ended)
    : page_(std::move(page)),
      ended_(std::move(ended)),
      stream_(bufferevent_socket_new(base, socket, BEV_OPT_CLOSE_ON_FREE), bufferevent_free),
      deadline_(timers.After(kLongest, [this] { End(); })) {
  bufferevent_setcb(
      stream_.get(),
      [](bufferevent*, void* self) { static_cast<MetricsConnection*>(self)->OnReadable(); },
      [](bufferevent*, void* self) { static_cast<MetricsConnection*>(self)->OnWritten(); },
      [](bufferevent*, short what, void* self) {
        static_cast<MetricsConnection*>(self)->OnEvent(what);
      },
      this);
  bufferevent_setwatermark(stream_.get(), EV_READ, 0, kMostHeadBytes);
  bufferevent_enable(stream_.get(), EV_READ | EV_WRITE);
}

// Only the first line of a request matters. Data after the head is discarded.
void MetricsConnection::OnReadable() {
  evbuffer* const input = bufferevent_get_input(stream_.get());
  const std::size_t size = evbuffer_get_length(input);
  if (answered_) {
    evbuffer_drain(input, size);
    discarded_ += size;
    if (discarded_ > kMostDiscarded) End();
    return;
  }
  const std::string_view head(reinterpret_cast<const char*>(evbuffer_pullup(input, -1)), size);
  const bool complete = head.find("\r\n\r\n") != std::string_view::npos ||
                        head.find("\n\n") != std::string_view::npos;
  if (complete) {
    const std::string_view line = head.substr(0, head.find_first_of("\r\n"));
    Write(ReplyTo(line), /*with_body=*/!line.starts_with("HEAD "));
  } else if (size >= kMostHeadBytes) {
    Write({.status = 431, .type = kText, .body = "the request is too large\n"},
          /*with_body=*/true);
  } else {
    return;
  }
  answered_ = true;
  evbuffer_drain(input, size);
}

MetricsConnection::Reply MetricsConnection::ReplyTo(std::string_view request_line) const {
  const std::string_view method = NextWord(&request_line);
  const std::string_view target = NextWord(&request_line);
  if (!request_line.starts_with("HTTP/")) {
    return {.status = 400, .type = kText, .body = "this is no HTTP request\n"};
  }
  if (method != "GET" && method != "HEAD") {
    return {.status = 405, .type = kText, .body = "there is GET and HEAD\n"};
  }
  return page_(PathOf(target));
}

void MetricsConnection::Write(const Reply& reply, bool with_body) {
  std::string text = absl::StrCat(
      "HTTP/1.1 ", reply.status, " ", ReasonOf(reply.status),
      "\r\nContent-Type: ", std::string(reply.type), "\r\nContent-Length: ", reply.body.size(),
      reply.status == 405 ? "\r\nAllow: GET, HEAD" : "", "\r\nConnection: close\r\n\r\n");
  if (with_body) text += reply.body;
  bufferevent_write(stream_.get(), text.data(), text.size());
}

// If the socket were closed while more of the request is still arriving, the peer would lose the
// response. So only the sending side is closed; the peer must close its side before the deadline.
void MetricsConnection::OnWritten() {
  if (!answered_) return;
  if (peer_is_done_) return End();
  ::shutdown(bufferevent_getfd(stream_.get()), SHUT_WR);
}

void MetricsConnection::OnEvent(short what) {
  peer_is_done_ = true;
  const bool unwritten = evbuffer_get_length(bufferevent_get_output(stream_.get())) > 0;
  if ((what & BEV_EVENT_ERROR) == 0 && answered_ && unwritten) return;
  End();
}

void MetricsConnection::End() {
  const std::function<void()> ended = std::move(ended_);
  ended();
}

}  // namespace retryq::cli
