#include "collector/ingest/run_import.h"

#include <functional>
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

// How the offers of one import end, waited for by the one who made them. Shared, as the waiting one may give
// up first.
struct Outcome {
  Mutex mu;
  CondVar changed;
  size_t open ABSL_GUARDED_BY(mu) = 0;
  bool room ABSL_GUARDED_BY(mu) = false;
  absl::Status status ABSL_GUARDED_BY(mu);  // the first that is not OK
};

std::function<void(const absl::Status&)> OnDone(std::shared_ptr<Outcome> outcome) {
  return [outcome = std::move(outcome)](const absl::Status& status) {
    MutexLock lock(outcome->mu);
    --outcome->open;
    outcome->status.Update(status);
    outcome->changed.NotifyAll();
  };
}

std::function<void()> OnRoom(std::shared_ptr<Outcome> outcome) {
  return [outcome = std::move(outcome)] {
    MutexLock lock(outcome->mu);
    outcome->room = true;
    outcome->changed.NotifyAll();
  };
}

bool WaitForRoom(Clock& clock, MonoTime deadline, Outcome& outcome) {
  MutexLock lock(outcome.mu);
  while (!outcome.room && clock.Mono() < deadline) clock.WaitUntil(outcome.changed, outcome.mu, deadline);
  return std::exchange(outcome.room, false);
}

}  // namespace

absl::Status RunImport::Check(const v1::NodeRun& run) const {
  FM_RETURN_IF_ERROR(Annotate(CheckNodeName(run.node()), "node"));
  FM_RETURN_IF_ERROR(CheckRun(run.run()));
  if (run.run().started_unix_ns() <= 0) return absl::InvalidArgumentError("started_unix_ns must be set");
  const absl::Time latest = clock_.Now() + absl::Seconds(limits::kClockSkewSeconds);
  if (absl::FromUnixNanos(run.run().started_unix_ns()) > latest) {
    return absl::InvalidArgumentError("started_unix_ns is in the future");
  }
  if (absl::FromUnixNanos(run.run().started_unix_ns()) < clock_.Now() - kept_) {
    return absl::InvalidArgumentError(
        absl::StrCat("older than the ", absl::ToInt64Hours(kept_) / 24,
                     " days for which samples and runs are kept (store.keep.samples, store.keep.runs)"));
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

absl::Status RunImport::Commit(std::vector<SenderRecords> batches) {
  const auto outcome = std::make_shared<Outcome>();
  const MonoTime deadline = clock_.Mono() + kPatience;
  std::map<std::string, std::shared_ptr<Committer::Lane>> lanes;
  for (SenderRecords& records : batches) {
    Committer::Offer offer;
    std::shared_ptr<Committer::Lane>& lane = lanes[records.node];
    if (lane == nullptr) lane = std::make_shared<Committer::Lane>();
    offer.lane = lane;
    for (const v1::Record& record : records.records) offer.bytes += record.ByteSizeLong();
    offer.records = std::move(records);
    offer.done = OnDone(outcome);
    {
      MutexLock lock(outcome->mu);
      ++outcome->open;
    }
    bool taken = committer_.TryOffer(std::move(offer), OnRoom(outcome));
    while (!taken && WaitForRoom(clock_, deadline, *outcome)) {
      taken = committer_.TryOffer(std::move(offer), OnRoom(outcome));
    }
    if (!taken) {
      offer.done(absl::ResourceExhaustedError("the collector is busy"));
      break;
    }
  }
  // However long it takes: the next import must not give out the same sequences again.
  MutexLock lock(outcome->mu);
  while (outcome->open > 0) outcome->changed.Wait(outcome->mu);
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
  // All of it is offered before anything is waited for, so that it shares few synced writes.
  MutexLock lock(importing_);
  std::vector<SenderRecords> batches;
  for (const auto& [node, runs] : by_node) {
    FM_RETURN_IF_ERROR(EnsureNode(node, runs.front()->started_unix_ns()));
    FM_ASSIGN_OR_RETURN(uint64_t sequence, store_.Watermark(node, kEpoch));
    size_t bytes = kOfferBytes;
    for (const v1::Run* run : runs) {
      if (bytes >= kOfferBytes) {
        batches.push_back({node, kEpoch, {}});
        bytes = 0;
      }
      v1::Record& record = batches.back().records.emplace_back();
      record.set_sequence(++sequence);
      *record.mutable_run() = *run;
      record.mutable_run()->set_trigger(v1::TRIGGER_IMPORT);
      bytes += record.ByteSizeLong();
    }
    response.set_stored(response.stored() + runs.size());
  }
  FM_RETURN_IF_ERROR(Commit(std::move(batches)));
  return response;
}

}  // namespace fleetmark::collector
