// nvbandwidth's text and its JSON (-j), up to 0.9. A matrix has a row and a column for each device;
// bandwidths are in GB/s, latencies in ns. Cells that do not apply are N/A, or 0.00 on the diagonal before
// 0.5.
#include <map>

#include "plugins/parse/json_documents.h"
#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

// What a description such as "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)" says of the numbers below.
std::optional<MetricKind> KindOf(std::string_view description) {
  if (ContainsNoCase(description, "variation") || ContainsNoCase(description, "stddev")) return std::nullopt;
  if (Contains(description, "(GB/s)") || ContainsNoCase(description, "bandwidth")) {
    return MetricKind{"bandwidth", "GB/s", "higher"};
  }
  if (Contains(description, "(ns)") || ContainsNoCase(description, "latency")) {
    return MetricKind{"latency", "ns", "lower"};
  }
  return std::nullopt;
}

std::string SumName(const MetricKind& kind) { return Join({kind.name, "_sum"}); }

class Matrix {
 public:
  Matrix(std::string test, std::string_view description, bool cells, Report& report)
      : test_(std::move(test)), kind_(KindOf(description)), cells_(cells), report_(report) {
    const size_t devices = Contains(description, "GPU(row)") && Contains(description, "GPU(column)") ? 2 : 1;
    between_devices_ = devices == 2;
  }

  void AddCell(std::string_view row, std::string_view column, std::string_view cell, size_t line) {
    if (!kind_) return;
    const Number number = ReadNumber(cell);
    const bool diagonal = between_devices_ && row == column;
    if (diagonal && number.kind == NumberKind::kNumber && number.value == 0) return;
    if (number.kind == NumberKind::kNumber && !cells_) return;
    report_.AddText(*kind_, cell,
                    {{"test", test_}, {"row", std::string(row)}, {"column", std::string(column)}}, line);
  }
  void AddSum(std::string_view text, size_t line) {
    if (kind_) report_.AddText({SumName(*kind_), kind_->unit, kind_->better}, text, {{"test", test_}}, line);
  }
  bool known() const { return kind_.has_value(); }

 private:
  std::string test_;
  std::optional<MetricKind> kind_;
  bool cells_;
  bool between_devices_ = false;
  Report& report_;
};

class TextReader {
 public:
  TextReader(bool cells, Report& report) : cells_(cells), report_(report) {}

  void Read() {
    for (const Line& line : report_.text().lines()) {
      const std::string_view text = Trim(line.text);
      if (!text.empty()) ReadLine(line, text);
    }
    EndTest();
    if (waived_ > 0 && report_.metrics() == 0) report_.Skipped(0, "every test was waived");
  }

 private:
  void ReadLine(const Line& line, std::string_view text) {
    if (text.starts_with("Running ")) return BeginTest(line, text.substr(8));
    if (text.starts_with("Waiv")) return Waive(line, text);
    if (StartsWithNoCase(text, "ERROR") || Contains(text, "CUDA_ERROR") || text.starts_with("[CUDA") ||
        Contains(text, "Invalid value when checking the pattern")) {
      finished_ = true;
      return report_.Failed(line.number, "nvbandwidth failed");
    }
    if (text.starts_with("SUM ")) return ReadSum(line, Words(text));
    if (!test_.empty() && Contains(text, "(row)")) {
      matrix_.emplace(test_, text, cells_, report_);
      columns_.clear();
      if (!matrix_->known()) report_.Warning(line.number, "a matrix of something unknown is left out");
    } else if (matrix_) {
      ReadRow(line, Words(text));
    }
  }

  void BeginTest(const Line& line, std::string_view name) {
    EndTest();
    if (name.ends_with(".")) name.remove_suffix(1);
    test_ = std::string(Trim(name));
    test_line_ = line.number;
  }

  // "Waiving NAME." (0.2), or after "Running NAME." "Waived:" without a name.
  void Waive(const Line& line, std::string_view text) {
    if (text.starts_with("Waiving ")) BeginTest(line, text.substr(8));
    ++waived_;
    finished_ = true;
    report_.Warning(line.number, Join({"test '", test_, "' was waived"}));
  }

  void ReadRow(const Line& line, const std::vector<std::string_view>& words) {
    if (!WholeNumber(words[0])) return;  // a message in the table
    if (columns_.empty()) {
      columns_.assign(words.begin(), words.end());
      return;
    }
    if (words.size() != columns_.size() + 1) {
      return report_.Invalid(line.number,
                             Join({"a row of ", std::to_string(words.size() - 1), " cells under ",
                                   std::to_string(columns_.size()), " columns"}));
    }
    for (size_t i = 0; i < columns_.size(); ++i)
      matrix_->AddCell(words[0], columns_[i], words[i + 1], line.number);
  }

  void ReadSum(const Line& line, const std::vector<std::string_view>& words) {
    finished_ = true;
    if (words.size() != 3) return report_.Invalid(line.number, "a sum without a value");
    // It has two decimals.
    if (report_.text().MayBeCut(line) && Decimals(words[2]) < 2) {
      return report_.Invalid(line.number, "the output is cut off in this line");
    }
    if (!matrix_ || words[1] != test_) return report_.Invalid(line.number, "a sum without its test");
    matrix_->AddSum(words[2], line.number);
    matrix_.reset();
  }

  void EndTest() {
    if (!test_.empty() && !finished_) {
      report_.Invalid(test_line_, "the output is cut off: this test has no SUM and was not waived");
    }
    matrix_.reset();
    finished_ = false;
    test_.clear();
  }

  const bool cells_;
  Report& report_;
  std::string test_;
  size_t test_line_ = 0;
  size_t waived_ = 0;
  bool finished_ = false;
  std::optional<Matrix> matrix_;
  std::vector<std::string_view> columns_;
};

void ReadJsonMatrix(const Json& test, const std::string& name, bool cells, const JsonDocument& document,
                    Report& report) {
  std::string description = StringIn(test, "bandwidth_description");
  if (description.empty()) description = Join({name, " ", Contains(name, "latency") ? "(ns)" : "(GB/s)"});
  Matrix matrix(name, description, cells, report);
  const Json* rows = ArrayIn(test, "bandwidth_matrix");
  for (size_t r = 0; rows != nullptr && r < rows->size(); ++r) {
    for (size_t c = 0; (*rows)[r].is_array() && c < (*rows)[r].size(); ++c) {
      const Json& cell = (*rows)[r][c];
      const std::string text = cell.is_string() ? cell.get<std::string>() : cell.dump();
      matrix.AddCell(std::to_string(r), std::to_string(c), text, document.line);
    }
  }
  if (const Json* sum = Member(test, "sum"); sum != nullptr) {
    matrix.AddSum(sum->is_string() ? sum->get<std::string>() : sum->dump(), document.line);
  }
}

// On an error the test comes again, after the one that was "Running": the later one counts.
void ReadJsonDocument(const JsonDocument& document, bool cells, Report& report) {
  const Json* root = ObjectIn(document.value, "nvbandwidth");
  if (root == nullptr) root = &document.value;
  if (const std::string error = StringIn(*root, "error"); !error.empty()) report.Failed(document.line, error);
  const Json* tests = ArrayIn(*root, "testcases");
  if (tests == nullptr) {
    if (!report.failed()) report.Invalid(document.line, "this JSON has no 'testcases'");
    return;
  }
  std::map<std::string, const Json*> latest;
  for (const Json& test : *tests) latest[StringIn(test, "name")] = &test;
  size_t waived = 0;
  for (const auto& [name, test] : latest) {
    const std::string status = StringIn(*test, "status");
    if (status == "Passed" || status.empty()) {
      ReadJsonMatrix(*test, name, cells, document, report);
    } else if (status == "Waived") {
      ++waived;
      report.Warning(document.line, Join({"test '", name, "' was waived"}));
    } else if (status == "Running") {
      report.Invalid(document.line, Join({"test '", name, "' did not end"}));
    } else {
      report.Failed(document.line,
                    Join({"test '", name, "' ended with status '", status, "': ", StringIn(*test, "error")}));
    }
  }
  if (waived > 0 && waived == latest.size()) report.Skipped(document.line, "every test was waived");
}

}  // namespace

void ReadNvbandwidth(const Options& options, Report& report) {
  const Json* wanted = Member(options, "cells");
  const bool cells = wanted == nullptr || wanted->get<bool>();
  bool text = false;
  for (const Line& line : report.text().lines()) text = text || Trim(line.text).starts_with("Running ");
  const JsonDocuments found = FindJsonDocuments(report.text());
  const bool json = !found.documents.empty() || !found.errors.empty();
  if (text || !json) return TextReader(cells, report).Read();
  for (const JsonError& error : found.errors) report.Invalid(error.line, error.sentence);
  for (const JsonDocument& document : found.documents) ReadJsonDocument(document, cells, report);
}

}  // namespace fleetmark::parse
