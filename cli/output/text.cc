#include "cli/output/text.h"

#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace fleetmark::cli {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// The blocks that matter for names and log text; after Unicode's EastAsianWidth and general categories.
constexpr Range kZeroWidth[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F},
                                {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E},
                                {0x2060, 0x2064}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
                                {0xFEFF, 0xFEFF}};
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},  {0x3400, 0x4DBF},
                           {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},
                           {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F},
                           {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

template <size_t N>
bool In(const Range (&ranges)[N], char32_t c) {
  for (const Range& r : ranges) {
    if (c >= r.first && c <= r.last) return true;
  }
  return false;
}

size_t SequenceLength(unsigned char lead) {
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  if (lead >= 0xE0) return lead < 0xF0 ? 3 : 1;
  return lead >= 0xC2 ? 2 : 1;
}

// Takes one character off the front of `text`; `*bytes` is its length. An ill-formed byte is U+FFFD.
char32_t TakeCharacter(std::string_view& text, size_t* bytes) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = SequenceLength(lead);
  char32_t c = lead;
  *bytes = 1;
  if (length > 1) {
    c = lead & (0xFFu >> (length + 1));
    for (size_t i = 1; i < length; ++i) {
      if (i >= text.size() || (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
        text.remove_prefix(1);
        return 0xFFFD;
      }
      c = (c << 6) | (static_cast<unsigned char>(text[i]) & 0x3Fu);
    }
    *bytes = length;
  } else if (lead >= 0x80) {
    c = 0xFFFD;
  }
  text.remove_prefix(*bytes);
  return c;
}

size_t Width(char32_t c) {
  if (In(kZeroWidth, c)) return 0;
  return In(kWide, c) ? 2 : 1;
}

bool IsControl(char32_t c) {
  // C0, DEL, C1, and the characters that turn the writing direction around.
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

size_t DisplayWidth(std::string_view utf8) {
  size_t width = 0;
  size_t bytes = 0;
  while (!utf8.empty()) width += Width(TakeCharacter(utf8, &bytes));
  return width;
}

std::string Printable(std::string_view text, bool keep_lines) {
  std::string clean;
  clean.reserve(text.size());
  size_t bytes = 0;
  while (!text.empty()) {
    const char* begin = text.data();
    const char32_t c = TakeCharacter(text, &bytes);
    if (keep_lines && (c == '\n' || c == '\t')) {
      clean += static_cast<char>(c);
    } else if (IsControl(c)) {
      clean += ' ';
    } else if (c == 0xFFFD) {
      clean += "\xEF\xBF\xBD";
    } else {
      clean.append(begin, bytes);
    }
  }
  return clean;
}

std::string FitColumns(std::string_view utf8, size_t columns) {
  if (DisplayWidth(utf8) <= columns) return std::string(utf8);
  if (columns == 0) return "";
  std::string fitting;
  size_t used = 0;
  size_t bytes = 0;
  while (!utf8.empty()) {
    const char* begin = utf8.data();
    const size_t width = Width(TakeCharacter(utf8, &bytes));
    if (used + width > columns - 1) break;
    used += width;
    fitting.append(begin, bytes);
  }
  return fitting + "…";
}

std::vector<std::string> Wrapped(std::string_view utf8, size_t columns) {
  std::vector<std::string> lines;
  size_t width = 0;
  const std::vector<std::string> words = absl::StrSplit(std::string(utf8), ' ', absl::SkipEmpty());
  for (const std::string& word : words) {
    const size_t wide = DisplayWidth(word);
    if (lines.empty() || width + 1 + wide > columns) {
      lines.push_back(word);
      width = wide;
    } else {
      absl::StrAppend(&lines.back(), " ", word);
      width += 1 + wide;
    }
  }
  return lines;
}

}  // namespace fleetmark::cli
