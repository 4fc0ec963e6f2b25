// HPL (1.0 to 2.3 and NVIDIA's) and HPCG (3.0's YAML and 3.1's text file). Both check their own solution.
#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

class HplReader {
 public:
  explicit HplReader(Report& report) : report_(report) {}

  void Read() {
    for (const Line& line : report_.text().lines()) ReadLine(line, Trim(line.text));
    EndRow();
    if (report_.metrics() == 0 && saw_header_)
      report_.Invalid(0, "the output is cut off: HPL printed no result");
    if (report_.metrics() > 0 && !finished_)
      report_.Warning(0, "HPL's summary ('Finished ... tests') is missing");
  }

 private:
  void ReadLine(const Line& line, std::string_view text) {
    const auto words = Words(text);
    if (words.empty()) return;
    if (words[0] == "T/V") {
      saw_header_ = true;
    } else if (saw_header_ && words.size() >= 7 && words[0].size() >= 3 && words[0][0] == 'W') {
      ReadRow(line, words);
    } else if (text.starts_with("||") && Contains(text, "=")) {
      ReadResidual(line, text);
    } else if (Contains(text, "HPL ERROR") || Contains(text, "HPL_pdinfo")) {
      report_.Failed(line.number, "HPL failed");
    } else if (text.starts_with("Finished")) {
      finished_ = true;
    } else {
      ReadCount(line, text, words);
    }
  }

  // T/V N NB P Q Time Gflops [( Gflops of one GPU)]
  void ReadRow(const Line& line, const std::vector<std::string_view>& words) {
    EndRow();
    row_line_ = line.number;
    Labels labels = {{"variant", std::string(words[0])}};
    static constexpr const char* kNames[] = {"", "n", "nb", "p", "q"};
    for (size_t i = 1; i <= 4; ++i) {
      if (!WholeNumber(words[i]))
        return report_.Invalid(line.number, "a result whose N, NB, P or Q is no whole number");
      labels[kNames[i]] = std::string(words[i]);
    }
    report_.AddText({"time", "s", "lower"}, words[5], labels, line.number);
    report_.AddText({"gflops", "GFLOP/s", "higher"}, words[6], labels, line.number);
    if (const auto each = Between(line.text, "(", ")")) {
      report_.AddText({"gflops_per_gpu", "GFLOP/s", "higher"}, *each, labels, line.number);
    }
    labels_ = std::move(labels);
  }

  void ReadResidual(const Line& line, std::string_view text) {
    if (Contains(text, "FAILED")) {
      checked_ = true;
      return report_.Invalid(line.number, "the solution is wrong");
    }
    if (!Contains(text, "PASSED")) return;  // the norms that follow a failure
    checked_ = true;
    const auto words = Words(text.substr(text.rfind('=') + 1));
    if (!words.empty()) report_.AddText({"residual", "1", "none"}, words[0], labels_, line.number);
  }

  void ReadCount(const Line& line, std::string_view text, const std::vector<std::string_view>& words) {
    const auto count = WholeNumber(words[0]);
    if (!count || *count == 0) return;
    if (Contains(text, "failed residual checks")) report_.Invalid(line.number, "tests failed");
    if (Contains(text, "illegal input values")) report_.Invalid(line.number, "tests were left out");
    if (Contains(text, "without checking")) {
      report_.Warning(line.number, "the solution was not checked");
    }
  }

  void EndRow() {
    if (row_line_ > 0 && !checked_) {
      // Whether checks were turned off is said at the end only.
      for (const Line& line : report_.text().lines()) {
        const auto words = Words(line.text);
        if (!words.empty() && Contains(line.text, "without checking") &&
            WholeNumber(words[0]).value_or(0) > 0)
          return;
      }
      report_.Invalid(row_line_, "the output is cut off: this result has no check of its residual");
    }
    checked_ = false;
    row_line_ = 0;
  }

  Report& report_;
  Labels labels_;
  size_t row_line_ = 0;
  bool saw_header_ = false;
  bool checked_ = false;
  bool finished_ = false;
};

class HpcgReader {
 public:
  explicit HpcgReader(Report& report) : report_(report) {}

  void Read() {
    for (const Line& line : report_.text().lines()) {
      const std::string_view text = Trim(line.text);
      if (text.starts_with("__________"))
        section_ = std::string(Trim(Between(text, "__________", "__________").value_or("")));
      ReadLine(line, text);
    }
    if (!verdict_ && !report_.failed())
      report_.Invalid(0, "the output is cut off: no line 'HPCG result is VALID' or INVALID");
  }

 private:
  // "A::B=value" (3.1), or "B: value" under a heading (3.0).
  void ReadLine(const Line& line, std::string_view text) {
    const size_t separator = text.find('=') != std::string_view::npos ? text.rfind('=') : text.rfind(": ");
    std::string_view key = Trim(text.substr(0, separator));
    const std::string_view value =
        separator == std::string_view::npos ? "" : Trim(text.substr(separator + 1));
    std::string_view section = section_;
    if (const size_t colons = key.find("::"); colons != std::string_view::npos) {
      section = key.substr(0, colons);
      key = key.substr(colons + 2);
    }
    if (Contains(text, "HPCG result is")) return ReadVerdict(line, text, key, value);
    if (value == "FAILED") report_.Invalid(line.number, "HPCG's own test failed");
    if (Contains(key, "Results are valid but execution time")) {
      report_.Warning(line.number, "too short for an official result");
    }
    ReadSummary(line, section, key, value);
  }

  void ReadVerdict(const Line& line, std::string_view text, std::string_view key, std::string_view value) {
    verdict_ = true;
    if (Contains(text, "INVALID")) return report_.Invalid(line.number, "HPCG calls its result invalid");
    if (!Contains(key, "rating of")) return report_.Invalid(line.number, "no rating");
    if (report_.text().MayBeCut(line) && !total_.empty() && value != total_) {
      return report_.Invalid(line.number,
                             "the output is cut off: the rating differs from the summary's total");
    }
    report_.AddText({"gflops", "GFLOP/s", "higher"}, value, {}, line.number);
  }

  void ReadSummary(const Line& line, std::string_view section, std::string_view key, std::string_view value) {
    if (value.empty()) return;
    if (section == "GFLOP/s Summary") {
      if (key == "Total with convergence and optimization phase overhead") total_ = std::string(value);
      const bool raw = key.starts_with("Raw ");
      report_.AddText({raw ? "raw_gflops" : "overhead_gflops", "GFLOP/s", "higher"}, value,
                      {{"kernel", Lower(raw ? key.substr(4) : key)}}, line.number);
    } else if (section == "GB/s Summary" && key.starts_with("Raw ")) {
      std::string_view kernel = key.substr(4);
      if (kernel.ends_with(" B/W")) kernel.remove_suffix(4);
      report_.AddText({"raw_bandwidth", "GB/s", "higher"}, value, {{"kernel", Lower(kernel)}}, line.number);
    } else if (section == "Benchmark Time Summary") {
      report_.AddText({"time", "s", "lower"}, value, {{"kernel", Lower(key)}}, line.number);
    }
  }

  Report& report_;
  std::string section_;
  std::string total_;  // what the rating repeats
  bool verdict_ = false;
};

}  // namespace

void ReadHpl(const Options&, Report& report) { HplReader(report).Read(); }

void ReadHpcg(const Options&, Report& report) { HpcgReader(report).Read(); }

}  // namespace fleetmark::parse
