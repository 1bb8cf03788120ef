// SPDX-License-Identifier: MIT
// Redirects that the web server itself carries out, on a machine that is balancer and host.
#include "balance/ground/config.h"
#include "balance/ground/reply.h"
#include "tests/unit/requests.h"

namespace balance {
namespace {

const char* const kTwoHosts =
    "host = pinchot http://pinchot.example.org:8080\n"
    "host = leopold http://leopold.example.org:8080\n";

TEST(LocalKey, NamesAHostAndAPath) {
  const Config config = config_of("local = leopold /cgi-bin/mapserv.real\n", kTwoHosts);
  ASSERT_TRUE(config.local);
  EXPECT_EQ(config.local->host, 1U);
  EXPECT_EQ(config.local->path, "/cgi-bin/mapserv.real");
}

TEST(LocalKey, SaysWhatIsWrong) {
  EXPECT_EQ(fault_of("local = pinchot"),
            "local is 'pinchot'; wanted the name of a host and a path, such "
            "as 'pinchot /cgi-bin/mapserv.real'");
  EXPECT_EQ(fault_of("local = muir /cgi-bin/mapserv.real"), "local is 'muir'; wanted the name of one of the hosts");
  EXPECT_EQ(fault_of("local = pinchot mapserv").substr(0, 6), "local:");
  EXPECT_EQ(fault_of("public-url = http://maps.example.org/cgi-bin/mapserv\nlocal = pinchot /cgi-bin/mapserv"),
            "local: /cgi-bin/mapserv is the path of public-url, which is a loop; wanted where mapserv "
            "itself is");
}

RawRequest under_apache(std::string_view query) {
  RawRequest raw = get(query);
  raw.server_software = "Apache/2.4.62 (Debian)";
  return raw;
}

// A request of a CGI program of this web server.
Request local_request(const RawRequest& raw, const Config& config) {
  Request request = request_of(raw, config);
  request.may_stay_here = redirects_locally(raw);
  return request;
}

TEST(LocalRedirect, IsALocationAndNothingElse) {
  const Config config = config_of("local = leopold /cgi-bin/mapserv.real\n", kTwoHosts);
  RawRequest raw = under_apache("map=WORLD&mode=map");
  raw.request_uri = "/cgi-bin/mapserv/a%20b?map=WORLD&mode=map";
  const Request request = local_request(raw, config);
  const Plan plan = plan_for(request, config, Relaying::absent);
  EXPECT_EQ(action_at(request, config.hosts[1], config, plan), Action::redirect_locally);
  EXPECT_EQ(action_at(request, config.hosts[0], config, plan), Action::redirect_302);
  EXPECT_EQ(to_cgi(local_redirect(request, config), Method::get),
            "Location: /cgi-bin/mapserv.real/a%20b?map=WORLD&mode=map\r\n\r\n");
}

TEST(LocalRedirect, IsForServersAndMethodsThatCarryItOut) {
  const auto does = [](std::string_view software, std::string_view method) {
    RawRequest raw = get("mode=map");
    raw.server_software = software;
    raw.method = method;
    return redirects_locally(raw);
  };
  EXPECT_TRUE(does("Apache/2.4.62 (Debian)", "GET"));
  EXPECT_TRUE(does("Apache", "HEAD"));
  EXPECT_TRUE(does("lighttpd/1.4.69", "GET"));
  EXPECT_FALSE(does("Apache", "POST"));
  EXPECT_FALSE(does("lighttpd/1.4.69", "PUT"));
  EXPECT_FALSE(does("nginx/1.22.1", "GET"));
  EXPECT_FALSE(does("", "GET"));
}

TEST(LocalRedirect, NeverLeadsToTheBalancerItself) {
  const Config config = config_of("local = leopold /cgi-bin/mapserv\n", kTwoHosts);
  RawRequest raw = under_apache("mode=map");
  for (const std::string_view script : {"/cgi-bin/mapserv", "/cgi-bin/mapserv/"}) {
    raw.script_name = script;
    const Request request = local_request(raw, config);
    EXPECT_FALSE(stays_here(request, config.hosts[1], config)) << script;
  }
}

TEST(LocalRedirect, NeedsNoHttpsUrlForAClientOnHttps) {
  const Config config = config_of("local = leopold /cgi-bin/mapserv.real\n", kTwoHosts);
  RawRequest raw = under_apache("mode=map");
  raw.https = "on";
  const Request request = local_request(raw, config);
  EXPECT_EQ(target_of(request, config.hosts[1], config), Target::fit);
  EXPECT_EQ(target_of(request, config.hosts[0], config), Target::downgrade);
}

TEST(LocalRedirect, CannotSetACookieSoThatIsARedirect) {
  const Config config = config_of("sticky = cookie\nlocal = leopold /cgi-bin/mapserv.real\n", kTwoHosts);
  EXPECT_FALSE(stays_here(local_request(under_apache("mode=map"), config), config.hosts[1], config));
}

}  // namespace
}  // namespace balance
