#include "common/exposition/openmetrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "common/base/status.h"
#include "common/model/labels.h"

namespace fleetmark {
namespace {

constexpr double kMaxSeconds = 9e9;  // nanoseconds stay within int64

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::Status Bad(std::string_view what) { return absl::InvalidArgumentError(View(what)); }

bool IsNameByte(char c, bool first, bool colons) {
  const auto u = static_cast<unsigned char>(c);
  return c == '_' || absl::ascii_isalpha(u) || (colons && c == ':') || (!first && absl::ascii_isdigit(u));
}

std::string_view TakeName(bool colons, std::string_view* rest) {
  size_t size = 0;
  while (size < rest->size() && IsNameByte((*rest)[size], size == 0, colons)) ++size;
  const std::string_view name = rest->substr(0, size);
  rest->remove_prefix(size);
  return name;
}

// A value in quotes with the escapes \\, \" and \n.
absl::StatusOr<std::string> TakeQuoted(std::string_view* rest) {
  if (!rest->starts_with('"')) return Bad("a label's value must be in double quotes");
  std::string out;
  for (size_t i = 1; i < rest->size(); ++i) {
    const char c = (*rest)[i];
    if (c == '"') {
      rest->remove_prefix(i + 1);
      return out;
    }
    if (c != '\\') {
      out.push_back(c);
      continue;
    }
    const char escaped = ++i < rest->size() ? (*rest)[i] : '\0';
    if (escaped != '\\' && escaped != '"' && escaped != 'n') return Bad("bad escape in a label's value");
    out.push_back(escaped == 'n' ? '\n' : escaped);
  }
  return Bad("a label's value does not end");
}

absl::Status TakeLabels(std::string_view* rest, std::map<std::string, std::string>* labels) {
  rest->remove_prefix(1);
  while (!rest->starts_with('}')) {
    const std::string name(TakeName(false, rest));
    if (name.empty()) return Bad("a label's name is missing");
    if (!rest->starts_with('=')) return Bad(absl::StrCat("label '", name, "' has no value"));
    rest->remove_prefix(1);
    FM_ASSIGN_OR_RETURN(std::string value, TakeQuoted(rest));
    if (!labels->emplace(name, std::move(value)).second) {
      return Bad(absl::StrCat("label '", name, "' is given twice"));
    }
    if (rest->starts_with(',')) {
      rest->remove_prefix(1);
    } else if (!rest->starts_with('}')) {
      return Bad("expected ',' or '}' after a label");
    }
  }
  rest->remove_prefix(1);
  return absl::OkStatus();
}

absl::StatusOr<double> ParseValue(absl::string_view text) {
  double value = 0;
  const bool special = absl::EqualsIgnoreCase(text, "nan") || absl::EqualsIgnoreCase(text, "+inf") ||
                       absl::EqualsIgnoreCase(text, "-inf") || absl::EqualsIgnoreCase(text, "inf");
  if (!special && text.find_first_not_of("0123456789.eE+-") != absl::string_view::npos) {
    return Bad(absl::StrCat("'", text, "' is no number"));
  }
  if (!absl::SimpleAtod(text, &value)) return Bad(absl::StrCat("'", text, "' is no number"));
  return value;
}

// Exactly, as a double can't tell nanoseconds of this century apart.
absl::StatusOr<int64_t> ParseTime(absl::string_view text) {
  FM_ASSIGN_OR_RETURN(const double seconds, ParseValue(text));
  if (!std::isfinite(seconds) || std::fabs(seconds) > kMaxSeconds) return Bad("the time is out of range");
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('.', 1));
  int64_t whole = 0;
  int64_t nanos = 0;
  const bool plain = text.find_first_of("eE") == absl::string_view::npos && !parts.first.empty();
  if (!plain || !absl::SimpleAtoi(parts.first, &whole)) return std::llround(seconds * 1e9);
  const std::string digits = absl::StrCat(parts.second.substr(0, 9), std::string(9, '0')).substr(0, 9);
  if (!absl::SimpleAtoi(digits, &nanos)) return Bad(absl::StrCat("'", text, "' is no time"));
  return whole * 1'000'000'000 + (text[0] == '-' ? -nanos : nanos);
}

}  // namespace

absl::Status OpenMetricsReader::Comment(std::string_view line) {
  if (line == "# EOF") {
    ended_ = true;
    return absl::OkStatus();
  }
  const std::vector<std::string> words = absl::StrSplit(View(line), ' ');
  if (words.size() < 4 || words[1] != "UNIT") return absl::OkStatus();
  if (units_.size() >= kMaxFamilies) return Bad("too many families of metrics in one file");
  units_[words[2]] = words[3];
  return absl::OkStatus();
}

absl::StatusOr<std::optional<ExpositionSample>> OpenMetricsReader::Line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > kMaxLineBytes) return Bad(absl::StrCat("longer than ", kMaxLineBytes, " bytes"));
  if (line.empty()) return std::nullopt;
  if (ended_) return Bad("something follows # EOF");
  if (!IsValidUtf8(line)) return Bad("is not UTF-8");
  if (line.starts_with('#')) {
    FM_RETURN_IF_ERROR(Comment(line));
    return std::nullopt;
  }
  ExpositionSample sample;
  sample.name = std::string(TakeName(true, &line));
  if (sample.name.empty()) return Bad("does not begin with a metric's name");
  if (line.starts_with('{')) FM_RETURN_IF_ERROR(TakeLabels(&line, &sample.labels));
  if (!line.starts_with(' ')) return Bad("expected a space and the value after the metric");
  line = line.substr(0, std::max<size_t>(1, std::min(line.size(), line.find(" # "))));  // an exemplar
  const std::vector<std::string> words = absl::StrSplit(View(line.substr(1)), ' ', absl::SkipEmpty());
  if (words.empty() || words.size() > 2) return Bad("expected a value and at most a time");
  FM_ASSIGN_OR_RETURN(sample.value, ParseValue(words[0]));
  if (words.size() == 2) {
    FM_ASSIGN_OR_RETURN(sample.time_unix_ns, ParseTime(words[1]));
  }
  return sample;
}

std::string OpenMetricsReader::UnitOf(const std::string& name) const {
  const auto it = units_.find(name);
  return it == units_.end() ? std::string() : it->second;
}

}  // namespace fleetmark
