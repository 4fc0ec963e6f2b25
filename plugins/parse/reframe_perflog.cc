// ReFrame's performance logs (handler `filelog`), driven by the header: the default of 4.3 and later, the
// comma-separated one of 4.0 to 4.2, one row for each metric (perflog_multiline), columns that hold several
// fields ("perf_value perf_unit", "(perf_ref, ...)"), and the lines without header of 3.x.
//
// Values are not quoted, so one that holds the separator moves the columns after it. Columns of free text
// stand before those of numbers; a row with too many cells is aligned from its right end for those, and taken
// only if every number and result there is one.
#include <re2/re2.h>

#include <algorithm>
#include <map>

#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"
#include "plugins/parse/reframe.h"

namespace fleetmark::parse {
namespace {

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

// The fields of one row by their names; combined columns are taken apart.
using Fields = std::map<std::string, std::string, std::less<>>;

std::string FieldOf(const Fields& fields, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = fields.find(name);
    if (found == fields.end()) continue;
    const Number number = ReadNumber(found->second);
    if (number.kind != NumberKind::kAbsent) return found->second;
  }
  return "";
}

std::optional<double> BoundOf(const std::string& text) { return FiniteNumber(text); }

class Header {
 public:
  // Nothing if the line is no header.
  static std::optional<Header> Read(std::string_view line) {
    for (const char separator : {'|', ','}) {
      Header header;
      header.separator_ = separator;
      for (const std::string_view cell : Cells(line, separator)) header.columns_.emplace_back(Trim(cell));
      if (header.IsOne()) return header;
    }
    return std::nullopt;
  }

  // Parentheses hold commas that separate nothing.
  static std::vector<std::string_view> Cells(std::string_view line, char separator) {
    std::vector<std::string_view> cells;
    size_t begin = 0;
    int depth = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      if (separator == ',' && line[i] == '(') ++depth;
      if (separator == ',' && line[i] == ')') --depth;
      if (line[i] != separator || depth > 0) continue;
      cells.push_back(line.substr(begin, i - begin));
      begin = i + 1;
    }
    cells.push_back(line.substr(begin));
    return cells;
  }

  // The row's fields, or nothing if it can't be brought under the header.
  std::optional<Fields> Align(std::string_view line) const {
    const std::vector<std::string_view> cells = Cells(line, separator_);
    if (cells.size() < columns_.size()) return std::nullopt;
    if (cells.size() == columns_.size()) {
      Fields fields = FieldsOf(cells);
      if (IsPlausible(fields)) return fields;
      return std::nullopt;
    }
    return AlignLong(cells);
  }

  size_t size() const { return columns_.size(); }
  char separator() const { return separator_; }

 private:
  bool Has(std::string_view name) const {
    return std::find(columns_.begin(), columns_.end(), name) != columns_.end();
  }

  bool IsOne() const {
    const bool value = std::any_of(columns_.begin(), columns_.end(), [](const std::string& column) {
      return Contains(column, "perf_value") || column.ends_with("_value") || column.ends_with("=perf_value");
    });
    const bool time =
        Has("job_completion_time") || Has("completion_time") || Has("result") || Has("display_name");
    return columns_.size() > 2 && time && (value || Has("result"));
  }

  // One column absorbs all the cells that are too many, or (free text in several) those between the columns
  // that align from the left and those that align from the right.
  std::optional<Fields> AlignLong(const std::vector<std::string_view>& cells) const {
    const size_t extra = cells.size() - columns_.size();
    if (extra > 64) return std::nullopt;
    std::optional<Fields> only;
    for (size_t absorbing = 0; absorbing < columns_.size(); ++absorbing) {
      if (!IsFreeText(columns_[absorbing])) continue;
      std::vector<std::string_view> joined(cells.begin(),
                                           cells.begin() + static_cast<std::ptrdiff_t>(absorbing));
      const std::string_view last = cells[absorbing + extra];
      const char* begin = cells[absorbing].data();
      joined.emplace_back(begin, static_cast<size_t>(last.data() + last.size() - begin));
      joined.insert(joined.end(), cells.begin() + static_cast<std::ptrdiff_t>(absorbing + extra + 1),
                    cells.end());
      Fields fields = FieldsOf(joined);
      if (IsPlausible(fields) && !only) only = std::move(fields);
    }
    return only ? only : AlignEnds(cells);
  }

  // Takes the columns left of the first free text from the left, those right of the last from the right, and
  // the name from where it must end.
  std::optional<Fields> AlignEnds(const std::vector<std::string_view>& cells) const {
    const size_t extra = cells.size() - columns_.size();
    size_t first = 0;
    while (first < columns_.size() && !IsFreeText(columns_[first])) ++first;
    size_t after = columns_.size();
    while (after > first && !IsFreeText(columns_[after - 1])) --after;
    Fields fields;
    for (size_t i = 0; i < first; ++i) AddField(columns_[i], cells[i], &fields);
    for (size_t i = after; i < columns_.size(); ++i) AddField(columns_[i], cells[i + extra], &fields);
    if (!IsPlausible(fields)) return std::nullopt;
    if (after > 0 && (columns_[after - 1] == "name" || columns_[after - 1] == "display_name")) {
      const std::string base = BaseName(FieldOf(fields, {"short_name", "unique_name"}));
      const std::string_view end = cells[after - 1 + extra];
      for (size_t k = 0; k <= extra && !base.empty(); ++k) {
        const std::string_view begin = cells[after - 1 + extra - k];
        if (!begin.starts_with(base)) continue;
        fields["name"] =
            std::string(begin.data(), static_cast<size_t>(end.data() + end.size() - begin.data()));
        break;
      }
    }
    return fields;
  }

  // "Stream_3ad54eaa" -> "Stream".
  static std::string BaseName(const std::string& name) {
    const size_t at = name.rfind('_');
    return at == std::string::npos ? name : name.substr(0, at);
  }

  // Columns that this format defines and that hold no separator; the rest are the tests' own.
  static bool IsFreeText(const std::string& column) {
    static const RE2 fixed(
        R"(result|.*completion_time.*|environ|exclusive_access|job_exitcode|job_submit_time|jobid|num_\w+|partition|)"
        R"(system|short_name|unique_name|use_multithreading|.*_(?:value|unit|ref|lower_thres|upper_thres|result)|)"
        R"(.*perf_value.*|.*perf_ref.*|perf_\w+|version|reframe version|info|hashcode|)");
    return !RE2::FullMatch(column, fixed);
  }

  Fields FieldsOf(const std::vector<std::string_view>& cells) const {
    Fields fields;
    for (size_t i = 0; i < columns_.size(); ++i) AddField(columns_[i], cells[i], &fields);
    return fields;
  }

  static void AddField(const std::string& column, std::string_view cell, Fields* fields) {
    cell = Trim(cell);
    if (column == "perf_value perf_unit") {
      const size_t space = std::min(cell.find(' '), cell.size());
      (*fields)["perf_value"] = std::string(cell.substr(0, space));
      (*fields)["perf_unit"] = std::string(Trim(cell.substr(space)));
    } else if (column == "perf_var=perf_value") {
      const size_t equals = std::min(cell.rfind('='), cell.size());
      (*fields)["perf_var"] = std::string(cell.substr(0, equals));
      (*fields)["perf_value"] = std::string(cell.substr(std::min(equals + 1, cell.size())));
    } else if (Contains(column, "perf_ref") && Contains(column, "perf_lower_thres")) {
      AddReference(cell, fields);
    } else {
      (*fields)[column] = std::string(cell);
    }
  }

  // "(100, -0.05, 0.05)", "ref=100 (l=-0.05, u=0.05)".
  static void AddReference(std::string_view cell, Fields* fields) {
    static const RE2 triple(
        R"(\(?(?:ref=)?\s*([^\s,;()]+)\s*[,;(]*\s*(?:l=)?\s*([^\s,;()]+)\s*[,;]\s*(?:u=)?\s*([^\s,;()]+)\s*\)*)");
    std::string reference;
    std::string lower;
    std::string upper;
    if (!RE2::FullMatch(Piece(cell), triple, &reference, &lower, &upper)) return;
    (*fields)["perf_ref"] = reference;
    (*fields)["perf_lower_thres"] = lower;
    (*fields)["perf_upper_thres"] = upper;
  }

  // Does every cell hold what its column is for?
  static bool IsPlausible(const Fields& fields) {
    for (const auto& [name, text] : fields) {
      const std::string_view column = name;
      if (column == "result" && !text.empty() && ResultOf(text) == ReframeResult::kUnknown) return false;
      const bool number = column.ends_with("_value") || column.ends_with("_ref") ||
                          column.ends_with("_lower_thres") || column.ends_with("_upper_thres") ||
                          column == "job_exitcode" || column.starts_with("num_") ||
                          column == "job_completion_time_unix" || column == "job_submit_time";
      if (number && ReadNumber(text).kind == NumberKind::kMalformed) return false;
    }
    return true;
  }

  char separator_ = '|';
  std::vector<std::string> columns_;
};

Labels LabelsOf(const Fields& fields) {
  Labels labels;
  AddTestName(FieldOf(fields, {"display_name", "name", "unique_name", "short_name"}), &labels);
  for (const char* name : {"system", "partition", "environ"}) labels[name] = FieldOf(fields, {name});
  labels["nodes"] = FieldOf(fields, {"job_nodelist", "nodelist"});
  return labels;
}

void AddValue(const Fields& fields, const std::string& name, std::string_view prefix, size_t line,
              Report& report) {
  const auto field = [&](std::string_view suffix) { return FieldOf(fields, {Join({prefix, suffix})}); };
  const auto value = fields.find(Join({prefix, "_value"}));
  AddReframeValue({.name = name,
                   .value = ReadNumber(value == fields.end() ? "" : std::string_view(value->second)),
                   .unit = field("_unit"),
                   .reference = BoundOf(field("_ref")),
                   .lower = BoundOf(field("_lower_thres")),
                   .upper = BoundOf(field("_upper_thres")),
                   .labels = LabelsOf(fields),
                   .line = line},
                  report);
}

class LogReader {
 public:
  explicit LogReader(Report& report) : report_(report) {}

  void Read() {
    const std::vector<Line>& lines = report_.text().lines();
    for (size_t i = 0; i < lines.size(); ++i) {
      if (Trim(lines[i].text).empty()) continue;
      if (auto header = Header::Read(lines[i].text)) {
        header_ = std::move(header);
      } else if (header_) {
        i = ReadRow(lines, i);
      } else {
        ReadOldLine(lines[i]);
      }
    }
    if (rows_ > 0 && skipped_ == rows_) report_.Skipped(0, "every test was skipped");
    if (rows_ > 0 && report_.metrics() == 0 && !report_.has_problems()) {
      report_.Invalid(0, "no row has a value: is perflog_multiline missing in ReFrame's configuration?");
    }
  }

 private:
  // A newline within a value breaks a row over lines. Returns the last line taken.
  size_t ReadRow(const std::vector<Line>& lines, size_t i) {
    constexpr size_t kMostLines = 8;
    const char* begin = lines[i].text.data();
    for (size_t k = i; k < std::min(lines.size(), i + kMostLines); ++k) {
      // A line that is a whole row by itself is no continuation of this one.
      if (k > i && Header::Cells(lines[k].text, header_->separator()).size() >= header_->size()) break;
      const char* end = lines[k].text.data() + lines[k].text.size();
      const std::string_view joined(begin, static_cast<size_t>(end - begin));
      if (Header::Cells(joined, header_->separator()).size() < header_->size()) continue;
      if (const auto fields = header_->Align(joined)) {
        ReadFields(*fields, lines[i].number);
        return k;
      }
      break;
    }
    report_.Invalid(lines[i].number, "a row that does not fit its header and is left out");
    return i;
  }

  void ReadFields(const Fields& fields, size_t line) {
    ++rows_;
    const std::string result = FieldOf(fields, {"result", "perf_result"});
    const std::string name =
        FieldOf(fields, {"display_name", "name", "unique_name", "short_name", "perf_var"});
    if (ResultOf(result) == ReframeResult::kFail) report_.Failed(line, Join({"test '", name, "': ", result}));
    CheckExitCode(result, name, FieldOf(fields, {"job_exitcode"}), line, report_);
    if (ResultOf(result) == ReframeResult::kExpectedFailure)
      report_.Warning(line, Join({"test '", name, "' failed as expected"}));
    if (ResultOf(result) == ReframeResult::kSkip) ++skipped_;
    SetOrigin(fields);
    const std::string variable = FieldOf(fields, {"perf_var"});
    if (!variable.empty()) return AddValue(fields, variable, "perf", line, report_);
    for (const auto& [column, text] : fields) {
      if (!column.ends_with("_value") || column == "perf_value") continue;
      const std::string metric = column.substr(0, column.size() - 6);
      AddValue(fields, metric, metric, line, report_);
    }
  }

  void SetOrigin(const Fields& fields) {
    Labels labels = LabelsOf(fields);
    report_.SetOrigin(
        {.time = FieldOf(fields, {"job_completion_time_unix", "job_completion_time", "completion_time"}),
         .node = labels["nodes"],
         .benchmark = labels["test"],
         .failed = IsBadExitCode(FieldOf(fields, {"job_exitcode"}))});
  }

  // 3.x: "time|reframe 3.10.1|info|jobid=J|metric=value|ref=R (l=L, u=U)|unit"; and the handler `file` of
  // some sites: "[time] info: metric=value (ref=R;l=L;u=U)) unit".
  void ReadOldLine(const Line& line) {
    static const RE2 old_row(
        R"(\|([^|]*)\|jobid=[^|]*\|(?:num_tasks=[^|]*\|)?([^|=]+)=([^|]*)\|ref=(\S+)\s*\(l=([^,]+),\s*u=([^)]+)\)\|?([^|]*))");
    static const RE2 file_row(
        R"(^\[[^\]]*\]\s+(.*?): ([^=:]+)=(\S+)\s+\(ref=([^;]+);\s*l=([^;]+);\s*u=([^)]+)\)+\s*(\S*))");
    std::string info, name, value, reference, lower, upper, unit;
    const bool old =
        RE2::PartialMatch(Piece(line.text), old_row, &info, &name, &value, &reference, &lower, &upper, &unit);
    if (!old && !RE2::PartialMatch(Piece(line.text), file_row, &info, &name, &value, &reference, &lower,
                                   &upper, &unit)) {
      return report_.Invalid(line.number, "neither a header nor a performance record");
    }
    ++rows_;
    Labels labels;
    AddInfo(info, &labels);
    const std::string_view begin = Trim(line.text);
    const std::string_view time = begin.substr(0, begin.find_first_of("|]"));
    report_.SetOrigin(
        {.time = std::string(time.substr(time.starts_with("[") ? 1 : 0)), .benchmark = labels["test"]});
    AddReframeValue({.name = std::string(Trim(name)),
                     .value = ReadNumber(value),
                     .unit = std::string(Trim(unit)),
                     .reference = BoundOf(reference),
                     .lower = BoundOf(lower),
                     .upper = BoundOf(upper),
                     .labels = labels,
                     .line = line.number},
                    report_);
  }

  // "Test %p=v on system:partition using environ", "Test @system:partition+environ".
  static void AddInfo(const std::string& info, Labels* labels) {
    static const RE2 on(R"((.*?) on (\S+?):(\S+) using (\S+))");
    static const RE2 at(R"((.*?)(?: /\w+)? @(\S+?):(\S+?)\+(\S+))");
    std::string name, system, partition, environ;
    if (RE2::FullMatch(info, on, &name, &system, &partition, &environ) ||
        RE2::FullMatch(info, at, &name, &system, &partition, &environ)) {
      AddTestName(name, labels);
      (*labels)["system"] = system;
      (*labels)["partition"] = partition;
      (*labels)["environ"] = environ;
    } else if (info != "info" && info != "debug" && info != "warning") {  // levels of the log
      AddTestName(info, labels);
    }
  }

  Report& report_;
  std::optional<Header> header_;
  size_t rows_ = 0;
  size_t skipped_ = 0;
};

}  // namespace

void ReadReframePerflog(const Options&, Report& report) { LogReader(report).Read(); }

}  // namespace fleetmark::parse
