#include "plugins/parse/parsed_output.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plugins/parse/number.h"

namespace fleetmark::parse {
namespace {

constexpr size_t kMaxLabels = 8;
constexpr size_t kMaxLabelBytes = 256;
constexpr size_t kShownLineBytes = 200;

std::string LastLines(const Text& text) {
  std::string shown;
  size_t count = 0;
  for (auto line = text.lines().rbegin(); line != text.lines().rend() && count < 3; ++line) {
    if (Trim(line->text).empty()) continue;
    shown = Join({Shorten(Trim(line->text), kShownLineBytes), shown.empty() ? "" : "\n", shown});
    ++count;
  }
  return shown.empty() ? "the text is empty" : Join({"it ends with: ", shown});
}

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSkipped:
      return "skipped";
    case Outcome::kInvalid:
      return "invalid";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kOk:
      break;
  }
  return "ok";
}

void Report::Add(const MetricKind& kind, double value, Labels labels, size_t line) {
  Add({.name = std::string(kind.name),
       .value = value * kind.scale,
       .unit = std::string(kind.unit),
       .better = std::string(kind.better),
       .labels = std::move(labels)},
      line);
}

void Report::Add(Metric metric, size_t line) {
  metric.name = SnakeCase(metric.name);
  if (!std::isfinite(metric.value)) {
    return Warning(line, Join({"'", metric.name, "' is not finite and left out"}));
  }
  for (const auto& [name, value] : labels_) metric.labels[name] = value;
  Labels labels;
  for (const auto& [name, value] : metric.labels) {
    if (!value.empty()) labels[SnakeCase(name)] = Shorten(value, kMaxLabelBytes);
  }
  if (labels.size() > kMaxLabels) {
    return Invalid(line, Join({"'", metric.name, "' has more than ", std::to_string(kMaxLabels), " labels"}));
  }
  metric.labels = std::move(labels);
  metric.origin = origin_;
  metric.line = line;
  if (output_.metrics.size() >= bounds_.metrics) {
    ++dropped_metrics_;
  } else {
    output_.metrics.push_back(std::move(metric));
  }
}

bool Report::AddText(const MetricKind& kind, std::string_view text, Labels labels, size_t line) {
  const Number number = ReadNumber(text);
  switch (number.kind) {
    case NumberKind::kNumber:
      Add(kind, number.value, std::move(labels), line);
      return true;
    case NumberKind::kNotFinite:
      Warning(line, Join({"'", SnakeCase(kind.name), "' is '", Shorten(text, 40), "' and left out"}));
      return false;
    case NumberKind::kMalformed:
      Invalid(line, Join({"'", SnakeCase(kind.name), "': '", Shorten(text, 80), "' is not a number"}));
      return false;
    case NumberKind::kAbsent:
      break;
  }
  return false;
}

void Report::AddProblem(Outcome outcome, size_t line, std::string_view sentence) {
  output_.outcome = std::max(output_.outcome, outcome);
  if (++problems_ > bounds_.problems) return;
  const std::string_view shown = line == 0 || hide_lines_ ? std::string_view() : Trim(text_.LineText(line));
  std::string text(sentence);
  if (!shown.empty() && !Contains(sentence, shown)) text += Join({": ", Shorten(shown, kShownLineBytes)});
  output_.problems.push_back({line, std::move(text), outcome == Outcome::kOk, outcome});
}

ParsedOutput Report::Take(std::string_view what) {
  if (text_.cut()) {
    Invalid(0, Join({"the text is longer than ", std::to_string(kMaxTextBytes >> 20), " MiB"}));
  }
  if (dropped_metrics_ > 0) {
    Invalid(0, Join({"more than ", std::to_string(bounds_.metrics), " metrics"}));
  }
  if (output_.metrics.empty() && output_.outcome == Outcome::kOk) {
    Invalid(0, Join({"there is no ", what, " in the text", hide_lines_ ? "" : "; ",
                     hide_lines_ ? "" : LastLines(text_)}));
  }
  if (problems_ > bounds_.problems) {
    output_.problems.back() = {
        0, Join({"and ", std::to_string(problems_ - bounds_.problems + 1), " more problems"})};
  }
  return std::move(output_);
}

}  // namespace fleetmark::parse
