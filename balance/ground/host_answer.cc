// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
//
// What mapserv 8 says of a failure: a page with the title "MapServer Message"; ServiceExceptionReport for WMS, WFS 1.0
// and WCS 1.0, with status 200 as well; an OWS ExceptionReport with a status of 400 or more for the rest. The message
// names the routine, the kind of trouble and the details, several lines of it where one failure led to another.
#include "balance/ground/host_answer.h"

#include <algorithm>
#include <array>

#include "balance/ground/query.h"
#include "balance/ground/xml.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr std::size_t kTitleBytes = 512;  // within these a page has its title, if it is mapserv's
constexpr std::string_view kTitle = "<title>mapserver message</title>";

Judgement fine() { return {}; }
Judgement client_fault(std::string why) { return {Answered::client_fault, Relayed::fine, std::move(why)}; }
Judgement host_fault(std::string why, Relayed relayed = Relayed::host_fault) {
  return {Answered::host_fault, relayed, std::move(why)};
}

std::string media_type(std::string_view content_type) {
  return base::lower(base::trim(content_type.substr(0, content_type.find(';'))));
}

bool is_xml(std::string_view type) { return type.ends_with("xml") || type.ends_with("se_inimage"); }
bool is_json(std::string_view type) { return type.ends_with("json"); }

bool has_one_of(std::string_view text, std::initializer_list<std::string_view> phrases) {
  return std::ranges::any_of(phrases, [text](std::string_view phrase) { return text.find(phrase) != text.npos; });
}

struct Magic {
  std::string_view type;
  std::array<std::string_view, 3> begins;
};
using namespace std::string_view_literals;
constexpr std::array kMagics = {
    Magic{"image/png", {"\x89PNG"sv}},       Magic{"image/gif", {"GIF8"sv}},
    Magic{"image/jpeg", {"\xFF\xD8\xFF"sv}}, Magic{"image/tiff", {"II*\0"sv, "MM\0*"sv, "II+\0"sv}},
    Magic{"image/webp", {"RIFF"sv}},         Magic{"image/bmp", {"BM"sv}},
};

// Nothing: it may still become one.
std::optional<bool> is_picture(const Magic& magic, std::string_view held, Rest rest) {
  bool may_become = false;
  for (const std::string_view begin : magic.begins) {
    if (begin.empty()) continue;
    if (held.starts_with(begin)) return true;
    may_become = may_become || (rest == Rest::more_may_come && begin.starts_with(held));
  }
  if (may_become) return std::nullopt;
  return false;
}

std::optional<Judgement> judge_picture(std::string_view type, std::string_view held, Rest rest) {
  if (held.empty() && rest == Rest::more_may_come) return std::nullopt;
  if (held.empty()) return host_fault("an empty picture");
  const auto* magic = std::ranges::find(kMagics, type, &Magic::type);
  if (magic == kMagics.end()) return fine();
  const std::optional<bool> verdict = is_picture(*magic, held, rest);
  if (!verdict) return std::nullopt;
  return *verdict ? fine() : host_fault("what calls itself " + std::string(type) + " is none");
}

// `text` up to and with the first `end`; all of it without one. What comes later must not change a judgement.
std::string_view until(std::string_view text, std::string_view end) {
  const std::size_t at = text.find(end);
  return at == std::string_view::npos ? text : text.substr(0, at + end.size());
}

std::optional<Judgement> judge_page(Wanted wanted, std::string_view held, Rest rest) {
  const bool is_all = rest == Rest::none || held.size() >= kMostHeldBytes;
  constexpr std::string_view kTitleEnd = "</title>", kBodyEnd = "</body>";
  const std::string lower = base::lower(held);
  const std::string_view begin = until(std::string_view(lower).substr(0, kTitleBytes), kTitleEnd);
  if (begin.find(kTitle) == std::string_view::npos) {
    const bool may_come = !is_all && begin.size() < kTitleBytes && !begin.ends_with(kTitleEnd);
    if (may_come) return std::nullopt;
    return wanted == Wanted::picture ? host_fault("a page instead of a picture") : fine();
  }
  held = held.substr(0, until(lower, kBodyEnd).size());
  if (!is_all && !base::lower(held).ends_with(kBodyEnd)) return std::nullopt;
  // Requests that no host could carry out. All else that mapserv says on such a page is of its configuration and data.
  if (has_one_of(held, {"fails to validate", "No query information to decode", "Invalid mode", "Not enough arguments",
                        "needs a point", "XML parsing error"})) {
    return client_fault("MapServer Message: the request makes no sense");
  }
  return host_fault("MapServer Message");
}

// The value of code="..." in the first tag of this name; not there where the tag or its end is not known (yet).
struct Code {
  bool is_there = false;
  std::string_view value;
};
Code code_in(std::string_view text, std::string_view tag) {
  std::size_t at = text.find(tag);
  // 'ServiceException' must not be found in 'ServiceExceptionReport'.
  while (at != std::string_view::npos && at + tag.size() < text.size() && base::lower(text[at + tag.size()]) == 'r') {
    at = text.find(tag, at + tag.size());
  }
  if (at == std::string_view::npos) return {};
  const std::size_t end = text.find('>', at);
  if (end == std::string_view::npos) return {};
  const std::string_view inside = text.substr(at, end - at);
  const std::size_t code = inside.find("ode=");
  if (code == std::string_view::npos || code + 5 >= inside.size()) return {true, {}};
  const char quote = inside[code + 4];
  const std::string_view value = inside.substr(code + 5);
  return {true, value.substr(0, value.find(quote))};
}

// With status 200. Without a code it may be anything: the routines that read a request's parameters speak of the
// client's; others failed at their work.
std::optional<Judgement> judge_service_exception(std::string_view held, Rest rest) {
  const bool is_all = rest == Rest::none || held.size() >= kMostHeldBytes;
  const Code code = code_in(held, "ServiceException");
  if (!code.is_there && !is_all) return std::nullopt;
  if (!code.value.empty() && code.value != "NoApplicableCode") {
    return client_fault("ServiceException " + base::escaped(code.value, 60));
  }
  constexpr std::string_view kEnd = "</ServiceException>";
  held = until(held, kEnd);
  if (!is_all && !held.ends_with(kEnd)) return std::nullopt;
  if (has_one_of(held, {"msWMSLoadGetMapParams()", "msWMSDispatch()"})) {
    return client_fault("ServiceException: the request makes no sense");
  }
  return host_fault("ServiceException without a code of the client's");
}

// `otherwise`: what an answer is that is no exception.
std::optional<Judgement> judge_xml(std::string_view held, Rest rest, const Judgement& otherwise, int status) {
  const bool is_all = rest == Rest::none || held.size() >= kMostHeldBytes;
  const Root root = xml_root(held, DocumentType::skipped);
  if (root.may_come && !is_all) return std::nullopt;
  if (root.name == "ExceptionReport") return client_fault("OWS exception");
  if (root.name != "ServiceExceptionReport") return otherwise;
  if (status != 200) return client_fault("ServiceException");
  return judge_service_exception(held, rest);
}

std::optional<Judgement> judge_error(const HostHead& head, std::string_view held, Rest rest, std::string_view type) {
  const std::string why = "status " + std::to_string(head.status);
  if (head.status == 502) return host_fault(why, Relayed::bad_gateway);
  if (head.status == 503) return host_fault(why, Relayed::unavailable);
  if (head.status == 504) return host_fault(why, Relayed::gateway_timeout);
  if (is_json(type)) return client_fault(why + " with JSON");
  if (is_xml(type)) return judge_xml(held, rest, host_fault(why), head.status);
  return host_fault(why);
}

bool is_encoded(const HostHead& head) {
  const std::string encoding = base::lower(base::trim(head.find("Content-Encoding")));
  return !encoding.empty() && encoding != "identity";
}

}  // namespace

Wanted wanted_by(const Request& request) {
  const bool is_get = request.method == Method::get || request.method == Method::head;
  if (!is_get || request.class_ == Class::artifact || request.content != Class::image) return Wanted::anything;
  const Query query(request.query);
  for (const std::string_view key : {"format", "imagetype", "map.imagetype", "map_imagetype"}) {
    const std::string format = base::lower(query.find(key).value_or(""));
    if (has_one_of(format, {"html", "openlayers", "kml", "kmz", "xml", "json", "pdf", "mvt", "text", "template"})) {
      return Wanted::anything;
    }
  }
  return Wanted::picture;
}

std::optional<Judgement> judge(Wanted wanted, const HostHead& head, std::string_view held, Rest rest) {
  held = held.substr(0, kMostHeldBytes);
  if (head.content_length == 0) rest = Rest::none;
  if (head.content_length && held.size() >= *head.content_length) rest = Rest::none;
  const std::string type = media_type(head.find("Content-Type"));
  if (head.status >= 500) return judge_error(head, held, rest, is_encoded(head) && is_xml(type) ? "" : type);
  if (head.status >= 400) return client_fault("status " + std::to_string(head.status));
  // A part, nothing new, or elsewhere: there is nothing to be said of the bytes.
  if (head.status != 200 || is_encoded(head)) return fine();
  if (type == "text/html") return judge_page(wanted, held, rest);
  if (wanted == Wanted::picture && type.starts_with("image/")) return judge_picture(type, held, rest);
  if (is_xml(type)) return judge_xml(held, rest, fine(), head.status);
  if (wanted == Wanted::picture && (type.empty() || type.starts_with("text/"))) {
    return host_fault("text instead of a picture");
  }
  return fine();
}

}  // namespace balance
