// SPDX-License-Identifier: MIT
// balancectl import: scripts in, configurations out. All scripts here are made up.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "balance/ground/config.h"
#include "balance/perl/conf.h"
#include "balance/perl/pool.h"
#include "balance/perl/script.h"
#include "balance/perl/tokens.h"

namespace balance::perl {
namespace {

Imported import_of(std::string_view text) { return imported(pool_of(script_of(text)), "b.pl"); }

// The settings alone, without comments and empty lines.
std::string settings_of(std::string_view text) {
  std::string found;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    if (!line.empty() && line.front() != '#') found.append(line).append("\n");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return found;
}
std::string settings(std::string_view script) { return settings_of(import_of(script).conf); }
bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

constexpr std::string_view kOld = R"pl(#!/usr/local/bin/perl
# sends the caller to the least busy machine
use CGI;

@pool = ('pinchot', 'leopold',   # the two old ones
         "darwin",
         # 'capra', down until the disk comes
        );
%ports = ('pinchot', 80, 'leopold', 8080, 'darwin', 80);
$domain = "dnr.example.us";
$rup = "/usr/bin/rup";
$cutoff = 5;

$min = 999; $best = "";
foreach $m (@pool) {
  open(RUP, "$rup -l $m |");
  while (<RUP>) { if (/load average: ([\d.]+)/) { $load = $1; } }
  close(RUP);
  if ($load < $min) { $min = $load; $best = $m; }
}
$port = $ports{$best};
print "Location: http://$best.$domain:$port/maps/mapserv?$ENV{QUERY_STRING}\n\n";
)pl";

TEST(Import, TakesPoolPortsDomainAndScript) {
  const Imported made = import_of(kOld);
  EXPECT_EQ(settings_of(made.conf),
            "script = /maps/mapserv\n"
            "host = pinchot http://pinchot.dnr.example.us\n"
            "host = leopold http://leopold.dnr.example.us:8080\n"
            "host = darwin http://darwin.dnr.example.us\n"
            "[probe]\n"
            "kind = rstat\n");
  EXPECT_TRUE(made.doubts.empty()) << made.doubts.front();
  EXPECT_TRUE(parse_config(made.conf, "made"));
}

TEST(Import, LosesNothingWithoutALine) {
  const std::string conf = import_of(kOld).conf;
  EXPECT_TRUE(has_line(conf, "#   b.pl:7: a comment in @pool: 'capra', down until the disk comes")) << conf;
  EXPECT_TRUE(has_line(conf, "#   b.pl:12: $cutoff = '5' has no counterpart here")) << conf;
}

TEST(Import, ReadsEveryWayToWriteAList) {
  const std::string hosts = "script = /cgi-bin/mapserv\nhost = a http://a.example.org\nhost = b http://b.example.org\n";
  for (const std::string_view script :
       {"my @hosts = qw(a.example.org b.example.org);", "our @hosts=qw/a.example.org\n  b.example.org/;",
        "@machines = (\"a.example.org\",\n'b.example.org',);", "@pool=(q(a.example.org), qq{b.example.org});",
        "$domain='.example.org'; @pool = qw{a b};", "push @pool, 'a.example.org'; push(@pool, \"b.example.org\");",
        "$servers = 'a.example.org b.example.org';", "$servers = \"a.example.org,b.example.org\";",
        "@nodes = split(/ /, 'a.example.org b.example.org');", "@nodes = split ',', \"a.example.org,b.example.org\";",
        "my $pool = [ 'a.example.org', 'b.example.org' ];", "use constant HOSTS => qw(a.example.org b.example.org);",
        "my ($d, @pool) = ('x', 'a.example.org', 'b.example.org');",
        "$pool[0] = 'a.example.org'; $pool[1] = 'b.example.org';",
        "@old = ('a.example.org'); @pool = (@old, 'b.example.org');",
        "@pool = <<EOT =~ /\\S+/g;\nEOT\n@hosts = ('a.example.org', 'b.example.org');",
        "foreach $host ('a.example.org', 'b.example.org') { print $host; }",
        "open(R, 'rup a.example.org b.example.org |');\n# [probe] goes\n"}) {
    std::string made = settings(script);
    if (const std::size_t probe = made.find("[probe]"); probe != std::string::npos) made.resize(probe);
    EXPECT_EQ(made, hosts) << script;
  }
}

TEST(Import, ReadsPortsHoweverTheyAreGiven) {
  const std::string hosts =
      "script = /cgi-bin/mapserv\nhost = a http://a.example.org:8080\nhost = b http://b.example.org:81\n";
  for (const std::string_view script :
       {"@pool = ('a.example.org:8080', 'b.example.org:81');", "@pool = ('a.example.org', 8080, 'b.example.org', 81);",
        "%pool = ('a.example.org', 8080, 'b.example.org' => 81);",
        "@pool = qw(a b); $domain = 'example.org'; @ports = (8080, 81);",
        "@pool = qw(a b); $domain = 'example.org'; %port = (a => 8080, b => 81);",
        "@pool = qw(a b); $domain = 'example.org'; $port{a} = 8080; $port{'b'} = 81;",
        "@pool = qw(a b); $domain = 'example.org'; $port = 81; %ports = (a => 8080);",
        "@pool = ({host => 'a.example.org', port => 8080}, {host => 'b.example.org', port => 81});",
        "@pool = (['a.example.org', 8080], ['b.example.org', 81]);",
        "%hosts = (a => 'a.example.org:8080', b => 'http://b.example.org:81/');",
        "%hosts = ('a.example.org' => {port => 8080}, 'b.example.org' => {port => 81});"}) {
    EXPECT_EQ(settings(script), hosts) << script;
  }
}

TEST(Import, ReadsDomainPortAndScriptOutOfTheUrl) {
  const std::string hosts =
      "script = /gis/mapserv\nhost = a https://a.example.org:8443\nhost = b https://b.example.org:8443\n";
  const std::string pool = "@pool = qw(a b);\n";
  for (const std::string_view script :
       {"print \"Location: https://$host.example.org:8443/gis/mapserv?$q\\n\\n\";",
        "print 'Location: https://' . $host . '.example.org:8443/gis/mapserv?' . $q;",
        "printf(\"Location: https://%s.example.org:%d/gis/mapserv?%s\\n\\n\", $host, 8443, $q);",
        "$domain = 'example.org'; $port = 8443; print $q->redirect(-uri => "
        "\"https://$h.$domain:$port/gis/mapserv?$q\");",
        "$cgi = '/gis/mapserv'; $proto = 'https'; $port = 8443; print \"Location: $proto://$h.example.org$cgi?$q\";",
        "print <<EOT;\nLocation: https://$host.example.org:8443/gis/mapserv?$ENV{'QUERY_STRING'}\n\nEOT\n"}) {
    EXPECT_EQ(settings(pool + std::string(script)), hosts) << script;
  }
}

TEST(Import, ASubstitutionNamesTheScript) {
  const std::string pool = "@pool = qw(a.example.org); $url = $q->self_url;\n";
  EXPECT_TRUE(has_line(settings(pool + "$url =~ s/balance\\.pl/mapserv/;"), "script = /cgi-bin/mapserv"));
  EXPECT_TRUE(has_line(settings(pool + "$url =~ s|/cgi/balance.pl|/cgi/mapserv.exe|;"), "script = /cgi/mapserv.exe"));
  EXPECT_TRUE(has_line(settings(pool + "$url =~ s{balance.pl} {mapserv50};"), "script = /cgi-bin/mapserv50"));
}

TEST(Import, WeightsComeAlong) {
  EXPECT_TRUE(has_line(settings("@pool = qw(a.example.org b.example.org); %weights = ('a.example.org' => 2);"),
                       "host = a http://a.example.org weight=2"));
}

TEST(Import, TheLastOfTwoTopLevelValuesCounts) {
  EXPECT_TRUE(has_line(settings("$domain = 'old.example.org';\n$domain = 'example.org';\n@pool = ('a');"),
                       "host = a http://a.example.org"));
}

TEST(Import, CommentsPodAndWhatFollowsTheEndAreNoScript) {
  const std::string made = settings(
      "=head1 NAME\n\n@pool = ('wrong');\n\n=cut\n# @pool = ('wrong');\n@pool = ('a.example.org', # 'wrong',\n"
      "'b.example.org');\n__END__\n@pool = ('wrong');\n");
  EXPECT_EQ(made, "script = /cgi-bin/mapserv\nhost = a http://a.example.org\nhost = b http://b.example.org\n");
}

TEST(Import, CarriageReturnsDoNotMatter) {
  EXPECT_EQ(settings("@pool = (\r\n'a.example.org',\r\n'b.example.org'\r\n);\r\n"),
            "script = /cgi-bin/mapserv\nhost = a http://a.example.org\nhost = b http://b.example.org\n");
}

TEST(Import, APoolMadeAtRunTimeIsADoubt) {
  const Imported made = import_of("\nopen(P, '/etc/pool');\n@pool = <P>;\n");
  EXPECT_EQ(made.doubts,
            (std::vector<std::string>{
                "b.pl: no list of hosts was found; wanted one, as @pool = ('pinchot', 'leopold');",
                "b.pl:3: @pool is made while the script runs; wanted a list of hosts, as ('pinchot', 'leopold')"}));
}

TEST(Import, DoubtsNameFileLineFoundAndWanted) {
  const auto doubts = [](std::string_view script) { return import_of(script).doubts; };
  using List = std::vector<std::string>;
  EXPECT_EQ(doubts("@pool = ('a.example.org',\n 'b c');"), List{"b.pl:2: @pool has 'b c'; wanted a host's name"});
  EXPECT_EQ(doubts("@pool = ('a.example.org',\n $extra);"),
            List{"b.pl:2: @pool has what is known only when the script runs; wanted a host's name"});
  EXPECT_EQ(doubts("@pool = ('a.example.org');\n$port = 99999;"),
            List{"b.pl:2: $port is '99999'; wanted a port, 1 to 65535"});
  EXPECT_EQ(doubts("@pool = qw(a.example.org b.example.org);\n@ports = (80, 81, 82);"),
            List{"b.pl:2: @ports has 3 values; wanted 2, as many as @pool has hosts"});
  EXPECT_EQ(doubts("@pool = ('a.example.org');\n@servers = ('z.example.org');\n@pool = (@pool);"),
            List{"b.pl:2: @servers has hosts that @pool has not: z.example.org; wanted one list, @pool was taken"});
  EXPECT_EQ(doubts("@pool = ('a.example.org', 'localhost');"),
            List{"b.pl:1: found the host 'localhost'; wanted a name that clients can reach: to them it is their own "
                 "machine"});
  EXPECT_EQ(doubts("@pool = ('a.example.org');\n$x = 'no end"),
            List{"b.pl:2: ''' has no end; wanted '''; what follows was not read"});
}

TEST(Import, ARuleByTimeOrByWhoAsksIsNotLostSilently) {
  const Imported found = import_of(
      "@pool = ('a.example.org', 'b.example.org');\n"
      "@t = localtime(time);\n"
      "if ($t[6] == 5) { $host = 'a.example.org'; }\n"
      "if ($ENV{'REMOTE_ADDR'} =~ /^10\\./) { $host = 'b.example.org'; }\n"
      "print LOG \"$ENV{QUERY_STRING}\";\n");
  EXPECT_TRUE(has_line(found.conf,
                       "#   b.pl:2: localtime is asked: rules by time have no counterpart here; cron does it with "
                       "'balancectl drain HOST --for 2h' or 'balancectl weight'"))
      << found.conf;
  EXPECT_TRUE(has_line(found.conf, "#   b.pl:4: REMOTE_ADDR is asked: rules by who asks have no counterpart here"))
      << found.conf;
  EXPECT_EQ(found.conf.find("QUERY_STRING"), std::string::npos);
}

TEST(Import, AVariableThatChangesIsNotTakenForItsFirstValue) {
  // $host is "" at first, and a host later: the URL's host is no name.
  EXPECT_TRUE(has_line(settings("$host = '';\n@pool = qw(a b);\nforeach $h (@pool) { $host = $h; }\n"
                                "print \"Location: http://$host.example.org/cgi-bin/mapserv?$q\";"),
                       "host = a http://a.example.org"));
}

TEST(Import, ACopyInLaterPerlIsReadToo) {
  const Imported made = import_of(R"pl(#!/usr/bin/perl -w
use strict;
use CGI qw(:standard);
my %machines = (
   'pinchot' => 80,     # sparc 20
   leopold   => 8080,
   "darwin"  => '8081',
);
my $domain = '.dnr.example.us';
my $mapserv = "/cgi-bin/mapserv_ssl";
my ($minload, $minhost) = (1000, '');
foreach my $machine (sort keys %machines) {
    my $load = `/usr/ucb/rup $machine$domain`;
    my @l = split(/,/, $load);
    if ($l[0] < $minload) { $minload = $l[0]; $minhost = $machine; }
}
my $query = $ENV{'QUERY_STRING'};
print redirect("http://" . $minhost . $domain . ":" . $machines{$minhost} . $mapserv . "?" . $query);
)pl");
  EXPECT_EQ(settings_of(made.conf),
            "script = /cgi-bin/mapserv_ssl\n"
            "host = pinchot http://pinchot.dnr.example.us\n"
            "host = leopold http://leopold.dnr.example.us:8080\n"
            "host = darwin http://darwin.dnr.example.us:8081\n"
            "[probe]\n"
            "kind = rstat\n");
  EXPECT_EQ(made.doubts, std::vector<std::string>{});
}

TEST(Import, WhatOnlyTheRunningScriptKnowsIsADoubt) {
  const Imported made = import_of(
      "require \"/etc/gis/pool.pl\";\n@pool = ('alpha', 'beta');\n"
      "if ($ENV{HTTPS} eq 'on') { $port = 443; } else { $port = 80; }\n"
      "$domain = `dnsdomainname`; chomp $domain;\n"
      "print \"Location: http://$min.$domain:$port/cgi-bin/mapserv?$ENV{'QUERY_STRING'}\\n\\n\";\n");
  EXPECT_EQ(made.doubts,
            (std::vector<std::string>{"b.pl:1: what '/etc/gis/pool.pl' says was not read; wanted all in one script",
                                      "b.pl:3: $port is '443' first and changes later; the first was taken",
                                      "b.pl:4: $domain is made while the script runs; wanted a domain, as "
                                      "'example.org'"}));
}

TEST(Import, OfOneNameTwiceOneIsTaken) {
  const std::string conf = import_of("@pool = ('a.example.org', 'a.example.org', 'a.example.com');").conf;
  EXPECT_EQ(settings_of(conf),
            "script = /cgi-bin/mapserv\nhost = a http://a.example.org\nhost = a.example.com http://a.example.com\n");
  EXPECT_TRUE(has_line(conf, "#   b.pl:1: 'a.example.org' is named twice and was taken once")) << conf;
}

TEST(Import, AddressesAreHostsToo) {
  EXPECT_EQ(settings("@pool = ('10.0.0.1', '10.0.0.2:8080', '[2001:db8::7]:80'); $domain = 'example.org';"),
            "script = /cgi-bin/mapserv\nhost = 10.0.0.1 http://10.0.0.1\nhost = 10.0.0.2 http://10.0.0.2:8080\n"
            "host = 2001-db8--7 http://[2001:db8::7]\n");
}

TEST(Import, NothingGetsOutOfAComment) {
  const std::string conf =
      import_of(
          "@pool = ('a.example.org',\n \"x\\nhost = evil http://evil.example.org\");\n$note = \"y\\nmode = relay\";")
          .conf;
  EXPECT_EQ(settings_of(conf), "script = /cgi-bin/mapserv\nhost = a http://a.example.org\n");
  const Imported named = imported(pool_of(script_of("@pool = ('a b');")), "b\nhost = evil http://evil.example.org");
  EXPECT_EQ(settings_of(named.conf), "script = /cgi-bin/mapserv\n");
}

TEST(Import, AControlByteOfTheScriptIsNotWrittenIntoTheConfiguration) {
  const Imported made = import_of("use constant HOSTS => qw\b a.example.org b.example.org");
  EXPECT_TRUE(has_line(made.conf, "#   b.pl:1: '?' has no end; wanted '?'; what follows was not read")) << made.conf;
  EXPECT_EQ(made.conf.find('\b'), std::string::npos);
  const Imported noted = import_of("@pool = ('a.example.org');\n$\x06 = (1, 2);\n");
  EXPECT_EQ(noted.conf.find('\x06'), std::string::npos) << noted.conf;
}

TEST(Import, AHostThatIsNamedTwiceIsOneHostAndADoubt) {
  const Imported made = import_of("@pool = ('leopold', 'darwin',\n 'leopold:80');\n$domain = 'example.org';\n");
  EXPECT_EQ(settings_of(made.conf),
            "script = /cgi-bin/mapserv\nhost = leopold http://leopold.example.org\nhost = darwin "
            "http://darwin.example.org\n");
  ASSERT_EQ(made.doubts.size(), 1U);
  EXPECT_EQ(made.doubts.front(),
            "b.pl:2: found 'leopold' once more; wanted every host once: if that gave it more requests, say weight=2");
}

TEST(Import, EveryTruncationGivesAConfigurationThatCanBeRead) {
  for (std::size_t i = 0; i <= kOld.size(); ++i) {
    const Imported made = import_of(kOld.substr(0, i));
    const bool has_host = settings_of(made.conf).find("host = ") != std::string::npos;
    const base::Result<Config> config = parse_config(made.conf, "made");
    EXPECT_EQ(static_cast<bool>(config), has_host) << i << "\n" << made.conf;
  }
}

TEST(Import, HostileTextEndsSoon) {
  std::string deep;
  for (int i = 0; i < 12000; ++i) deep += "@pool=([{(";
  std::string doubled = "@a=('a.example.org','b.example.org');$s='abcdefgh';";
  for (int i = 0; i < 2000; ++i) doubled += "@a=(@a,@a);$s=\"$s$s\";$r=[$r,$r];push @a,@a;";
  const std::string backslashes(100000, '\\');
  std::string all_bytes;
  for (int i = 0; i < 256 * 40; ++i) all_bytes += static_cast<char>(i * 7);
  for (const std::string& text : {deep, doubled, "\"" + backslashes, all_bytes, std::string(100000, '$'),
                                  std::string(100000, '{'), std::string(50000, '<'), "qw" + std::string(100000, '(')}) {
    const Imported made = import_of(text);
    EXPECT_FALSE(made.conf.empty());
  }
}

TEST(Tokens, TellPatternsFromDivisions) {
  const Tokens tokens = tokens_of("$a / 2; if ($b =~ /x'y/) { split /,/, $c; }\n@pool = ('a');");
  EXPECT_EQ(tokens.fault, "");
  EXPECT_EQ(tokens.list[1].kind, Kind::mark);
  EXPECT_EQ(tokens.list.back().text, ";");
}

}  // namespace
}  // namespace balance::perl
