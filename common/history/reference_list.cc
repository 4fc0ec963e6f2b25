#include "common/history/reference_list.h"

#include <charconv>

#include "absl/strings/str_cat.h"

namespace fleetmark {
namespace {

// In double quotes, as YAML and JSON alike read it.
std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

// ReFrame writes references that it refuses itself down all the same.
bool IsValid(const v1::Reference& reference) {
  if (reference.lower() > 0 || reference.upper() < 0) return false;
  return reference.value() > 0 ? reference.lower() >= -1 : reference.value() == 0 || reference.upper() <= 1;
}

// The shortest text that is the same number again.
std::string Exact(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

}  // namespace

void ReferenceList::Add(const HistoryMetric& metric) {
  if (!metric.reference.has_value() || !IsValid(*metric.reference)) return;
  const Key key{metric.metric.benchmark, metric.metric.metric, metric.metric.labels};
  if (references_.size() >= kMaxReferences && !references_.contains(key)) return;
  Entry& entry = references_[key];
  if (metric.metric.time_unix_ns < entry.time_unix_ns) return;
  entry = {*metric.reference, metric.metric.time_unix_ns};
}

std::string ReferenceList::Yaml() const {
  std::string out = references_.empty() ? "references: []\n" : "references:\n";
  for (const auto& [key, entry] : references_) {
    const auto& [benchmark, metric, labels] = key;
    absl::StrAppend(&out, "  - benchmark: ", Quoted(benchmark), "\n    metric: ", metric, "\n");
    if (!labels.empty()) absl::StrAppend(&out, "    labels:\n");
    for (const auto& [name, value] : labels) absl::StrAppend(&out, "      ", name, ": ", Quoted(value), "\n");
    const v1::Reference& reference = entry.reference;
    absl::StrAppend(&out, "    value: ", Exact(reference.value()), "\n    unit: ", Quoted(reference.unit()),
                    "\n");
    if (reference.has_lower()) absl::StrAppend(&out, "    lower: ", Exact(reference.lower()), "\n");
    if (reference.has_upper()) absl::StrAppend(&out, "    upper: ", Exact(reference.upper()), "\n");
  }
  return out;
}

}  // namespace fleetmark
