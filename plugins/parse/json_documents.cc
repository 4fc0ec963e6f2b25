#include "plugins/parse/json_documents.h"

#include <algorithm>
#include <map>

namespace fleetmark::parse {
namespace {

constexpr std::string_view kJsonBlank = " \t\r\n";
constexpr size_t kMaxFalseStarts = 64;

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// After the string that begins at `at`; npos if it does not end.
size_t StringEnd(std::string_view text, size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

enum class Balance { kWhole, kCutOff, kTooDeep };

// Where the bracket that stands at `at` closes.
std::pair<Balance, size_t> BalancedEnd(std::string_view text, size_t at) {
  size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = StringEnd(text, at);
      if (at == std::string_view::npos) break;
      continue;
    }
    if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return {Balance::kTooDeep, at};
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return {Balance::kWhole, at + 1};
    }
    ++at;
  }
  return {Balance::kCutOff, text.size()};
}

// The length of a bare number that is not finite, as printf writes it, at `at`; 0 if there is none.
size_t BareNotFinite(std::string_view text, size_t at) {
  const size_t sign = text[at] == '-' || text[at] == '+' ? 1 : 0;
  size_t end = at + sign;
  while (end < text.size() && IsWordByte(text[end])) ++end;
  const std::string word = Lower(text.substr(at + sign, end - at - sign));
  return word == "nan" || word == "inf" || word == "infinity" ? end - at : 0;
}

// `text` with bare nan and inf as strings. Offsets are kept in step with `*grown`: pairs of an offset in the
// result and how many bytes were added before it.
std::string WithQuotedNotFinite(std::string_view text, std::vector<std::pair<size_t, size_t>>* grown) {
  std::string quoted;
  quoted.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      const size_t end = std::min(StringEnd(text, at), text.size());
      quoted += text.substr(at, end - at);
      at = end;
      continue;
    }
    const bool may = std::string_view("nNiI+-").find(text[at]) != std::string_view::npos &&
                     (at == 0 || !IsWordByte(text[at - 1]));
    const size_t length = may ? BareNotFinite(text, at) : 0;
    if (length == 0) {
      quoted += text[at++];
      continue;
    }
    quoted += Join({"\"", Lower(text.substr(at, length)), "\""});
    at += length;
    grown->push_back({quoted.size(), quoted.size() - at});
  }
  return quoted;
}

// The strings of keys that the outermost object has twice.
class RepeatedKeys {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth != 1) return true;
    if (event == Json::parse_event_t::key) {
      key_ = parsed.get<std::string>();
    } else if (event == Json::parse_event_t::value && parsed.is_string() && values_.size() < 1000) {
      values_.emplace_back(key_, parsed.get<std::string>());
    }
    return true;
  }
  std::vector<std::pair<std::string, std::string>> Take() const {
    std::map<std::string, size_t> counts;
    for (const auto& [key, value] : values_) ++counts[key];
    std::vector<std::pair<std::string, std::string>> repeated;
    for (const auto& one : values_) {
      if (counts[one.first] > 1) repeated.push_back(one);
    }
    return repeated;
  }

 private:
  std::string key_;
  std::vector<std::pair<std::string, std::string>> values_;
};

struct Parsed {
  std::optional<JsonDocument> document;
  size_t error_at = 0;  // in the text given
};

Parsed ParseOne(std::string_view text) {
  std::vector<std::pair<size_t, size_t>> grown;
  const std::string quoted = WithQuotedNotFinite(text, &grown);
  try {
    RepeatedKeys repeated;
    JsonDocument document;
    document.value = Json::parse(quoted, [&repeated](int depth, Json::parse_event_t event, Json& parsed) {
      return repeated(depth, event, parsed);
    });
    document.repeated = repeated.Take();
    return {std::move(document), 0};
  } catch (const Json::parse_error& error) {
    size_t at = error.byte > 0 ? error.byte - 1 : 0;
    size_t added = 0;
    for (const auto& [offset, bytes] : grown) {
      if (offset <= at) added = bytes;
    }
    return {std::nullopt, at - std::min(added, at)};
  } catch (const Json::exception&) {  // a number that a double can't hold
    return {std::nullopt, 0};
  }
}

// Does what begins at `at` look like a document, and not like "[INFO]" or "{}" in a sentence?
bool LooksLikeJson(std::string_view text, size_t at) {
  const size_t next = text.find_first_not_of(kJsonBlank, at + 1);
  if (next == std::string_view::npos) return text[at] == '{' && Trim(text.substr(0, at)).empty();
  if (text[at] == '{') return text[next] == '"' || text[next] == '}';
  const size_t line = text.find_last_of('\n', at);
  const bool begins_line = Trim(text.substr(line == std::string_view::npos ? 0 : line, at - line)).empty();
  return begins_line && (text[next] == '{' || text[next] == '[');
}

class Finder {
 public:
  explicit Finder(const Text& text) : text_(text), all_(text.all()) {}

  JsonDocuments Find() {
    if (TakeWhole()) return std::move(found_);
    size_t at = 0;
    while ((at = all_.find_first_of("{[", at)) != std::string_view::npos) {
      if (!LooksLikeJson(all_, at)) {
        ++at;
      } else if (found_.documents.size() >= kMaxDocuments || false_starts_ > kMaxFalseStarts) {
        Error(at, "there are too many JSON documents, or pieces of them");
        break;
      } else {
        at = TakeAt(at);
      }
    }
    return std::move(found_);
  }

 private:
  // A text that is nothing but one document, which may then be any JSON value.
  bool TakeWhole() {
    const std::string_view whole = Trim(all_);
    if (whole.empty() || (whole[0] != '[' && whole[0] != '{')) return false;
    const auto [balance, end] = BalancedEnd(whole, 0);
    if (balance != Balance::kWhole || end != whole.size()) return false;
    Parsed parsed = ParseOne(whole);
    if (!parsed.document) return false;
    Keep(*std::move(parsed.document), static_cast<size_t>(whole.data() - all_.data()));
    return true;
  }

  // Where to look on.
  size_t TakeAt(size_t at) {
    const auto [balance, end] = BalancedEnd(all_, at);
    if (balance == Balance::kTooDeep) {
      Error(at, "JSON is nested too deeply");
      return all_.size();
    }
    if (balance == Balance::kCutOff) {
      ++false_starts_;
      const size_t next = NextDocumentLine(at);
      Error(at, "JSON that begins here does not end: the output is cut off");
      return next;
    }
    Parsed parsed = ParseOne(all_.substr(at, end - at));
    if (parsed.document) {
      Keep(*std::move(parsed.document), at);
      return end;
    }
    ++false_starts_;
    Error(at + parsed.error_at, "not JSON");
    return end;
  }

  // A document that is cut off may be followed by whole ones, each from the start of a line.
  size_t NextDocumentLine(size_t at) const {
    for (size_t next = all_.find("\n{", at); next != std::string_view::npos;
         next = all_.find("\n{", next + 1)) {
      if (BalancedEnd(all_, next + 1).first == Balance::kWhole) return next + 1;
      if (next - at > 65536) break;
    }
    return all_.size();
  }

  void Keep(JsonDocument document, size_t at) {
    document.line = text_.LineNumberAt(at);
    found_.documents.push_back(std::move(document));
  }
  void Error(size_t at, std::string_view sentence) {
    found_.errors.push_back({text_.LineNumberAt(at), std::string(sentence)});
  }

  const Text& text_;
  const std::string_view all_;
  JsonDocuments found_;
  size_t false_starts_ = 0;
};

}  // namespace

JsonDocuments FindJsonDocuments(const Text& text) { return Finder(text).Find(); }

std::vector<JsonDocument> ReadJsonDocuments(const Text& text, std::string_view what, Report& report) {
  JsonDocuments found = FindJsonDocuments(text);
  for (const JsonError& error : found.errors) report.Invalid(error.line, error.sentence);
  if (found.documents.empty() && found.errors.empty()) {
    report.Invalid(text.lines().empty() ? 0 : text.lines().front().number,
                   Join({"there is no JSON (", what, ")"}));
  }
  return std::move(found.documents);
}

std::optional<Json> ParseJson(std::string_view text) {
  text = Trim(text);
  if (text.empty()) return std::nullopt;
  if (text[0] == '{' || text[0] == '[') {
    const auto [balance, end] = BalancedEnd(text, 0);
    if (balance != Balance::kWhole || end != text.size()) return std::nullopt;
  }
  Parsed parsed = ParseOne(text);
  if (!parsed.document) return std::nullopt;
  return std::move(parsed.document->value);
}

const Json* Member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(std::string(key));
  return found == object.end() ? nullptr : &*found;
}

const Json* MemberAt(const Json& object, std::initializer_list<std::string_view> keys) {
  const Json* value = &object;
  for (const std::string_view key : keys) {
    if (value != nullptr) value = Member(*value, key);
  }
  return value;
}

const Json* ObjectIn(const Json& object, std::string_view key) {
  const Json* value = Member(object, key);
  return value != nullptr && value->is_object() ? value : nullptr;
}

const Json* ArrayIn(const Json& object, std::string_view key) {
  const Json* value = Member(object, key);
  return value != nullptr && value->is_array() ? value : nullptr;
}

std::string StringIn(const Json& object, std::string_view key) {
  const Json* value = Member(object, key);
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  return value->is_number() || value->is_boolean() ? value->dump() : "";
}

Number NumberOf(const Json& value) {
  if (value.is_number()) return {NumberKind::kNumber, value.get<double>()};
  if (value.is_string()) return ReadNumber(value.get_ref<const std::string&>());
  return {value.is_null() ? NumberKind::kAbsent : NumberKind::kMalformed, 0};
}

std::optional<double> NumberIn(const Json& object, std::string_view key) {
  const Json* value = Member(object, key);
  if (value == nullptr) return std::nullopt;
  const Number number = NumberOf(*value);
  if (number.kind != NumberKind::kNumber) return std::nullopt;
  return number.value;
}

bool AddMember(const MetricKind& kind, const Json& object, std::string_view key, const Labels& labels,
               const JsonDocument& document, Report& report) {
  const Json* value = Member(object, key);
  if (value == nullptr) return false;
  const Number number = NumberOf(*value);
  if (number.kind == NumberKind::kNumber) {
    report.Add(kind, number.value, labels, document.line);
  } else if (number.kind == NumberKind::kNotFinite) {
    report.Warning(document.line, Join({"'", key, "' is ", ShownJson(*value), " and left out"}));
  } else if (number.kind == NumberKind::kMalformed) {
    report.Invalid(document.line, Join({"'", key, "' is no number but ", ShownJson(*value)}));
  }
  return number.kind == NumberKind::kNumber;
}

std::string ShownJson(const Json& value) {
  return Shorten(value.dump(-1, ' ', false, Json::error_handler_t::replace), 80);
}

}  // namespace fleetmark::parse
