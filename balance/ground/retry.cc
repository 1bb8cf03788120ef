// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/retry.h"

#include <algorithm>
#include <array>
#include <string>

#include "balance/ground/query.h"
#include "balance/ground/xml.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

// Operations that read only, in lower case, of WMS, WFS, WCS and SOS. What is not here may change something.
constexpr std::array<std::string_view, 21> kReading = {"getcapabilities",
                                                       "getmap",
                                                       "map",
                                                       "capabilities",
                                                       "getfeatureinfo",
                                                       "feature_info",
                                                       "getlegendgraphic",
                                                       "getstyles",
                                                       "describelayer",
                                                       "describefeaturetype",
                                                       "getfeature",
                                                       "getpropertyvalue",
                                                       "liststoredqueries",
                                                       "describestoredqueries",
                                                       "getgmlobject",
                                                       "describecoverage",
                                                       "getcoverage",
                                                       "describesensor",
                                                       "getobservation",
                                                       "getfeatureofinterest",
                                                       "getobservationbyid"};

bool only_reads(std::string_view operation) {
  return std::ranges::find(kReading, std::string_view(base::lower(operation))) != kReading.end();
}

// 'text/xml; charset=utf-8' -> 'text/xml'.
std::string media_type(std::string_view content_type) {
  return base::lower(base::trim(content_type.substr(0, content_type.find(';'))));
}

bool is_form(std::string_view content_type) { return media_type(content_type) == "application/x-www-form-urlencoded"; }

// Every `request` counts, whichever of query and body mapserv reads first.
bool form_only_reads(std::string_view query, std::string_view form) {
  bool has_operation = false, has_service = false;
  for (const std::string_view text : {query, form}) {
    for (const std::string_view pair : base::split(text, '&')) {
      const Query one(pair);
      has_service = has_service || one.has("service");
      if (one.has("savequery") || one.has("savemap")) return false;
      const std::optional<std::string_view> operation = one.find("request");
      if (!operation) continue;
      if (!only_reads(*operation)) return false;
      has_operation = true;
    }
  }
  return has_operation || !has_service;  // without both it is one of mapserv's own pages
}

}  // namespace

std::string_view phrase_of(Relayed end) {
  switch (end) {
    case Relayed::fine:
      return "fine";
    case Relayed::no_connection:
      return "no connection";
    case Relayed::timed_out:
      return "no answer in time";
    case Relayed::bad_gateway:
      return "answered 502";
    case Relayed::unavailable:
      return "answered 503";
    case Relayed::gateway_timeout:
      return "answered 504";
    case Relayed::host_fault:
      return "mapserver failed";
    case Relayed::broke_off:
      return "the answer broke off";
  }
  return "?";
}

Relayed relayed_of(const FailedHandOff& failed) {
  if (!failed.was_sent) return Relayed::no_connection;
  switch (failed.status) {
    case 502:
      return Relayed::bad_gateway;
    case 503:
      return Relayed::unavailable;
    case 504:
      return Relayed::timed_out;
    default:
      return Relayed::broke_off;
  }
}

Effect effect_of(const Request& request, std::string_view content_type, std::string_view body, bool is_whole) {
  switch (request.method) {
    case Method::get:
    case Method::head:
    case Method::options:
      return Effect::none;
    case Method::other:
      return Effect::possible;
    case Method::post:
      break;
  }
  if (is_form(content_type)) {
    return is_whole && form_only_reads(request.query, body) ? Effect::none : Effect::possible;
  }
  if (!form_only_reads(request.query, "")) return Effect::possible;
  const std::string type = media_type(content_type);
  const bool is_xml = type.ends_with("/xml") || type.ends_with("+xml") || type == "text/plain" || type.empty();
  return is_xml && only_reads(xml_root(body, DocumentType::refused).name) ? Effect::none : Effect::possible;
}

void note_form(Request& request, std::string_view content_type, std::string_view body) {
  if (request.method == Method::post && is_form(content_type) && names_page_files(Query(body))) {
    request.is_page_follow_up = true;
  }
}

bool may_try_again(const Tries& tries, Effect effect, Begun begun, bool is_killer) {
  if (begun == Begun::yes || tries.unconnected + tries.sent >= kMostTries) return false;
  if (tries.sent == 0) return true;
  return effect == Effect::none && tries.sent < kMostSent && !is_killer;
}

bool may_look_elsewhere(const Request& request, int status) {
  return request.class_ == Class::artifact && (status == 404 || status == 410);
}

bool counts_against_host(std::span<const Relayed> tries, std::size_t at, bool is_killer) {
  if (at >= tries.size() || tries[at] == Relayed::fine) return false;
  if (tries[at] == Relayed::no_connection) return true;
  if (is_killer) return false;
  return tries[at] != Relayed::host_fault || std::ranges::count(tries, Relayed::host_fault) < 2;
}

bool is_now_killer(std::span<const Relayed> tries) {
  return std::ranges::count_if(tries,
                               [](Relayed end) { return end != Relayed::fine && end != Relayed::no_connection; }) >= 2;
}

std::uint64_t request_fingerprint(const Request& request, std::uint64_t body_fingerprint) {
  const std::string_view method = request.method == Method::post ? "POST" : "GET";
  std::string text(method);
  text.append(1, ' ').append(request.path).append(1, '?').append(request.query);
  text.append(1, ' ').append(std::to_string(body_fingerprint));
  return base::fingerprint(text);
}

}  // namespace balance
