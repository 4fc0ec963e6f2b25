#include "collector/store/commit.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/store/events.h"
#include "collector/store/nodes.h"
#include "collector/store/runs.h"
#include "common/base/status.h"
#include "common/model/limits.h"

namespace fleetmark::collector {

absl::StatusOr<uint64_t> ReadWatermark(const Database& db, const std::string& sender_key) {
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> value, db.Get(Family::kSenders, sender_key));
  if (!value.has_value()) return uint64_t{0};
  return DecodeNumber(*value);
}

absl::StatusOr<uint64_t*> CommitBuilder::WatermarkOf(const std::string& sender_key) {
  const auto it = watermarks_.find(sender_key);
  if (it != watermarks_.end()) return &it->second;
  FM_ASSIGN_OR_RETURN(const uint64_t watermark, ReadWatermark(db_, sender_key));
  return &watermarks_.emplace(sender_key, watermark).first->second;
}

absl::Status CommitBuilder::Add(const SenderRecords& sender) {
  const std::string sender_key = SenderKey(sender.node, sender.epoch);
  FM_ASSIGN_OR_RETURN(uint64_t* const watermark, WatermarkOf(sender_key));
  const uint64_t before = *watermark;
  for (const v1::Record& record : sender.records) {
    if (record.sequence() <= *watermark) {
      ++result_.duplicates;
      continue;
    }
    FM_RETURN_IF_ERROR(Annotate(AddRecord(sender.node, record),
                                absl::StrCat("record ", record.sequence(), " of ", sender.node)));
    *watermark = record.sequence();
  }
  if (*watermark != before) writes_.Put(Family::kSenders, sender_key, EncodeNumber(*watermark));
  return absl::OkStatus();
}

absl::Status CommitBuilder::AddRecord(const std::string& node, const v1::Record& record) {
  switch (record.kind_case()) {
    case v1::Record::kRun:
      return AddRun(node, record.run());
    case v1::Record::kEvent:
      ++result_.events;
      return PutEvent(record.event(), &writes_);
    case v1::Record::kFacts:
      return AddFacts(node, record.facts());
    case v1::Record::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("the record has no kind that this program knows");
}

absl::Status CommitBuilder::AddRun(const std::string& node, const v1::Run& run) {
  const std::optional<UlidBytes> id = UlidFromText(run.run_id());
  if (!id.has_value()) return absl::InvalidArgumentError("run_id must be a ULID of 26 characters");
  if (!v1::Outcome_IsValid(run.outcome())) return absl::InvalidArgumentError("outcome is not known");
  FM_ASSIGN_OR_RETURN(const bool stored, HasRun(db_, *id));
  if (stored || !new_runs_.insert(*id).second) {
    ++result_.duplicates;
    return absl::OkStatus();
  }
  const int64_t time = RunUnixNs(run, *id);
  if (time < oldest_.run_unix_ns) {
    ++result_.too_old;
    return absl::OkStatus();
  }
  bool metrics_apart = false;
  std::optional<v1::Run> refused;
  if (run.outcome() == v1::OUTCOME_OK && time < oldest_.sample_unix_ns) {
    result_.samples_too_old += static_cast<uint64_t>(run.metrics().size());
  } else if (run.outcome() == v1::OUTCOME_OK) {
    FM_ASSIGN_OR_RETURN(const GroupWriter::Added added, AddSamples(node, *id, run));
    metrics_apart = added.complete;
    if (added.over_limit > 0) refused = WithRefusal(run, added);
    if (added.over_node_limit > 0) result_.nodes_over_series_limit.insert(node);
  }
  PutRun(node, *id, refused.has_value() ? *refused : run, metrics_apart, &writes_, counters_);
  ++result_.runs;
  ++result_.runs_by_outcome[static_cast<size_t>(run.outcome())];
  return absl::OkStatus();
}

absl::StatusOr<GroupWriter::Added> CommitBuilder::AddSamples(const std::string& node, const UlidBytes& run_id,
                                                             const v1::Run& run) {
  FM_ASSIGN_OR_RETURN(const GroupWriter::Added added,
                      groups_.AddRun(node, {0, RunUnixNs(run, run_id), run_id}, run, &writes_, counters_));
  result_.samples += added.samples;
  result_.runs_late += added.late ? 1 : 0;
  result_.samples_over_series_limit += added.over_limit - added.over_node_limit;
  result_.samples_over_node_limit += added.over_node_limit;
  counters_->samples += added.samples;
  return added;
}

v1::Run CommitBuilder::WithRefusal(const v1::Run& run, const GroupWriter::Added& added) const {
  v1::Run out = run;
  if (static_cast<size_t>(out.warnings_size()) >= limits::kWarningsPerRun) return out;
  out.add_warnings(added.over_node_limit > 0
                       ? absl::StrCat(added.over_limit, " of ", run.metrics_size(),
                                      " metrics were not stored as samples: the node "
                                      "has as many series as it may, ",
                                      limits_.series_per_node, " (store.max_series_per_node)")
                       : absl::StrCat(added.over_limit, " of ", run.metrics_size(),
                                      " metrics were not stored as samples: no "
                                      "further series are taken (store.max_series)"));
  return out;
}

absl::Status CommitBuilder::AddFacts(const std::string& node, const v1::FactsChanged& facts) {
  if (!nodes_.contains(node)) {
    FM_ASSIGN_OR_RETURN(std::optional<v1::Node> known, FindNode(db_, node));
    if (!known.has_value()) {
      new_nodes_.insert(node);
      known.emplace().mutable_identity()->set_name(node);
      known->set_first_seen_unix_ns(facts.time_unix_ns());
    }
    nodes_.emplace(node, *std::move(known));
  }
  v1::Node& entry = nodes_[node];
  *entry.mutable_facts() = facts.facts();
  entry.set_facts_digest(facts.facts_digest());
  return absl::OkStatus();
}

CommitResult CommitBuilder::Finish() {
  result_.series_created = counters_->series - series_before_;
  result_.touched_series = groups_.Finish(&writes_);
  for (const auto& [name, node] : nodes_) PutNode(node, new_nodes_.contains(name), &writes_, counters_);
  return result_;
}

}  // namespace fleetmark::collector
