#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "amqp/codec/frame.h"
#include "amqp/codec/text.h"
#include "amqp/codec/text_faults.h"
#include "base/name_size.h"
#include "retryq/amqp/connection_options.h"

namespace retryq::amqp {
namespace {

constexpr absl::string_view kScheme = "amqp://";
constexpr absl::string_view kTlsScheme = "amqps://";
constexpr std::uint16_t kTlsPort = 5671;

absl::Status Invalid(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("AMQP URI: ", what));
}

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

absl::StatusOr<std::string> PercentDecode(absl::string_view part, std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    if (text[0] == ' ' || IsControl(text[0])) {
      return Invalid(absl::StrCat("the ", part, " contains a space or a control character",
                                  " (percent-encode it: %20 is a blank)"));
    }
    if (text[0] != '%') {
      decoded.push_back(text[0]);
      text.remove_prefix(1);
      continue;
    }
    const std::optional<int> high = text.size() < 3 ? std::nullopt : HexDigit(text[1]);
    const std::optional<int> low = text.size() < 3 ? std::nullopt : HexDigit(text[2]);
    if (!high || !low) {
      return Invalid(absl::StrCat("the ", part,
                                  " has a '%' without two hexadecimal digits after it",
                                  " (write %25 for the character itself)"));
    }
    decoded.push_back(static_cast<char>(*high * 16 + *low));
    text.remove_prefix(3);
  }
  return decoded;
}

template <typename Number>
absl::StatusOr<Number> ParseNumber(const std::string& part, std::string_view text, Number min,
                                   Number max) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < min || number > max) {
    return Invalid(absl::StrCat(part, " must be a whole number from ", min, " to ", max));
  }
  return number;
}

// Splits `text` at the first `separator`. Without a separator, the second part is nullopt.
std::pair<std::string_view, std::optional<std::string_view>> SplitAt(std::string_view text,
                                                                     char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, at), text.substr(at + 1)};
}

absl::Status ParseUserInfo(std::string_view text, ConnectionOptions* options) {
  const auto [user, password] = SplitAt(text, ':');
  absl::StatusOr<std::string> decoded = PercentDecode("user", user);
  if (!decoded.ok()) return decoded.status();
  options->user = *std::move(decoded);
  if (!password) return absl::OkStatus();
  decoded = PercentDecode("password", *password);
  if (!decoded.ok()) return decoded.status();
  options->password = *std::move(decoded);
  return absl::OkStatus();
}

absl::Status ParseHostAndPort(std::string_view text, Endpoint* endpoint) {
  std::string_view host;
  std::optional<std::string_view> port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return Invalid("the IPv6 address in brackets has no ']'");
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && rest[0] != ':') return Invalid("after ']' a ':' and the port must follow");
    if (!rest.empty()) port = rest.substr(1);
  } else {
    std::tie(host, port) = SplitAt(text, ':');
    if (port && port->find(':') != std::string_view::npos) {
      return Invalid("an IPv6 address must be in brackets, as in amqp://[::1]:5672");
    }
  }
  if (!host.empty()) {
    absl::StatusOr<std::string> decoded = PercentDecode("host", host);
    if (!decoded.ok()) return decoded.status();
    endpoint->host = *std::move(decoded);
  }
  if (text.starts_with('[') && (host.empty() || !IsIpv6Address(endpoint->host))) {
    return Invalid("the brackets do not contain an IPv6 address");
  }
  if (port && !port->empty()) {
    const auto number = ParseNumber<std::uint16_t>("the port", *port, 1, 65535);
    if (!number.ok()) return number.status();
    endpoint->port = *number;
  }
  return absl::OkStatus();
}

// Sets `*out` to the value of one of a few words.
template <typename Meaning>
absl::Status ParseChoice(const char* part, std::string_view text,
                         std::initializer_list<std::pair<const char*, Meaning>> choices,
                         Meaning* out) {
  std::vector<std::string> words;
  for (const auto& [word, meaning] : choices) {
    if (absl::EqualsIgnoreCase(Text(text), word)) {
      *out = meaning;
      return absl::OkStatus();
    }
    words.emplace_back(word);
  }
  return Invalid(absl::StrCat(part, " must be ", absl::StrJoin(words, " or ")));
}

// Parses paths and names. An empty one is an error, because it would mean the default.
absl::Status ParseText(const char* part, std::string_view text, std::string* out) {
  if (text.empty()) return Invalid(absl::StrCat(part, " has no value"));
  *out = text;
  return absl::OkStatus();
}

// A parameter after the '?'.
struct Parameter {
  std::string_view name;
  absl::Status (*set)(std::string_view value, ConnectionOptions* options);
  bool is_of_tls = false;
};
constexpr bool kOfTls = true;

constexpr Parameter kParameters[] = {
    {"heartbeat",
     [](std::string_view value, ConnectionOptions* options) {
       const auto seconds = ParseNumber<int>("heartbeat (seconds)", value, 0, 65535);
       if (seconds.ok()) options->heartbeat = absl::Seconds(*seconds);
       return seconds.status();
     }},
    {"connection_timeout",
     [](std::string_view value, ConnectionOptions* options) {
       const auto ms = ParseNumber<int>("connection_timeout (milliseconds)", value, 1,
                                        std::numeric_limits<int>::max());
       if (ms.ok()) options->connection_timeout = absl::Milliseconds(*ms);
       return ms.status();
     }},
    {"channel_max",
     [](std::string_view value, ConnectionOptions* options) {
       const auto channels =
           ParseNumber<std::uint16_t>("channel_max (0: the broker's limit)", value, 0, 65535);
       if (channels.ok()) options->channel_max = *channels;
       return channels.status();
     }},
    {"frame_max",
     [](std::string_view value, ConnectionOptions* options) {
       if (value == "0") {
         options->frame_max = 0;
         return absl::OkStatus();
       }
       const auto bytes = ParseNumber<std::uint32_t>("frame_max (bytes; 0: the broker's limit)",
                                                     value, 8192, 1 << 20);
       if (bytes.ok()) options->frame_max = *bytes;
       return bytes.status();
     }},
    {"initial_frame_max",
     [](std::string_view value, ConnectionOptions* options) {
       const auto bytes =
           ParseNumber<std::uint32_t>("initial_frame_max (bytes)", value, kFrameMinSize, 1 << 20);
       if (bytes.ok()) options->initial_frame_max = *bytes;
       return bytes.status();
     }},
    {"auth_mechanism",
     [](std::string_view value, ConnectionOptions* options) {
       return ParseChoice<AuthMechanism>(
           "auth_mechanism", value,
           {{"plain", AuthMechanism::kPlain}, {"external", AuthMechanism::kExternal}},
           &options->auth_mechanism);
     }},
    {"cacertfile",
     [](std::string_view value, ConnectionOptions* options) {
       return ParseText("cacertfile", value, &options->tls->ca_file);
     },
     kOfTls},
    {"certfile",
     [](std::string_view value, ConnectionOptions* options) {
       return ParseText("certfile", value, &options->tls->cert_file);
     },
     kOfTls},
    {"keyfile",
     [](std::string_view value, ConnectionOptions* options) {
       return ParseText("keyfile", value, &options->tls->key_file);
     },
     kOfTls},
    {"verify",
     [](std::string_view value, ConnectionOptions* options) {
       return ParseChoice<bool>("verify", value, {{"verify_peer", true}, {"verify_none", false}},
                                &options->tls->verify_peer);
     },
     kOfTls},
    {"server_name_indication",
     [](std::string_view value, ConnectionOptions* options) {
       if (value == "disable") {
         return Invalid(
             "server_name_indication=disable would not check the host; name the one in the "
             "certificate, or trust any server with verify=verify_none");
       }
       return ParseText("server_name_indication", value, &options->tls->server_name);
     },
     kOfTls},
};

const Parameter* FindParameter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kParameters), std::end(kParameters),
                                   [&](const Parameter& known) { return known.name == name; });
  return found == std::end(kParameters) ? nullptr : found;
}

absl::Status UnknownParameter(std::string_view name) {
  const std::string known = absl::StrJoin(
      kParameters, ", ",
      [](std::string* out, const Parameter& parameter) { out->append(parameter.name); });
  return Invalid(absl::StrCat("unknown parameter '", Text(name), "'; the known ones are ", known));
}

absl::Status ParseQuery(std::string_view text, ConnectionOptions* options) {
  std::set<std::string_view> seen;
  for (std::optional<std::string_view> rest = text; rest;) {
    std::string_view part;
    std::tie(part, rest) = SplitAt(*rest, '&');
    if (part.empty()) continue;
    const auto [name, value] = SplitAt(part, '=');
    const Parameter* parameter = FindParameter(name);
    if (parameter == nullptr) return UnknownParameter(name);
    if (!seen.insert(name).second) {
      return Invalid(absl::StrCat("the parameter '", Text(name), "' is given twice"));
    }
    if (parameter->is_of_tls && !options->tls) {
      return Invalid(absl::StrCat("the parameter '", Text(name), "' needs amqps://"));
    }
    const absl::StatusOr<std::string> decoded = PercentDecode(Text(name), value.value_or(""));
    if (!decoded.ok()) return decoded.status();
    absl::Status status = parameter->set(*decoded, options);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

bool DifferOnlyInEndpoints(ConnectionOptions a, const ConnectionOptions& b) {
  a.endpoints = b.endpoints;
  return a == b;
}

}  // namespace

absl::StatusOr<ConnectionOptions> ParseUri(std::string_view uri) {
  ConnectionOptions options;
  if (absl::StartsWithIgnoreCase(Text(uri), kTlsScheme)) {
    uri.remove_prefix(kTlsScheme.size());
    options.tls.emplace();
    options.endpoints[0].port = kTlsPort;
  } else if (absl::StartsWithIgnoreCase(Text(uri), kScheme)) {
    uri.remove_prefix(kScheme.size());
  } else {
    return Invalid("it must begin with amqp:// or amqps://");
  }
  const auto [locator, query] = SplitAt(uri, '?');
  const auto [authority, path] = SplitAt(locator, '/');
  // Part of a password would be parsed as a host, a vhost or a parameter, and then be shown.
  if (uri.find('@', authority.size()) != std::string_view::npos) {
    return Invalid(
        "a '/', '?' or '@' in user, password or vhost must be percent-encoded (%2f, %3f, %40)");
  }

  std::string_view address = authority;
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    address = authority.substr(at + 1);
    absl::Status status = ParseUserInfo(authority.substr(0, at), &options);
    if (!status.ok()) return status;
  }
  absl::Status status = ParseHostAndPort(address, &options.endpoints.front());
  if (!status.ok()) return status;

  if (path && !path->empty()) {
    if (path->find('/') != std::string_view::npos) {
      return Invalid("the vhost has a '/' of its own; write it as %2f");
    }
    absl::StatusOr<std::string> vhost = PercentDecode("vhost", *path);
    if (!vhost.ok()) return vhost.status();
    options.vhost = *std::move(vhost);
  }
  if (options.vhost.size() > kMaxNameSize) return Invalid("the vhost is longer than 255 bytes");
  if (query) {
    status = ParseQuery(*query, &options);
    if (!status.ok()) return status;
  }
  const std::vector<std::string> faults = TextFaults(options);
  if (!faults.empty()) return Invalid(absl::StrJoin(faults, "; "));
  return options;
}

absl::StatusOr<ConnectionOptions> ParseUris(const std::vector<std::string>& uris) {
  if (uris.empty()) return Invalid("at least one is required");
  absl::StatusOr<ConnectionOptions> options = ParseUri(uris[0]);
  for (std::size_t i = 1; i < uris.size() && options.ok(); ++i) {
    const absl::StatusOr<ConnectionOptions> next = ParseUri(uris[i]);
    if (!next.ok()) return next.status();
    if (!DifferOnlyInEndpoints(*options, *next)) {
      return Invalid(absl::StrCat("number ", i + 1, " (", Describe(*next),
                                  ") may differ from the first (", Describe(*options),
                                  ") in host and port only"));
    }
    options->endpoints.push_back(next->endpoints[0]);
  }
  return options;
}

}  // namespace retryq::amqp
