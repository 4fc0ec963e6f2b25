#include "common/model/labels.h"

#include <fnmatch.h>

#include <algorithm>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "common/base/status.h"
#include "common/model/limits.h"

namespace fleetmark {
namespace {

bool Lower(char c) { return c >= 'a' && c <= 'z'; }
bool Digit(char c) { return c >= '0' && c <= '9'; }
bool AlphaNum(char c) { return Lower(c) || Digit(c) || (c >= 'A' && c <= 'Z'); }

std::string Quoted(std::string_view text) {
  return absl::StrCat(
      "'", absl::CHexEscape(absl::string_view(text.data(), std::min<size_t>(text.size(), 80))), "'");
}

absl::Status Wrong(std::string_view what, std::string_view text, std::string_view right) {
  return absl::InvalidArgumentError(absl::StrCat(absl::string_view(what.data(), what.size()), " ",
                                                 Quoted(text), " must be ",
                                                 absl::string_view(right.data(), right.size())));
}

// The length of the well-formed UTF-8 sequence at the start of `s` (RFC 3629), 0 if there is none.
size_t Utf8Length(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char b = byte(0);
  if (b < 0x80) return 1;
  size_t n = 0;
  unsigned low = 0x80, high = 0xBF;
  if (b >= 0xC2 && b <= 0xDF) {
    n = 2;
  } else if (b >= 0xE0 && b <= 0xEF) {
    n = 3;
    if (b == 0xE0) low = 0xA0;
    if (b == 0xED) high = 0x9F;
  } else if (b >= 0xF0 && b <= 0xF4) {
    n = 4;
    if (b == 0xF0) low = 0x90;
    if (b == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  if (s.size() < n) return 0;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < n; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return n;
}

}  // namespace

absl::Status CheckIdentifier(std::string_view what, std::string_view name) {
  const bool good =
      !name.empty() && name.size() <= limits::kNameBytes && Lower(name[0]) &&
      std::all_of(name.begin(), name.end(), [](char c) { return Lower(c) || Digit(c) || c == '_'; });
  if (good) return absl::OkStatus();
  return Wrong(what, name, "1 to 64 characters of a-z, 0-9 and _, beginning with a letter");
}

absl::Status CheckBenchmarkName(std::string_view what, std::string_view name) {
  const bool good = !name.empty() && name.size() <= limits::kNameBytes && AlphaNum(name[0]) &&
                    std::all_of(name.begin(), name.end(),
                                [](char c) { return AlphaNum(c) || c == '_' || c == '-' || c == '.'; });
  if (good) return absl::OkStatus();
  return Wrong(what, name, "1 to 64 letters, digits, '_', '-' or '.', beginning with a letter or digit");
}

absl::Status CheckNodeName(std::string_view name) {
  bool good = !name.empty() && name.size() <= limits::kNodeNameBytes;
  bool at_start = true;
  for (char c : name) {
    if (c == '.') {
      good = good && !at_start;
      at_start = true;
      continue;
    }
    good = good && (AlphaNum(c) || (!at_start && (c == '-' || c == '_')));
    at_start = false;
  }
  if (good && !at_start) return absl::OkStatus();
  return Wrong("node name", name, "a host name of at most 253 characters");
}

absl::Status CheckText(std::string_view what, std::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) {
    return Wrong(what, text, absl::StrCat("at most ", max_bytes, " bytes (it has ", text.size(), ")"));
  }
  if (!IsValidUtf8(text)) return Wrong(what, text, "valid UTF-8");
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if ((u < 0x20 && c != '\t' && c != '\n' && c != '\r') || u == 0x7F) {
      return Wrong(what, text, "free of control characters");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNodeLabels(const Labels& labels) {
  if (labels.size() > limits::kLabelsPerNode) {
    return absl::InvalidArgumentError(
        absl::StrCat("a node has at most ", limits::kLabelsPerNode, " labels, not ", labels.size()));
  }
  for (const auto& [name, value] : labels) {
    const bool good = !name.empty() && name.size() <= limits::kNameBytes && AlphaNum(name[0]) &&
                      std::all_of(name.begin(), name.end(), [](char c) {
                        return AlphaNum(c) || c == '_' || c == '-' || c == '.' || c == '/';
                      });
    if (!good) return Wrong("label name", name, "1 to 64 letters, digits, '_', '-', '.' or '/'");
    FM_RETURN_IF_ERROR(CheckText(absl::StrCat("value of label ", name), value, limits::kLabelValueBytes));
  }
  return absl::OkStatus();
}

bool MatchesGlob(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), FNM_NOESCAPE) == 0;
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t n = Utf8Length(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string RepairUtf8(std::string_view text, bool* repaired) {
  std::string out;
  out.reserve(text.size());
  *repaired = false;
  while (!text.empty()) {
    const size_t n = Utf8Length(text);
    if (n == 0) {
      out += "\xEF\xBF\xBD";
      *repaired = true;
      text.remove_prefix(1);
      continue;
    }
    const auto first = static_cast<unsigned char>(text[0]);
    if (n == 1 && ((first < 0x20 && first != '\t' && first != '\n' && first != '\r') || first == 0x7F)) {
      *repaired = true;
    } else {
      out.append(text.substr(0, n));
    }
    text.remove_prefix(n);
  }
  return out;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace fleetmark
