// import: other tools' records into the collector, so that a broken row costs only itself.
#include <fstream>
#include <istream>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

#include "cli/commands/commands.h"
#include "cli/commands/import_files.h"
#include "cli/commands/import_sender.h"
#include "cli/commands/input.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/exposition/csv.h"
#include "common/exposition/openmetrics.h"
#include "common/history/history.h"
#include "common/history/reference_list.h"

namespace fleetmark::cli {
namespace {

constexpr size_t kMaxLineBytes = 64 * 1024;
constexpr size_t kMaxHistoryBytes = size_t{64} << 20;  // what the readers take

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

// CSV and OpenMetrics: a line is a measurement, whatever the file's size.
class LineImporter {
 public:
  LineImporter(const ImportOptions& options, ImportSender& sender) : options_(options), sender_(sender) {}

  absl::Status Run(const std::string& file) {
    std::ifstream in(file == "-" ? "/dev/stdin" : file, std::ios::binary);
    if (!in) return absl::NotFoundError(absl::StrCat(file, " can't be read"));
    std::string line;
    size_t number = 1;
    for (; ReadLine(in, &line); ++number) {
      const absl::StatusOr<std::optional<ImportedMetric>> metric = Read(line);
      if (csv_.HeaderFailed()) return Annotate(metric.status(), absl::StrCat(file, ":", number));
      if (!metric.ok()) sender_.Fault(number, Message(metric.status()));
      if (metric.ok() && metric->has_value()) FM_RETURN_IF_ERROR(sender_.Add(**metric, number, line.size()));
    }
    if (options_.format == "openmetrics" && !open_metrics_.ended()) {
      sender_.Fault(number - 1, "the file does not end with # EOF: it may be cut off");
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::optional<ImportedMetric>> Read(const std::string& line) {
    if (options_.format == "csv") return csv_.Line(line);
    FM_ASSIGN_OR_RETURN(const std::optional<ExpositionSample> sample, open_metrics_.Line(line));
    if (!sample.has_value()) return std::nullopt;
    FM_ASSIGN_OR_RETURN(ImportedMetric metric, FromSample(*sample, {options_.node, options_.benchmark}));
    return metric;
  }

  const ImportOptions& options_;
  ImportSender& sender_;
  OpenMetricsReader open_metrics_;
  CsvReader csv_;
};

// What the readers of other tools' output understand: a file as a whole.
class HistoryImporter {
 public:
  HistoryImporter(const ImportOptions& options, absl::TimeZone zone, ImportSender& sender)
      : options_(options), zone_(zone), sender_(sender) {}

  absl::Status Run(const std::string& file) {
    FM_ASSIGN_OR_RETURN(const std::string text, ReadInput(file, kMaxHistoryBytes));
    HistoryOptions options;
    options.node = options_.node.empty() ? SystemInPath(file) : options_.node;
    options.benchmark = options_.benchmark;
    options.time = options_.time.empty() ? TimeInPath(file) : options_.time;
    options.zone = zone_;
    FM_ASSIGN_OR_RETURN(const History history, ReadHistory(options_.format, text, options));
    failed_ += history.failed;
    unusable_ += history.unusable;
    for (const HistoryFault& fault : history.faults) sender_.Fault(fault.line, fault.why);
    const size_t bytes = history.metrics.empty() ? 0 : text.size() / history.metrics.size();
    for (const HistoryMetric& one : history.metrics) {
      FM_RETURN_IF_ERROR(sender_.Add(one.metric, one.line, bytes));
      references_.Add(one);
    }
    return absl::OkStatus();
  }

  absl::Status Finish(const Output& output) const {
    if (failed_ > 0)
      output.Note(absl::StrCat(failed_, " tests had failed; of these what was measured went in"));
    if (unusable_ > 0) {
      output.Note(absl::StrCat(unusable_, " numbers were left out, as their program had ended badly"));
    }
    if (options_.references.empty()) return absl::OkStatus();
    FM_RETURN_IF_ERROR(ReplaceFile(options_.references, references_.Yaml()));
    output.Note(absl::StrCat(references_.size(), " references written to ", options_.references));
    return absl::OkStatus();
  }

 private:
  const ImportOptions& options_;
  const absl::TimeZone zone_;
  ImportSender& sender_;
  ReferenceList references_;
  size_t failed_ = 0;
  size_t unusable_ = 0;
};

bool IsByLine(const std::string& format) { return format == "csv" || format == "openmetrics"; }

CommandResult Report(const ImportSender& sender, const Output& output) {
  const ExitCode code = sender.faults() == 0 ? kExitOk : kExitProblem;
  if (output.document()) {
    FM_RETURN_IF_ERROR(output.Document(sender.total()));
  } else {
    output.Say(absl::StrCat(sender.total().stored(), " runs imported, ", sender.total().known(),
                            " were there already, ", sender.faults(), " faults"));
  }
  return code;
}

absl::StatusOr<absl::TimeZone> ZoneNamed(const std::string& name) {
  absl::TimeZone zone = absl::UTCTimeZone();
  if (name.empty() || absl::LoadTimeZone(name, &zone)) return zone;
  return absl::InvalidArgumentError(
      absl::StrCat("--time-zone: '", name, "' is no zone such as Europe/London"));
}

}  // namespace

CommandResult ImportRecords(const ImportOptions& options, Session& session) {
  FM_ASSIGN_OR_RETURN(const std::vector<std::string> files, ImportFiles(options.format, options.files));
  FM_ASSIGN_OR_RETURN(const absl::TimeZone zone, ZoneNamed(options.time_zone));
  ImportSender sender(session);
  HistoryImporter histories(options, zone, sender);
  for (const std::string& file : files) {
    FM_RETURN_IF_ERROR(sender.Begin(file));
    FM_RETURN_IF_ERROR(IsByLine(options.format) ? LineImporter(options, sender).Run(file)
                                                : histories.Run(file));
  }
  FM_RETURN_IF_ERROR(sender.Send());
  FM_RETURN_IF_ERROR(histories.Finish(session.output));
  return Report(sender, session.output);
}

}  // namespace fleetmark::cli
