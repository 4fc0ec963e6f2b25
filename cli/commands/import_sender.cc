#include "cli/commands/import_sender.h"

#include <vector>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark::cli {
namespace {

// What a call carries at most: within the limits of a message, and of runs in a call.
constexpr size_t kMetricsPerCall = 5000;
constexpr size_t kBytesPerCall = 1 << 20;
constexpr size_t kFaultsShown = 20;

}  // namespace

absl::Status ImportSender::Begin(const std::string& file) {
  FM_RETURN_IF_ERROR(Send());
  file_ = file;
  faults_of_file_ = 0;
  return absl::OkStatus();
}

absl::Status ImportSender::Add(const ImportedMetric& metric, size_t line, size_t bytes) {
  if (const absl::Status added = runs_.Add(metric, line); !added.ok()) Fault(line, Message(added));
  bytes_ += bytes;
  return runs_.metrics() >= kMetricsPerCall || bytes_ >= kBytesPerCall ? Send() : absl::OkStatus();
}

absl::Status ImportSender::Send() {
  const std::vector<ImportedRuns::Run> runs = runs_.Take();
  bytes_ = 0;
  if (runs.empty()) return absl::OkStatus();
  v1::ImportRunsRequest request;
  for (const ImportedRuns::Run& run : runs) *request.add_runs() = run.run;
  FM_ASSIGN_OR_RETURN(const v1::ImportRunsResponse response, session_.client.ImportRuns(request));
  total_.set_stored(total_.stored() + response.stored());
  total_.set_known(total_.known() + response.known());
  for (const v1::ImportRefusal& refusal : response.refused()) {
    if (refusal.index() < runs.size()) Fault(runs[refusal.index()].line, refusal.reason());
  }
  return absl::OkStatus();
}

void ImportSender::Fault(size_t line, const std::string& why) {
  ++faults_;
  ++faults_of_file_;
  if (faults_of_file_ <= kFaultsShown) session_.output.Note(absl::StrCat(file_, ":", line, ": ", why));
  if (faults_of_file_ == kFaultsShown + 1) {
    session_.output.Note(absl::StrCat(file_, ": further faults are only counted"));
  }
}

}  // namespace fleetmark::cli
