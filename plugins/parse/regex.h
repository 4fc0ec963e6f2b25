// Named metrics out of the text that a program printed, by regular expressions (RE2's syntax; '^' and '$'
// match at lines), with sanity patterns as ReFrame has them.
//
// The value of a match is its group named `value`, or its only group. Every other named group becomes a
// label of that name, so one pattern can read a table with one value for each label set. Numbers are
// decimals with an optional exponent; anything else that a pattern captures ("1,234", "nan") is a problem,
// never a guess. Text that is not UTF-8 is repaired with U+FFFD first.
//
// Thread-safety: a RegexReader is immutable; any number of threads may Read. Matching takes time linear in
// the text.
#ifndef FLEETMARK_PLUGINS_PARSE_REGEX_H_
#define FLEETMARK_PLUGINS_PARSE_REGEX_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fleetmark::parse {

inline constexpr size_t kMaxMatches = 10'000;  // of one pattern in one text; more is a problem

// What becomes of the matches that have the same labels.
enum class Reduce { kFirst, kLast, kAll, kMin, kMax, kMean, kMedian };

struct MetricPattern {
  std::string name;
  std::string unit;
  std::string better;  // higher, lower or none
  std::string pattern;
  Reduce reduce = Reduce::kLast;
  double scale = 1;                           // the captured number times this is in `unit`
  std::map<std::string, std::string> labels;  // fixed ones, besides those that groups give
};

struct RegexSpec {
  std::vector<MetricPattern> metrics;
  std::vector<std::string> must_match;
  std::vector<std::string> must_not_match;
};

struct Reading {
  std::string name;
  std::string unit;
  std::string better;
  std::map<std::string, std::string> labels;
  std::vector<double> values;  // one, or with Reduce::kAll one or more, in the order of the text
  bool repetitions = false;    // Reduce::kAll
};

struct ReadResult {
  std::vector<Reading> readings;
  // Each a sentence that names the pattern and shows text: a sanity pattern's verdict, a metric without a
  // match, a captured text that is not a number. The readings may be used only if there is none.
  std::vector<std::string> problems;
  std::vector<size_t>
      problem_lines;  // of each the number of its line, from 1; 0 where it is about no single line
};

class RegexReader {
 public:
  // Empty, with the pattern, the position and the reason in `*error`, when a pattern can't be compiled or
  // says not which group is the value.
  static std::optional<RegexReader> Create(const RegexSpec& spec, std::string* error);

  RegexReader(RegexReader&&) noexcept;
  RegexReader& operator=(RegexReader&&) noexcept;
  ~RegexReader();

  ReadResult Read(std::string_view text) const;

 private:
  struct Compiled;
  explicit RegexReader(std::unique_ptr<Compiled> compiled);

  std::unique_ptr<const Compiled> compiled_;
};

// The values reduced to one, which is finite if they are. `values` must not be empty, `reduce` not kAll.
double ReduceValues(std::vector<double> values, Reduce reduce);

// The line of `text` that has most of the words of `pattern`, or the last lines if none has one; at most
// 400 bytes. For messages.
std::string NearestLine(std::string_view text, std::string_view pattern);

}  // namespace fleetmark::parse

#endif  // FLEETMARK_PLUGINS_PARSE_REGEX_H_
