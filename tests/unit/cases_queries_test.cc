// SPDX-License-Identifier: MIT
// Real query strings, one a line: what the client asked is what the host is asked.
#include <fstream>
#include <map>

#include "tests/unit/requests.h"

namespace balance {
namespace {

std::vector<std::string> real_queries() {
  std::ifstream file("tests/data/queries.txt");
  std::vector<std::string> queries;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && !line.starts_with("# ")) queries.push_back(line);
  }
  return queries;
}

bool has_only_legal_bytes(std::string_view query) {
  return query.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?[]@!$&'()*+,;=%") ==
         std::string_view::npos;
}

std::string query_of(const std::string& location) {
  const std::size_t mark = location.find('?');
  return mark == std::string::npos ? "" : location.substr(mark + 1);
}

TEST(RealQueries, AreThere) { EXPECT_GT(real_queries().size(), 150U); }

TEST(RealQueries, ArriveAsTheyWereSent) {
  for (const std::string& query : real_queries()) {
    const std::string sent_on = query_of(location_of(get(query)));
    EXPECT_EQ(percent_decoded(sent_on), percent_decoded(query));
    if (has_only_legal_bytes(query)) {
      EXPECT_EQ(sent_on, query);
    } else {
      EXPECT_TRUE(has_only_legal_bytes(sent_on)) << sent_on;
    }
  }
}

TEST(RealQueries, AreAllClassedAndRedirectedOnOneLine) {
  std::map<std::string_view, int> classes;
  for (const std::string& query : real_queries()) {
    const Request request = request_of(get(query));
    EXPECT_NE(request.why, "") << query;
    ++classes[name_of(request.class_)];
    const std::string reply = redirected(get(query));
    const std::string head = reply.substr(0, reply.find("\r\n\r\n"));
    EXPECT_EQ(std::count(head.begin(), head.end(), '\n'), 6) << head;
  }
  for (const char* usual : {"image", "data", "page", "document"}) EXPECT_GT(classes[usual], 0) << usual;
  for (const char* never : {"options", "body", "artifact", "private"}) EXPECT_EQ(classes[never], 0) << never;
}

TEST(RealQueries, TruncatedAnywhereAreStillClassed) {
  const std::vector<std::string> queries = real_queries();
  for (std::size_t i = 0; i < queries.size(); i += 10) {
    for (std::size_t length = 0; length < queries[i].size(); length += 3) {
      const std::string part = queries[i].substr(0, length);
      EXPECT_EQ(percent_decoded(query_of(location_of(get(part)))), percent_decoded(part));
    }
  }
}

}  // namespace
}  // namespace balance
