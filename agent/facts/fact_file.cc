#include "agent/facts/fact_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/model/labels.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kMaxFileBytes = 64 * 1024;
constexpr size_t kMaxKeys = 256;
constexpr size_t kMaxKeyBytes = 100;

bool IsKey(std::string_view key) {
  return !key.empty() && key.size() <= kMaxKeyBytes && std::all_of(key.begin(), key.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-' || c == '/';
  });
}

void AppendUtf8(unsigned code, std::string* out) {
  const auto add = [&](unsigned byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
  }
  add(0x80 | (code & 0x3f));
}

// `digits` hexadecimal digits at the start of `rest`, taken off it.
bool TakeHex(std::string_view& rest, size_t digits, unsigned* code) {
  if (rest.size() < digits) return false;
  *code = 0;
  for (size_t i = 0; i < digits; ++i) {
    const auto c = static_cast<unsigned char>(absl::ascii_tolower(static_cast<unsigned char>(rest[i])));
    if (!absl::ascii_isxdigit(c)) return false;
    *code = *code * 16 + (c <= '9' ? c - '0' : c - 'a' + 10U);
  }
  rest.remove_prefix(digits);
  return true;
}

bool TakeEscape(std::string_view& rest, std::string* out) {
  if (rest.empty()) return false;
  const char kind = rest.front();
  rest.remove_prefix(1);
  unsigned code = 0;
  switch (kind) {
    case '"':
    case '\\':
      out->push_back(kind);
      return true;
    case 'n':
    case 'r':
    case 't':
      out->push_back(' ');  // a fact is one line
      return true;
    case 'x':
      if (!TakeHex(rest, 2, &code)) return false;
      out->push_back(static_cast<char>(code));
      return true;
    case 'u':
      if (!TakeHex(rest, 4, &code)) return false;
      AppendUtf8(code, out);
      return true;
    default:
      return false;
  }
}

bool Unquote(std::string_view text, std::string* out) {
  if (text.empty() || text.front() != '"') {
    *out = std::string(text);
    return true;
  }
  text.remove_prefix(1);
  while (!text.empty() && text.front() != '"') {
    const char c = text.front();
    text.remove_prefix(1);
    if (c != '\\') {
      out->push_back(c);
    } else if (!TakeEscape(text, out)) {
      return false;
    }
  }
  return text == "\"";
}

absl::Status Fault(int line, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", std::string(what)));
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ParseFactFile(std::string_view text) {
  std::map<std::string, std::string> facts;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    const size_t equals = line.find('=');
    if (equals == absl::string_view::npos) return Fault(number, "must be key=value");
    const std::string key(line.substr(0, equals));
    if (!IsKey(key)) return Fault(number, "the key must be 1 to 100 letters, digits and . _ - /");
    std::string value;
    const absl::string_view written = line.substr(equals + 1);
    if (!Unquote({written.data(), written.size()}, &value))
      return Fault(number, "the quotes or an escape are wrong");
    if (!IsValidUtf8(value)) return Fault(number, "the value is not UTF-8");
    if (!facts.emplace(key, std::move(value)).second) return Fault(number, "the key is there twice");
    if (facts.size() > kMaxKeys) return Fault(number, "there are more than 256 keys");
  }
  return facts;
}

absl::Status AddFileFacts(const std::string& path, const std::string& prefix, FactSet& facts) {
  FM_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  const auto read = ParseFactFile(text);
  if (!read.ok()) return Annotate(read.status(), path);
  for (const auto& [key, value] : *read) facts.Add(absl::StrCat(prefix, ".", key), value);
  return absl::OkStatus();
}

}  // namespace fleetmark::agent
