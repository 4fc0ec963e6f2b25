// What a reader makes of a program's output: metrics, an outcome, and problems that show the lines.
//
// Thread-safety: plain data; a Report belongs to one call of a reader.
#ifndef FLEETMARK_PLUGINS_PARSE_PARSED_OUTPUT_H_
#define FLEETMARK_PLUGINS_PARSE_PARSED_OUTPUT_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/parse/text.h"

namespace fleetmark::parse {

using Labels = std::map<std::string, std::string>;

// The later ones win when several apply.
enum class Outcome {
  kOk,
  kSkipped,  // the tool says that it did not measure
  kInvalid,  // a result fails the tool's own check, or the text is not wholly understood
  kFailed,   // the tool says that it failed
};

std::string_view OutcomeName(Outcome outcome);

// As in ReFrame: the tolerances are fractions of the value (absolute where the value is 0); none is no bound.
struct Reference {
  double value = 0;
  std::optional<double> lower;
  std::optional<double> upper;
};

// What a history needs besides, as far as the text says it: when, where and by what it was measured.
struct Origin {
  std::string time;       // as written: Unix seconds, or a date with or without a zone
  std::string node;       // host names, with commas
  std::string benchmark;  // test or program
  bool failed = false;    // its program ended badly, so that its numbers are not for use
};

struct Metric {
  std::string name;
  double value = 0;  // finite
  std::string unit;
  std::string better;  // higher, lower or none
  Labels labels;
  std::optional<Reference> reference;
  Origin origin = {};
  size_t line = 0;
};

struct Problem {
  size_t line = 0;  // from 1; 0 if it is about no single line
  std::string text;
  bool warning = false;                 // the outcome stands all the same
  Outcome outcome = Outcome::kInvalid;  // what it makes the outcome at least
};

// A name and label set may come several times: repetitions, in the order of the text. The metrics are for use
// only if the outcome is kOk; of an invalid one they are there to be looked at.
struct ParsedOutput {
  Outcome outcome = Outcome::kOk;
  std::vector<Metric> metrics;
  std::vector<Problem> problems;
};

inline constexpr size_t kMaxMetrics = 10'000;
inline constexpr size_t kMaxProblems = 100;  // more are counted in the last one

struct OutputBounds {
  size_t metrics = kMaxMetrics;
  size_t problems = kMaxProblems;
};

// How a reader writes a metric.
struct MetricKind {
  std::string_view name;
  std::string_view unit;
  std::string_view better;
  double scale = 1;  // the text's number times this is in `unit`
};

class Report {
 public:
  explicit Report(const Text& text, OutputBounds bounds = {}) : text_(text), bounds_(bounds) {}

  // From now on problems don't show the text of their line.
  void HideLines() { hide_lines_ = true; }

  // Added to those of every metric from now on; they win.
  void SetLabels(Labels labels) { labels_ = std::move(labels); }

  // Of every metric from now on.
  void SetOrigin(Origin origin) { origin_ = std::move(origin); }

  // A value that is not finite becomes a warning instead of a metric. Names and labels are brought into the
  // project's form and bounds.
  void Add(const MetricKind& kind, double value, Labels labels = {}, size_t line = 0);
  void Add(Metric metric, size_t line);
  // The number that `text` on `line` is. Absent (N/A): no metric. Not finite: a warning. No number: invalid,
  // with the line. True if a metric came.
  bool AddText(const MetricKind& kind, std::string_view text, Labels labels, size_t line);

  // Problems. The text of the line is added to the sentence.
  void Failed(size_t line, std::string_view sentence) { AddProblem(Outcome::kFailed, line, sentence); }
  void Invalid(size_t line, std::string_view sentence) { AddProblem(Outcome::kInvalid, line, sentence); }
  void Skipped(size_t line, std::string_view sentence) { AddProblem(Outcome::kSkipped, line, sentence); }
  void Warning(size_t line, std::string_view sentence) { AddProblem(Outcome::kOk, line, sentence); }

  size_t metrics() const { return output_.metrics.size(); }
  bool failed() const { return output_.outcome == Outcome::kFailed; }
  bool has_problems() const { return problems_ > 0; }
  const Text& text() const { return text_; }

  // The output. If it has neither metric nor problem it is invalid: there is no `what`, and how the text
  // ends is shown.
  ParsedOutput Take(std::string_view what);

 private:
  void AddProblem(Outcome outcome, size_t line, std::string_view sentence);

  const Text& text_;
  OutputBounds bounds_;
  Labels labels_;
  Origin origin_;
  bool hide_lines_ = false;
  ParsedOutput output_;
  size_t problems_ = 0;
  size_t dropped_metrics_ = 0;
};

}  // namespace fleetmark::parse

#endif  // FLEETMARK_PLUGINS_PARSE_PARSED_OUTPUT_H_
