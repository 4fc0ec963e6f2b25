#include "common/run/log_tail.h"

#include "common/model/labels.h"

namespace fleetmark {
namespace {

bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The end of `text` with at most `max_bytes`, from the start of a line if there is one in it.
std::string_view EndOf(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t from = text.size() - max_bytes;
  const size_t newline = text.find('\n', from - 1);
  if (newline + 1 < text.size()) return text.substr(newline + 1);
  while (from < text.size() && ContinuesCharacter(text[from])) ++from;
  return text.substr(from);
}

}  // namespace

void LogTail::Add(std::string_view line) {
  bool repaired = false;
  const std::string clean = RepairUtf8(line, &repaired);
  repaired_ = repaired_ || repaired;
  if (clean.find_first_not_of(" \t\r") != std::string::npos) last_line_ = ClipUtf8(clean, max_bytes_);
  text_ += clean;
  text_ += '\n';
  if (text_.size() <= max_bytes_) return;
  truncated_ = true;
  if (text_.size() > 2 * max_bytes_) text_.erase(0, text_.size() - EndOf(text_, max_bytes_).size());
}

std::string LogTail::Text() const { return std::string(EndOf(text_, max_bytes_)); }

std::string ClipUtf8(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  size_t end = max_bytes;
  while (end > 0 && ContinuesCharacter(text[end])) --end;
  return std::string(text.substr(0, end));
}

}  // namespace fleetmark
