#include "collector/promql/string_literal.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark::collector::promql {
namespace {

constexpr std::string_view kSimpleEscapes = "abfnrtv\\'\"";
constexpr std::string_view kSimpleValues = "\a\b\f\n\r\t\v\\'\"";

absl::Status BadEscape() { return absl::InvalidArgumentError("invalid escape sequence in a quoted string"); }

void AppendUtf8(uint32_t code, std::string* out) {
  const auto byte = [out](uint32_t b) { out->push_back(static_cast<char>(b)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | (code >> 6));
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3f));
    byte(0x80 | ((code >> 6) & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

// Takes `count` digits of `base` off the front of `rest`.
absl::StatusOr<uint32_t> TakeDigits(size_t count, int base, std::string_view* rest) {
  if (rest->size() < count) return BadEscape();
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    const char c = (*rest)[i];
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
    if (digit < 0 || digit >= base) return BadEscape();
    value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit);
  }
  rest->remove_prefix(count);
  return value;
}

absl::Status TakeEscape(std::string_view* rest, std::string* out) {
  if (rest->empty()) return BadEscape();
  const char c = rest->front();
  if (const size_t simple = kSimpleEscapes.find(c); simple != std::string_view::npos) {
    rest->remove_prefix(1);
    out->push_back(kSimpleValues[simple]);
    return absl::OkStatus();
  }
  if (c >= '0' && c <= '7') {
    FM_ASSIGN_OR_RETURN(const uint32_t byte, TakeDigits(3, 8, rest));
    if (byte > 255) return BadEscape();
    out->push_back(static_cast<char>(byte));
    return absl::OkStatus();
  }
  rest->remove_prefix(1);
  if (c == 'x') {
    FM_ASSIGN_OR_RETURN(const uint32_t byte, TakeDigits(2, 16, rest));
    out->push_back(static_cast<char>(byte));
    return absl::OkStatus();
  }
  if (c != 'u' && c != 'U') return BadEscape();
  FM_ASSIGN_OR_RETURN(const uint32_t code, TakeDigits(c == 'u' ? 4 : 8, 16, rest));
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return BadEscape();
  AppendUtf8(code, out);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> UnquoteLiteral(std::string_view literal) {
  std::string_view rest = literal.substr(1, literal.size() - 2);
  std::string out;
  if (literal[0] == '`') return std::string(rest);
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c != '\\') {
      out.push_back(c);
      continue;
    }
    FM_RETURN_IF_ERROR(TakeEscape(&rest, &out));
  }
  return out;
}

}  // namespace fleetmark::collector::promql
