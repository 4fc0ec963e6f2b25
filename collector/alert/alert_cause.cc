#include "collector/alert/alert_cause.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace fleetmark::collector {
namespace {

using v1::Finding;

constexpr double kCriticalChange = 0.3;
constexpr double kInfoChange = 0.03;
constexpr uint32_t kCriticalNodes = 10;

v1::AlertClass ClassOf(Finding::Kind kind) {
  switch (kind) {
    case Finding::KIND_FLEET:
      return v1::ALERT_CLASS_SHIFT;
    case Finding::KIND_FAILURE:
      return v1::ALERT_CLASS_FAILING;
    case Finding::KIND_SILENCE:
      return v1::ALERT_CLASS_SILENT;
    default:
      return v1::ALERT_CLASS_SLOW;
  }
}

std::string DeviceOf(const v1::SeriesKey& series) {
  const auto it = series.labels().find("device");
  return it == series.labels().end() ? "" : it->second;
}

std::string SubjectOf(const Finding& finding) {
  if (!finding.scope().empty()) return finding.scope();
  const std::string device = DeviceOf(finding.series());
  return device.empty() ? absl::StrCat("node ", finding.series().node())
                        : absl::StrCat("device ", device, " of ", finding.series().node());
}

// "40 nodes" names nobody: another such finding is another problem.
bool IsVague(const std::string& subject) {
  return !subject.empty() && absl::ascii_isdigit(static_cast<unsigned char>(subject[0])) &&
         absl::EndsWith(subject, " nodes");
}

// [a-zA-Z_][a-zA-Z0-9_]*
std::string PrometheusName(const std::string& name) {
  std::string out = name;
  for (char& c : out) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (!out.empty() && absl::ascii_isdigit(static_cast<unsigned char>(out[0]))) out.insert(0, 1, '_');
  return out;
}

template <typename Get>
std::string OnlyOne(absl::Span<const Finding* const> findings, Get get) {
  std::set<std::string> values;
  for (const Finding* finding : findings) values.merge(get(*finding));
  values.erase("");
  return values.size() == 1 ? *values.begin() : "";
}

std::set<std::string> MetricsOf(const Finding& finding) {
  std::set<std::string> out{finding.series().metric()};
  for (const v1::FindingMember& member : finding.members()) out.insert(member.metric());
  return out;
}

std::set<std::string> DevicesOf(const Finding& finding) {
  std::set<std::string> out{DeviceOf(finding.series())};
  for (const v1::FindingMember& member : finding.members()) out.insert(member.device());
  return out;
}

}  // namespace

AlertCause CauseOf(const Finding& finding) {
  AlertCause cause;
  if (finding.state() != Finding::STATE_OPEN || finding.direction() != Finding::DIRECTION_WORSE) return cause;
  if (finding.budget().within()) {
    cause.standing = AlertCause::kConfirmed;
  } else if (finding.confirmation().state() == v1::Confirmation::STATE_PENDING) {
    cause.standing = AlertCause::kPending;
  }
  cause.alert_class = ClassOf(finding.kind());
  cause.subject = SubjectOf(finding);
  const std::string who = IsVague(cause.subject) ? finding.finding_id() : cause.subject;
  cause.key = absl::StrCat(ClassName(cause.alert_class), "/", who);
  // Results of two benchmarks that are missing are two problems, but not those of an agent that is gone.
  if (finding.kind() == Finding::KIND_SILENCE && !finding.series().benchmark().empty()) {
    absl::StrAppend(&cause.key, "/", finding.series().benchmark());
  }
  return cause;
}

std::set<std::string> NodesOf(const Finding& finding) {
  std::set<std::string> out{finding.series().node()};
  for (const v1::FindingMember& member : finding.members()) out.insert(member.node());
  out.erase("");
  return out;
}

uint32_t NodeCountOf(const Finding& finding) {
  auto count = static_cast<uint32_t>(NodesOf(finding).size());
  if (static_cast<uint32_t>(finding.members_size()) >= finding.member_count()) return count;
  // The list is cut short. Members of a silence are nodes; else the explanation counted them.
  if (finding.kind() == Finding::KIND_SILENCE) return finding.member_count();
  if (finding.explanations_size() > 0 && finding.explanations(0).units() == "node") {
    count =
        std::max(count, finding.explanations(0).changed_with() + finding.explanations(0).changed_without());
  }
  return count;
}

std::set<std::string> BenchmarksOf(const Finding& finding) {
  std::set<std::string> out{finding.series().benchmark()};
  for (const v1::FindingMember& member : finding.members()) out.insert(member.benchmark());
  out.erase("");
  return out;
}

v1::AlertSeverity SeverityOf(v1::AlertClass alert_class, const Finding& main, uint32_t nodes) {
  if (nodes >= kCriticalNodes) return v1::ALERT_SEVERITY_CRITICAL;
  const bool measured = alert_class == v1::ALERT_CLASS_SLOW || alert_class == v1::ALERT_CLASS_SHIFT;
  if (!measured || main.before() == 0) return v1::ALERT_SEVERITY_WARNING;
  if (std::abs(main.change()) >= kCriticalChange) return v1::ALERT_SEVERITY_CRITICAL;
  return std::abs(main.change()) < kInfoChange ? v1::ALERT_SEVERITY_INFO : v1::ALERT_SEVERITY_WARNING;
}

const Finding* MainOf(absl::Span<const Finding* const> findings) {
  const auto weight = [](const Finding* finding) {
    return std::make_tuple(finding->budget().within(), NodeCountOf(*finding), std::abs(finding->change()));
  };
  return *std::max_element(findings.begin(), findings.end(), [&](const Finding* a, const Finding* b) {
    return std::make_pair(weight(a), b->finding_id()) < std::make_pair(weight(b), a->finding_id());
  });
}

std::map<std::string, std::string> LabelsOf(const v1::Alert& alert, absl::Span<const Finding* const> findings,
                                            const std::map<std::string, std::string>& node_labels) {
  std::map<std::string, std::string> labels;
  for (const auto& [name, value] : node_labels) {
    if (!value.empty()) labels[PrometheusName(name)] = value;
  }
  labels["alertname"] = AlertName(alert.class_());
  labels["class"] = ClassName(alert.class_());
  labels["severity"] = SeverityName(alert.severity());
  labels["subject"] = alert.subject();
  const std::map<std::string, std::string> only = {{"node", OnlyOne(findings, NodesOf)},
                                                   {"device", OnlyOne(findings, DevicesOf)},
                                                   {"benchmark", OnlyOne(findings, BenchmarksOf)},
                                                   {"metric", OnlyOne(findings, MetricsOf)}};
  for (const auto& [name, value] : only) {
    labels.erase(name);
    if (!value.empty()) labels[name] = value;
  }
  return labels;
}

std::string AlertName(v1::AlertClass alert_class) {
  std::string name = ClassName(alert_class);
  name[0] = absl::ascii_toupper(static_cast<unsigned char>(name[0]));
  return absl::StrCat("Fleetmark", name);
}

std::string ClassName(v1::AlertClass alert_class) {
  switch (alert_class) {
    case v1::ALERT_CLASS_SHIFT:
      return "shift";
    case v1::ALERT_CLASS_FAILING:
      return "failing";
    case v1::ALERT_CLASS_SILENT:
      return "silent";
    default:
      return "slow";
  }
}

std::string SeverityName(v1::AlertSeverity severity) {
  switch (severity) {
    case v1::ALERT_SEVERITY_INFO:
      return "info";
    case v1::ALERT_SEVERITY_CRITICAL:
      return "critical";
    default:
      return "warning";
  }
}

}  // namespace fleetmark::collector
