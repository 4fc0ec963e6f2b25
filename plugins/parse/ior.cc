// IOR 3.x and 4.x (tables or JSON) and mdtest's summaries. IOR's MiB is 2^20 bytes.
#include <cctype>
#include <cmath>

#include "plugins/parse/json_documents.h"
#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

bool IsOperation(std::string_view word) { return word == "write" || word == "read" || word == "remove"; }

// "1024", "1024.00" and 1024.0 are the same size.
std::string SizeLabel(std::string_view text) {
  const auto number = FiniteNumber(text);
  const bool whole = number && *number == std::floor(*number) && std::abs(*number) < 1e15;
  return whole ? std::to_string(static_cast<int64_t>(*number)) : std::string(text);
}

class IorTable {
 public:
  explicit IorTable(Report& report) : report_(report) {}

  void Read() {
    for (const Line& line : report_.text().lines()) ReadLine(line, Words(line.text), Trim(line.text));
    if (header_line_ > 0 && !finished_) {
      report_.Invalid(header_line_, "the output is cut off: nothing follows the table that begins here");
    }
  }

 private:
  void ReadLine(const Line& line, const std::vector<std::string_view>& words, std::string_view text) {
    if (words.empty()) return;
    if (words[0] == "access" && words.size() > 4) {
      header_ = words;
      header_line_ = line.number;
    } else if (!header_.empty() && IsOperation(words[0]) && !finished_) {
      ReadRow(line, words);
    } else if (text.starts_with("Max Write:") || text.starts_with("Max Read:")) {
      ReadMax(line, text);
    } else if (text.starts_with("Summary of all tests") || text.starts_with("Finished")) {
      finished_ = true;
    } else if (Contains(text, "incorrect data") || Contains(text, "data check error") ||
               Contains(text, "Data check failed")) {
      report_.Invalid(line.number, "the data read are wrong");
    } else if (StartsWithNoCase(text, "ERROR") || Contains(text, "MPI_ABORT")) {
      report_.Failed(line.number, "IOR failed");
    } else if (text.starts_with("WARNING")) {
      report_.Warning(line.number, "IOR warns");
    }
  }

  void ReadRow(const Line& line, const std::vector<std::string_view>& words) {
    if (words.size() != header_.size()) {
      return report_.Invalid(line.number,
                             Join({"a row of ", std::to_string(words.size()), " columns under a header of ",
                                   std::to_string(header_.size())}));
    }
    Labels labels = {{"operation", std::string(words[0])}};
    for (size_t i = 0; i < header_.size(); ++i) {
      if (header_[i].starts_with("xfer")) labels["transfer_size_kib"] = SizeLabel(words[i]);
      if (header_[i].starts_with("block")) labels["block_size_kib"] = SizeLabel(words[i]);
    }
    std::erase_if(labels, [](const auto& label) { return label.second == "-"; });
    for (size_t i = 1; i < header_.size(); ++i) ReadCell(header_[i], words[i], labels, line.number);
  }

  void ReadCell(std::string_view column, std::string_view cell, const Labels& labels, size_t line) {
    const std::string_view name = column.substr(0, column.find('('));
    const auto unit = FindUnit(Between(column, "(", ")").value_or(""));
    if (name == "bw" && unit)
      report_.AddText({"bandwidth", unit->unit, "higher", unit->scale}, cell, labels, line);
    if (name == "IOPS") report_.AddText({"iops", "IOPS", "higher"}, cell, labels, line);
    if (!unit) return;
    if (name == "Latency") report_.AddText({"latency", unit->unit, "lower"}, cell, labels, line);
    if (name == "open") report_.AddText({"open_time", unit->unit, "lower"}, cell, labels, line);
    if (name == "wr/rd") report_.AddText({"transfer_time", unit->unit, "lower"}, cell, labels, line);
    if (name == "close") report_.AddText({"close_time", unit->unit, "lower"}, cell, labels, line);
    if (name == "total") report_.AddText({"total_time", unit->unit, "lower"}, cell, labels, line);
  }

  // "Max Write: 5210.44 MiB/sec (5463.54 MB/sec)"
  void ReadMax(const Line& line, std::string_view text) {
    finished_ = true;
    const std::string_view rest = Trim(*After(text, ":"));
    const Quantity quantity = ReadQuantity(rest.substr(0, rest.find('(')));
    const auto unit = FindUnit(quantity.unit);
    const bool rate = unit && unit->unit.ends_with("/s");  // "MiB" is a "MiB/sec" that is cut off
    if (quantity.number.kind == NumberKind::kNumber && rate) {
      const Labels labels = {{"operation", text.starts_with("Max Write") ? "write" : "read"}};
      report_.Add({"max_bandwidth", unit->unit, "higher", unit->scale}, quantity.number.value, labels,
                  line.number);
    } else if (quantity.number.kind == NumberKind::kNotFinite) {
      report_.Warning(line.number, "the maximum is not finite and left out");
    } else {
      report_.Invalid(line.number, "a maximum that is no bandwidth");
    }
  }

  Report& report_;
  std::vector<std::string_view> header_;
  size_t header_line_ = 0;
  bool finished_ = false;
};

void ReadIorResult(const Json& result, const JsonDocument& document, Report& report) {
  Labels labels = {{"operation", StringIn(result, "access")}};
  if (const auto size = NumberIn(result, "xferKiB"))
    labels["transfer_size_kib"] = SizeLabel(Json(*size).dump());
  if (const auto size = NumberIn(result, "blockKiB"))
    labels["block_size_kib"] = SizeLabel(Json(*size).dump());
  AddMember({"bandwidth", "MiB/s", "higher"}, result, "bwMiB", labels, document, report);
  AddMember({"iops", "IOPS", "higher"}, result, "iops", labels, document, report);
  AddMember({"latency", "s", "lower"}, result, "latency", labels, document, report);
  AddMember({"open_time", "s", "lower"}, result, "openTime", labels, document, report);
  AddMember({"transfer_time", "s", "lower"}, result, "wrRdTime", labels, document, report);
  AddMember({"close_time", "s", "lower"}, result, "closeTime", labels, document, report);
  AddMember({"total_time", "s", "lower"}, result, "totalTime", labels, document, report);
}

void ReadIorDocument(const JsonDocument& document, Report& report) {
  const Json* tests = ArrayIn(document.value, "tests");
  if (tests == nullptr) return report.Invalid(document.line, "this JSON has no 'tests'");
  for (const Json& test : *tests) {
    const Json* results = ArrayIn(test, "Results");
    for (size_t i = 0; results != nullptr && i < results->size(); ++i) {
      const Json& item = (*results)[i];  // a list for each repetition, or the results themselves
      if (item.is_object()) ReadIorResult(item, document, report);
      for (size_t k = 0; item.is_array() && k < item.size(); ++k) ReadIorResult(item[k], document, report);
    }
    if (const Json* max = ObjectIn(test, "max"); max != nullptr) {
      AddMember({"max_bandwidth", "MiB/s", "higher"}, *max, "writeMiB", {{"operation", "write"}}, document,
                report);
      AddMember({"max_bandwidth", "MiB/s", "higher"}, *max, "readMiB", {{"operation", "read"}}, document,
                report);
    }
  }
  const Json* summary = ArrayIn(document.value, "summary");
  for (size_t i = 0; summary != nullptr && i < summary->size(); ++i) {
    const Json& one = (*summary)[i];
    AddMember({"mean_bandwidth", "MiB/s", "higher"}, one, "bwMeanMIB",
              {{"operation", StringIn(one, "operation")}}, document, report);
  }
  if (summary == nullptr) report.Invalid(document.line, "this JSON has no 'summary': IOR did not finish");
}

class MdtestReader {
 public:
  explicit MdtestReader(Report& report) : report_(report) {}

  void Read() {
    for (const Line& line : report_.text().lines()) ReadLine(line, Trim(line.text));
    EndSummary();
  }

 private:
  void ReadLine(const Line& line, std::string_view text) {
    if (text.starts_with("SUMMARY")) {
      EndSummary();
      summary_line_ = line.number;
      is_time_ = Contains(text, "time");
      per_rank_ = false;
      const auto unit = FindUnit(Between(text, "(in ", "/op)").value_or("s"));
      time_unit_ = unit.value_or(UnitSpelling{"s"});
    } else if (summary_line_ == 0) {
      if (Contains(text, "ERROR") || Contains(text, "MPI_ABORT"))
        report_.Failed(line.number, "mdtest failed");
    } else if (Contains(text, "per Rank")) {
      per_rank_ = true;
    } else if (text.starts_with("-- finished")) {
      EndSummary();
    } else if (IsRow(text)) {
      ReadRow(line, text);
    }
  }

  static bool IsRow(std::string_view text) {
    return text.starts_with("Directory ") || text.starts_with("File ") || text.starts_with("Tree ");
  }

  // A name, then Max Min Mean Std Dev; with statistics of the ranks first, Max Min Mean of those before.
  void ReadRow(const Line& line, std::string_view text) {
    std::string operation;
    std::vector<std::string_view> cells;
    for (std::string_view word : Words(text)) {
      if (word.ends_with(":")) word.remove_suffix(1);
      if (word.empty()) continue;
      const bool name = cells.empty() && ReadNumber(word).kind == NumberKind::kMalformed &&
                        !std::isdigit(static_cast<unsigned char>(word[0]));
      if (name) {
        operation += Join({operation.empty() ? "" : " ", word});
      } else {
        cells.push_back(word);
      }
    }
    const size_t expected = per_rank_ ? 7 : 4;
    if (cells.size() != expected) {
      return report_.Invalid(line.number,
                             Join({"a row that has not ", std::to_string(expected), " numbers"}));
    }
    has_rows_ = true;
    // All have as many decimals: a last line without its end whose last number has fewer is cut off within
    // it.
    if (report_.text().MayBeCut(line) && Decimals(cells.back()) < Decimals(cells[expected - 2])) {
      return report_.Invalid(line.number, "the output is cut off in this row");
    }
    const size_t first = expected - 4;
    const std::string base = is_time_ ? "time" : "rate";
    const Labels labels = {{"operation", Lower(operation)}};
    Add(Join({base, "_max"}), cells[first], labels, line.number);
    Add(Join({base, "_min"}), cells[first + 1], labels, line.number);
    Add(base, cells[first + 2], labels, line.number);
    Add(Join({base, "_stddev"}), cells[first + 3], labels, line.number);
  }

  void Add(const std::string& name, std::string_view cell, const Labels& labels, size_t line) {
    const bool spread = name.ends_with("_stddev");
    if (is_time_) {
      report_.AddText({name, time_unit_.unit, "lower", time_unit_.scale}, cell, labels, line);
    } else {
      report_.AddText({name, "1/s", spread ? "lower" : "higher"}, cell, labels, line);
    }
  }

  void EndSummary() {
    if (summary_line_ > 0 && !has_rows_)
      report_.Invalid(summary_line_, "the output is cut off: no rows in this summary");
    summary_line_ = 0;
    has_rows_ = false;
  }

  Report& report_;
  size_t summary_line_ = 0;
  bool is_time_ = false;
  bool per_rank_ = false;
  bool has_rows_ = false;
  UnitSpelling time_unit_;
};

}  // namespace

void ReadIor(const Options&, Report& report) {
  bool table = false;
  for (const Line& line : report.text().lines()) table = table || Contains(line.text, "bw(");
  const JsonDocuments found = FindJsonDocuments(report.text());
  if (table || (found.documents.empty() && found.errors.empty())) return IorTable(report).Read();
  for (const JsonError& error : found.errors) report.Invalid(error.line, error.sentence);
  for (const JsonDocument& document : found.documents) ReadIorDocument(document, report);
}

void ReadMdtest(const Options&, Report& report) { MdtestReader(report).Read(); }

}  // namespace fleetmark::parse
