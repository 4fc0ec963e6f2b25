// import: other tools' records into the collector, line by line, so that a broken row costs only itself.
#include <algorithm>
#include <fstream>
#include <istream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "cli/commands/commands.h"
#include "common/base/status.h"
#include "common/exposition/csv.h"
#include "common/exposition/imported_runs.h"
#include "common/exposition/openmetrics.h"

namespace fleetmark::cli {
namespace {

// What a call carries at most: within the limits of a message, and of runs in a call.
constexpr size_t kMetricsPerCall = 5000;
constexpr size_t kBytesPerCall = 1 << 20;
constexpr size_t kMaxLineBytes = 64 * 1024;
constexpr size_t kFaultsShown = 20;

// One line without its end; false at the end of the file. Of a line that is too long only the begin is kept,
// which its reader then refuses.
bool ReadLine(std::istream& in, std::string* line) {
  line->clear();
  int c = 0;
  while ((c = in.get()) != std::istream::traits_type::eof()) {
    if (c == '\n') return true;
    if (line->size() <= kMaxLineBytes) line->push_back(static_cast<char>(c));
  }
  return !line->empty();
}

class Importer {
 public:
  Importer(const ImportOptions& options, Session& session) : options_(options), session_(session) {}

  CommandResult Run(std::istream& in) {
    std::string line;
    for (line_ = 1; ReadLine(in, &line); ++line_) {
      const absl::StatusOr<std::optional<ImportedMetric>> metric = Read(line);
      if (csv_.HeaderFailed()) return Annotate(metric.status(), absl::StrCat(options_.file, ":", line_));
      const absl::Status added = !metric.ok()           ? metric.status()
                                 : !metric->has_value() ? absl::OkStatus()
                                                        : runs_.Add(**metric, line_);
      if (!added.ok()) Fault(line_, Message(added));
      bytes_ += line.size();
      if (runs_.metrics() >= kMetricsPerCall || bytes_ >= kBytesPerCall) FM_RETURN_IF_ERROR(Send());
    }
    FM_RETURN_IF_ERROR(Send());
    if (options_.format == "openmetrics" && !open_metrics_.ended()) {
      Fault(line_ - 1, "the file does not end with # EOF: it may be cut off");
    }
    return Report();
  }

 private:
  absl::StatusOr<std::optional<ImportedMetric>> Read(const std::string& line) {
    if (options_.format == "csv") return csv_.Line(line);
    FM_ASSIGN_OR_RETURN(const std::optional<ExpositionSample> sample, open_metrics_.Line(line));
    if (!sample.has_value()) return std::nullopt;
    FM_ASSIGN_OR_RETURN(ImportedMetric metric, FromSample(*sample, {options_.node, options_.benchmark}));
    return metric;
  }

  absl::Status Send() {
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

  void Fault(size_t line, const std::string& why) {
    ++faults_;
    if (faults_ <= kFaultsShown) session_.output.Note(absl::StrCat(options_.file, ":", line, ": ", why));
    if (faults_ == kFaultsShown + 1) {
      session_.output.Note(absl::StrCat(options_.file, ": further faults are only counted"));
    }
  }

  CommandResult Report() {
    const ExitCode code = faults_ == 0 ? kExitOk : kExitProblem;
    if (session_.output.json()) {
      FM_RETURN_IF_ERROR(session_.output.Json(total_));
    } else {
      session_.output.Say(absl::StrCat(total_.stored(), " runs imported, ", total_.known(),
                                       " were there already, ", faults_, " faults"));
    }
    return code;
  }

  const ImportOptions& options_;
  Session& session_;
  OpenMetricsReader open_metrics_;
  CsvReader csv_;
  ImportedRuns runs_;
  v1::ImportRunsResponse total_;
  size_t line_ = 0;
  size_t bytes_ = 0;  // read since the last call
  size_t faults_ = 0;
};

}  // namespace

CommandResult ImportFile(const ImportOptions& options, Session& session) {
  std::ifstream in(options.file == "-" ? "/dev/stdin" : options.file, std::ios::binary);
  if (!in) return absl::NotFoundError(absl::StrCat(options.file, " can't be read"));
  return Importer(options, session).Run(in);
}

}  // namespace fleetmark::cli
