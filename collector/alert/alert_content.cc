#include "collector/alert/alert_content.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"

#include "collector/alert/alert_cause.h"
#include "collector/alert/alert_text.h"

namespace fleetmark::collector {
namespace {

constexpr int kShownMembers = 20;
constexpr int kListedFindings = 50;
constexpr int kListedNodes = 50;

v1::Finding Shortened(const v1::Finding& finding) {
  v1::Finding out = finding;
  if (out.members_size() > kShownMembers) {
    out.mutable_members()->DeleteSubrange(kShownMembers, out.members_size() - kShownMembers);
  }
  return out;
}

// The open ones first, then those that were, as far as there is room.
void ListFindingsIn(absl::Span<const v1::Finding* const> findings, v1::Alert* alert) {
  std::set<std::string> open;
  std::vector<v1::AlertFinding> list;
  for (const v1::Finding* finding : findings) {
    open.insert(finding->finding_id());
    v1::AlertFinding& entry = list.emplace_back();
    entry.set_finding_id(finding->finding_id());
    v1::Alert one;
    one.set_class_(alert->class_());
    one.set_subject(CauseOf(*finding).subject);
    *one.mutable_main() = Shortened(*finding);
    entry.set_text(AlertTitle(one));
    entry.set_open(true);
  }
  for (v1::AlertFinding& entry : *alert->mutable_findings()) {
    if (open.contains(entry.finding_id())) continue;
    entry.set_open(false);
    list.push_back(std::move(entry));
  }
  if (list.size() > kListedFindings) list.resize(kListedFindings);
  *alert->mutable_findings() = {list.begin(), list.end()};
}

}  // namespace

void FillAlert(absl::Span<const v1::Finding* const> findings,
               const std::map<std::string, std::string>& node_labels, const AlertLinks& links,
               v1::Alert* alert) {
  const v1::Finding& main = *MainOf(findings);
  const AlertCause cause = CauseOf(main);
  alert->set_class_(cause.alert_class);
  alert->set_cause(cause.key);
  alert->set_subject(cause.subject);
  std::set<std::string> nodes;
  uint32_t count = 0;
  for (const v1::Finding* finding : findings) {
    nodes.merge(NodesOf(*finding));
    count = std::max(count, NodeCountOf(*finding));
  }
  alert->clear_nodes();
  for (const std::string& node : nodes) {
    if (alert->nodes_size() < kListedNodes) alert->add_nodes(node);
  }
  alert->set_node_count(std::max(count, static_cast<uint32_t>(nodes.size())));
  alert->set_severity(SeverityOf(cause.alert_class, main, alert->node_count()));
  *alert->mutable_main() = Shortened(main);
  alert->set_title(AlertTitle(*alert));
  ListFindingsIn(findings, alert);
  alert->set_finding_count(static_cast<uint32_t>(findings.size()));
  // Receivers know it by its labels: they stay while somebody was told.
  if (alert->life().told().empty()) {
    const std::map<std::string, std::string> labels = LabelsOf(*alert, findings, node_labels);
    alert->mutable_labels()->clear();
    alert->mutable_labels()->insert(labels.begin(), labels.end());
  }
  if (!links.external_url.empty()) {
    alert->set_url(absl::StrCat(links.external_url, "#/alerts/", alert->alert_id()));
  }
  const auto runbook = links.runbooks.find(ClassName(cause.alert_class));
  alert->set_runbook_url(runbook == links.runbooks.end() ? "" : runbook->second);
}

bool CloseFindings(absl::Span<const v1::Finding* const> findings, v1::Alert* alert) {
  bool changed = alert->finding_count() != findings.size();
  alert->set_finding_count(static_cast<uint32_t>(findings.size()));
  for (v1::AlertFinding& entry : *alert->mutable_findings()) {
    const bool open = std::any_of(findings.begin(), findings.end(), [&](const v1::Finding* finding) {
      return finding->finding_id() == entry.finding_id();
    });
    changed = changed || entry.open() != open;
    entry.set_open(open);
  }
  return changed;
}

AlertCondition ConditionOf(absl::Span<const v1::Finding* const> findings, const v1::Alert& alert,
                           const std::string& closed) {
  AlertCondition condition;
  condition.why_clear = closed.empty() ? "its findings are closed" : closed;
  condition.size = alert.node_count();
  condition.severity = alert.severity();
  condition.whole = alert.class_() == v1::ALERT_CLASS_SHIFT;
  for (const v1::Finding* finding : findings) {
    switch (CauseOf(*finding).standing) {
      case AlertCause::kConfirmed:
        condition.kind = AlertCondition::kFiring;
        return condition;
      case AlertCause::kPending:
        condition.kind = AlertCondition::kPending;
        break;
      case AlertCause::kNone: {
        const v1::Confirmation& runs = finding->confirmation();
        if (runs.state() == v1::Confirmation::STATE_REFUTED) {
          condition.why_clear = absl::StrCat("refuted by ", runs.reruns(), " later runs");
        } else if (runs.state() == v1::Confirmation::STATE_INCONCLUSIVE) {
          condition.why_clear = absl::StrCat("not confirmed by ", runs.reruns(), " later runs");
        }
        break;
      }
    }
  }
  return condition;
}

}  // namespace fleetmark::collector
