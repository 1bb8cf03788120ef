// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/format.h"

#include <algorithm>
#include <array>
#include <string>

#include "balance/ground/query.h"
#include "balance/ground/request.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

struct Operation {
  std::string_view request, service;  // in lower case
};

// Requests that name their service without the parameter: mapserv takes WMS's so, and clients are careless.
constexpr std::array kOperations = {
    Operation{"getmap", "wms"},
    Operation{"map", "wms"},
    Operation{"getlegendgraphic", "wms"},
    Operation{"getfeatureinfo", "wms"},
    Operation{"feature_info", "wms"},
    Operation{"describelayer", "wms"},
    Operation{"getstyles", "wms"},
    Operation{"getfeature", "wfs"},
    Operation{"getpropertyvalue", "wfs"},
    Operation{"describefeaturetype", "wfs"},
    Operation{"liststoredqueries", "wfs"},
    Operation{"describestoredqueries", "wfs"},
    Operation{"getcoverage", "wcs"},
    Operation{"describecoverage", "wcs"},
    Operation{"getobservation", "sos"},
    Operation{"describesensor", "sos"},
};

std::string lower(const Query& query, std::string_view key) { return base::lower(query.find(key).value_or("")); }

// 'wms', 'wfs' ... or "". As mapserv does it: a mode other than ows and wfs comes before service and request.
std::string service_of(const Query& query) {
  const std::string mode = lower(query, "mode");
  if (!mode.empty() && mode != "ows" && mode != "wfs") return "";
  std::string service = lower(query, "service");
  if (!service.empty()) return service;
  const std::string request = lower(query, "request");
  const auto* operation = std::ranges::find(kOperations, std::string_view(request), &Operation::request);
  if (operation != kOperations.end()) return std::string(operation->service);
  return mode == "wfs" ? mode : "";
}

std::string_view version_of(const Query& query) {
  for (const std::string_view key : {"version", "wmtver", "acceptversions"}) {
    if (const std::string_view version = base::trim(query.find(key).value_or("")); !version.empty()) return version;
  }
  return "";
}

Format of_version(std::string_view version, Format one_0, Format one_1, Format newest) {
  if (version.starts_with("1.0")) return one_0;
  return version.starts_with("1.1") ? one_1 : newest;
}

Format of_service(std::string_view service, std::string_view version) {
  if (service == "wms") return of_version(version, Format::wms_1_1, Format::wms_1_1, Format::wms_1_3);
  if (service == "wfs") return of_version(version, Format::wfs_1_0, Format::wfs_1_1, Format::wfs_2_0);
  if (service == "wcs") return of_version(version, Format::wcs_1_0, Format::wcs_1_1, Format::wcs_2_0);
  return service == "sos" ? Format::sos_1_0 : Format::html;
}

bool is_xml(std::string_view content_type) {
  const std::string type = base::lower(base::trim(content_type.substr(0, content_type.find(';'))));
  return type == "text/xml" || type == "application/xml" || type.ends_with("+xml");
}

}  // namespace

Format asked_format(const Asked& asked) {
  const Query query(asked.query);
  if (is_ogc_api(asked.path_info)) return lower(query, "f") == "html" ? Format::html : Format::problem;
  const Format format = of_service(service_of(query), version_of(query));
  // The service is in the body then; of those that take XML, WFS is what clients post to.
  if (format == Format::html) return is_xml(asked.content_type) ? Format::wfs_1_1 : format;
  const std::string exceptions = lower(query, "exceptions");
  return exceptions == "application/json" || exceptions == "json" ? Format::json : format;
}

}  // namespace balance
