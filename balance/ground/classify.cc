// SPDX-License-Identifier: MIT
// The class of a request. Floor 1: pure functions, any thread.
//
// As mapserv 8 does it: a `mode` that is not ows or wfs is obeyed whatever `service` and `request` say; without one,
// these two decide.
#include <algorithm>
#include <array>
#include <optional>

#include "balance/ground/request.h"
#include "balance/ground/url.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

struct Named {
  std::string_view name;
  Class class_;
};

// Every mode of mapserv 8 but ows and wfs, and the query map modes that older ones had.
constexpr std::array kModes = {
    Named{"browse", Class::page},
    Named{"zoomin", Class::page},
    Named{"zoomout", Class::page},
    Named{"map", Class::image},
    Named{"legend", Class::image},
    Named{"legendicon", Class::image},
    Named{"maplegend", Class::image},
    Named{"maplegendicon", Class::image},
    Named{"reference", Class::image},
    Named{"scalebar", Class::image},
    Named{"tile", Class::image},
    Named{"coordinate", Class::page},
    Named{"query", Class::page},
    Named{"querymap", Class::page},
    Named{"nquery", Class::page},
    Named{"nquerymap", Class::page},
    Named{"itemquery", Class::page},
    Named{"itemquerymap", Class::page},
    Named{"itemnquery", Class::page},
    Named{"itemnquerymap", Class::page},
    Named{"featurequery", Class::page},
    Named{"featurequerymap", Class::page},
    Named{"featurenquery", Class::page},
    Named{"featurenquerymap", Class::page},
    Named{"itemfeaturequery", Class::page},
    Named{"itemfeaturequerymap", Class::page},
    Named{"itemfeaturenquery", Class::page},
    Named{"itemfeaturenquerymap", Class::page},
    Named{"indexquery", Class::page},
    Named{"indexquerymap", Class::page},
};

struct Operation {
  std::string_view request, service;  // in lower case
  std::string_view written;           // as the standards write it
  Class class_;
};

// What is not here is a document. 'map' and 'feature_info' are WMS 1.0's names.
constexpr std::array kOperations = {
    Operation{"getmap", "wms", "GetMap", Class::image},
    Operation{"map", "wms", "map", Class::image},
    Operation{"getlegendgraphic", "wms", "GetLegendGraphic", Class::image},
    Operation{"getfeatureinfo", "wms", "GetFeatureInfo", Class::data},
    Operation{"feature_info", "wms", "feature_info", Class::data},
    Operation{"getfeature", "wfs", "GetFeature", Class::data},
    Operation{"getpropertyvalue", "wfs", "GetPropertyValue", Class::data},
    Operation{"getcoverage", "wcs", "GetCoverage", Class::data},
    Operation{"getobservation", "sos", "GetObservation", Class::data},
};

std::string quoted(std::string_view value) { return "'" + base::escaped(value, 40) + "'"; }

bool has_cookie(std::string_view header, std::string_view name) {
  const std::vector<std::string_view> cookies = base::split(header, ';');
  return std::ranges::any_of(cookies, [name](std::string_view cookie) {
    const std::size_t end = cookie.find('=');
    return end != std::string_view::npos && base::trim(cookie.substr(0, end)) == name;
  });
}

// "" if nothing makes the request private.
std::string why_private(const Question& question, const Config& config) {
  if (!base::trim(question.authorization).empty()) return "Authorization";
  if (question.cookie.empty()) return "";
  for (const std::string& name : config.private_cookies) {
    if (has_cookie(question.cookie, name)) return "cookie " + name;
  }
  return "";
}

// 'http://maps.example.org/page' is a page of 'maps.example.org'.
bool is_page_of(std::string_view referer, std::string_view host) {
  const std::size_t scheme = referer.find("://");
  if (host.empty() || scheme == std::string_view::npos) return false;
  const std::string_view rest = referer.substr(scheme + 3);
  return base::same_ignoring_case(rest.substr(0, rest.find_first_of("/?#")), host);
}

// Browsers say of pictures that they want image/..., of pages and frames text/html.
bool wants_neither_picture_nor_page(std::string_view accept) {
  const std::string types = base::lower(accept);
  return !types.empty() && types.find("image/") == std::string::npos && types.find("text/html") == std::string::npos;
}

// What a browser checks by CORS, or refuses to redirect: "" if nothing. A page of the balancer's own origin sends no
// Origin with a GET, but its request is one as soon as it is redirected to a host; that it is a script's, browsers say
// to servers on https and on the same machine (Fetch Metadata), and elsewhere what they accept tells.
std::string why_cors(const Question& question, const Config& config) {
  const std::string_view mode = question.sec_fetch_mode;
  if (mode == "cors" || mode == "same-origin") return "Sec-Fetch-Mode: " + std::string(mode);
  if (!mode.empty()) return "";
  if (!question.origin.empty()) return "Origin";
  if (question.referer.empty() || !wants_neither_picture_nor_page(question.accept)) return "";
  const bool is_own_page = is_page_of(question.referer, question.host) ||
                           (config.public_url && is_page_of(question.referer, authority(*config.public_url)));
  return is_own_page ? "a script of our own origin, by Referer and Accept" : "";
}

bool is_below(std::string_view path, std::string_view prefix) {
  if (!path.starts_with(prefix)) return false;
  return prefix.ends_with('/') || path.size() == prefix.size() || path[prefix.size()] == '/';
}

// The prefix that the path is under, or "". '/tmp/../etc' is under none: what it means is for nobody to guess.
std::string_view artifact_prefix(std::string_view path, const Config& config) {
  if (config.artifact_prefixes.empty()) return "";
  if (climbs(path)) return "";
  for (const std::string& prefix : config.artifact_prefixes) {
    if (is_below(path, prefix)) return prefix;
  }
  return "";
}

std::size_t segments_of(std::string_view path) {
  const std::vector<std::string_view> segments = base::split(path, '/');
  return static_cast<std::size_t>(std::ranges::count_if(segments, [](std::string_view s) { return !s.empty(); }));
}

// WFS 2.0 answers a part of the features with a link to the next part, which names the host; mapserv reads WFS 1's
// maxfeatures as count there. A missing version is not known to be an older one.
std::string_view paging_of(const Operation& operation, const Query& query) {
  if (operation.service != "wfs" || !query.find("version").value_or("2").starts_with('2')) return "";
  for (const std::string_view key : {"count", "startindex", "maxfeatures"}) {
    if (query.has(key)) return key;
  }
  return "";
}

// Of a request that has `service` or `request`.
Verdict classify_operation(const Query& query, const Config& config) {
  const std::string service = base::lower(query.find("service").value_or(""));
  const std::string request = base::lower(query.find("request").value_or(""));
  const auto* operation = std::ranges::find(kOperations, std::string_view(request), &Operation::request);
  if (operation == kOperations.end() || (!service.empty() && service != operation->service)) {
    if (!query.has("request")) return {Class::document, "service=" + quoted(service) + " without request"};
    return {Class::document, "request=" + quoted(*query.find("request")) + (service.empty() ? "" : " of " + service)};
  }
  const std::string why = "request=" + std::string(operation->written);
  const std::string_view paging = paging_of(*operation, query);
  if (!paging.empty() && !config.onlineresource_set) {
    return {Class::document, why + " with " + std::string(paging) + ": its next link names the host"};
  }
  return {operation->class_, why};
}

// By what the query and the path info say alone: document, image, data or page.
Verdict classify_query(std::string_view path_info, const Query& query, const Config& config) {
  const std::size_t segments = segments_of(path_info);
  if (is_ogc_api(path_info)) return {Class::document, "path info: OGC API"};
  const std::optional<std::string_view> mode = query.find("mode");
  const std::string mode_name = base::lower(mode.value_or(""));
  const auto* known = std::ranges::find(kModes, std::string_view(mode_name), &Named::name);
  if (known != kModes.end()) return {known->class_, "mode=" + mode_name, names_page_files(query)};
  if (query.has("service") || query.has("request")) return classify_operation(query, config);
  if (mode_name == "ows" || mode_name == "wfs") return {Class::document, "mode=" + mode_name + " without request"};
  if (segments == 1 && !mode) return {Class::document, "path info without mode, service and request"};
  return {Class::page, mode ? "unknown mode=" + quoted(*mode) : "no mode", names_page_files(query)};
}

}  // namespace

bool names_page_files(const Query& query) {
  const auto has_value = [&query](std::string_view key) { return !query.find(key).value_or("").empty(); };
  return has_value("id") || has_value("queryfile") || query.has("savequery");
}

bool is_ogc_api(std::string_view path_info) { return segments_of(path_info) > 1; }

Verdict classify(const Question& question, const Config& config) {
  if (question.method == Method::options) return {Class::options, "OPTIONS"};
  const Query query(question.query);
  Verdict verdict = classify_query(question.path_info, query, config);
  verdict.content = verdict.class_;
  const auto instead = [&verdict](Class c, std::string why) {
    return Verdict{c, std::move(why), verdict.is_page_follow_up, verdict.content};
  };
  if (question.method == Method::post) return instead(Class::body, "POST");
  if (question.method == Method::other) return instead(Class::body, "neither GET nor HEAD");
  if (const std::string_view prefix = artifact_prefix(question.path, config); !prefix.empty()) {
    return {Class::artifact, "path under " + std::string(prefix)};
  }
  if (std::string why = why_private(question, config); !why.empty()) {
    return instead(Class::private_, std::move(why));
  }
  if (verdict.class_ != Class::document && question.location_bytes > config.long_bytes) {
    return instead(Class::long_, "Location of " + std::to_string(question.location_bytes) + " bytes");
  }
  if (verdict.class_ == Class::document) return verdict;
  if (std::string why = why_cors(question, config); !why.empty()) return instead(Class::cors, std::move(why));
  return verdict;
}

}  // namespace balance
