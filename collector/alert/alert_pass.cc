#include "collector/alert/alert_pass.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/alert/alert_cause.h"
#include "collector/fleet/node_class.h"
#include "collector/store/store.h"
#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/model/message_bytes.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kAlertsAtOnce = 500;  // of one write
constexpr size_t kRecentSamples = 60;

}  // namespace

absl::Status AlertPass::Run(const std::vector<AlertRoute>& routes, absl::Time now) {
  routes_ = &routes;
  FM_RETURN_IF_ERROR(Refresh(now));
  silences_ = book_.Silences();
  std::map<std::string, AlertPtr> known = book_.Known();  // holds what the inhibition points to
  Inhibition inhibition = MakeInhibition(known);
  for (const auto& [id, view] : views_) known.emplace(id, nullptr);
  AlertBook::Batch batch;
  for (const auto& [id, alert] : known) {
    FM_RETURN_IF_ERROR(StepOne(id, alert, now, &inhibition, &batch));
    if (batch.write.alerts.size() >= kAlertsAtOnce) FM_RETURN_IF_ERROR(book_.Commit(&batch));
  }
  FM_RETURN_IF_ERROR(book_.Commit(&batch));
  refill_ = false;
  book_.Forget([&](const v1::Alert& alert) {
    return IsResolved(alert.life()) && !MayReopen(alert.life(), options_.policy, now) &&
           !views_.contains(alert.alert_id());
  });
  return absl::OkStatus();
}

absl::Status AlertPass::Refresh(absl::Time now) {
  const uint64_t version = options_.store->FindingsVersion();
  if (version == seen_version_ && !refill_) return absl::OkStatus();
  refill_ = true;
  views_.clear();
  FM_ASSIGN_OR_RETURN(findings_, options_.store->OpenFindings(options_.max_open_findings));
  AlertMatching matching;
  for (const auto& [id, alert] : book_.Known()) {
    matching.Know(*alert, !IsResolved(alert->life()) || MayReopen(alert->life(), options_.policy, now));
  }
  views_ = matching.Match(findings_, [now] { return NewUlid(now); });
  seen_version_ = version;
  return absl::OkStatus();
}

// Only what fires already tells of others.
Inhibition AlertPass::MakeInhibition(const std::map<std::string, AlertPtr>& known) const {
  Inhibition inhibition([this](const std::string& node) {
    const absl::StatusOr<v1::Node> stored = options_.store->GetNode(node);
    return stored.ok() ? NodeAttributes(*stored) : std::map<std::string, std::string>();
  });
  for (const auto& [id, alert] : known) {
    const auto view = views_.find(id);
    if (view != views_.end() && IsFiring(alert->life())) inhibition.AddSource({alert.get(), view->second});
  }
  return inhibition;
}

std::map<std::string, std::string> AlertPass::NodeLabels(const std::set<std::string>& nodes) const {
  if (nodes.size() != 1) return {};
  const absl::StatusOr<v1::Node> node = options_.store->GetNode(*nodes.begin());
  if (!node.ok()) return {};
  return {node->identity().labels().begin(), node->identity().labels().end()};
}

void AlertPass::FillRecent(v1::Alert* alert) const {
  uint64_t series = alert->main().series_id();
  if (series == 0 && alert->main().members_size() > 0) series = alert->main().members(0).series_id();
  if (series == 0) return;
  const absl::StatusOr<std::vector<v1::Sample>> samples =
      options_.store->LastSamples(series, INT64_MAX, kRecentSamples);
  if (!samples.ok()) return;  // the message does without its course
  alert->clear_recent();
  for (const v1::Sample& sample : *samples) alert->add_recent(sample.value());
}

AlertPolicy AlertPass::PolicyOf(const v1::Alert& alert) const {
  AlertPolicy policy = options_.policy;
  if (alert.class_() == v1::ALERT_CLASS_SILENT) policy.repeat = options_.repeat_silent;
  return policy;
}

void AlertPass::AddSilences(const std::map<std::string, std::string>& labels, absl::Time now,
                            AlertCondition* condition) const {
  for (auto it = silences_.rbegin(); it != silences_.rend(); ++it) {
    const v1::Silence& silence = *it;
    if (!SilenceHolds(silence, now)) continue;
    if (!MatchesLabels({silence.match().begin(), silence.match().end()}, labels)) continue;
    v1::AlertMute& mute = condition->mutes.emplace_back();
    mute.set_kind(silence.maintenance() ? v1::AlertMute::KIND_MAINTENANCE : v1::AlertMute::KIND_SILENCE);
    mute.set_by(silence.silence_id());
    mute.set_text(absl::StrCat(silence.maintenance() ? "maintenance, " : "silenced by ", silence.by(), ": ",
                               silence.note()));
  }
}

AlertCondition AlertPass::FullCondition(const v1::Alert& alert, const AlertView& view, absl::Time now,
                                        Inhibition* inhibition) const {
  std::string closed;
  if (view.findings.empty()) {
    const absl::StatusOr<v1::Finding> main = options_.store->GetFinding(alert.main().finding_id());
    if (main.ok() && main->state() == v1::Finding::STATE_CLOSED) closed = main->explanation();
  }
  AlertCondition condition = ConditionOf(view.findings, alert, closed);
  if (condition.kind == AlertCondition::kClear) return condition;
  const std::map<std::string, std::string> labels(alert.labels().begin(), alert.labels().end());
  condition.mutes = inhibition->MutesOf(view);
  AddSilences(labels, now, &condition);
  RoutedAlert routed = RouteAlert(*routes_, labels, now);
  condition.receivers = std::move(routed.receivers);
  condition.escalate_after = routed.escalate_after;
  condition.escalate_to = std::move(routed.escalate_to);
  return condition;
}

void AlertPass::Fill(const AlertView& view, v1::Alert* alert) const {
  if (view.findings.empty()) {
    CloseFindings(view.findings, alert);
    return;
  }
  std::set<std::string> nodes;
  for (const v1::Finding* finding : view.findings) nodes.merge(NodesOf(*finding));
  FillAlert(view.findings, NodeLabels(nodes), options_.links, alert);
}

absl::Status AlertPass::StepOne(const std::string& id, const AlertPtr& known, absl::Time now,
                                Inhibition* inhibition, AlertBook::Batch* batch) {
  const auto it = views_.find(id);
  AlertView view;
  if (it != views_.end()) view.findings = it->second;
  if (view.findings.empty() && (known == nullptr || IsResolved(known->life()))) return absl::OkStatus();
  v1::Alert next;
  if (known != nullptr) next = *known;
  next.set_alert_id(id);
  if (refill_) Fill(view, &next);
  view.alert = &next;
  const AlertCondition condition = FullCondition(next, view, now, inhibition);
  const bool begins = next.life().state() == v1::AlertLife::STATE_UNSPECIFIED;
  if (begins && condition.kind == AlertCondition::kClear) return absl::OkStatus();
  const AlertStep step = StepAlert(condition, PolicyOf(next), now, next.mutable_life());
  if (!step.notices.empty()) FillRecent(&next);
  const bool changed =
      known == nullptr || !step.changes.empty() || DeterministicBytes(next) != DeterministicBytes(*known);
  if (changed) book_.AddStep(std::move(next), step, now, batch);
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
