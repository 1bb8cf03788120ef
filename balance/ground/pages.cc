// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/pages.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr std::string_view kUnavailable =
#include "reply/unavailable.html.inc"
    ;
constexpr std::string_view kLoopDetected =
#include "reply/loop_detected.html.inc"
    ;
constexpr std::string_view kBadRequest =
#include "reply/bad_request.html.inc"
    ;
constexpr std::string_view kInternalError =
#include "reply/internal_error.html.inc"
    ;
constexpr std::string_view kUnavailableText =
#include "reply/unavailable.txt.inc"
    ;
constexpr std::string_view kLoopDetectedText =
#include "reply/loop_detected.txt.inc"
    ;
constexpr std::string_view kBadRequestText =
#include "reply/bad_request.txt.inc"
    ;
constexpr std::string_view kInternalErrorText =
#include "reply/internal_error.txt.inc"
    ;
constexpr std::string_view kTooLarge =
#include "reply/too_large.html.inc"
    ;
constexpr std::string_view kTooLargeText =
#include "reply/too_large.txt.inc"
    ;
constexpr std::string_view kBadGateway =
#include "reply/bad_gateway.html.inc"
    ;
constexpr std::string_view kBadGatewayText =
#include "reply/bad_gateway.txt.inc"
    ;
constexpr std::string_view kGatewayTimeout =
#include "reply/gateway_timeout.html.inc"
    ;
constexpr std::string_view kGatewayTimeoutText =
#include "reply/gateway_timeout.txt.inc"
    ;
constexpr std::string_view kWms11 =
#include "reply/wms_1_1.xml.inc"
    ;
constexpr std::string_view kServiceException =
#include "reply/service_exception.xml.inc"
    ;
constexpr std::string_view kOwsException =
#include "reply/ows_exception.xml.inc"
    ;
constexpr std::string_view kExceptionsJson =
#include "reply/exceptions.json.inc"
    ;
constexpr std::string_view kProblemJson =
#include "reply/problem.json.inc"
    ;

constexpr std::size_t kMostTextBytes = 4000;

// Looked up for every byte of every redirect.
constexpr std::array<std::string_view, 256> kHtmlCodes = [] {
  std::array<std::string_view, 256> codes{};
  codes['&'] = "&amp;";
  codes['<'] = "&lt;";
  codes['>'] = "&gt;";
  codes['"'] = "&quot;";
  codes['\''] = "&#39;";
  return codes;
}();

using Escape = std::string (*)(std::string_view);

// What differs between formats; `namespace_` and `schema` are below the addresses of the OGC.
struct Frame {
  Format format;
  std::string_view text, type;
  Escape escape;
  std::string_view version, schema, namespace_;
};

constexpr std::string_view kSeXml = "application/vnd.ogc.se_xml; charset=utf-8";
constexpr std::string_view kXml = "text/xml; charset=utf-8";
constexpr std::string_view kOws = "ows/1.1.0/owsExceptionReport.xsd";

// As mapserv 8 answers; in the order of the enumeration.
constexpr std::array<Frame, kFormats> kFrames{{
    {Format::html, "", "text/html; charset=utf-8", html_escaped, "", "", ""},
    {Format::wms_1_1, kWms11, kSeXml, html_escaped, "", "", ""},
    {Format::wms_1_3, kServiceException, kXml, html_escaped, "1.3.0", "wms/1.3.0/exceptions_1_3_0.xsd", ""},
    {Format::wfs_1_0, kServiceException, kXml, html_escaped, "1.2.0", "wfs/1.0.0/OGC-exception.xsd", ""},
    {Format::wfs_1_1, kOwsException, kXml, html_escaped, "1.1.0", "ows/1.0.0/owsExceptionReport.xsd", "ows"},
    {Format::wfs_2_0, kOwsException, kXml, html_escaped, "2.0.0", kOws, "ows/1.1"},
    {Format::wcs_1_0, kServiceException, kSeXml, html_escaped, "1.2.0", "wcs/1.0.0/OGC-exception.xsd", ""},
    {Format::wcs_1_1, kOwsException, kXml, html_escaped, "1.1.1", kOws, "ows/1.1"},
    {Format::wcs_2_0, kOwsException, kXml, html_escaped, "2.0.1", "ows/2.0/owsExceptionReport.xsd", "ows/2.0"},
    {Format::sos_1_0, kOwsException, kXml, html_escaped, "1.0.0", kOws, "ows/1.1"},
    {Format::json, kExceptionsJson, "application/json", json_escaped, "", "", ""},
    {Format::problem, kProblemJson, "application/problem+json", json_escaped, "", "", ""},
}};

std::string_view page_of(Page which) {
  switch (which) {
    case Page::unavailable:
      return kUnavailable;
    case Page::loop_detected:
      return kLoopDetected;
    case Page::bad_request:
      return kBadRequest;
    case Page::internal_error:
      return kInternalError;
    case Page::too_large:
      return kTooLarge;
    case Page::bad_gateway:
      return kBadGateway;
    case Page::gateway_timeout:
      return kGatewayTimeout;
  }
  return {};
}

std::string_view text_of(Page which) {
  switch (which) {
    case Page::unavailable:
      return kUnavailableText;
    case Page::loop_detected:
      return kLoopDetectedText;
    case Page::bad_request:
      return kBadRequestText;
    case Page::internal_error:
      return kInternalErrorText;
    case Page::too_large:
      return kTooLargeText;
    case Page::bad_gateway:
      return kBadGatewayText;
    case Page::gateway_timeout:
      return kGatewayTimeoutText;
  }
  return {};
}

// `of` gives the value of a name.
template <typename Of>
std::string filled(std::string_view rest, Of of) {
  std::string out;
  for (;;) {
    const std::size_t begin = rest.find("{{");
    out += rest.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    const std::size_t end = rest.find("}}", begin);
    assert(end != std::string_view::npos);
    out += of(rest.substr(begin + 2, end - begin - 2));
    rest.remove_prefix(end + 2);
  }
}

std::string_view value_of(std::string_view name, Values values) {
  const auto* value = std::find_if(values.begin(), values.end(), [name](const auto& v) { return v.first == name; });
  assert(value != values.end());
  return value->second;
}

}  // namespace

std::string page(Page which, Values values) {
  return filled(page_of(which), [&](std::string_view name) { return html_escaped(value_of(name, values)); });
}

Document document(Page which, Format format, Values values) {
  const Frame& frame = kFrames[static_cast<std::size_t>(format)];
  assert(frame.format == format);
  if (format == Format::html) return {frame.type, page(which, values)};
  const std::string text = filled(text_of(which), [&](std::string_view name) { return value_of(name, values); });
  // Whatever a reason holds, a byte that XML or JSON forbids would cost the client all of it.
  const std::string clean = base::printable(text, kMostTextBytes);
  return {frame.type, filled(frame.text, [&](std::string_view name) {
            if (name == "text") return frame.escape(clean);
            if (name == "version") return std::string(frame.version);
            if (name == "schema") return std::string(frame.schema);
            if (name == "namespace") return std::string(frame.namespace_);
            return frame.escape(value_of(name, values));
          })};
}

std::string html_escaped(std::string_view text) {
  std::string out;
  constexpr std::size_t kUsualGrowth = 64;
  out.reserve(text.size() + kUsualGrowth);
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view code = kHtmlCodes[static_cast<unsigned char>(text[at])];
    if (code.empty()) continue;
    out.append(text.substr(copied, at - copied)).append(code);
    copied = at + 1;
  }
  return out.append(text.substr(copied));
}

std::string json_escaped(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      out.append("\\u00").append(1, kHex[byte >> 4U]).append(1, kHex[byte & 0xFU]);
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace balance
