// SPDX-License-Identifier: MIT
// A client's request: as the web server's gateway handed it over (RawRequest), as we understand it (Request), and its
// class, which decides between redirect and relay. Floor 1: values and pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "balance/ground/class.h"
#include "balance/ground/config.h"
#include "balance/ground/query.h"
#include "balance/ground/url.h"
#include "loadprobe/base/network.h"
#include "loadprobe/base/result.h"

namespace balance {

// CGI meta-variables (RFC 3875 4.1), bytes as they came; views into the gateway's memory, valid while it holds the
// request. A variable that is missing is "".
struct RawRequest {
  std::string_view method, query_string, request_uri, script_name, path_info;
  std::string_view https, server_name, server_port, remote_addr;
  std::string_view content_type, content_length;
  std::string_view host, origin, authorization, cookie, user_agent;  // HTTP_*
  std::string_view x_forwarded_for, x_forwarded_proto;               // HTTP_X_FORWARDED_*
  std::string_view server_software;
  std::string_view access_control_request_method, access_control_request_headers;
  std::string_view sec_fetch_mode, referer, accept;
  // What our own part of the web server's configuration says; no header of a client can be these.
  std::string_view balance_accel, balance_failed;

  // Every HTTP_* variable, those above too: name without 'HTTP_', as it came ('ACCEPT_LANGUAGE'). In the order of the
  // gateway; of two with one name the first counts.
  struct Header {
    std::string_view name, value;
  };
  std::vector<Header> headers;
  // The value of HTTP_<name>, or "".
  std::string_view header(std::string_view name) const;
};

// Fills a RawRequest from 'NAME=value' strings (environ, FCGX_Request::envp), which end with a null pointer.
RawRequest raw_request(const char* const* variables);

enum class Method : std::uint8_t { get, head, post, options, other };

// A try that the web server made for us at a host, and that failed.
struct FailedHandOff {
  std::string host;       // its name
  int status = 502;       // what the web server made of it, or the host's own
  bool was_sent = false;  // false: no connection, so nothing was asked
};

struct Request {
  Method method = Method::get;
  std::string query;      // safe to stand in a Location: see safe_in_header()
  std::string path_info;  // from the undecoded REQUEST_URI, safe likewise; "" or '/...'
  std::string path;       // the whole path that was asked for, script and path info, likewise
  // How the client named us: scheme, authority, script; what a trusted proxy says of it comes first. It may lie: never
  // part of a redirect. No host: nobody said.
  Url self;
  bool client_on_https = false;         // HTTPS=on, or X-Forwarded-Proto of a trusted proxy, or public-url is https
  std::optional<base::Address> client;  // REMOTE_ADDR, or what trusted proxies say of it
  std::string content_type;             // of a body
  std::string asked_headers;            // Access-Control-Request-Headers, if it is a well-formed list, else ""
  Class class_ = Class::page;
  Class content = Class::page;     // document, image, data or page: what the query asks for, whatever the class
  std::string why;                 // of the class, one phrase: 'request=GetMap'
  bool is_relayed_round = false;   // it came through this balancer before: 508
  bool is_page_follow_up = false;  // id, queryfile or savequery: belongs to the host that served this client's page
  std::string
      hand_off_to;  // where the web server takes a relay over (BALANCE_ACCEL, a named location); "": it does not
  std::optional<FailedHandOff> failed;  // it did, and comes back (BALANCE_FAILED)
  // The web server answers a CGI local redirect (RFC 3875 6.2.2) of this request itself: redirects_locally().
  bool may_stay_here = false;
  std::optional<std::size_t> cookie_host;  // sticky = cookie: the host that the client's cookie names
};

// What a class is decided from. The texts are views: valid for the call.
struct Question {
  Method method = Method::get;
  std::string_view query;      // as it came
  std::string_view path_info;  // encoded or not; "" or '/...'
  std::string_view path;       // the whole path, decoded
  std::string_view authorization, cookie;
  std::string_view origin, sec_fetch_mode, host, referer, accept;
  std::size_t location_bytes = 0;  // with the longest public URL of the pool
};
struct Verdict {
  Class class_ = Class::page;
  std::string why;
  bool is_page_follow_up = false;
  Class content = Class::page;
};
// The first class that fits, in the order of the enumeration.
Verdict classify(const Question& question, const Config& config);

// Whether a query or form follows up on a page: it names files that are on the host that wrote them.
bool names_page_files(const Query& query);

// Whether the path behind the script names more than a map: '/WORLD/ogcapi'.
bool is_ogc_api(std::string_view path_info);

// Whether the web server that started a CGI program carries out a local redirect of this request: Apache does for GET
// and HEAD, and lighttpd where cgi.local-redir says so; it makes a GET of anything else. Over FastCGI none does but
// mod_fcgid, and nginx never: there the client would get it, or nothing.
bool redirects_locally(const RawRequest& raw);

// Understands a request. Errors (Fault::input): a method that is no HTTP token. Everything else has some class.
base::Result<Request> parse_request(const RawRequest& raw, const Config& config);

}  // namespace balance
