// The rules for names and labels. Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_MODEL_LABELS_H_
#define FLEETMARK_COMMON_MODEL_LABELS_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace fleetmark {

using Labels = std::map<std::string, std::string>;

// All return InvalidArgument with `what`, the text, and what would be right.

// Metric, label, plugin, parameter: [a-z][a-z0-9_]*, at most limits::kNameBytes.
absl::Status CheckIdentifier(std::string_view what, std::string_view name);

// Benchmark or suite: letters, digits, '_', '-', '.', beginning with a letter or digit.
absl::Status CheckBenchmarkName(std::string_view what, std::string_view name);

// A host name: labels of letters, digits and '-' (and '_', which sites use), joined by '.'.
absl::Status CheckNodeName(std::string_view name);

// UTF-8 without control characters but tab, newline and carriage return; at most `max_bytes`.
absl::Status CheckText(std::string_view what, std::string_view text, size_t max_bytes);

// Node labels: names as identifiers but also with '.', '-' and '/', as Kubernetes has.
absl::Status CheckNodeLabels(const Labels& labels);

// Whether `labels` has every one of `wanted`, with its value. Both are maps of texts.
template <typename Map, typename Wanted>
bool HasLabels(const Map& labels, const Wanted& wanted) {
  for (const auto& [name, value] : wanted) {
    const auto it = labels.find(name);
    if (it == labels.end() || it->second != value) return false;
  }
  return true;
}

// Whether `text` matches `pattern`, in which '*' stands for any run of characters and '?' for any one.
bool MatchesGlob(const std::string& pattern, const std::string& text);

bool IsValidUtf8(std::string_view text);

// `text` with each ill-formed byte replaced by U+FFFD and NUL dropped. `*repaired` tells whether anything
// was.
std::string RepairUtf8(std::string_view text, bool* repaired);

// The nearest of `candidates` by edit distance, if near enough to be what was meant; else empty.
template <typename Range>
std::string NearestName(std::string_view name, const Range& candidates);

size_t EditDistance(std::string_view a, std::string_view b);

template <typename Range>
std::string NearestName(std::string_view name, const Range& candidates) {
  std::string best;
  size_t best_distance = name.size() / 3 + 2;
  for (const auto& candidate : candidates) {
    const size_t d = EditDistance(name, std::string_view(candidate));
    if (d < best_distance) {
      best_distance = d;
      best = std::string(candidate);
    }
  }
  return best;
}

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_MODEL_LABELS_H_
