#include "collector/remote/write_receiver.h"

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "collector/promql/value.h"
#include "collector/remote/write_request.h"
#include "common/base/status.h"
#include "common/exposition/imported_runs.h"
#include "common/model/labels.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kReasonsShown = 5;
constexpr int kRunsPerCall = 5000;
constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kMaxMs = 9'000'000'000'000;  // nanoseconds stay within int64

absl::StatusOr<remote::WriteRequest> ParseBody(const HttpRequest& request) {
  if (!absl::StartsWithIgnoreCase(request.Header("content-type"), "application/x-protobuf")) {
    return absl::InvalidArgumentError("Content-Type must be application/x-protobuf");
  }
  if (request.Header("content-encoding") != "snappy") {
    return absl::InvalidArgumentError("Content-Encoding must be snappy");
  }
  FM_ASSIGN_OR_RETURN(const std::string body, SnappyDecompress(request.body, kMaxWriteBytes));
  remote::WriteRequest message;
  if (!message.ParseFromString(body)) return absl::InvalidArgumentError("the body is no WriteRequest");
  size_t samples = 0;
  for (const remote::TimeSeries& series : message.timeseries()) {
    samples += static_cast<size_t>(series.samples_size());
  }
  if (samples > kMaxMetrics) {
    return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxMetrics, " samples"));
  }
  return message;
}

// What was wrong, counted, with the first reasons.
struct Faults {
  size_t count = 0;
  std::string reasons;

  void Add(const std::string& name, const std::string& why) {
    if (++count <= kReasonsShown) absl::StrAppend(&reasons, name, ": ", why, "\n");
  }
};

absl::Status AddSeries(const remote::TimeSeries& series, ImportedRuns* runs, Faults* faults) {
  ExpositionSample sample;
  for (const remote::Label& label : series.labels()) {
    if (!IsValidUtf8(label.name()) || !IsValidUtf8(label.value())) {
      return absl::InvalidArgumentError("a label is not UTF-8");
    }
    if (label.name() == promql::kMetricName) {
      sample.name = label.value();
    } else {
      sample.labels[label.name()] = label.value();
    }
  }
  for (const remote::Sample& one : series.samples()) {
    if (promql::IsAbsent(one.value())) continue;  // the end of a series, which needs no mark here
    if (one.timestamp() <= 0 || one.timestamp() > kMaxMs) {
      faults->Add(sample.name, "the time is out of range");
      continue;
    }
    sample.value = one.value();
    sample.time_unix_ns = one.timestamp() * kNsPerMs;
    const absl::StatusOr<ImportedMetric> metric = FromSample(sample, {});
    const absl::Status added = metric.ok() ? runs->Add(*metric, 0) : metric.status();
    if (!added.ok()) faults->Add(sample.name, Message(added));
  }
  return absl::OkStatus();
}

// In parts, so that no call holds the others up for long.
absl::Status ImportAll(std::vector<ImportedRuns::Run> runs, const ImportFn& import, Faults* faults) {
  for (size_t begin = 0; begin < runs.size(); begin += kRunsPerCall) {
    v1::ImportRunsRequest request;
    for (size_t i = begin; i < std::min(runs.size(), begin + kRunsPerCall); ++i) {
      *request.add_runs() = std::move(runs[i].run);
    }
    FM_ASSIGN_OR_RETURN(const v1::ImportRunsResponse response, import(request));
    for (const v1::ImportRefusal& refusal : response.refused()) faults->Add("a run", refusal.reason());
  }
  return absl::OkStatus();
}

}  // namespace

HttpResponse TakeRemoteWrite(const HttpRequest& request, const ImportFn& import) {
  const absl::StatusOr<remote::WriteRequest> message = ParseBody(request);
  if (!message.ok()) return TextResponse(400, Message(message.status()) + "\n");
  ImportedRuns runs;
  Faults faults;
  for (const remote::TimeSeries& series : message->timeseries()) {
    const absl::Status added = AddSeries(series, &runs, &faults);
    if (!added.ok()) faults.Add("a series", Message(added));
  }
  const absl::Status imported = ImportAll(runs.Take(), import, &faults);
  if (!imported.ok()) {
    const bool full = absl::IsResourceExhausted(imported);
    return TextResponse(full ? 429 : (IsRetryable(imported) ? 503 : 500), Message(imported) + "\n");
  }
  if (faults.count == 0) return TextResponse(204, "");
  return TextResponse(400, absl::StrCat(faults.count, " samples were not taken:\n", faults.reasons));
}

void ServeRemoteWrite(HttpServer& server, ImportFn import) {
  server.Handle("POST", "/api/v1/write", [import = std::move(import)](const HttpRequest& request) {
    return TakeRemoteWrite(request, import);
  });
}

}  // namespace fleetmark::collector
