#include "collector/ingest/run_import.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "collector/ingest/committer.h"
#include "common/base/status.h"
#include "common/model/labels.h"
#include "common/model/limits.h"
#include "common/model/series.h"

namespace fleetmark::collector {
namespace {

constexpr char kEpoch[] = "import";  // no agent's: those are 32 hex digits
constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr size_t kOfferBytes = limits::kBatchBytes;

// The outcome of an offer, waited for by the one who made it. Shared, as the waiting one may give up first.
struct Outcome {
  Mutex mu;
  CondVar changed;
  bool done ABSL_GUARDED_BY(mu) = false;
  bool room ABSL_GUARDED_BY(mu) = false;
  absl::Status status ABSL_GUARDED_BY(mu);
};

}  // namespace

absl::Status RunImport::Check(const v1::NodeRun& run) const {
  FM_RETURN_IF_ERROR(Annotate(CheckNodeName(run.node()), "node"));
  FM_RETURN_IF_ERROR(CheckRun(run.run()));
  if (run.run().started_unix_ns() <= 0) return absl::InvalidArgumentError("started_unix_ns must be set");
  const absl::Time latest = clock_.Now() + absl::Seconds(limits::kClockSkewSeconds);
  if (absl::FromUnixNanos(run.run().started_unix_ns()) > latest) {
    return absl::InvalidArgumentError("started_unix_ns is in the future");
  }
  if (run.ByteSizeLong() > limits::kRecordBytes) return absl::InvalidArgumentError("the run is too large");
  return absl::OkStatus();
}

absl::Status RunImport::EnsureNode(const std::string& name, int64_t first_seen_unix_ns) {
  const absl::StatusOr<v1::Node> known = store_.GetNode(name);
  if (!absl::IsNotFound(known.status())) return known.status();
  v1::Node node;
  node.mutable_identity()->set_name(name);
  node.set_first_seen_unix_ns(first_seen_unix_ns);
  return store_.PutNode(node);
}

absl::Status RunImport::Commit(SenderRecords records) {
  const auto outcome = std::make_shared<Outcome>();
  Committer::Offer offer;
  offer.lane = std::make_shared<Committer::Lane>();
  for (const v1::Record& record : records.records) offer.bytes += record.ByteSizeLong();
  offer.records = std::move(records);
  offer.done = [outcome](const absl::Status& status) {
    MutexLock lock(outcome->mu);
    outcome->done = true;
    outcome->status = status;
    outcome->changed.NotifyAll();
  };
  const auto on_room = [outcome] {
    MutexLock lock(outcome->mu);
    outcome->room = true;
    outcome->changed.NotifyAll();
  };
  const MonoTime deadline = clock_.Mono() + kPatience;
  bool taken = committer_.TryOffer(std::move(offer), on_room);
  while (!taken) {
    {
      MutexLock lock(outcome->mu);
      while (!outcome->room && clock_.Mono() < deadline)
        clock_.WaitUntil(outcome->changed, outcome->mu, deadline);
      if (!std::exchange(outcome->room, false)) return absl::ResourceExhaustedError("the collector is busy");
    }
    taken = committer_.TryOffer(std::move(offer), on_room);
  }
  MutexLock lock(outcome->mu);
  while (!outcome->done && clock_.Mono() < deadline)
    clock_.WaitUntil(outcome->changed, outcome->mu, deadline);
  if (!outcome->done) return absl::UnavailableError("the commit takes too long");
  return outcome->status;
}

absl::StatusOr<v1::ImportRunsResponse> RunImport::Import(const v1::ImportRunsRequest& request) {
  if (request.runs_size() > kMaxRuns) {
    return absl::InvalidArgumentError(absl::StrCat("runs: more than ", kMaxRuns));
  }
  v1::ImportRunsResponse response;
  std::map<std::string, std::vector<const v1::Run*>> by_node;
  std::set<std::string> seen;
  for (int i = 0; i < request.runs_size(); ++i) {
    const v1::NodeRun& run = request.runs(i);
    if (const absl::Status bad = Check(run); !bad.ok()) {
      v1::ImportRefusal* refused = response.add_refused();
      refused->set_index(static_cast<uint32_t>(i));
      refused->set_reason(Message(bad));
    } else if (!seen.insert(run.run().run_id()).second || store_.GetRun(run.run().run_id()).ok()) {
      response.set_known(response.known() + 1);
    } else {
      by_node[run.node()].push_back(&run.run());
    }
  }
  MutexLock lock(importing_);
  for (const auto& [node, runs] : by_node) {
    FM_RETURN_IF_ERROR(EnsureNode(node, runs.front()->started_unix_ns()));
    FM_ASSIGN_OR_RETURN(uint64_t sequence, store_.Watermark(node, kEpoch));
    size_t next = 0;
    while (next < runs.size()) {
      SenderRecords records{node, kEpoch, {}};
      for (size_t bytes = 0; next < runs.size() && bytes < kOfferBytes; ++next) {
        v1::Record& record = records.records.emplace_back();
        record.set_sequence(++sequence);
        *record.mutable_run() = *runs[next];
        record.mutable_run()->set_trigger(v1::TRIGGER_IMPORT);
        bytes += record.ByteSizeLong();
      }
      const uint64_t count = records.records.size();
      FM_RETURN_IF_ERROR(Commit(std::move(records)));
      response.set_stored(response.stored() + count);
    }
  }
  return response;
}

}  // namespace fleetmark::collector
