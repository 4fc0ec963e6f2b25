// fleetmark parse: what a program printed, read by one of the readers of plugins/parse.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "cli/commands/commands.h"
#include "cli/commands/input.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "common/base/status.h"
#include "plugins/parse/reader.h"

namespace fleetmark::cli {
namespace {

constexpr size_t kMaxOptionsBytes = 1 << 20;

// "@FILE" is a file's text.
absl::StatusOr<std::string> OptionsText(const std::string& options) {
  if (options.empty() || options[0] != '@') return options;
  return ReadInput(options.substr(1), kMaxOptionsBytes);
}

Cell LabelsCell(const parse::Labels& labels) {
  return Cell(Printable(absl::StrJoin(labels, ",", absl::PairFormatter("="))));
}

std::string Exact(const std::optional<double>& number) { return number ? NumberCell(*number).exact : ""; }

Table MetricsTable(const parse::ParsedOutput& read) {
  Table table({{"METRIC"},
               {"VALUE", true},
               {"UNIT"},
               {"BETTER"},
               {"REFERENCE", true, true},
               {"LOWER", true, true},
               {"UPPER", true, true},
               {"LABELS"}});
  for (const parse::Metric& metric : read.metrics) {
    const bool has = metric.reference.has_value();
    table.AddRow({metric.name, NumberCell(metric.value), metric.unit, metric.better,
                  has ? NumberCell(metric.reference->value) : Cell(""),
                  has ? Exact(metric.reference->lower) : "", has ? Exact(metric.reference->upper) : "",
                  LabelsCell(metric.labels)});
  }
  return table;
}

void PrintProblems(const parse::ParsedOutput& read, const std::string& file, const Output& output) {
  for (const parse::Problem& problem : read.problems) {
    const std::string where = problem.line == 0 ? file : absl::StrCat(file, ":", problem.line);
    output.Note(absl::StrCat(where, ": ", problem.warning ? "warning: " : "", Printable(problem.text)));
  }
}

}  // namespace

CommandResult ParseOutput(const ParseOptions& options, const Output& output) {
  if (options.reader.empty() || options.file.empty()) {
    return absl::InvalidArgumentError("parse needs --reader NAME and a file, or --list");
  }
  FM_ASSIGN_OR_RETURN(const std::string reader_options, OptionsText(options.options));
  FM_ASSIGN_OR_RETURN(const std::string text, ReadInput(options.file, parse::kMaxTextBytes));
  parse::ParsedOutput read;
  std::string error;
  if (!parse::ReadOutput(options.reader, text, reader_options, &read, &error)) {
    return absl::InvalidArgumentError(error);
  }
  const bool ok = read.outcome == parse::Outcome::kOk;
  if (output.document()) {
    FM_RETURN_IF_ERROR(output.DocumentText(parse::ToJson(read)));
    return ok ? kExitOk : kExitProblem;
  }
  output.Print(MetricsTable(read), "no metrics");
  PrintProblems(read, options.file, output);
  if (!ok) output.Note(absl::StrCat("outcome: ", std::string(parse::OutcomeName(read.outcome))));
  return ok ? kExitOk : kExitProblem;
}

CommandResult ListReaders(const Output& output) {
  if (output.document()) {
    FM_RETURN_IF_ERROR(output.DocumentText(parse::ReadersJson()));
    return kExitOk;
  }
  Table table({{"READER"}, {"READS"}, {"OPTIONS", false, true}});
  for (const parse::Reader& reader : parse::Readers()) {
    const std::string own =
        absl::StrJoin(reader.options, ",",
                      [](std::string* out, const parse::ReaderOption& option) { out->append(option.name); });
    table.AddRow({std::string(reader.name), std::string(reader.summary), own});
  }
  output.Print(table, "");
  return kExitOk;
}

}  // namespace fleetmark::cli
