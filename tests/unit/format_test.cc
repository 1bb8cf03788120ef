// SPDX-License-Identifier: MIT
#include "balance/ground/format.h"

#include <gtest/gtest.h>

#include <string>

namespace balance {
namespace {

Format of(std::string_view query) { return asked_format({.query = query}); }

TEST(AskedFormat, IsAPageForPeople) {
  for (const char* query : {"", "map=WORLD&mode=browse", "mode=map&layers=a", "mode=nquery&mapxy=1+2", "x=y",
                            "service=", "service=foo&request=GetMap", "%00", "&&=&=x&service"}) {
    EXPECT_EQ(of(query), Format::html) << query;
  }
}

TEST(AskedFormat, IsThatOfTheVersionOfWms) {
  EXPECT_EQ(of("SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap"), Format::wms_1_1);
  EXPECT_EQ(of("service=wms&version=1.1.0&request=getmap"), Format::wms_1_1);
  EXPECT_EQ(of("WMTVER=1.0.0&REQUEST=map"), Format::wms_1_1);
  EXPECT_EQ(of("SERVICE=WMS&VERSION=1.3.0&REQUEST=GetMap"), Format::wms_1_3);
  EXPECT_EQ(of("SERVICE=WMS&REQUEST=GetCapabilities"), Format::wms_1_3);
  EXPECT_EQ(of("VERSION=1.1.1&REQUEST=GetFeatureInfo"), Format::wms_1_1);
}

TEST(AskedFormat, IsThatOfTheVersionOfWfsWcsAndSos) {
  EXPECT_EQ(of("SERVICE=WFS&VERSION=1.0.0&REQUEST=GetFeature"), Format::wfs_1_0);
  EXPECT_EQ(of("SERVICE=WFS&VERSION=1.1.0&REQUEST=GetFeature"), Format::wfs_1_1);
  EXPECT_EQ(of("SERVICE=WFS&VERSION=2.0.0&REQUEST=GetFeature"), Format::wfs_2_0);
  EXPECT_EQ(of("SERVICE=WFS&REQUEST=GetCapabilities"), Format::wfs_2_0);
  EXPECT_EQ(of("SERVICE=WFS&REQUEST=GetCapabilities&ACCEPTVERSIONS=1.1.0,1.0.0"), Format::wfs_1_1);
  EXPECT_EQ(of("VERSION=1.0.0&REQUEST=DescribeFeatureType"), Format::wfs_1_0);
  EXPECT_EQ(of("SERVICE=WCS&VERSION=1.0.0&REQUEST=GetCoverage"), Format::wcs_1_0);
  EXPECT_EQ(of("SERVICE=WCS&VERSION=1.1.2&REQUEST=GetCoverage"), Format::wcs_1_1);
  EXPECT_EQ(of("SERVICE=WCS&VERSION=2.0.1&REQUEST=GetCoverage"), Format::wcs_2_0);
  EXPECT_EQ(of("SERVICE=SOS&REQUEST=GetObservation"), Format::sos_1_0);
}

TEST(AskedFormat, FollowsTheModeAsMapservDoes) {
  EXPECT_EQ(of("mode=map&SERVICE=WMS&REQUEST=GetMap"), Format::html);
  EXPECT_EQ(of("mode=ows&SERVICE=WMS&REQUEST=GetMap"), Format::wms_1_3);
  EXPECT_EQ(of("mode=wfs&version=1.1.0"), Format::wfs_1_1);
  EXPECT_EQ(of("mode=&SERVICE=WMS&REQUEST=GetMap"), Format::wms_1_3);
}

TEST(AskedFormat, IsADocumentWhereAPictureOfTheTroubleIsAsked) {
  for (const char* exceptions : {"BLANK", "INIMAGE", "application%2Fvnd.ogc.se_inimage", "XML", "text/javascript"}) {
    const std::string query = "SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&EXCEPTIONS=" + std::string(exceptions);
    EXPECT_EQ(of(query), Format::wms_1_1) << query;
  }
}

TEST(AskedFormat, IsJsonWhereThatIsAsked) {
  EXPECT_EQ(of("SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&EXCEPTIONS=application/json"), Format::json);
  EXPECT_EQ(of("SERVICE=WFS&VERSION=2.0.0&REQUEST=GetFeature&exceptions=JSON"), Format::json);
  EXPECT_EQ(of("mode=map&exceptions=JSON"), Format::html);
}

TEST(AskedFormat, OfTheOgcApiIsAProblemButForPeople) {
  EXPECT_EQ(asked_format({.path_info = "/WORLD/ogcapi"}), Format::problem);
  EXPECT_EQ(asked_format({.query = "f=json", .path_info = "/WORLD/ogcapi/collections"}), Format::problem);
  EXPECT_EQ(asked_format({.query = "f=html", .path_info = "/WORLD/ogcapi/collections"}), Format::html);
  EXPECT_EQ(asked_format({.query = "mode=map", .path_info = "/WORLD"}), Format::html);
}

TEST(AskedFormat, OfAPostedXmlDocumentIsXml) {
  EXPECT_EQ(asked_format({.content_type = "text/xml; charset=UTF-8"}), Format::wfs_1_1);
  EXPECT_EQ(asked_format({.content_type = " Application/XML"}), Format::wfs_1_1);
  EXPECT_EQ(asked_format({.query = "service=WFS&version=2.0.0", .content_type = "text/xml"}), Format::wfs_2_0);
  EXPECT_EQ(asked_format({.content_type = "application/x-www-form-urlencoded"}), Format::html);
}

}  // namespace
}  // namespace balance
