#include "bench/accuracy/data_sets.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/struct.pb.h"

#include "common/base/status.h"
#include "common/plugin/json_text.h"

namespace fleetmark::bench {
namespace {

using google::protobuf::Value;

absl::StatusOr<std::string> ReadAll(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return absl::NotFoundError(absl::StrCat("no file ", file));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

absl::StatusOr<Value> ReadJson(const std::string& file) {
  FM_ASSIGN_OR_RETURN(const std::string text, ReadAll(file));
  return ParseJsonValue(text);
}

const Value& Member(const Value& value, const std::string& key) {
  static const Value kNothing;
  const auto& fields = value.struct_value().fields();
  const auto found = fields.find(key);
  return found == fields.end() ? kNothing : found->second;
}

// Numbers go to `out`; anything else is a missing value.
void AppendNumbers(const Value& list, DataSeries& out) {
  size_t place = 0;
  for (const Value& item : list.list_value().values()) {
    if (item.has_number_value()) {
      out.values.push_back(item.number_value());
      out.places.push_back(place);
    }
    ++place;
  }
  out.length = place;
}

void FillPlaces(DataSeries& series) {
  series.length = series.values.size();
  for (size_t i = 0; i < series.length; ++i) series.places.push_back(i);
}

std::vector<std::string> JsonFiles(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<DataSeries> ReadTalosFile(const std::string& file, const Value& expected) {
  FM_ASSIGN_OR_RETURN(const Value json, ReadJson(file));
  std::vector<std::pair<double, double>> rows;
  for (const Value& row : Member(json, "test_runs").list_value().values()) {
    const auto& cells = row.list_value().values();
    if (cells.size() > 3) rows.emplace_back(cells[2].number_value(), cells[3].number_value());
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  DataSeries series;
  series.name = std::filesystem::path(file).stem();
  for (const auto& [time, value] : rows) series.values.push_back(value);
  FillPlaces(series);
  for (const Value& time : expected.list_value().values()) {
    const auto at = std::find_if(rows.begin(), rows.end(),
                                 [&](const auto& row) { return row.first == time.number_value(); });
    if (at != rows.end()) series.expected.push_back(static_cast<size_t>(at - rows.begin()));
  }
  return series;
}

}  // namespace

absl::StatusOr<std::vector<DataSeries>> ReadTcpd(const std::string& folder) {
  FM_ASSIGN_OR_RETURN(const Value annotations, ReadJson(folder + "/annotations.json"));
  std::vector<DataSeries> all;
  for (const std::string& file : JsonFiles(folder + "/series")) {
    FM_ASSIGN_OR_RETURN(const Value json, ReadJson(file));
    if (Member(json, "n_dim").number_value() != 1) continue;
    DataSeries series;
    series.name = Member(json, "name").string_value();
    const auto& columns = Member(json, "series").list_value().values();
    if (columns.empty()) return absl::InvalidArgumentError(absl::StrCat(file, " has no series"));
    AppendNumbers(Member(columns[0], "raw"), series);
    for (const auto& [who, list] : Member(annotations, series.name).struct_value().fields()) {
      std::vector<size_t> cuts;
      for (const Value& cut : list.list_value().values())
        cuts.push_back(static_cast<size_t>(cut.number_value()));
      std::sort(cuts.begin(), cuts.end());
      series.annotations.push_back(cuts);
    }
    all.push_back(std::move(series));
  }
  return all;
}

absl::StatusOr<std::vector<DataSeries>> ReadTalos(const std::string& folder) {
  FM_ASSIGN_OR_RETURN(const Value expected, ReadJson(folder + "/expected_change_timestamps.json"));
  std::vector<DataSeries> all;
  for (const std::string& file : JsonFiles(folder)) {
    const std::string name = std::filesystem::path(file).filename();
    if (name == "expected_change_timestamps.json") continue;
    FM_ASSIGN_OR_RETURN(DataSeries series, ReadTalosFile(file, Member(expected, name)));
    all.push_back(std::move(series));
  }
  return all;
}

absl::StatusOr<std::vector<DataSeries>> ReadGpuHistories(const std::string& file, size_t fewest) {
  FM_ASSIGN_OR_RETURN(const std::string text, ReadAll(file));
  std::map<std::string, std::vector<std::pair<double, double>>> runs;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
    double time = 0, value = 0;
    if (cells.size() < 12 || !absl::SimpleAtod(cells[6], &time) || !absl::SimpleAtod(cells[11], &value))
      continue;
    if (time > 0 && std::isfinite(value)) runs[std::string(cells[3])].emplace_back(time, value);
  }
  std::vector<DataSeries> all;
  for (auto& [gpu, list] : runs) {
    if (list.size() < fewest) continue;
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    DataSeries series;
    series.name = gpu;
    for (const auto& [time, value] : list) series.values.push_back(value);
    FillPlaces(series);
    all.push_back(std::move(series));
  }
  return all;
}

absl::StatusOr<DataSeries> ReadTigerBeetle(const std::string& file) {
  FM_ASSIGN_OR_RETURN(const Value json, ReadJson(file));
  DataSeries series;
  series.name = "tigerbeetle";
  AppendNumbers(Member(json, "series"), series);
  series.expected = {15, 71, 95};
  return series;
}

absl::StatusOr<DataSeries> ReadNumberList(const std::string& file) {
  FM_ASSIGN_OR_RETURN(const Value json, ReadJson(file));
  DataSeries series;
  series.name = std::filesystem::path(file).stem();
  AppendNumbers(json, series);
  return series;
}

absl::StatusOr<std::vector<DataSeries>> ReadRocksDb(const std::string& file) {
  FM_ASSIGN_OR_RETURN(const std::string text, ReadAll(file));
  std::map<std::string, std::vector<std::pair<double, double>>> rows;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
    double time = 0, value = 0;
    if (cells.size() < 5 || !absl::SimpleAtod(cells[2], &time) || !absl::SimpleAtod(cells[4], &value))
      continue;
    if (std::isfinite(value)) rows[absl::StrCat(cells[0], "/", cells[1])].emplace_back(time, value);
  }
  std::vector<DataSeries> all;
  for (auto& [name, list] : rows) {
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    DataSeries series;
    series.name = name;
    for (const auto& [time, value] : list) series.values.push_back(value);
    FillPlaces(series);
    all.push_back(std::move(series));
  }
  return all;
}

absl::StatusOr<DataSeries> ReadCsv(const std::string& file) {
  FM_ASSIGN_OR_RETURN(const std::string text, ReadAll(file));
  DataSeries series;
  series.name = std::filesystem::path(file).stem();
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
    double value = 0;
    if (cells.size() < 2 || !absl::SimpleAtod(cells[1], &value) || !std::isfinite(value)) continue;
    series.values.push_back(value);
  }
  FillPlaces(series);
  return series;
}

absl::StatusOr<PublishedScores> ReadPublished(const std::string& file) {
  FM_ASSIGN_OR_RETURN(const Value json, ReadJson(file));
  PublishedScores scores;
  for (const auto& [table, rows] : Member(json, "scores").struct_value().fields()) {
    for (const auto& [series, methods] : rows.struct_value().fields()) {
      for (const auto& [method, score] : methods.struct_value().fields()) {
        if (score.has_number_value()) scores[table][series][method] = score.number_value();
      }
    }
  }
  return scores;
}

}  // namespace fleetmark::bench
