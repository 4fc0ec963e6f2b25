// fleetmark detect: what changed in a series that a file holds, without any collector, or in a stored one.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "google/protobuf/struct.pb.h"

#include "cli/commands/arguments.h"
#include "cli/commands/commands.h"
#include "cli/commands/series_file.h"
#include "cli/output/table.h"
#include "common/base/status.h"
#include "common/detect/series_analysis.h"

namespace fleetmark::cli {
namespace {

using detect::Kind;
using detect::SeriesFinding;

constexpr uint32_t kMostStoredSamples = 100'000;  // an answer of the collector holds no more

// Of the file, or of standard input for "-".
absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& in = path == "-" ? std::cin : file;
  std::string text(kMaxSeriesFileBytes + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (!in && !in.eof())) return absl::InvalidArgumentError(absl::StrCat("can't read ", path));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

std::string NameOf(Kind kind) {
  switch (kind) {
    case Kind::kChange:
      return "change";
    case Kind::kSpread:
      return "spread";
    case Kind::kDrift:
      return "drift";
  }
  return "";
}

// More spread is for the worse whichever way is better.
bool IsWanted(const SeriesFinding& finding, const std::string& better) {
  if (better == "both") return true;
  if (finding.kind == Kind::kSpread) return finding.after > finding.before;
  return better == "higher" ? finding.after < finding.before : finding.after > finding.before;
}

void AddNumber(const std::string& key, double number, google::protobuf::Struct& object) {
  (*object.mutable_fields())[key].set_number_value(number);
}

google::protobuf::Struct AsJson(const SeriesFinding& finding, const FileSeries& series) {
  google::protobuf::Struct object;
  auto& fields = *object.mutable_fields();
  fields["kind"].set_string_value(NameOf(finding.kind));
  AddNumber("index", static_cast<double>(series.indices[finding.index]), object);
  auto* onset = fields["onset"].mutable_list_value();
  onset->add_values()->set_number_value(static_cast<double>(series.indices[finding.onset_low]));
  onset->add_values()->set_number_value(static_cast<double>(series.indices[finding.onset_high]));
  AddNumber("before", finding.before, object);
  AddNumber("after", finding.after, object);
  AddNumber("change_low", finding.change_low, object);
  AddNumber("change_high", finding.change_high, object);
  AddNumber("confidence", 1 - finding.p_value, object);
  AddNumber("p", finding.p_value, object);
  AddNumber("score", finding.score, object);
  fields["lasting"].set_bool_value(finding.lasting);
  if (!series.times.empty()) fields["time"].set_string_value(series.times[finding.index]);
  return object;
}

std::string Relative(const SeriesFinding& finding) {
  if (finding.before == 0) return "";
  return absl::StrFormat("%+.2f %%", 100 * (finding.after - finding.before) / std::fabs(finding.before));
}

Table AsTable(const std::vector<SeriesFinding>& findings, const FileSeries& series) {
  Table table({{"KIND"},
               {"INDEX", true},
               {"TIME"},
               {"ONSET"},
               {"BEFORE", true},
               {"AFTER", true},
               {"CHANGE", true},
               {"P", true},
               {"LASTING"}});
  for (const SeriesFinding& f : findings) {
    table.AddRow({NameOf(f.kind), CountCell(series.indices[f.index]),
                  series.times.empty() ? std::string("-") : series.times[f.index],
                  absl::StrCat(series.indices[f.onset_low], " to ", series.indices[f.onset_high]),
                  NumberCell(f.before), NumberCell(f.after), Relative(f), absl::StrFormat("%.2g", f.p_value),
                  f.lasting ? "yes" : "no"});
  }
  return table;
}

CommandResult PrintFindings(const FileSeries& series, const DetectOptions& options, const Output& output) {
  detect::AnalysisOptions analysis;
  analysis.false_findings_per_1000 = options.budget;
  std::vector<SeriesFinding> findings = detect::AnalyseSeries(series.values, analysis);
  std::erase_if(findings, [&](const SeriesFinding& f) { return !IsWanted(f, options.better); });
  if (output.json()) {
    google::protobuf::Struct document;
    AddNumber("samples", static_cast<double>(series.values.size()), document);
    auto* list = (*document.mutable_fields())["findings"].mutable_list_value();
    for (const SeriesFinding& f : findings) *list->add_values()->mutable_struct_value() = AsJson(f, series);
    FM_RETURN_IF_ERROR(output.Json(document));
    return kExitOk;
  }
  output.Print(AsTable(findings, series), "nothing changed");
  return kExitOk;
}

// The newest samples, oldest first.
FileSeries FromStored(const v1::ReadSamplesResponse& response) {
  FileSeries series;
  size_t index = 0;
  for (const v1::Sample& sample : response.samples()) {
    const size_t at = index++;
    if (!std::isfinite(sample.value())) continue;
    series.values.push_back(sample.value());
    series.indices.push_back(at);
    series.times.push_back(absl::FormatTime(absl::RFC3339_full, absl::FromUnixNanos(sample.time_unix_ns()),
                                            absl::UTCTimeZone()));
  }
  return series;
}

}  // namespace

CommandResult DetectInFile(const DetectOptions& options, const Output& output) {
  FM_ASSIGN_OR_RETURN(const std::string text, ReadText(options.file));
  const absl::StatusOr<FileSeries> series = ParseSeriesFile(text);
  if (!series.ok()) {
    const std::string name = options.file == "-" ? "standard input" : options.file;
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", series.status().message()));
  }
  return PrintFindings(*series, options, output);
}

CommandResult DetectInStore(const DetectOptions& options, Session& session) {
  v1::ReadSamplesRequest request;
  FM_ASSIGN_OR_RETURN(const uint64_t id, ParseSeriesId(options.series));
  request.set_series_id(id);
  request.set_limit(kMostStoredSamples);
  request.set_newest(true);
  FM_ASSIGN_OR_RETURN(const v1::ReadSamplesResponse response, session.client.ReadSamples(request));
  const CommandResult result = PrintFindings(FromStored(response), options, session.output);
  if (response.truncated()) session.output.Note("there are older samples, which were not looked at");
  return result;
}

}  // namespace fleetmark::cli
