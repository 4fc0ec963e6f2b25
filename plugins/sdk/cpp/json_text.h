// Writing JSON values as text. Header only. Thread-safety: functions without state.
#ifndef FLEETMARK_PLUGINS_SDK_CPP_JSON_TEXT_H_
#define FLEETMARK_PLUGINS_SDK_CPP_JSON_TEXT_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace fleetmark::plugin {

// The length in bytes of the UTF-8 character that `text` begins with; 0 if it is ill-formed (overlong,
// surrogate, beyond U+10FFFF, cut off).
inline size_t Utf8Length(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xC2 && first <= 0xDF ? 2 : first >= 0xE0 && first <= 0xEF ? 3 : 4;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool outside = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F);
  return overlong || outside ? 0 : length;
}

// `text` with each ill-formed byte replaced by U+FFFD.
inline std::string RepairUtf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    repaired += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return repaired;
}

// The parts joined. Instead of operator+, of which GCC 12 wrongly warns when it inlines it (-Wrestrict).
inline std::string Concat(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

// In quotes, escaped, and well-formed UTF-8 whatever `text` holds.
inline std::string JsonString(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string json = "\"";
  for (const char c : RepairUtf8(text)) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (c == '\n') {
      json += "\\n";
    } else if (c == '\t') {
      json += "\\t";
    } else if (static_cast<uint8_t>(c) < 0x20) {
      json += "\\u00";
      json += kHex[c >> 4];
      json += kHex[c & 15];
    } else {
      json += c;
    }
  }
  return json + '"';
}

// The shortest decimal that reads back as the same double. `value` must be finite.
inline std::string JsonNumber(double value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

}  // namespace fleetmark::plugin

#endif  // FLEETMARK_PLUGINS_SDK_CPP_JSON_TEXT_H_
