// SPDX-License-Identifier: MIT
// Each class with many members of its kind.
#include "balance/ground/class.h"

#include "tests/unit/requests.h"

namespace balance {
namespace {

void expect_all(Class wanted, std::initializer_list<std::string_view> queries) {
  for (const std::string_view query : queries) {
    const Request request = request_of(get(query));
    EXPECT_EQ(name_of(request.class_), name_of(wanted)) << query << ": " << request.why;
  }
}

TEST(Class, MapsAndLegendsAreImages) {
  expect_all(Class::image, {
                               "map=A&SERVICE=WMS&REQUEST=GetMap&LAYERS=x",
                               "map=A&REQUEST=GetMap&VERSION=1.1.1",  // mapserv asks for no SERVICE here
                               "service=wms&request=getmap",
                               "Service=Wms&Request=GETMAP",
                               "SERVICE=WMS&REQUEST=G%65tMap",
                               "REQUEST=map&WMTVER=1.0.0",  // WMS 1.0
                               "SERVICE=WMS&REQUEST=GetLegendGraphic&LAYER=x",
                               "REQUEST=GetLegendGraphic&VERSION=1.1.1",
                               "mode=map&layers=all",
                               "MODE=MAP",
                               "mode=tile&tilemode=gmap&tile=1+1+1",
                               "mode=legend",
                               "mode=legendicon&icon=x",
                               "mode=maplegend",
                               "mode=maplegendicon&icon=x",
                               "mode=scalebar",
                               "mode=reference",
                           });
}

TEST(Class, FeaturesAndCoveragesAreData) {
  expect_all(Class::data, {
                              "SERVICE=WFS&VERSION=1.0.0&REQUEST=GetFeature&TYPENAME=x",
                              "SERVICE=WFS&VERSION=1.1.0&REQUEST=GetFeature&TYPENAME=x&MAXFEATURES=10",
                              "SERVICE=WFS&VERSION=1.1.0&REQUEST=GetFeature&TYPENAME=x&STARTINDEX=10",
                              "SERVICE=WFS&VERSION=2.0.0&REQUEST=GetFeature&TYPENAMES=x",
                              "service=wfs&version=2.0.0&request=getpropertyvalue&valuereference=y",
                              "REQUEST=GetFeature&TYPENAME=x",
                              "SERVICE=WCS&VERSION=1.0.0&REQUEST=GetCoverage&COVERAGE=x",
                              "SERVICE=WCS&VERSION=2.0.1&REQUEST=GetCoverage&COVERAGEID=x",
                              "SERVICE=SOS&REQUEST=GetObservation",
                              "SERVICE=WMS&REQUEST=GetFeatureInfo&QUERY_LAYERS=x",
                              "REQUEST=GetFeatureInfo&VERSION=1.1.1",
                              "REQUEST=feature_info&WMTVER=1.0.0",
                          });
}

TEST(Class, WhatNamesItsServerIsADocument) {
  expect_all(Class::document, {
                                  "SERVICE=WMS&REQUEST=GetCapabilities",
                                  "service=WFS&request=getcapabilities",
                                  "REQUEST=GetCapabilities",
                                  "REQUEST=capabilities&WMTVER=1.0.0",
                                  "SERVICE=WFS&REQUEST=DescribeFeatureType",
                                  "SERVICE=WMS&REQUEST=DescribeLayer",
                                  "SERVICE=WCS&REQUEST=DescribeCoverage",
                                  "SERVICE=WMS&REQUEST=GetStyles",
                                  "SERVICE=WMS&REQUEST=GetSchemaExtension",
                                  "SERVICE=WFS&REQUEST=ListStoredQueries",
                                  "SERVICE=WFS&REQUEST=DescribeStoredQueries",
                                  "SERVICE=SOS&REQUEST=DescribeSensor",
                                  "SERVICE=WMS",
                                  "SERVICE=",
                                  "REQUEST=",
                                  "mode=ows&SERVICE=WMS&REQUEST=GetCapabilities",
                                  "mode=ows",
                                  "mode=wfs&REQUEST=DescribeFeatureType",
                              });
}

TEST(Class, OperationsThatNoServiceHasAreDocuments) {
  expect_all(Class::document, {
                                  "SERVICE=WMS&REQUEST=GetMaps",
                                  "SERVICE=WMS&REQUEST=GetMpa",
                                  "SERVICE=WMS&REQUEST=GetMap%20",
                                  "SERVICE=WMTS&REQUEST=GetTile",
                                  "SERVICE=WFS&REQUEST=GetMap",
                                  "SERVICE=WMS&REQUEST=GetFeature",
                                  "SERVICE=WCS&REQUEST=GetObservation",
                                  "SERVICE=WFS&REQUEST=GetFeatureWithLock",
                                  "SERVICE=WFS&REQUEST=Transaction",
                                  "SERVICE=WMS&GetMap",
                                  "SERVICE=WMS&REQUESTS=GetMap",
                              });
}

TEST(Class, PagedFeaturesOfWfs2AreDocuments) {
  expect_all(Class::document, {
                                  "SERVICE=WFS&VERSION=2.0.0&REQUEST=GetFeature&TYPENAMES=x&COUNT=10",
                                  "SERVICE=WFS&VERSION=2.0.2&REQUEST=GetFeature&TYPENAMES=x&startIndex=10",
                                  "service=wfs&version=2.0.0&request=getfeature&count=10&startindex=20",
                                  "SERVICE=WFS&VERSION=2.0.0&REQUEST=GetFeature&MAXFEATURES=10",
                                  "SERVICE=WFS&VERSION=2.0.0&REQUEST=GetPropertyValue&COUNT=10",
                                  "SERVICE=WFS&REQUEST=GetFeature&COUNT=10",
                                  "REQUEST=GetFeature&VERSION=2.0.0&COUNT=10",
                              });
}

TEST(Class, PagedFeaturesAreDataWhereHostsCarryThePublicUrl) {
  const Config config = config_of("onlineresource = set\n");
  EXPECT_EQ(class_of(get("SERVICE=WFS&VERSION=2.0.0&REQUEST=GetFeature&COUNT=10"), config), Class::data);
  EXPECT_EQ(class_of(get("SERVICE=WFS&VERSION=2.0.0&REQUEST=GetCapabilities"), config), Class::document);
}

TEST(Class, BrowsingAndQueriesArePages) {
  expect_all(Class::page, {
                              "",
                              "map=A",
                              "map=A&layers=x&zoom=2",
                              "mode=browse",
                              "MODE=Browse&service=WMS",
                              "mode=zoomin",
                              "mode=zoomout",
                              "mode=coordinate",
                              "mode=query",
                              "mode=nquery&qformat=image/png",
                              "mode=itemquery",
                              "mode=itemnquery",
                              "mode=featurequery",
                              "mode=featurenquery",
                              "mode=itemfeaturequery",
                              "mode=itemfeaturenquery",
                              "mode=indexquery",
                              "mode=querymap",
                              "mode=nquerymap",
                              "mode=indexquerymap",
                              "mode=processing",
                              "mode=",
                              "mode",
                              "template=x",
                              "querymap=true",
                              "qformat=geojson",
                              "id=1&zoom=2",
                              "map=A;service=WMS;request=GetMap",
                          });
}

TEST(Class, AModeIsObeyedWhateverServiceAndRequestSay) {
  EXPECT_EQ(class_of("SERVICE=WFS&REQUEST=GetCapabilities&mode=map"), Class::image);
  EXPECT_EQ(class_of("REQUEST=GetMap&mode=browse"), Class::page);
  EXPECT_EQ(class_of("mode=map&mode=browse"), Class::image);  // the first counts
  EXPECT_EQ(class_of("mode=unheard-of&SERVICE=WMS&REQUEST=GetCapabilities"), Class::document);
}

TEST(Class, TheFirstRequestOfSeveralCounts) {
  EXPECT_EQ(class_of("SERVICE=WMS&REQUEST=GetMap&REQUEST=GetCapabilities"), Class::image);
  EXPECT_EQ(class_of("SERVICE=WMS&REQUEST=GetCapabilities&request=GetMap"), Class::document);
}

TEST(Class, PathInfoWithMoreThanAMapIsOgcApi) {
  RawRequest raw = get("f=json");
  for (const std::string path :
       {"/world/ogcapi", "/world/ogcapi/collections/cities/items", "/ogcapi/collections", "//a//b"}) {
    const std::string uri = "/cgi-bin/mapserv" + path;
    raw.request_uri = uri;
    raw.path_info = path;
    EXPECT_EQ(class_of(raw), Class::document) << path;
    raw.query_string = "REQUEST=GetMap";
    EXPECT_EQ(class_of(raw), Class::document) << path;
  }
}

TEST(Class, PathInfoWithAMapAloneGoesByTheQuery) {
  RawRequest raw = get("SERVICE=WMS&REQUEST=GetMap");
  raw.request_uri = "/cgi-bin/mapserv/world?SERVICE=WMS&REQUEST=GetMap";
  raw.path_info = "/world";
  EXPECT_EQ(class_of(raw), Class::image);
  raw.query_string = "";
  EXPECT_EQ(class_of(raw), Class::document);
  raw.query_string = "mode=browse";
  EXPECT_EQ(class_of(raw), Class::page);
}

TEST(Class, OptionsComesFirstAndBodiesSecond) {
  EXPECT_EQ(class_of(with_method("OPTIONS", "SERVICE=WMS&REQUEST=GetMap")), Class::options);
  EXPECT_EQ(class_of(with_method("OPTIONS", "")), Class::options);
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "PROPFIND", "TRACE", "get", "Options", "M-SEARCH"}) {
    EXPECT_EQ(class_of(with_method(method, "SERVICE=WMS&REQUEST=GetMap")), Class::body) << method;
  }
  RawRequest secret = with_method("POST", "");
  secret.authorization = "Basic eA==";
  EXPECT_EQ(class_of(secret), Class::body);
}

TEST(Class, HeadIsClassedAsTheGetOfItsQuery) {
  EXPECT_EQ(class_of(with_method("HEAD", "REQUEST=GetMap")), Class::image);
  EXPECT_EQ(class_of(with_method("HEAD", "REQUEST=GetCapabilities")), Class::document);
  EXPECT_EQ(class_of(with_method("HEAD", "")), Class::page);
}

TEST(Class, CredentialsMakeARequestPrivate) {
  RawRequest raw = get("REQUEST=GetMap");
  raw.authorization = "Basic eA==";
  EXPECT_EQ(class_of(raw), Class::private_);
  raw.query_string = "REQUEST=GetCapabilities";
  EXPECT_EQ(class_of(raw), Class::private_);
  raw.authorization = " ";
  EXPECT_EQ(class_of(raw), Class::document);
}

TEST(Class, OnlyNamedCookiesMakeARequestPrivate) {
  RawRequest raw = get("REQUEST=GetMap");
  for (const char* cookie :
       {"PHPSESSID=1", "a=b; JSESSIONID=1", "a=b;ASP.NET_SessionId=", " PHPSESSID = 1", "a=\"x\"; PHPSESSID=\"1\""}) {
    raw.cookie = cookie;
    EXPECT_EQ(class_of(raw), Class::private_) << cookie;
  }
  for (const char* cookie : {"", ";", "a=PHPSESSID", "phpsessid=1", "XPHPSESSID=1", "PHPSESSID2=1", "a=b PHPSESSID=1",
                             "PHPSESSID", "_ga=1; theme=dark", "a=\"PHPSESSID=1\"", "PHPSESSID%3D1=2"}) {
    raw.cookie = cookie;
    EXPECT_EQ(class_of(raw), Class::image) << cookie;
  }
}

TEST(Class, PrivateCookiesCanBeNamedOrNone) {
  RawRequest raw = get("REQUEST=GetMap");
  raw.cookie = "PHPSESSID=1";
  EXPECT_EQ(class_of(raw, config_of("private-cookies = none\n")), Class::image);
  EXPECT_EQ(class_of(raw, config_of("private-cookies = login\n")), Class::image);
  raw.cookie = "login=1";
  EXPECT_EQ(class_of(raw, config_of("private-cookies = other, login\n")), Class::private_);
}

TEST(Class, ArtifactsAreWhatLiesBelowTheirPrefixes) {
  const Config config = config_of("artifact-prefixes = /tmp /ms_img/\n");
  const auto of = [&config](std::string_view path) {
    RawRequest raw = get("");
    raw.request_uri = path;
    raw.script_name = path;
    return class_of(raw, config);
  };
  EXPECT_EQ(of("/tmp/world17.png"), Class::artifact);
  EXPECT_EQ(of("/t%6dp/world17.png"), Class::artifact);
  EXPECT_EQ(of("/ms_img/a/b.png"), Class::artifact);
  EXPECT_EQ(of("/tmpfile"), Class::page);
  EXPECT_EQ(of("/ms_img"), Class::page);
  EXPECT_EQ(of("/x/tmp/world17.png"), Class::page);
  EXPECT_EQ(of("/tmp/../cgi-bin/mapserv"), Class::page);
  EXPECT_EQ(of("/tmp/%2e%2E/cgi-bin/mapserv"), Class::page);
}

TEST(Class, ALongLocationIsMeasuredWithTheLongestPublicUrl) {
  const Config config = config_of(
      "long-location = 300\n", "host = a http://a.example.org\nhost = b http://a-much-longer-name.example.org:8080\n");
  const std::string longest = "http://a-much-longer-name.example.org:8080/cgi-bin/mapserv";
  const std::string query = "mode=map&x=" + std::string(300 - longest.size() - 1 - 11, 'y');
  EXPECT_EQ(class_of(get(query), config), Class::image);
  EXPECT_EQ(class_of(get(query + "y"), config), Class::long_);
  EXPECT_EQ(class_of(get(query.substr(0, query.size() - 1) + "<"), config), Class::long_);  // three bytes once encoded
}

TEST(Class, ALongDocumentStaysADocument) {
  EXPECT_EQ(class_of("REQUEST=GetCapabilities&x=" + std::string(9000, 'y')), Class::document);
  EXPECT_EQ(class_of("mode=browse&x=" + std::string(9000, 'y')), Class::long_);
}

TEST(Class, WhatAScriptIsToReadIsCors) {
  for (const char* query : {"REQUEST=GetMap", "REQUEST=GetFeature", "mode=browse", ""}) {
    RawRequest raw = get(query);
    raw.origin = "https://gis.example.org";
    EXPECT_EQ(class_of(raw), Class::cors) << query;
    EXPECT_EQ(request_of(raw).why, "Origin");
    raw.origin = "null";
    EXPECT_EQ(class_of(raw), Class::cors) << query;
  }
}

TEST(Class, AScriptOfTheBalancersOwnOriginIsKnownByItsFetchMode) {
  const auto of = [](std::string_view mode, std::string_view origin) {
    RawRequest raw = get("REQUEST=GetMap");
    raw.sec_fetch_mode = mode;
    raw.origin = origin;
    return class_of(raw);
  };
  EXPECT_EQ(of("cors", ""), Class::cors);
  EXPECT_EQ(of("same-origin", ""), Class::cors);
  EXPECT_EQ(of("cors", "https://gis.example.org"), Class::cors);
  // Pictures and pages are shown wherever they come from.
  EXPECT_EQ(of("no-cors", ""), Class::image);
  EXPECT_EQ(of("navigate", ""), Class::image);
  EXPECT_EQ(of("navigate", "https://gis.example.org"), Class::image);
  EXPECT_EQ(of("nonsense", ""), Class::image);
}

TEST(Class, AScriptOfTheBalancersOwnOriginOnPlainHttpIsKnownByWhatItAccepts) {
  const auto of = [](std::string_view referer, std::string_view accept) {
    RawRequest raw = get("REQUEST=GetFeature");
    raw.host = "maps.example.org:8080";
    raw.referer = referer;
    raw.accept = accept;
    return class_of(raw);
  };
  constexpr std::string_view kOwn = "http://maps.example.org:8080/viewer/?x=http://other.example.org/";
  EXPECT_EQ(of(kOwn, "*/*"), Class::cors);
  EXPECT_EQ(of("http://MAPS.example.org:8080", "application/json, text/plain, */*"), Class::cors);
  EXPECT_EQ(of("https://maps.example.org:8080/", "*/*"), Class::cors);
  EXPECT_EQ(of(kOwn, "image/avif,image/webp,*/*;q=0.8"), Class::data);
  EXPECT_EQ(of(kOwn, "Text/HTML,application/xhtml+xml,*/*;q=0.8"), Class::data);
  RawRequest behind_proxy = get("REQUEST=GetFeature");
  behind_proxy.host = "10.0.0.1";
  behind_proxy.referer = "https://maps.example.org/viewer";
  behind_proxy.accept = "*/*";
  EXPECT_EQ(class_of(behind_proxy), Class::data);
  EXPECT_EQ(class_of(behind_proxy, config_of("public-url = https://maps.example.org\n")), Class::cors);
  // Programs that are no browsers.
  EXPECT_EQ(of(kOwn, ""), Class::data);
  EXPECT_EQ(of("", "*/*"), Class::data);
  for (const std::string_view other : {"http://maps.example.org/", "http://maps.example.org:8080.example.com/",
                                       "maps.example.org:8080", "://", "http://"})
    EXPECT_EQ(of(other, "*/*"), Class::data) << other;
}

TEST(Class, CorsComesAfterWhatIsRelayedForAnotherReason) {
  RawRequest raw = get("REQUEST=GetCapabilities");
  raw.origin = "https://gis.example.org";
  EXPECT_EQ(class_of(raw), Class::document);
  raw.query_string = "mode=map&id=17";
  EXPECT_EQ(class_of(raw), Class::cors);
  EXPECT_TRUE(request_of(raw).is_page_follow_up);
  EXPECT_EQ(request_of(raw).content, Class::image);
  raw.cookie = "JSESSIONID=1";
  EXPECT_EQ(class_of(raw), Class::private_);
  raw.method = "POST";
  EXPECT_EQ(class_of(raw), Class::body);
  raw.method = "OPTIONS";
  EXPECT_EQ(class_of(raw), Class::options);
}

TEST(Class, FollowUpsOfAPageAreKnown) {
  const auto follows = [](std::string_view query) { return request_of(get(query)).is_page_follow_up; };
  for (const char* query : {"mode=browse&id=1796016566374", "ID=17&zoom=2", "mode=map&queryfile=/tmp/17.qy",
                            "mode=query&savequery=true", "savequery", "mode=nquery&SaveQuery=false"}) {
    EXPECT_TRUE(follows(query)) << query;
  }
  for (const char* query :
       {"", "mode=browse", "id=", "queryfile=", "SERVICE=WMS&REQUEST=GetMap&id=17", "identity=17"}) {
    EXPECT_FALSE(follows(query)) << query;
  }
}

TEST(Class, SaysWhy) {
  EXPECT_EQ(request_of(get("service=wms&request=getmap")).why, "request=GetMap");
  EXPECT_EQ(request_of(get("SERVICE=WMS&REQUEST=Get<Map>")).why, "request='Get<Map>' of wms");
  EXPECT_EQ(request_of(get("SERVICE=WFS&REQUEST=GetFeature&VERSION=2.0.0&COUNT=1")).why,
            "request=GetFeature with count: its next link names the host");
  EXPECT_EQ(request_of(get("MODE=Tile")).why, "mode=tile");
  EXPECT_EQ(request_of(get("mode=%1B[31m")).why, "unknown mode='\\x1B[31m'");
  EXPECT_EQ(request_of(get("map=A")).why, "no mode");
  EXPECT_EQ(request_of(get("mode=map&x=" + std::string(5000, 'x'))).why, "Location of 5059 bytes");
}

TEST(Class, HasANameForEach) {
  std::string names;
  for (std::size_t i = 0; i < kClasses; ++i) names.append(name_of(static_cast<Class>(i))).append(" ");
  EXPECT_EQ(names, "options body artifact private document long cors image data page ");
}

}  // namespace
}  // namespace balance
