// SPDX-License-Identifier: MIT
#include "balance/ground/reply.h"

#include "tests/unit/requests.h"

namespace balance {
namespace {

Plan plan_of(const RawRequest& raw, const std::string& lines, Relaying relaying = Relaying::absent) {
  const Config config = config_of(lines);
  return plan_for(request_of(raw, config), config, relaying);
}

RawRequest with_credentials() {
  RawRequest raw = get("mode=map");
  raw.authorization = "Basic eA==";
  return raw;
}

RawRequest with_origin() {
  RawRequest raw = get("REQUEST=GetMap");
  raw.origin = "https://gis.example.org";
  return raw;
}

TEST(ToCgi, WritesStatusHeadersAndBody) {
  Reply reply;
  reply.status = 302;
  reply.headers = {{"Location", "http://h/"}, {"Content-Length", "3"}};
  reply.body = "abc";
  EXPECT_EQ(to_cgi(reply, Method::get), "Status: 302 Found\r\nLocation: http://h/\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(to_cgi(reply, Method::head), "Status: 302 Found\r\nLocation: http://h/\r\nContent-Length: 3\r\n\r\n");
}

TEST(ToCgiDeathTest, ALineEndInAHeaderIsADefect) {
  Reply reply;
  for (const char* value : {"a\r\nSet-Cookie: x", "a\n", "\r"}) {
    reply.headers = {{"X-Balance-Host", value}};
    EXPECT_DEATH(to_cgi(reply, Method::get), "is_one_line") << value;
  }
}

TEST(Redirect, IsComplete) {
  const Config config = config_of();
  const Request request = request_of(get("map=A&mode=map"), config);
  EXPECT_EQ(to_cgi(redirect(request, config.hosts.front(), config, Action::redirect_302), Method::get),
            "Status: 302 Found\r\n"
            "Location: http://pinchot.example.org:8080/cgi-bin/mapserv?map=A&mode=map\r\n"
            "Cache-Control: no-store\r\n"
            "Access-Control-Allow-Origin: *\r\n"
            "X-Balance-Host: pinchot\r\n"
            "Content-Type: text/html; charset=utf-8\r\n"
            "Content-Length: 153\r\n"
            "\r\n"
            "<!DOCTYPE html>\n"
            "<title>Moved for now</title>\n"
            "<p><a href=\"http://pinchot.example.org:8080/cgi-bin/mapserv?map=A&amp;mode=map\">The answer is "
            "here.</a></p>\n");
}

TEST(Redirect, With307KeepsTheMethod) {
  const Config config = config_of();
  const Request request = request_of(with_method("POST"), config);
  const Reply reply = redirect(request, config.hosts.front(), config, Action::redirect_307);
  EXPECT_EQ(reply.status, 307);
  EXPECT_EQ(header(reply, "Location"), "http://pinchot.example.org:8080/cgi-bin/mapserv?mode=map");
  EXPECT_EQ(header(reply, "Cache-Control"), "no-store");
  EXPECT_TRUE(to_cgi(reply, Method::post).starts_with("Status: 307 Temporary Redirect\r\n"));
}

TEST(Redirect, HeadHasTheHeadersOfTheGetAndNoBody) {
  const Config config = config_of();
  const std::string of_get = redirected(get("mode=map"), config);
  const std::string of_head = redirected(with_method("HEAD"), config);
  EXPECT_EQ(of_head, of_get.substr(0, of_get.find("\r\n\r\n") + 4));
}

TEST(Redirect, HeadersCanBeSwitchedOff) {
  const Config config = config_of("cors-origin = none\nhost-header = no\n");
  const Reply reply = redirect(request_of(get("mode=map"), config), config.hosts.front(), config, Action::redirect_302);
  EXPECT_EQ(header(reply, "Access-Control-Allow-Origin"), "(none)");
  EXPECT_EQ(header(reply, "X-Balance-Host"), "(none)");
  EXPECT_EQ(header(reply, "Cache-Control"), "no-store");
}

TEST(Redirect, AllowsTheOriginThatIsConfigured) {
  const Config config = config_of("cors-origin = https://GIS.example.org:443\n");
  const Reply reply = redirect(request_of(get("mode=map"), config), config.hosts.front(), config, Action::redirect_302);
  EXPECT_EQ(header(reply, "Access-Control-Allow-Origin"), "https://gis.example.org");
}

TEST(Location, IsMadeOfTheConfigurationPathInfoAndQuery) {
  const auto at = [](const std::string& host_line, RawRequest raw) {
    return location_of(raw, config_of("", host_line + "\n"));
  };
  EXPECT_EQ(at("host = a http://h.example.org:80", get("x")), "http://h.example.org/cgi-bin/mapserv?x");
  EXPECT_EQ(at("host = a https://h.example.org:443", get("x")), "https://h.example.org/cgi-bin/mapserv?x");
  EXPECT_EQ(at("host = a http://[2001:db8::7]:8080", get("x")), "http://[2001:db8::7]:8080/cgi-bin/mapserv?x");
  EXPECT_EQ(at("host = a http://h.example.org inside=http://10.0.0.1", get("x")),
            "http://h.example.org/cgi-bin/mapserv?x");
  EXPECT_EQ(at("host = a http://h.example.org script=/ms/", get("x")), "http://h.example.org/ms?x");
  EXPECT_EQ(at("host = a http://h.example.org script=/", get("x")), "http://h.example.org/?x");
  EXPECT_EQ(at("host = a http://h.example.org", get("")), "http://h.example.org/cgi-bin/mapserv");
  RawRequest api = get("f=json");
  api.request_uri = "/cgi-bin/mapserv/w%20x/ogcapi?f=json";
  EXPECT_EQ(at("host = a http://h.example.org", api), "http://h.example.org/cgi-bin/mapserv/w%20x/ogcapi?f=json");
  EXPECT_EQ(at("host = a http://h.example.org script=/", api), "http://h.example.org/w%20x/ogcapi?f=json");
}

TEST(Location, OfAnArtifactKeepsItsOwnPath) {
  RawRequest raw = get("");
  raw.request_uri = "/tmp/a%20b.png";
  raw.script_name = "/tmp/a b.png";
  EXPECT_EQ(location_of(raw, config_of("artifact-prefixes = /tmp\n")), "http://pinchot.example.org:8080/tmp/a%20b.png");
}

TEST(Plan, InAutoRedirectsAllThatARedirectCanServe) {
  for (const char* query : {"REQUEST=GetMap", "REQUEST=GetFeature", "mode=browse", "REQUEST=GetCapabilities", ""}) {
    EXPECT_EQ(plan_of(get(query), "").action, Action::redirect_302) << query;
  }
  EXPECT_EQ(plan_of(get("mode=map&x=" + std::string(9000, 'y')), "").action, Action::redirect_302);
  EXPECT_EQ(plan_of(with_credentials(), "").action, Action::redirect_302);
  EXPECT_EQ(plan_of(with_origin(), "").action, Action::redirect_302);
  EXPECT_EQ(plan_of(with_method("HEAD"), "").action, Action::redirect_302);
  EXPECT_EQ(plan_of(with_method("POST"), "").action, Action::redirect_307);
  EXPECT_EQ(plan_of(with_method("PUT"), "").action, Action::redirect_307);
  EXPECT_EQ(plan_of(with_method("OPTIONS"), "").action, Action::answer_options);
}

TEST(Plan, InAutoRelaysWhatARedirectHarmsIfItCan) {
  for (const char* query : {"REQUEST=GetCapabilities", "SERVICE=WMS"}) {
    EXPECT_EQ(plan_of(get(query), "", Relaying::built_in).action, Action::relay) << query;
  }
  EXPECT_EQ(plan_of(get("mode=map&x=" + std::string(9000, 'y')), "", Relaying::built_in).action, Action::relay);
  EXPECT_EQ(plan_of(with_credentials(), "", Relaying::built_in).action, Action::relay);
  EXPECT_EQ(plan_of(with_method("POST"), "", Relaying::built_in).action, Action::relay);
  EXPECT_EQ(plan_of(with_origin(), "", Relaying::built_in).action, Action::relay);
  EXPECT_EQ(plan_of(get("REQUEST=GetMap"), "", Relaying::built_in).action, Action::redirect_302);
  EXPECT_EQ(plan_of(with_method("OPTIONS"), "", Relaying::built_in).action, Action::answer_options);
}

TEST(Plan, ModeRedirectNeverRelays) {
  for (const Relaying relaying : {Relaying::absent, Relaying::built_in}) {
    EXPECT_EQ(plan_of(get("REQUEST=GetCapabilities"), "mode = redirect\n", relaying).action, Action::redirect_302);
    EXPECT_EQ(plan_of(with_credentials(), "mode = redirect\n", relaying).action, Action::redirect_302);
    EXPECT_EQ(plan_of(with_origin(), "mode = redirect\n", relaying).action, Action::redirect_302);
    EXPECT_EQ(plan_of(with_method("POST"), "mode = redirect\n", relaying).action, Action::redirect_307);
    EXPECT_EQ(plan_of(with_method("OPTIONS"), "mode = redirect\n", relaying).action, Action::answer_options);
  }
}

TEST(Plan, ModeRelayIsRefusedByNameWithoutRelaying) {
  for (const char* method : {"GET", "HEAD", "POST"}) {
    const Plan plan = plan_of(with_method(method), "mode = relay\n");
    EXPECT_EQ(plan.action, Action::refuse) << method;
    EXPECT_EQ(plan.setting, "mode") << method;
    EXPECT_EQ(plan_of(with_method(method), "mode = relay\n", Relaying::built_in).action, Action::relay) << method;
  }
  EXPECT_EQ(plan_of(with_method("OPTIONS"), "mode = relay\n").action, Action::answer_options);
}

TEST(Plan, AnAnswerSettingComesBeforeTheMode) {
  const Plan refused = plan_of(get("mode=map"), "mode = redirect\n[answer]\nimage = relay\n");
  EXPECT_EQ(refused.action, Action::refuse);
  EXPECT_EQ(refused.setting, "answer.image");
  EXPECT_EQ(plan_of(get("mode=map"), "mode = relay\nanswer.image = redirect\n").action, Action::redirect_302);
  EXPECT_EQ(plan_of(get("mode=map"), "answer.image = 307\n").action, Action::redirect_307);
  EXPECT_EQ(plan_of(with_origin(), "answer.cors = redirect\n", Relaying::built_in).action, Action::redirect_302);
  EXPECT_EQ(plan_of(with_method("POST"), "mode = relay\nanswer.body = 307\n").action, Action::redirect_307);
  EXPECT_EQ(plan_of(with_method("POST"), "answer.body = relay\n").setting, "answer.body");
  EXPECT_EQ(plan_of(with_credentials(), "answer.private = relay\n").setting, "answer.private");
  EXPECT_EQ(plan_of(get("mode=map"), "answer.page = relay\n").action, Action::redirect_302);
}

Target target(const std::string& host, const std::string& lines, const RawRequest& raw = get("mode=map")) {
  const Config config = config_of(lines, "host = a " + host + "\n");
  return target_of(request_of(raw, config), config.hosts.front(), config);
}

RawRequest on_https() {
  RawRequest raw = get("mode=map");
  raw.https = "on";
  return raw;
}

TEST(Target, IsFitWithAPublicUrl) {
  EXPECT_EQ(target("http://h.example.org", ""), Target::fit);
  EXPECT_EQ(target("https://h.example.org", ""), Target::fit);
  EXPECT_EQ(target("https://h.example.org", "", on_https()), Target::fit);
}

TEST(Target, IsNeverInsideOnly) { EXPECT_EQ(target("inside-only=http://10.0.0.15:8080", ""), Target::inside_only); }

TEST(Target, IsNoDowngradeUnlessAllowed) {
  EXPECT_EQ(target("http://h.example.org", "", on_https()), Target::downgrade);
  EXPECT_EQ(target("http://h.example.org", "public-url = https://maps.example.org\n"), Target::downgrade);
  EXPECT_EQ(target("http://h.example.org", "allow-downgrade = yes\n", on_https()), Target::fit);
}

TEST(Target, IsNotTheBalancerItself) {
  RawRequest raw = get("mode=map");
  raw.host = "H.example.org:80";
  EXPECT_EQ(target("http://h.example.org", "", raw), Target::loop);
  EXPECT_EQ(target("http://h.example.org", "script = /cgi%2Dbin/mapserv\n", raw), Target::loop);
  EXPECT_EQ(target("http://h.example.org:8080", "", raw), Target::fit);
  EXPECT_EQ(target("https://h.example.org", "", raw), Target::fit);
  EXPECT_EQ(target("http://h.example.org script=/cgi-bin/mapserv.real", "", raw), Target::fit);
}

TEST(Target, IsALoopByThePathThatWasAskedForToo) {
  // The web server runs the balancer under another script name than the client asked for.
  RawRequest raw = get("mode=map");
  raw.host = "h.example.org";
  raw.script_name = "/internal/balance";
  raw.request_uri = "/cgi-bin/mapserv?mode=map";
  EXPECT_EQ(target("http://h.example.org", "", raw), Target::loop);
  raw.request_uri = "/wms?mode=map";
  EXPECT_EQ(target("http://h.example.org", "", raw), Target::fit);
}

TEST(Target, SaysInWordsWhyNot) {
  EXPECT_EQ(name_of(Target::inside_only), "inside-only");
  EXPECT_EQ(reason_of(Target::fit), "");
  EXPECT_NE(reason_of(Target::inside_only).find("inside-only"), std::string_view::npos);
  EXPECT_NE(reason_of(Target::downgrade).find("allow-downgrade = yes"), std::string_view::npos);
  EXPECT_NE(reason_of(Target::loop).find("script"), std::string_view::npos);
}

TEST(OptionsReply, AllowsWhatWasAskedAndTheUsual) {
  RawRequest raw = with_method("OPTIONS");
  raw.access_control_request_method = "POST";
  raw.access_control_request_headers = "content-type,x-custom";
  const Config config = config_of();
  EXPECT_EQ(to_cgi(options_reply(request_of(raw, config), config), Method::options),
            "Status: 204 No Content\r\n"
            "Allow: GET, HEAD, POST, OPTIONS\r\n"
            "Access-Control-Allow-Origin: *\r\n"
            "Access-Control-Allow-Methods: GET, HEAD, POST, OPTIONS\r\n"
            "Access-Control-Allow-Headers: content-type, x-custom, Authorization, X-Requested-With\r\n"
            "Access-Control-Max-Age: 86400\r\n"
            "\r\n");
}

TEST(OptionsReply, WithoutCorsSaysWhichMethodsThereAre) {
  const Config config = config_of("cors-origin = none\n");
  EXPECT_EQ(to_cgi(options_reply(request_of(with_method("OPTIONS"), config), config), Method::options),
            "Status: 204 No Content\r\nAllow: GET, HEAD, POST, OPTIONS\r\n\r\n");
}

TEST(Unavailable, Is503WithAPageThatNamesTheReason) {
  const Config config = config_of();
  const Reply reply = unavailable(request_of(get("mode=map"), config), config, "mode = relay needs <relaying>");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(header(reply, "Retry-After"), "5");
  EXPECT_EQ(header(reply, "Cache-Control"), "no-store");
  EXPECT_EQ(header(reply, "Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(header(reply, "Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(header(reply, "Content-Length"), std::to_string(reply.body.size()));
  EXPECT_NE(reply.body.find("mode = relay needs &lt;relaying&gt;"), std::string::npos);
  EXPECT_TRUE(to_cgi(reply, Method::get).starts_with("Status: 503 Service Unavailable\r\n"));
}

TEST(Unavailable, Is503WithAnExceptionForAMapClient) {
  const Config config = config_of();
  const Request request = request_of(get("SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&EXCEPTIONS=BLANK"), config);
  const Reply reply = unavailable(request, config, "because");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(header(reply, "Retry-After"), "5");
  EXPECT_EQ(header(reply, "Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(header(reply, "Content-Type"), "application/vnd.ogc.se_xml; charset=utf-8");
  EXPECT_EQ(header(reply, "Content-Length"), std::to_string(reply.body.size()));
  EXPECT_NE(reply.body.find("For the administrator: because</ServiceException>"), std::string::npos);
}

TEST(Unavailable, IsAProblemForAClientOfTheOgcApi) {
  const Config config = config_of();
  RawRequest raw = get("f=json");
  raw.request_uri = "/cgi-bin/mapserv/WORLD/ogcapi?f=json";
  const Reply reply = unavailable(request_of(raw, config), config, "because");
  EXPECT_EQ(header(reply, "Content-Type"), "application/problem+json");
  EXPECT_TRUE(reply.body.starts_with("{\"type\": \"about:blank\", \"status\": 503, \"title\": \"Service Unavailable\""))
      << reply.body;
}

TEST(Replies, ToOneThatWasNotUnderstoodAreInItsFormat) {
  RawRequest raw = get("SERVICE=WFS&VERSION=1.1.0&REQUEST=GetFeature");
  EXPECT_EQ(format_of(raw), Format::wfs_1_1);
  raw.method = "POST";
  raw.query_string = "";
  raw.content_type = "text/xml";
  EXPECT_EQ(format_of(raw), Format::wfs_1_1);
  EXPECT_EQ(format_of(request_of(raw)), Format::wfs_1_1);
  EXPECT_EQ(header(bad_request(config_of(), format_of(raw), "x"), "Content-Type"), "text/xml; charset=utf-8");
  EXPECT_EQ(header(internal_error(config_of(), format_of(raw)), "Content-Type"), "text/xml; charset=utf-8");
}

TEST(Unavailable, TellsNoInsideUrl) {
  const Config config = config_of("", "host = a inside-only=http://10.0.0.15:8080\n");
  const Request request = request_of(get("mode=map"), config);
  for (const Target reason : {Target::inside_only, Target::downgrade, Target::loop}) {
    EXPECT_EQ(to_cgi(unavailable(request, config, reason_of(reason)), Method::get).find("10.0.0.15"),
              std::string::npos);
  }
}

TEST(Replies, OfOurOwnFaultsHaveTheirStatus) {
  const Config config = config_of();
  const Request request = request_of(get("mode=map"), config);
  EXPECT_TRUE(to_cgi(loop_detected(request, config), Method::get).starts_with("Status: 508 Loop Detected\r\n"));
  EXPECT_TRUE(to_cgi(bad_request(config, Format::html, "x"), Method::get).starts_with("Status: 400 Bad Request\r\n"));
  EXPECT_TRUE(
      to_cgi(internal_error(config, Format::html), Method::get).starts_with("Status: 500 Internal Server Error\r\n"));
  EXPECT_EQ(header(loop_detected(request, config), "Retry-After"), "(none)");
  EXPECT_EQ(header(internal_error(config, Format::html), "Access-Control-Allow-Origin"), "*");
}

}  // namespace
}  // namespace balance
