#include "collector/promql/label_set.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace fleetmark::collector::promql {
namespace {

constexpr auto kByName = [](const Label& label, std::string_view name) { return label.name < name; };

bool Contains(const std::vector<std::string>& sorted, const std::string& name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

}  // namespace

LabelSet::LabelSet(std::vector<Label> labels) : labels_(std::move(labels)) {
  std::stable_sort(labels_.begin(), labels_.end(),
                   [](const Label& a, const Label& b) { return a.name < b.name; });
  labels_.erase(std::unique(labels_.begin(), labels_.end(),
                            [](const Label& a, const Label& b) { return a.name == b.name; }),
                labels_.end());
  std::erase_if(labels_, [](const Label& label) { return label.value.empty(); });
}

std::string_view LabelSet::Get(std::string_view name) const {
  const auto it = std::lower_bound(labels_.begin(), labels_.end(), name, kByName);
  return it != labels_.end() && it->name == name ? std::string_view(it->value) : std::string_view();
}

void LabelSet::Set(std::string_view name, std::string_view value) {
  const auto it = std::lower_bound(labels_.begin(), labels_.end(), name, kByName);
  const bool found = it != labels_.end() && it->name == name;
  if (value.empty()) {
    if (found) labels_.erase(it);
  } else if (found) {
    it->value = std::string(value);
  } else {
    labels_.insert(it, Label{std::string(name), std::string(value)});
  }
}

LabelSet LabelSet::Keeping(const std::vector<std::string>& names) const {
  LabelSet out;
  for (const Label& label : labels_) {
    if (Contains(names, label.name)) out.labels_.push_back(label);
  }
  return out;
}

LabelSet LabelSet::Dropping(const std::vector<std::string>& names) const {
  LabelSet out;
  for (const Label& label : labels_) {
    if (!Contains(names, label.name)) out.labels_.push_back(label);
  }
  return out;
}

LabelSet LabelSet::WithoutName() const {
  LabelSet out = *this;
  out.Remove(kMetricName);
  return out;
}

std::string LabelSet::ToString() const {
  std::string out(Get(kMetricName));
  std::string inner;
  for (const Label& label : labels_) {
    if (label.name == kMetricName) continue;
    absl::StrAppend(&inner, inner.empty() ? "" : ", ", label.name, "=", Quoted(label.value));
  }
  if (out.empty() || !inner.empty()) absl::StrAppend(&out, "{", inner, "}");
  return out;
}

bool IsLabelName(std::string_view name) {
  if (name.empty() || absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c)); });
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (u < 0x20 || u == 0x7f) {
      absl::StrAppend(&out, "\\x", absl::Hex(u, absl::kZeroPad2));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace fleetmark::collector::promql
