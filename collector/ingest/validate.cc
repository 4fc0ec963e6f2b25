#include "collector/ingest/validate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/model/labels.h"
#include "common/model/limits.h"
#include "common/model/series.h"

namespace fleetmark::collector {
namespace {

template <typename T>
using Repeated = google::protobuf::RepeatedPtrField<T>;

absl::Status CheckCount(const char* field, int size, size_t max) {
  if (static_cast<size_t>(size) <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " has ", size, " entries, at most ", max, " are allowed"));
}

absl::Status CheckFacts(const Repeated<v1::Fact>& facts, const std::string& digest) {
  FM_RETURN_IF_ERROR(CheckCount("facts", facts.size(), limits::kFactsPerNode));
  FM_RETURN_IF_ERROR(CheckText("facts_digest", digest, limits::kNameBytes));
  for (const v1::Fact& fact : facts) {
    FM_RETURN_IF_ERROR(CheckText("fact name", fact.name(), limits::kFactNameBytes));
    FM_RETURN_IF_ERROR(CheckText("fact value", fact.value(), limits::kFactValueBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckPlugins(const Repeated<v1::Plugin>& plugins) {
  FM_RETURN_IF_ERROR(CheckCount("plugins", plugins.size(), limits::kPluginsPerNode));
  for (const v1::Plugin& plugin : plugins) {
    FM_RETURN_IF_ERROR(CheckText("plugin name", plugin.name(), limits::kNameBytes));
    FM_RETURN_IF_ERROR(CheckText("plugin version", plugin.version(), limits::kVersionBytes));
    FM_RETURN_IF_ERROR(CheckText("plugin digest", plugin.digest(), limits::kLabelValueBytes));
    FM_RETURN_IF_ERROR(CheckText("plugin problem", plugin.problem(), limits::kReasonBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckBenchmarks(const Repeated<v1::Benchmark>& benchmarks) {
  FM_RETURN_IF_ERROR(CheckCount("benchmarks", benchmarks.size(), limits::kBenchmarksPerNode));
  for (const v1::Benchmark& benchmark : benchmarks) {
    FM_RETURN_IF_ERROR(CheckBenchmarkName("benchmark name", benchmark.name()));
    FM_RETURN_IF_ERROR(CheckText("benchmark plugin", benchmark.plugin(), limits::kNameBytes));
    FM_RETURN_IF_ERROR(CheckText("benchmark params_json", benchmark.params_json(), limits::kParamsJsonBytes));
    FM_RETURN_IF_ERROR(CheckText("benchmark schedule", benchmark.schedule(), limits::kLabelValueBytes));
    FM_RETURN_IF_ERROR(CheckText("benchmark time_zone", benchmark.time_zone(), limits::kNameBytes));
    FM_RETURN_IF_ERROR(
        CheckText("benchmark plugin_digest", benchmark.plugin_digest(), limits::kLabelValueBytes));
    FM_RETURN_IF_ERROR(CheckText("benchmark suite", benchmark.suite(), limits::kNameBytes));
  }
  return absl::OkStatus();
}

bool IsEpoch(const std::string& text) {
  return text.size() == 32 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

struct Problem {
  RefusalKind kind;
  std::string reason;
};

std::optional<Problem> CheckNotInFuture(const char* field, int64_t time_unix_ns, absl::Time now) {
  const absl::Duration ahead = absl::FromUnixNanos(time_unix_ns) - now;
  if (ahead <= absl::Seconds(limits::kClockSkewSeconds)) return std::nullopt;
  return Problem{RefusalKind::kFuture,
                 absl::StrCat(field, " is ", absl::FormatDuration(absl::Trunc(ahead, absl::Seconds(1))),
                              " ahead of the collector's clock")};
}

std::optional<Problem> Invalid(const absl::Status& status) {
  if (status.ok()) return std::nullopt;
  return Problem{RefusalKind::kInvalid, Message(status)};
}

std::optional<Problem> CheckRunRecord(const v1::Run& run, absl::Time now) {
  if (auto problem = Invalid(CheckRun(run))) return problem;
  if (auto problem = CheckNotInFuture("scheduled_unix_ns", run.scheduled_unix_ns(), now)) return problem;
  return CheckNotInFuture("started_unix_ns", run.started_unix_ns(), now);
}

std::optional<Problem> CheckEventRecord(v1::Event* event, const std::string& node, absl::Time now) {
  if (event->node().empty()) event->set_node(node);
  if (auto problem = Invalid(CheckEvent(*event))) return problem;
  if (event->node() != node) {
    return Problem{RefusalKind::kOtherNode,
                   absl::StrCat("the event is of node '", event->node(), "', but '", node, "' sent it")};
  }
  return CheckNotInFuture("time_unix_ns", event->time_unix_ns(), now);
}

std::optional<Problem> CheckFactsRecord(const v1::FactsChanged& facts, absl::Time now) {
  if (auto problem = Invalid(CheckFacts(facts.facts(), facts.facts_digest()))) return problem;
  return CheckNotInFuture("time_unix_ns", facts.time_unix_ns(), now);
}

std::optional<Problem> CheckRecord(v1::Record* record, const std::string& node, absl::Time now) {
  const size_t bytes = record->ByteSizeLong();
  if (bytes > limits::kRecordBytes) {
    return Problem{RefusalKind::kTooLarge, absl::StrCat("the record has ", bytes, " bytes, at most ",
                                                        limits::kRecordBytes, " are allowed")};
  }
  switch (record->kind_case()) {
    case v1::Record::kRun:
      return CheckRunRecord(record->run(), now);
    case v1::Record::kEvent:
      return CheckEventRecord(record->mutable_event(), node, now);
    case v1::Record::kFacts:
      return CheckFactsRecord(record->facts(), now);
    case v1::Record::KIND_NOT_SET:
      break;
  }
  return Problem{RefusalKind::kUnknownKind, "this collector does not know this kind of record"};
}

// The latest time that a record speaks of.
absl::Time LatestTime(const v1::Record& record) {
  switch (record.kind_case()) {
    case v1::Record::kRun:
      return std::max(absl::FromUnixNanos(record.run().scheduled_unix_ns()),
                      absl::FromUnixNanos(record.run().started_unix_ns()) +
                          absl::Seconds(record.run().duration_seconds()));
    case v1::Record::kEvent:
      return absl::FromUnixNanos(record.event().time_unix_ns());
    case v1::Record::kFacts:
      return absl::FromUnixNanos(record.facts().time_unix_ns());
    case v1::Record::KIND_NOT_SET:
      break;
  }
  return absl::InfinitePast();
}

void MoveBack(v1::Record* record, absl::Duration by, absl::Time now) {
  // A run may have become due before its node's clock went wrong.
  const auto earlier = [&](int64_t time_unix_ns) {
    const absl::Time time = absl::FromUnixNanos(time_unix_ns);
    return time > now ? absl::ToUnixNanos(time - by) : time_unix_ns;
  };
  if (record->has_event()) {
    record->mutable_event()->set_time_unix_ns(earlier(record->event().time_unix_ns()));
  } else if (record->has_facts()) {
    record->mutable_facts()->set_time_unix_ns(earlier(record->facts().time_unix_ns()));
  } else {
    v1::Run& run = *record->mutable_run();
    run.set_scheduled_unix_ns(earlier(run.scheduled_unix_ns()));
    run.set_started_unix_ns(earlier(run.started_unix_ns()));
    std::string warning = absl::StrCat("the node's clock was ahead; times were moved back by ",
                                       absl::FormatDuration(absl::Trunc(by, absl::Seconds(1))));
    if (static_cast<size_t>(run.warnings_size()) < limits::kWarningsPerRun &&
        record->ByteSizeLong() + 2 * warning.size() < limits::kRecordBytes) {
      run.add_warnings(std::move(warning));
    }
  }
}

bool CanBeMovedBack(const Problem& problem, const v1::Record& record, absl::Time now) {
  return problem.kind == RefusalKind::kFuture &&
         LatestTime(record) - now <= absl::Seconds(limits::kClockRepairSeconds);
}

void MoveBackFuture(const std::vector<size_t>& future, absl::Time now, CheckedBatch* batch) {
  for (const size_t i : future)
    batch->moved_by = std::max(batch->moved_by, LatestTime(batch->accepted[i]) - now);
  for (const size_t i : future) MoveBack(&batch->accepted[i], batch->moved_by, now);
  batch->moved_back = future.size();
}

}  // namespace

absl::Status CheckHello(const v1::Hello& hello) {
  if (hello.protocol() == 0) return absl::InvalidArgumentError("hello.protocol is not set");
  FM_RETURN_IF_ERROR(CheckNodeName(hello.node().name()));
  const auto& labels = hello.node().labels();
  FM_RETURN_IF_ERROR(CheckNodeLabels(Labels(labels.begin(), labels.end())));
  if (!IsEpoch(hello.epoch()))
    return absl::InvalidArgumentError("hello.epoch must be 32 lower-case hex digits");
  FM_RETURN_IF_ERROR(CheckText("hello.agent_version", hello.agent_version(), limits::kVersionBytes));
  FM_RETURN_IF_ERROR(CheckText("hello.boot_id", hello.boot_id(), limits::kNameBytes));
  FM_RETURN_IF_ERROR(CheckText("hello.plan_version", hello.plan_version(), limits::kVersionBytes));
  FM_RETURN_IF_ERROR(CheckFacts(hello.facts(), hello.facts_digest()));
  FM_RETURN_IF_ERROR(CheckPlugins(hello.plugins()));
  return CheckBenchmarks(hello.benchmarks());
}

absl::Status CheckHeartbeat(const v1::Heartbeat& heartbeat) {
  FM_RETURN_IF_ERROR(CheckText("running_benchmark", heartbeat.running_benchmark(), limits::kNameBytes));
  FM_RETURN_IF_ERROR(CheckText("running_run_id", heartbeat.running_run_id(), limits::kNameBytes));
  FM_RETURN_IF_ERROR(CheckText("next_benchmark", heartbeat.next_benchmark(), limits::kNameBytes));
  FM_RETURN_IF_ERROR(CheckText("waits_for", heartbeat.waits_for(), limits::kReasonBytes));
  FM_RETURN_IF_ERROR(CheckPlugins(heartbeat.plugins()));
  return CheckBenchmarks(heartbeat.benchmarks());
}

absl::Status CheckPlanStatus(const v1::PlanStatus& status) {
  FM_RETURN_IF_ERROR(CheckText("plan_status.plan_version", status.plan_version(), limits::kVersionBytes));
  FM_RETURN_IF_ERROR(CheckCount("plan_status.problems", status.problems_size(), limits::kProblemsPerPlan));
  for (const std::string& problem : status.problems()) {
    FM_RETURN_IF_ERROR(CheckText("plan_status.problems", problem, limits::kReasonBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckLeaseRequest(const v1::LeaseRequest& request) {
  if (request.request_id().empty()) return absl::InvalidArgumentError("lease_request.request_id is not set");
  FM_RETURN_IF_ERROR(CheckText("lease_request.request_id", request.request_id(), limits::kNameBytes));
  FM_RETURN_IF_ERROR(CheckBenchmarkName("lease_request.benchmark", request.benchmark()));
  if (request.duration_seconds() > 0 && std::isfinite(request.duration_seconds())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("lease_request.duration_seconds must be above 0, not ", request.duration_seconds()));
}

const char* RefusalKindName(RefusalKind kind) {
  switch (kind) {
    case RefusalKind::kInvalid:
      return "invalid";
    case RefusalKind::kFuture:
      return "future";
    case RefusalKind::kOtherNode:
      return "other_node";
    case RefusalKind::kTooLarge:
      return "too_large";
    case RefusalKind::kUnknownKind:
      return "unknown_kind";
  }
  return "invalid";
}

absl::StatusOr<CheckedBatch> CheckBatch(v1::RecordBatch batch, const std::string& node, absl::Time now) {
  if (const size_t bytes = batch.ByteSizeLong(); bytes > limits::kBatchBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a batch has ", bytes, " bytes, at most ", limits::kBatchBytes, " are allowed"));
  }
  CheckedBatch out;
  std::vector<size_t> future;  // in `accepted`
  uint64_t last = 0;
  for (v1::Record& record : *batch.mutable_records()) {
    if (record.sequence() <= last) {
      return absl::InvalidArgumentError(
          absl::StrCat("record sequences must ascend from 1, but ", record.sequence(), " follows ", last));
    }
    last = record.sequence();
    std::optional<Problem> problem = CheckRecord(&record, node, now);
    if (problem.has_value() && CanBeMovedBack(*problem, record, now)) {
      problem.reset();
      future.push_back(out.accepted.size());
    }
    if (problem.has_value()) {
      RefusedRecord& refused = out.refused.emplace_back();
      refused.kind = problem->kind;
      refused.refusal.set_sequence(record.sequence());
      refused.refusal.set_reason(std::move(problem->reason));
    } else {
      out.accepted.push_back(std::move(record));
    }
  }
  MoveBackFuture(future, now, &out);
  return out;
}

}  // namespace fleetmark::collector
