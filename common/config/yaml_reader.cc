#include "common/config/yaml_reader.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "common/base/quote_json.h"
#include "common/base/status.h"
#include "common/config/quantities.h"
#include "common/model/labels.h"

namespace fleetmark {
namespace {

// A JSON number has no leading '+', '.' or zeros, and is finite.
bool LooksLikeJsonNumber(const std::string& text) {
  double value = 0;
  size_t digits = text[0] == '-' ? 1 : 0;
  if (text.size() <= digits || !isdigit(static_cast<unsigned char>(text[digits]))) return false;
  if (text[digits] == '0' && text.size() > digits + 1 &&
      isdigit(static_cast<unsigned char>(text[digits + 1]))) {
    return false;
  }
  if (text.back() == '.' || text.find_first_of("xXnN") != std::string::npos) return false;
  return absl::SimpleAtod(text, &value) && std::isfinite(value);
}

std::string ScalarJson(const YamlTree& tree) {
  if (tree.quoted) return QuoteJson(tree.scalar);
  if (tree.scalar == "true" || tree.scalar == "false" || tree.scalar == "null") return tree.scalar;
  if (!tree.scalar.empty() && LooksLikeJsonNumber(tree.scalar)) return tree.scalar;
  return QuoteJson(tree.scalar);
}

std::string TreeJson(const YamlTree& tree) {
  switch (tree.kind) {
    case YamlTree::Kind::kNull:
      return "null";
    case YamlTree::Kind::kScalar:
      return ScalarJson(tree);
    case YamlTree::Kind::kList:
      return absl::StrCat(
          "[",
          absl::StrJoin(tree.items, ",",
                        [](std::string* out, const YamlTree& item) { out->append(TreeJson(item)); }),
          "]");
    case YamlTree::Kind::kMap:
      break;
  }
  std::map<std::string, std::string> sorted;
  for (const auto& entry : tree.entries) sorted[entry.key] = TreeJson(entry.value);
  return absl::StrCat("{",
                      absl::StrJoin(sorted, ",",
                                    [](std::string* out, const auto& entry) {
                                      absl::StrAppend(out, QuoteJson(entry.first), ":", entry.second);
                                    }),
                      "}");
}

template <typename T, typename Format>
std::string RangeText(T min, T max, bool has_min, bool has_max, Format format) {
  if (has_min && has_max) return absl::StrCat("between ", format(min), " and ", format(max));
  if (has_min) return absl::StrCat("at least ", format(min));
  return absl::StrCat("at most ", format(max));
}

}  // namespace

YamlReader::YamlReader(std::string_view text, std::string_view origin) : origin_(origin) {
  absl::StatusOr<YamlTree> tree = ParseYaml(text, origin);
  if (tree.ok()) {
    tree_ = *std::move(tree);
  } else {
    parse_status_ = tree.status();
  }
}

YamlValue YamlReader::root() { return YamlValue(this, &tree_, "", tree_.line, tree_.column); }

absl::Status YamlReader::status() const {
  if (!parse_status_.ok() || faults_.empty()) return parse_status_;
  std::vector<FaultLine> sorted = faults_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const FaultLine& a, const FaultLine& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  return absl::InvalidArgumentError(
      absl::StrJoin(sorted, "\n", [this](std::string* out, const FaultLine& fault) {
        absl::StrAppend(out, origin_, ":", fault.line, ":", fault.column, ": ", fault.text);
      }));
}

std::string YamlValue::Where() const { return absl::StrCat(reader_->origin_, ":", line_, ":", column_); }

void YamlValue::Fault(std::string_view message) {
  if (!reader_->parse_status_.ok()) return;
  const std::string text =
      path_.empty() ? std::string(message) : absl::StrCat(path_, ": ", std::string(message));
  for (const auto& fault : reader_->faults_) {
    if (fault.line == line_ && fault.column == column_ && fault.text == text) return;
  }
  reader_->faults_.push_back({line_, column_, text});
}

void YamlValue::Check(const absl::Status& status) {
  if (!status.ok()) Fault(Message(status));
}

bool YamlValue::IsMap() {
  if (!present()) return false;
  if (tree_->kind == YamlTree::Kind::kMap) return true;
  Fault("must be a map of keys and values");
  return false;
}

YamlValue YamlValue::Key(std::string_view key) {
  const std::string path = path_.empty() ? std::string(key) : absl::StrCat(path_, ".", std::string(key));
  if (!IsMap()) return YamlValue(reader_, nullptr, path, line_, column_);
  reader_->asked_[tree_].emplace_back(key);
  for (const auto& entry : tree_->entries) {
    if (entry.key == key) return YamlValue(reader_, &entry.value, path, entry.line, entry.column);
  }
  return YamlValue(reader_, nullptr, path, line_, column_);
}

YamlValue YamlValue::RequiredKey(std::string_view key) {
  YamlValue value = Key(key);
  if (!value.present()) value.Fault("is missing");
  return value;
}

void YamlValue::NoOtherKeys() {
  if (!IsMap()) return;
  const std::vector<std::string>& known = reader_->asked_[tree_];
  for (const auto& entry : tree_->entries) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    const std::string nearest = NearestName(entry.key, known);
    std::vector<std::string> sorted = known;
    std::sort(sorted.begin(), sorted.end());
    const std::string hint = nearest.empty() ? absl::StrCat("; known keys: ", absl::StrJoin(sorted, ", "))
                                             : absl::StrCat("; did you mean '", nearest, "'?");
    YamlValue(reader_, &entry.value, path_, entry.line, entry.column)
        .Fault(absl::StrCat("unknown key '", entry.key, "'", hint));
  }
}

std::vector<std::pair<std::string, YamlValue>> YamlValue::Entries() {
  std::vector<std::pair<std::string, YamlValue>> out;
  if (!IsMap()) return out;
  for (const auto& entry : tree_->entries) {
    const std::string path = path_.empty() ? entry.key : absl::StrCat(path_, ".", entry.key);
    out.emplace_back(entry.key, YamlValue(reader_, &entry.value, path, entry.line, entry.column));
  }
  return out;
}

std::vector<YamlValue> YamlValue::Items() {
  std::vector<YamlValue> out;
  if (!present()) return out;
  if (tree_->kind != YamlTree::Kind::kList) {
    Fault("must be a list");
    return out;
  }
  for (size_t i = 0; i < tree_->items.size(); ++i) {
    const YamlTree& item = tree_->items[i];
    out.push_back(YamlValue(reader_, &item, absl::StrCat(path_, "[", i, "]"), item.line, item.column));
  }
  return out;
}

const std::string* YamlValue::Scalar(std::string_view wanted) {
  if (!present()) return nullptr;
  if (tree_->kind == YamlTree::Kind::kScalar) return &tree_->scalar;
  Fault(absl::StrCat("must be ", std::string(wanted)));
  return nullptr;
}

std::string YamlValue::String(std::string_view default_value) {
  const std::string* text = Scalar("text");
  return text == nullptr ? std::string(default_value) : *text;
}

bool YamlValue::Bool(bool default_value) {
  const std::string* text = Scalar("true or false");
  if (text == nullptr) return default_value;
  if (*text == "true") return true;
  if (*text == "false") return false;
  Fault(absl::StrCat("must be true or false, not '", *text, "'"));
  return default_value;
}

int64_t YamlValue::Int(int64_t default_value, int64_t min, int64_t max) {
  const std::string* text = Scalar("a whole number");
  if (text == nullptr) return default_value;
  int64_t value = 0;
  if (!absl::SimpleAtoi(*text, &value)) {
    Fault(absl::StrCat("must be a whole number, not '", *text, "'"));
    return default_value;
  }
  if (value >= min && value <= max) return value;
  Fault(absl::StrCat(
      "must be ",
      RangeText(min, max, min != std::numeric_limits<int64_t>::min(),
                max != std::numeric_limits<int64_t>::max(), [](int64_t v) { return absl::StrCat(v); }),
      ", not ", value));
  return default_value;
}

double YamlValue::Double(double default_value, double min, double max) {
  const std::string* text = Scalar("a number");
  if (text == nullptr) return default_value;
  double value = 0;
  if (!absl::SimpleAtod(*text, &value) || !std::isfinite(value)) {
    Fault(absl::StrCat("must be a number, not '", *text, "'"));
    return default_value;
  }
  if (value >= min && value <= max) return value;
  Fault(absl::StrCat(
      "must be ",
      RangeText(min, max, std::isfinite(min), std::isfinite(max), [](double v) { return absl::StrCat(v); }),
      ", not ", value));
  return default_value;
}

absl::Duration YamlValue::Duration(absl::Duration default_value, absl::Duration min, absl::Duration max) {
  const std::string* text = Scalar("a duration such as 90s or 1h30m");
  if (text == nullptr) return default_value;
  const absl::StatusOr<absl::Duration> value = ParseDuration(*text);
  if (!value.ok()) {
    Fault(Message(value.status()));
    return default_value;
  }
  if (*value >= min && *value <= max) return *value;
  Fault(absl::StrCat(
      "must be ",
      RangeText(min, max, min > absl::ZeroDuration(), max != absl::InfiniteDuration(), DurationText),
      ", not ", *text));
  return default_value;
}

int64_t YamlValue::Bytes(int64_t default_value, int64_t min, int64_t max) {
  const std::string* text = Scalar("a size such as 64KiB or 2GiB");
  if (text == nullptr) return default_value;
  const absl::StatusOr<int64_t> value = ParseBytes(*text);
  if (!value.ok()) {
    Fault(Message(value.status()));
    return default_value;
  }
  if (*value >= min && *value <= max) return *value;
  Fault(absl::StrCat("must be ",
                     RangeText(min, max, min > 0, max != std::numeric_limits<int64_t>::max(), BytesText),
                     ", not ", *text));
  return default_value;
}

std::string YamlValue::Choice(std::string_view default_value, const std::vector<std::string>& choices) {
  const std::string* text = Scalar("text");
  if (text == nullptr) return std::string(default_value);
  if (std::find(choices.begin(), choices.end(), *text) != choices.end()) return *text;
  Fault(absl::StrCat("must be one of ", absl::StrJoin(choices, ", "), ", not '", *text, "'"));
  return std::string(default_value);
}

std::vector<std::string> YamlValue::Strings() {
  std::vector<std::string> out;
  for (YamlValue& item : Items()) out.push_back(item.String());
  return out;
}

std::map<std::string, std::string> YamlValue::StringMap() {
  std::map<std::string, std::string> out;
  for (auto& [key, value] : Entries()) out[key] = value.String();
  return out;
}

std::string YamlValue::Json() const { return tree_ == nullptr ? "null" : TreeJson(*tree_); }

}  // namespace fleetmark
