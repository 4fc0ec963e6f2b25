#include "common/net/endpoint.h"

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

TEST(Endpoint, HostAndPort) {
  HostPort a;
  ASSERT_TRUE(ParseHostPort("127.0.0.1:9410", &a).ok());
  EXPECT_EQ(a.host, "127.0.0.1");
  EXPECT_EQ(a.port, 9410);
  ASSERT_TRUE(ParseHostPort("[::1]:80", &a).ok());
  EXPECT_EQ(a.host, "::1");
  EXPECT_EQ(a.ToString(), "[::1]:80");
  for (const char* bad : {"", "host", ":1", "host:", "host:x", "host:70000", "::1:80", "host:-1"}) {
    EXPECT_FALSE(ParseHostPort(bad, &a).ok()) << bad;
  }
}

TEST(Endpoint, Loopback) {
  for (const char* here : {"127.0.0.1", "127.8.9.1", "::1", "localhost"})
    EXPECT_TRUE(IsLoopback(here)) << here;
  for (const char* away : {"0.0.0.0", "::", "10.1.2.3", "collector.example"})
    EXPECT_FALSE(IsLoopback(away)) << away;
}

TEST(Endpoint, TlsNeedsAllThreeFiles) {
  EXPECT_TRUE(CheckTlsFiles({}).ok());
  EXPECT_EQ(CheckTlsFiles({.ca = "/etc/hostname"}).message(), "tls needs all of ca, certificate and key");
  EXPECT_EQ(CheckTlsFiles({"/nonexistent/ca", "/nonexistent/c", "/nonexistent/k"}).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(CheckTlsFiles({"/proc/version", "/proc/version", "/proc/version"}).message(),
            "/proc/version is not a PEM file");
}

}  // namespace
}  // namespace fleetmark
