// The table of rules against what there is: every route of the router and every method of the service
// definitions has a rule, every rule is about something, and each role is tried on each route.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <httplib.h>

#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/access/access_control.h"
#include "collector/access/access_rules.h"
#include "collector/access/http_guard.h"
#include "collector/access/people_tokens.h"
#include "collector/promql/engine.h"
#include "collector/query/alert_api.h"
#include "collector/query/alert_http.h"
#include "collector/query/audit_api.h"
#include "collector/query/http_routes.h"
#include "collector/query/prometheus_routes.h"
#include "collector/query/query_api.h"
#include "collector/query/static_files.h"
#include "collector/remote/reframe_receiver.h"
#include "collector/remote/write_receiver.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/obs/metrics.h"
#include "store_fixture.h"
#include "tests/fakes/memory_series_source.h"

namespace fleetmark::collector {
namespace {

using testing::UnorderedElementsAreArray;

constexpr Role kRoles[] = {Role::kViewer, Role::kOperator, Role::kAdmin};

// What a name promises: these only read.
bool Reads(const std::string& method) {
  for (const char* prefix : {"Get", "List", "Read", "Compare"}) {
    if (absl::StartsWith(method, prefix)) return true;
  }
  return false;
}

// "/package.Service/Method" of all service definitions.
std::vector<std::string> AllMethods() {
  google::protobuf::FileDescriptorSet files;
  std::ifstream in(FM_DESCRIPTORS, std::ios::binary);
  EXPECT_TRUE(files.ParseFromIstream(&in)) << FM_DESCRIPTORS;
  std::vector<std::string> methods;
  for (const auto& file : files.file()) {
    for (const auto& service : file.service()) {
      for (const auto& method : service.method())
        methods.push_back(absl::StrCat("/", file.package(), ".", service.name(), "/", method.name()));
    }
  }
  EXPECT_GT(methods.size(), 20U);
  return methods;
}

class AccessTableTest : public StoreFixture {
 protected:
  AccessTableTest() {
    api_ = std::make_unique<QueryApi>(QueryApi::Options{store_.get(), &RealClock(), "1", {}});
    People::Options options;
    options.asked = true;
    options.token_folder = folder_ + "/people";
    people_ = std::make_unique<People>(options, RealClock());
    access_ = std::make_unique<AccessControl>(
        AccessControl::Options{.people = people_.get(), .clock = &RealClock(), .metrics = &metrics_});
    for (const Role role : kRoles) {
      for (const Areas area : {kEverywhere, kApi, kPrometheus, kMetrics, kRemoteWrite}) {
        const auto token = MakePeopleToken(options.token_folder,
                                           {"", "p", role, area, absl::Now(), absl::Now() + absl::Hours(1)});
        EXPECT_TRUE(token.ok()) << token.status();
        tokens_[{role, area}] = *token;
      }
    }
  }

  // All that the collector serves, as collector.cc registers it.
  void Register(HttpServer& server) {
    ServeLogin(*access_, server);
    routes_ = std::make_unique<HttpRoutes>(
        HttpRoutes::Options{.api = api_.get(), .metrics = &metrics_, .clock = &RealClock()});
    routes_->Register(server);
    engine_ = std::make_unique<promql::Engine>(
        promql::Engine::Options{.source = &series_, .clock = &RealClock(), .query = {}});
    prometheus_ = std::make_unique<PrometheusRoutes>(
        PrometheusRoutes::Options{.engine = engine_.get(), .clock = &RealClock(), .version = "1"});
    prometheus_->Register(server);
    ServeAlerts(alerts_, RealClock(), server);
    audit_ = std::make_unique<AuditApi>(store_->audit());
    ServeAudit(*audit_, RealClock(), server);
    ServeRemoteWrite(server, [](const v1::ImportRunsRequest&) { return v1::ImportRunsResponse(); });
    ServeReframeRecords(server, [](const v1::ImportRunsRequest&) { return v1::ImportRunsResponse(); });
    const std::string page = folder_ + "/page";
    EXPECT_TRUE(MakeFolders(page + "/assets").ok());
    for (const char* file : {"/index.html", "/icon.svg", "/assets/main-1.js"}) {
      EXPECT_TRUE(ReplaceFile(page + file, "x").ok());
    }
    EXPECT_TRUE(ServeFolder(page, server).ok());
  }

  Metrics metrics_;
  std::unique_ptr<QueryApi> api_;
  std::unique_ptr<People> people_;
  std::unique_ptr<AccessControl> access_;
  std::unique_ptr<AuditApi> audit_;
  AlertApi alerts_{AlertApi::Options{}};
  promql::MemorySeriesSource series_;
  std::unique_ptr<promql::Engine> engine_;
  std::unique_ptr<PrometheusRoutes> prometheus_;
  std::unique_ptr<HttpRoutes> routes_;
  std::map<std::pair<Role, Areas>, std::string> tokens_;
};

TEST_F(AccessTableTest, EveryMethodOfTheServiceDefinitionsHasARuleAndEveryRuleAMethod) {
  std::vector<std::string> of_rules;
  for (const AccessRule& rule : AccessRules()) {
    if (rule.method == "gRPC") of_rules.push_back(rule.name);
  }
  EXPECT_THAT(of_rules, UnorderedElementsAreArray(AllMethods()));
}

TEST_F(AccessTableTest, WhatAMethodsNameSaysItsRuleHolds) {
  for (const std::string& name : AllMethods()) {
    const AccessRule* rule = GrpcRule(name);
    if (rule == nullptr || rule->least == Role::kNobody) continue;  // of nodes, and health
    const std::string method = name.substr(name.rfind('/') + 1);
    EXPECT_EQ(rule->effect == AccessRule::Effect::kReads, Reads(method)) << name;
  }
  for (const AccessRule& rule : AccessRules()) {
    if (rule.effect != AccessRule::Effect::kReads) {
      EXPECT_GE(rule.least, Role::kOperator) << rule.name;
    }
  }
}

TEST_F(AccessTableTest, AMethodIsFoundByItsRequestWhichNoOtherTakes) {
  std::map<const google::protobuf::Descriptor*, std::string> seen;
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  for (const std::string& name : AllMethods()) {
    const auto* method = pool->FindMethodByName(absl::StrReplaceAll(name.substr(1), {{"/", "."}}));
    if (method == nullptr || GrpcRule(name) == nullptr || GrpcRule(name)->least == Role::kNobody) continue;
    EXPECT_TRUE(seen.emplace(method->input_type(), name).second) << name;
    EXPECT_EQ(GrpcRuleOf(method->input_type()), GrpcRule(name)) << name;
  }
  EXPECT_GT(seen.size(), 20U);
  EXPECT_EQ(GrpcRuleOf(v1::Node::descriptor()), nullptr);
}

TEST_F(AccessTableTest, EveryRouteHasARuleAndEveryRuleARoute) {
  HttpServer server;
  Register(server);
  std::set<const AccessRule*> used;
  for (const HttpRoute& route : server.routes()) {
    const AccessRule* rule = HttpRule(route.method, route.pattern);
    ASSERT_NE(rule, nullptr) << "no rule for " << route.method << " " << route.pattern;
    used.insert(rule);
    // What is no GET, and neither a query nor about logging in, changes something.
    const bool may_read = route.method == "GET" || rule->area == kPrometheus || rule->least == Role::kNobody;
    EXPECT_TRUE(may_read || rule->effect != AccessRule::Effect::kReads) << route.pattern;
  }
  for (const AccessRule& rule : AccessRules()) {
    EXPECT_TRUE(rule.method == "gRPC" || used.contains(&rule)) << "no route for " << rule.name;
  }
}

TEST_F(AccessTableTest, EachRoleAndEachScopeOnEachRoute) {
  HttpServer registered;
  Register(registered);
  HttpServer server(2);
  server.SetGuard(MakeHttpGuard(*access_, RealClock()));
  for (const HttpRoute& route : registered.routes()) {
    server.Handle(route.method, route.pattern, [](const HttpRequest&) { return TextResponse(200, "in"); });
  }
  const auto port = server.Start("127.0.0.1", 0);
  ASSERT_TRUE(port.ok()) << port.status();
  httplib::Client client("127.0.0.1", *port);
  client.set_keep_alive(true);
  client.set_tcp_nodelay(true);
  size_t tried = 0;
  for (const HttpRoute& route : registered.routes()) {
    const AccessRule& rule = *HttpRule(route.method, route.pattern);
    const std::string path = absl::StrReplaceAll(route.pattern, {{"([^/]+)", "x"}, {"\\", ""}});
    const auto ask = [&](const std::string& token) {
      ++tried;
      httplib::Headers headers;
      if (!token.empty()) headers.emplace("Authorization", "Bearer " + token);
      const auto answer = route.method == "GET" ? client.Get(path, headers)
                                                : client.Post(path, headers, "{}", "application/json");
      return answer ? answer->status : -1;
    };
    const bool open = rule.least == Role::kNobody;
    EXPECT_EQ(ask(""), open ? 200 : 401) << path;
    EXPECT_EQ(ask("fmt1.0123456789abcdef." + std::string(64, '0')), open ? 200 : 401) << path;
    for (const auto& [what, token] : tokens_) {
      const bool may = open || (what.first >= rule.least && (what.second & rule.area) != 0);
      EXPECT_EQ(ask(token), may ? 200 : 403)
          << path << " as " << RoleName(what.first) << " for " << AreasText(what.second);
    }
  }
  EXPECT_GT(tried, 500U);
  server.Stop();
}

TEST_F(AccessTableTest, ARouteWithoutARuleIsRefusedToAll) {
  HttpServer server(2);
  server.SetGuard(MakeHttpGuard(*access_, RealClock()));
  server.Handle("GET", "/new", [](const HttpRequest&) { return TextResponse(200, "in"); });
  const auto port = server.Start("127.0.0.1", 0);
  ASSERT_TRUE(port.ok()) << port.status();
  httplib::Client client("127.0.0.1", *port);
  const std::string admin = tokens_[{Role::kAdmin, kEverywhere}];
  EXPECT_EQ(client.Get("/new", {{"Authorization", "Bearer " + admin}})->status, 403);
  server.Stop();
}

}  // namespace
}  // namespace fleetmark::collector
