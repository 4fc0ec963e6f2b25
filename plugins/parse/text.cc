#include "plugins/parse/text.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>

#include "plugins/sdk/cpp/json_text.h"

namespace fleetmark::parse {
namespace {

constexpr std::string_view kBlank = " \t\r\n\v\f";

char LowerOf(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Where the escape sequence that begins at `at` ends (ECMA-48: CSI, OSC, and the two-byte ones).
size_t EscapeEnd(std::string_view text, size_t at) {
  size_t end = at + 1;
  if (end >= text.size()) return end;
  if (text[end] == '[') {
    ++end;
    while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40) ++end;
    return std::min(end + 1, text.size());
  }
  if (text[end] == ']') {
    while (end < text.size() && text[end] != '\a' && text[end] != '\n' && text[end] != '\x1b') ++end;
    if (end < text.size() && text[end] == '\x1b' && text.substr(end, 2) == "\x1b\\") ++end;
    return end < text.size() && text[end] != '\n' ? end + 1 : end;
  }
  return text[end] == '\n' ? end : end + 1;
}

std::string WithoutControls(std::string_view text) {
  std::string clean;
  clean.reserve(text.size() + 1);
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\x1b') {
      i = EscapeEnd(text, i);
      continue;
    }
    if (c == '\0' || c == '\b' || c == '\a') {
      ++i;
      continue;
    }
    if (c == '\r' && i + 1 < text.size() && (text[i + 1] == '\n' || text[i + 1] == '\r')) {
      ++i;
      continue;
    }
    clean += c;
    ++i;
  }
  return clean;
}

struct Prefix {
  size_t length = 0;
  int rank = -1;
};

int RankOf(const std::string& digits) {
  const size_t start = std::min(digits.find_first_not_of("0 "), digits.size());
  return digits.size() - start > 8 ? -1 : std::atoi(digits.c_str());
}

// A prefix that nothing but a launcher writes.
Prefix CertainPrefix(std::string_view line) {
  if (line.empty() || line[0] != '[') return {};
  static const RE2 open_mpi(R"(\[[^\]\s\[]{1,80}?,(\d{1,9})\]<(?:stdout|stderr|stddiag)>: ?)");
  static const RE2 kubectl(R"(\[pod/[^\]\s]{1,300}\] )");
  const re2::StringPiece text(line.data(), line.size());
  re2::StringPiece rest = text;
  std::string digits;
  if (RE2::Consume(&rest, open_mpi, &digits)) return {text.size() - rest.size(), RankOf(digits)};
  if (RE2::Consume(&rest, kubectl)) return {text.size() - rest.size(), -1};
  return {};
}

// One that could be the tool's own text.
Prefix LikelyPrefix(std::string_view line) {
  static const RE2 label(R"( {0,6}(?:(\d{1,7}): |\[(\d{1,7})\] |(\d{1,7}):$|\[(\d{1,7})\]$))");
  const re2::StringPiece text(line.data(), line.size());
  re2::StringPiece rest = text;
  std::string digits[4];
  if (!RE2::Consume(&rest, label, &digits[0], &digits[1], &digits[2], &digits[3])) return {};
  for (const std::string& one : digits) {
    if (!one.empty()) return {text.size() - rest.size(), RankOf(one)};
  }
  return {};
}

bool MostLinesHaveOne(const std::vector<Line>& lines) {
  constexpr size_t kEnoughLines = 10'000;
  size_t with = 0;
  size_t filled = 0;
  for (const Line& line : lines) {
    if (Trim(line.text).empty()) continue;
    if (++filled > kEnoughLines) break;
    with += LikelyPrefix(line.text).length > 0 ? 1 : 0;
  }
  return with > 1 && with * 4 >= filled * 3;
}

std::vector<Line> CutLines(std::string_view text) {
  std::vector<Line> lines;
  size_t number = 1;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = text.substr(0, end);
    const bool overwritten = end < text.size() && text[end] == '\r';
    lines.push_back({number, line, -1});
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!overwritten) ++number;
  }
  return lines;
}

}  // namespace

Text::Text(std::string_view raw) {
  if (raw.starts_with("\xEF\xBB\xBF")) raw.remove_prefix(3);
  cut_ = raw.size() > kMaxTextBytes;
  last_line_ends_ = raw.ends_with("\n") || raw.ends_with("\r");
  const std::string plain = WithoutControls(plugin::RepairUtf8(raw.substr(0, kMaxTextBytes)));
  std::vector<Line> lines = CutLines(plain);
  for (Line& line : lines) {
    const Prefix prefix = CertainPrefix(line.text);
    line.text.remove_prefix(prefix.length);
    line.rank = prefix.rank;
  }
  if (MostLinesHaveOne(lines)) {
    for (Line& line : lines) {
      const Prefix prefix = LikelyPrefix(line.text);
      line.text.remove_prefix(prefix.length);
      if (prefix.length > 0) line.rank = prefix.rank;
    }
  }
  clean_.reserve(plain.size() + 1);
  for (const Line& line : lines) clean_.append(line.text).push_back('\n');
  size_t at = 0;
  lines_.reserve(lines.size());
  for (const Line& line : lines) {
    lines_.push_back({line.number, std::string_view(clean_).substr(at, line.text.size()), line.rank});
    at += line.text.size() + 1;
  }
}

size_t Text::LineNumberAt(size_t offset) const {
  if (lines_.empty()) return 0;
  const char* at = clean_.data() + std::min(offset, clean_.size());
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), at,
                                      [](const char* p, const Line& line) { return p < line.text.data(); });
  return after == lines_.begin() ? 1 : std::prev(after)->number;
}

std::string_view Text::LineText(size_t number) const {
  const auto found = std::lower_bound(lines_.begin(), lines_.end(), number,
                                      [](const Line& line, size_t n) { return line.number < n; });
  return found != lines_.end() && found->number == number ? found->text : std::string_view();
}

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), LowerOf);
  return lower;
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = text.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlank, end);
  }
  return words;
}

std::vector<std::string_view> Split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool ContainsNoCase(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return LowerOf(a) == LowerOf(b); }) != text.end();
}

bool StartsWithNoCase(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && ContainsNoCase(text.substr(0, start.size()), start);
}

std::optional<std::string_view> After(std::string_view text, std::string_view marker) {
  const size_t at = text.find(marker);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + marker.size());
}

std::optional<std::string_view> Between(std::string_view text, std::string_view open,
                                        std::string_view close) {
  const auto rest = After(text, open);
  if (!rest) return std::nullopt;
  const size_t end = rest->find(close);
  if (end == std::string_view::npos) return std::nullopt;
  return rest->substr(0, end);
}

std::string SnakeCase(std::string_view text) {
  constexpr size_t kMaxBytes = 64;
  std::string name;
  for (const char original : text) {
    const char c = LowerOf(original);
    const bool letter = c >= 'a' && c <= 'z';
    const bool digit = c >= '0' && c <= '9';
    if (letter || (digit && !name.empty())) {
      name += c;
    } else if (digit) {
      name += "n";
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
    if (name.size() == kMaxBytes) break;
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() ? "value" : name;
}

std::string Shorten(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  size_t end = bytes - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return Join({text.substr(0, end), "..."});
}

std::string Join(std::initializer_list<std::string_view> parts) { return plugin::Concat(parts); }

}  // namespace fleetmark::parse
