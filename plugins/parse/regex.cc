#include "plugins/parse/regex.h"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "plugins/parse/number.h"
#include "plugins/sdk/cpp/json_text.h"

namespace fleetmark::parse {
namespace {

constexpr std::string_view kLineMode = "(?m)";

std::unique_ptr<RE2> Compile(const std::string& pattern, const std::string& what, std::string* error) {
  RE2::Options options;
  options.set_log_errors(false);
  auto regex = std::make_unique<RE2>(std::string(kLineMode) + pattern, options);
  if (regex->ok()) return regex;
  *error = what + ": pattern '" + pattern + "': " + regex->error();
  const size_t at = regex->error_arg().empty() ? std::string::npos : pattern.find(regex->error_arg());
  if (at != std::string::npos) *error += ", at character " + std::to_string(at + 1);
  return nullptr;
}

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// What the pattern asks for literally: runs of three or more word characters outside escapes and group names.
std::vector<std::string> LiteralWords(std::string_view pattern) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (word.size() >= 3) words.push_back(word);
    word.clear();
  };
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (IsWordCharacter(pattern[i])) {
      word += pattern[i];
      continue;
    }
    end_word();
    if (pattern[i] == '\\') ++i;
    if (pattern.substr(i, 2) == "(?") i = std::min(pattern.find_first_of(">:)", i), pattern.size() - 1);
    if (i < pattern.size() && pattern[i] == '[') {
      i = std::min(pattern.find(']', i), pattern.size() - 1);
    }
  }
  end_word();
  return words;
}

std::string Shorten(std::string_view text) {
  constexpr size_t kMaxBytes = 400;
  return plugin::RepairUtf8(text.size() > kMaxBytes ? text.substr(0, kMaxBytes - 6) : text) +
         (text.size() > kMaxBytes ? "..." : "");
}

std::string LastLines(std::string_view text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return "the text is empty";
  text = text.substr(0, end + 1);
  size_t begin = text.size();
  for (int lines = 0; lines < 3 && begin != std::string_view::npos && begin > 0; ++lines) {
    begin = text.rfind('\n', begin - 1);
  }
  text.remove_prefix(begin == std::string_view::npos ? 0 : begin == 0 ? 0 : begin + 1);
  if (text.size() > 300) text.remove_prefix(text.size() - 300);
  return "it ends with: " + Shorten(text);
}

size_t LineNumber(std::string_view text, size_t offset) {
  return 1 + static_cast<size_t>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

std::string_view LineAt(std::string_view text, size_t offset) {
  const size_t before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

void AddProblem(std::string problem, size_t line, ReadResult* result) {
  result->problems.push_back(std::move(problem));
  result->problem_lines.push_back(line);
}

}  // namespace

double ReduceValues(std::vector<double> values, Reduce reduce) {
  switch (reduce) {
    case Reduce::kFirst:
      return values.front();
    case Reduce::kMin:
      return *std::min_element(values.begin(), values.end());
    case Reduce::kMax:
      return *std::max_element(values.begin(), values.end());
    case Reduce::kMean: {  // divided first: the sum of finite numbers may not be finite
      const double n = static_cast<double>(values.size());
      return std::accumulate(values.begin(), values.end(), 0.0,
                             [n](double a, double b) { return a + b / n; });
    }
    case Reduce::kMedian: {
      std::sort(values.begin(), values.end());
      return std::midpoint(values[(values.size() - 1) / 2], values[values.size() / 2]);
    }
    case Reduce::kLast:
    case Reduce::kAll:
      break;
  }
  return values.back();
}

std::string NearestLine(std::string_view text, std::string_view pattern) {
  const std::vector<std::string> words = LiteralWords(pattern);
  std::string_view best;
  std::ptrdiff_t best_count = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const auto count = std::count_if(words.begin(), words.end(), [line](const std::string& word) {
      return line.find(word) != std::string_view::npos;
    });
    if (count > best_count) {
      best_count = count;
      best = line;
    }
  }
  return best_count > 0 ? "the nearest line is: " + Shorten(best) : LastLines(text);
}

struct RegexReader::Compiled {
  struct Metric {
    MetricPattern spec;
    std::unique_ptr<RE2> regex;
    int value_group = 0;
    std::map<int, std::string> label_groups;
  };
  struct Sanity {
    std::string pattern;
    std::unique_ptr<RE2> regex;
    bool must_match;
  };

  bool AddMetric(const MetricPattern& spec, std::string* error);
  bool AddSanity(const std::string& pattern, bool must_match, std::string* error);
  static void ReadMetric(const Metric& metric, std::string_view text, ReadResult* result);
  // Of the match found last; nothing if it is no number, or the text goes on as one ("1" of "1,234.5").
  static std::optional<double> ValueOf(const Metric& metric, std::string_view text,
                                       const std::vector<re2::StringPiece>& groups);

  std::vector<Metric> metrics;
  std::vector<Sanity> sanity;
};

bool RegexReader::Compiled::AddMetric(const MetricPattern& spec, std::string* error) {
  const std::string what = "metric '" + spec.name + "'";
  Metric metric{.spec = spec, .regex = Compile(spec.pattern, what, error)};
  if (metric.regex == nullptr) return false;
  metric.label_groups = metric.regex->CapturingGroupNames();
  for (const auto& [group, name] : metric.label_groups) {
    if (name == "value") metric.value_group = group;
  }
  metric.label_groups.erase(metric.value_group);
  if (metric.value_group == 0 && metric.regex->NumberOfCapturingGroups() == 1 &&
      metric.label_groups.empty()) {
    metric.value_group = 1;
  }
  if (metric.value_group == 0) {
    *error = what + ": pattern '" + spec.pattern +
             "' does not say which part is the value: it needs exactly one group, or one named value, as in "
             "(?P<value>[0-9.]+)";
    return false;
  }
  metrics.push_back(std::move(metric));
  return true;
}

bool RegexReader::Compiled::AddSanity(const std::string& pattern, bool must_match, std::string* error) {
  auto regex = Compile(pattern, must_match ? "sanity" : "sanity_not", error);
  if (regex == nullptr) return false;
  sanity.push_back({pattern, std::move(regex), must_match});
  return true;
}

std::optional<double> RegexReader::Compiled::ValueOf(const Metric& metric, std::string_view text,
                                                     const std::vector<re2::StringPiece>& groups) {
  const re2::StringPiece& captured = groups[static_cast<size_t>(metric.value_group)];
  const char* end = captured.data() + captured.size();
  const bool pattern_ends = end == groups[0].data() + groups[0].size();
  if (pattern_ends && GoesOnAsNumber(text.substr(static_cast<size_t>(end - text.data()))))
    return std::nullopt;
  const auto value = FiniteNumber({captured.data(), captured.size()});
  if (!value || !std::isfinite(*value * metric.spec.scale)) return std::nullopt;
  return *value * metric.spec.scale;
}

void RegexReader::Compiled::ReadMetric(const Metric& metric, std::string_view text, ReadResult* result) {
  const std::string what = "metric '" + metric.spec.name + "': ";
  const re2::StringPiece input(text.data(), text.size());
  std::vector<re2::StringPiece> groups(static_cast<size_t>(metric.regex->NumberOfCapturingGroups()) + 1);
  std::map<std::map<std::string, std::string>, std::vector<double>> values;
  size_t matches = 0;
  for (size_t at = 0;
       at <= text.size() && metric.regex->Match(input, at, text.size(), RE2::UNANCHORED, groups.data(),
                                                static_cast<int>(groups.size()));) {
    if (++matches > kMaxMatches) {
      AddProblem(
          what + "more than " + std::to_string(kMaxMatches) + " matches of '" + metric.spec.pattern + "'", 0,
          result);
      return;
    }
    // An empty match must not be found again for ever.
    at = static_cast<size_t>(groups[0].data() - text.data()) + std::max<size_t>(groups[0].size(), 1);
    const re2::StringPiece& captured = groups[static_cast<size_t>(metric.value_group)];
    const std::optional<double> value = ValueOf(metric, text, groups);
    if (!value) {
      const size_t offset = static_cast<size_t>(captured.data() - text.data());
      AddProblem(what + "captured '" + Shorten({captured.data(), captured.size()}) +
                     "', which is not a plain finite number: " + Shorten(LineAt(text, offset)),
                 LineNumber(text, offset), result);
      return;
    }
    std::map<std::string, std::string> labels = metric.spec.labels;
    for (const auto& [group, name] : metric.label_groups) {
      labels[name] = groups[static_cast<size_t>(group)].as_string();
    }
    values[std::move(labels)].push_back(*value);
  }
  if (values.empty()) {
    AddProblem(
        what + "nothing matches '" + metric.spec.pattern + "'; " + NearestLine(text, metric.spec.pattern), 0,
        result);
  }
  const bool all = metric.spec.reduce == Reduce::kAll;
  for (auto& [labels, list] : values) {
    result->readings.push_back({metric.spec.name, metric.spec.unit, metric.spec.better, labels,
                                all ? list : std::vector{ReduceValues(list, metric.spec.reduce)}, all});
  }
}

std::optional<RegexReader> RegexReader::Create(const RegexSpec& spec, std::string* error) {
  auto compiled = std::make_unique<Compiled>();
  for (const MetricPattern& metric : spec.metrics) {
    if (!compiled->AddMetric(metric, error)) return std::nullopt;
  }
  for (const std::string& pattern : spec.must_match) {
    if (!compiled->AddSanity(pattern, true, error)) return std::nullopt;
  }
  for (const std::string& pattern : spec.must_not_match) {
    if (!compiled->AddSanity(pattern, false, error)) return std::nullopt;
  }
  return RegexReader(std::move(compiled));
}

RegexReader::RegexReader(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
RegexReader::RegexReader(RegexReader&&) noexcept = default;
RegexReader& RegexReader::operator=(RegexReader&&) noexcept = default;
RegexReader::~RegexReader() = default;

ReadResult RegexReader::Read(std::string_view text) const {
  const std::string repaired = plugin::RepairUtf8(text);
  const re2::StringPiece input(repaired);
  ReadResult result;
  for (const Compiled::Sanity& sanity : compiled_->sanity) {
    re2::StringPiece found;
    const bool matches = sanity.regex->Match(input, 0, input.size(), RE2::UNANCHORED, &found, 1);
    if (matches == sanity.must_match) continue;
    if (sanity.must_match) {
      AddProblem("sanity: nothing matches '" + sanity.pattern + "'; " + NearestLine(repaired, sanity.pattern),
                 0, &result);
    } else {
      AddProblem("sanity_not: '" + sanity.pattern + "' matches: " + Shorten({found.data(), found.size()}),
                 LineNumber(repaired, static_cast<size_t>(found.data() - repaired.data())), &result);
    }
  }
  for (const Compiled::Metric& metric : compiled_->metrics) Compiled::ReadMetric(metric, repaired, &result);
  return result;
}

}  // namespace fleetmark::parse
