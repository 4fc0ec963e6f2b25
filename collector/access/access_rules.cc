#include "collector/access/access_rules.h"

#include <google/protobuf/descriptor.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace fleetmark::collector {
namespace {

using enum Role;
using Effect = AccessRule::Effect;
using enum AccessRule::Effect;

constexpr char kGet[] = "GET";
constexpr char kPost[] = "POST";
constexpr char kGrpc[] = "gRPC";

// {} stands for one part of a path.
AccessRule Http(const char* method, const std::string& path, Role least, Areas area, Effect effect) {
  return {method, absl::StrReplaceAll(path, {{"{}", "([^/]+)"}}), least, area, effect};
}
AccessRule Api(const char* method, const char* path, Role least, Effect effect = kReads) {
  return Http(method, absl::StrCat("/api/fleetmark/v1", path), least, kApi, effect);
}
AccessRule Prom(const char* method, const char* path) {
  return Http(method, absl::StrCat("/api/v1", path), kViewer, kPrometheus, kReads);
}
AccessRule Fleet(const char* method, Role least, Effect effect = kReads) {
  return {kGrpc, absl::StrCat("/fleetmark.v1.FleetService/", method), least, kApi, effect};
}
AccessRule Alert(const char* method, Role least, Effect effect = kReads) {
  return {kGrpc, absl::StrCat("/fleetmark.v1.AlertService/", method), least, kApi, effect};
}

AccessRule Action(const char* method, Role least, Effect effect = kReads) {
  return {kGrpc, absl::StrCat("/fleetmark.v1.ActionService/", method), least, kApi, effect};
}

std::vector<AccessRule> OwnRoutes() {
  return {
      // The page itself holds no secret; what it asks for does.
      {kGet, "/", kNobody},
      {kGet, "/index\\.html", kNobody},
      {kGet, "/icon\\.svg", kNobody},
      {kGet, "/assets/*", kNobody},
      {kGet, "/healthz", kNobody},
      {kGet, "/readyz", kNobody},
      {kGet, "/metrics", kViewer, kMetrics},

      Api(kGet, "/whoami", kNobody),
      Api(kPost, "/login", kNobody),
      Api(kPost, "/logout", kNobody),
      Api(kGet, "/status", kViewer),
      Api(kGet, "/nodes", kViewer),
      Api(kGet, "/nodes/{}", kViewer),
      Api(kGet, "/series", kViewer),
      Api(kGet, "/series/{}/samples", kViewer),
      Api(kGet, "/series/{}/curve", kViewer),
      Api(kGet, "/latest", kViewer),
      Api(kGet, "/quantiles", kViewer),
      Api(kGet, "/runs", kViewer),
      Api(kGet, "/runs/{}", kViewer),
      Api(kGet, "/findings", kViewer),
      Api(kGet, "/events", kViewer),
      Api(kGet, "/fleet", kViewer),
      Api(kGet, "/benchmarks", kViewer),
      Api(kGet, "/changes", kViewer),
      Api(kGet, "/compare", kViewer),
      Api(kPost, "/events", kOperator, kChanges),
      Api(kPost, "/nodes/{}/run/{}", kOperator, kChanges),
      Api(kGet, "/alerts", kViewer),
      Api(kGet, "/alerts/{}", kViewer),
      Api(kPost, "/alerts/{}/ack", kOperator, kChanges),
      Api(kGet, "/receivers", kViewer),
      Api(kGet, "/silences", kViewer),
      Api(kPost, "/silences", kOperator, kChanges),
      Api(kPost, "/silences/{}/end", kOperator, kChanges),
      Api(kGet, "/audit", kAdmin),
  };
}

std::vector<AccessRule> PrometheusRoutes() {
  return {
      Prom(kGet, "/query"),
      Prom(kPost, "/query"),
      Prom(kGet, "/query_range"),
      Prom(kPost, "/query_range"),
      Prom(kGet, "/series"),
      Prom(kPost, "/series"),
      Prom(kGet, "/labels"),
      Prom(kPost, "/labels"),
      Prom(kGet, "/query_exemplars"),
      Prom(kPost, "/query_exemplars"),
      Prom(kGet, "/format_query"),
      Prom(kPost, "/format_query"),
      Prom(kGet, "/label/{}/values"),
      Prom(kGet, "/metadata"),
      Prom(kGet, "/status/buildinfo"),
      Prom(kGet, "/rules"),
      Prom(kGet, "/alerts"),
      Http(kPost, "/api/v1/write", kOperator, kRemoteWrite, kRecords),
      Http(kPost, "/api/v1/reframe", kOperator, kRemoteWrite, kRecords),
  };
}

std::vector<AccessRule> GrpcMethods() {
  return {
      Fleet("GetStatus", kViewer),
      Fleet("ListNodes", kViewer),
      Fleet("ListSeries", kViewer),
      Fleet("ReadSamples", kViewer),
      Fleet("ListLatest", kViewer),
      Fleet("ReadQuantiles", kViewer),
      Fleet("ListRuns", kViewer),
      Fleet("GetRun", kViewer),
      Fleet("ListFindings", kViewer),
      Fleet("ListEvents", kViewer),
      Fleet("GetFleet", kViewer),
      Fleet("ListBenchmarks", kViewer),
      Fleet("ReadCurve", kViewer),
      Fleet("Compare", kViewer),
      Fleet("AddEvent", kOperator, kChanges),
      Fleet("RunNow", kOperator, kChanges),
      Fleet("CancelRun", kOperator, kChanges),
      Fleet("ImportRuns", kOperator, kChanges),
      Fleet("Backup", kAdmin, kChanges),

      Alert("ListAlerts", kViewer),
      Alert("GetAlert", kViewer),
      Alert("ListReceivers", kViewer),
      Alert("ListSilences", kViewer),
      Alert("AckAlert", kOperator, kChanges),
      Alert("AddSilence", kOperator, kChanges),
      Alert("EndSilence", kOperator, kChanges),

      Action("ListActions", kViewer),
      Action("GetAction", kViewer),
      Action("SwitchActions", kOperator, kChanges),
      Action("UndoAction", kOperator, kChanges),

      {kGrpc, "/fleetmark.v1.AuditService/ListAudit", kAdmin},

      // By a node's certificate or token, or by nothing.
      {kGrpc, "/fleetmark.v1.AgentService/Connect", kNobody},
      {kGrpc, "/fleetmark.v1.JoinService/Join", kNobody},
      {kGrpc, "/fleetmark.v1.CertificateService/Renew", kNobody},
      {kGrpc, "/grpc.health.v1.Health/Check", kNobody},
      {kGrpc, "/grpc.health.v1.Health/Watch", kNobody},
  };
}

bool Matches(std::string_view name, std::string_view pattern) {
  if (name.ends_with('*')) return pattern.starts_with(name.substr(0, name.size() - 1));
  return name == pattern;
}

}  // namespace

const std::vector<AccessRule>& AccessRules() {
  static const auto* rules = [] {
    auto* all = new std::vector<AccessRule>(OwnRoutes());
    for (const auto& more : {PrometheusRoutes(), GrpcMethods()})
      all->insert(all->end(), more.begin(), more.end());
    return all;
  }();
  return *rules;
}

const AccessRule* HttpRule(std::string_view method, std::string_view pattern) {
  for (const AccessRule& rule : AccessRules()) {
    if (rule.method == method && Matches(rule.name, pattern)) return &rule;
  }
  return nullptr;
}

const AccessRule* GrpcRule(std::string_view method) {
  for (const AccessRule& rule : AccessRules()) {
    if (rule.method == kGrpc && rule.name == method) return &rule;
  }
  return nullptr;
}

const AccessRule* GrpcRuleOf(const google::protobuf::Descriptor* request) {
  static const auto* by_request = [] {
    auto* out = new std::map<const google::protobuf::Descriptor*, const AccessRule*>;
    for (const AccessRule& rule : AccessRules()) {
      if (rule.method != kGrpc) continue;
      std::string name = rule.name.substr(1);
      name[name.find('/')] = '.';
      const auto* method = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
      if (method != nullptr) out->emplace(method->input_type(), &rule);
    }
    return out;
  }();
  const auto it = by_request->find(request);
  return it == by_request->end() ? nullptr : it->second;
}

}  // namespace fleetmark::collector
