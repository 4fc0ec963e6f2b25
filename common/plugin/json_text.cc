#include "common/plugin/json_text.h"

#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"

#include "common/base/status.h"

namespace fleetmark {
namespace {

constexpr int kMaxDepth = 64;
constexpr double kExactWhole = 9007199254740992.0;  // 2^53

// A recursive-descent reader of RFC 8259 that builds nothing but the list of the outermost members.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  absl::Status Scan(std::vector<JsonMember>& members) {
    SkipSpace();
    FM_RETURN_IF_ERROR(ScanObject(1, &members));
    SkipSpace();
    return at_ == text_.size() ? absl::OkStatus() : Wrong("something follows the object");
  }

 private:
  absl::Status Wrong(std::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("not JSON at character ", at_ + 1, ": ", std::string(what)));
  }

  bool AtEnd() const { return at_ >= text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }

  void SkipSpace() {
    while (!AtEnd() && (Peek() == ' ' || Peek() == '\t' || Peek() == '\n' || Peek() == '\r')) ++at_;
  }

  bool Take(char c) {
    if (AtEnd() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  absl::Status ScanObject(int depth, std::vector<JsonMember>* members) {
    if (!Take('{')) return Wrong("'{' is missing");
    std::set<std::string_view> keys;
    SkipSpace();
    if (Take('}')) return absl::OkStatus();
    while (true) {
      SkipSpace();
      JsonMember member;
      const size_t key_at = at_;
      FM_RETURN_IF_ERROR(ScanString());
      member.key = text_.substr(key_at + 1, at_ - key_at - 2);
      if (!keys.insert(member.key).second)
        return Wrong(absl::StrCat("key '", std::string(member.key), "' comes twice"));
      SkipSpace();
      if (!Take(':')) return Wrong("':' is missing");
      SkipSpace();
      const size_t value_at = at_;
      FM_RETURN_IF_ERROR(ScanValue(depth + 1, member.kind));
      member.text = text_.substr(value_at, at_ - value_at);
      if (members != nullptr) members->push_back(member);
      SkipSpace();
      if (Take('}')) return absl::OkStatus();
      if (!Take(',')) return Wrong("',' or '}' is missing");
    }
  }

  absl::Status ScanList(int depth) {
    ++at_;
    SkipSpace();
    if (Take(']')) return absl::OkStatus();
    while (true) {
      SkipSpace();
      JsonKind kind;
      FM_RETURN_IF_ERROR(ScanValue(depth + 1, kind));
      SkipSpace();
      if (Take(']')) return absl::OkStatus();
      if (!Take(',')) return Wrong("',' or ']' is missing");
    }
  }

  absl::Status ScanValue(int depth, JsonKind& kind) {
    if (depth > kMaxDepth) return Wrong("nested too deep");
    switch (Peek()) {
      case '{':
        kind = JsonKind::kObject;
        return ScanObject(depth, nullptr);
      case '[':
        kind = JsonKind::kList;
        return ScanList(depth);
      case '"':
        kind = JsonKind::kString;
        return ScanString();
      case 't':
        kind = JsonKind::kBool;
        return ScanWord("true");
      case 'f':
        kind = JsonKind::kBool;
        return ScanWord("false");
      case 'n':
        kind = JsonKind::kNull;
        return ScanWord("null");
      default:
        kind = JsonKind::kNumber;
        return ScanNumber();
    }
  }

  absl::Status ScanWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return Wrong("a value is missing");
    at_ += word.size();
    return absl::OkStatus();
  }

  size_t SkipDigits() {
    const size_t from = at_;
    while (Peek() >= '0' && Peek() <= '9') ++at_;
    return at_ - from;
  }

  absl::Status ScanNumber() {
    Take('-');
    const bool leading_zero = Peek() == '0';
    const size_t digits = SkipDigits();
    if (digits == 0) return Wrong("a value is missing; numbers are finite and texts stand in double quotes");
    if (leading_zero && digits > 1) return Wrong("a number begins with 0");
    if (Take('.') && SkipDigits() == 0) return Wrong("a digit is missing after '.'");
    if (Take('e') || Take('E')) {
      if (!Take('+')) Take('-');
      if (SkipDigits() == 0) return Wrong("a digit is missing in the exponent");
    }
    return absl::OkStatus();
  }

  absl::Status ScanString() {
    if (!Take('"')) return Wrong("'\"' is missing");
    while (!AtEnd()) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) return Wrong("a control character in a text");
      ++at_;
      if (c == '"') return absl::OkStatus();
      if (c == '\\') FM_RETURN_IF_ERROR(ScanEscape());
    }
    return Wrong("a text does not end");
  }

  absl::Status ScanEscape() {
    const char c = Peek();
    if (c == '\0' || std::string_view("\"\\/bfnrtu").find(c) == std::string_view::npos)
      return Wrong("unknown escape");
    ++at_;
    if (c != 'u') return absl::OkStatus();
    for (int i = 0; i < 4; ++i, ++at_) {
      if (!isxdigit(static_cast<unsigned char>(Peek()))) return Wrong("\\u needs four hex digits");
    }
    return absl::OkStatus();
  }

  const std::string_view text_;
  size_t at_ = 0;
};

void AppendText(const std::string& text, std::string& out) {
  out.push_back('"');
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (u < 0x20 || u == 0x7F) {
      absl::StrAppend(&out, "\\u00", absl::Hex(u, absl::kZeroPad2));
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

void AppendStruct(const google::protobuf::Struct& object, std::string& out);

void AppendValue(const google::protobuf::Value& value, std::string& out) {
  using google::protobuf::Value;
  switch (value.kind_case()) {
    case Value::kNumberValue:
      out += CanonicalNumber(value.number_value());
      return;
    case Value::kStringValue:
      return AppendText(value.string_value(), out);
    case Value::kBoolValue:
      out += value.bool_value() ? "true" : "false";
      return;
    case Value::kStructValue:
      return AppendStruct(value.struct_value(), out);
    case Value::kListValue: {
      const char* separator = "[";
      for (const Value& item : value.list_value().values()) {
        out += separator;
        AppendValue(item, out);
        separator = ",";
      }
      out += value.list_value().values().empty() ? "[]" : "]";
      return;
    }
    case Value::kNullValue:
    case Value::KIND_NOT_SET:
      out += "null";
      return;
  }
}

void AppendStruct(const google::protobuf::Struct& object, std::string& out) {
  std::map<std::string_view, const google::protobuf::Value*> sorted;
  for (const auto& [key, value] : object.fields()) sorted[key] = &value;
  out.push_back('{');
  const char* separator = "";
  for (const auto& [key, value] : sorted) {
    out += separator;
    AppendText(std::string(key), out);
    out.push_back(':');
    AppendValue(*value, out);
    separator = ",";
  }
  out.push_back('}');
}

}  // namespace

absl::StatusOr<std::vector<JsonMember>> ParseJsonObject(std::string_view text) {
  std::vector<JsonMember> members;
  FM_RETURN_IF_ERROR(JsonScanner(text).Scan(members));
  return members;
}

std::string CanonicalNumber(double number) {
  char text[32];
  const bool whole = std::trunc(number) == number && std::fabs(number) < kExactWhole;
  const std::to_chars_result end = whole
                                       ? std::to_chars(text, text + sizeof text, static_cast<int64_t>(number))
                                       : std::to_chars(text, text + sizeof text, number);
  return std::string(text, end.ptr);
}

std::string CanonicalJson(const google::protobuf::Value& value) {
  std::string out;
  AppendValue(value, out);
  return out;
}

std::string CanonicalJson(const google::protobuf::Struct& object) {
  std::string out;
  AppendStruct(object, out);
  return out;
}

absl::StatusOr<google::protobuf::Value> ParseJsonValue(std::string_view text) {
  google::protobuf::Value value;
  const auto status = google::protobuf::util::JsonStringToMessage(std::string(text), &value);
  if (status.ok()) return value;
  return absl::InvalidArgumentError(absl::StrCat("not JSON: ", std::string(status.message())));
}

}  // namespace fleetmark
