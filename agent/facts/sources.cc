#include "agent/facts/sources.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "common/base/file.h"
#include "common/model/labels.h"
#include "common/model/limits.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kMaxFileBytes = 4 << 20;
constexpr size_t kMaxNames = 4096;
constexpr uint64_t kMemoryGrainBytes = uint64_t{64} << 20;

absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

FactSources::FactSources(std::string root) : root_(std::move(root)) {}

std::string FactSources::Under(std::string_view path) const { return root_ + std::string(path); }

std::optional<std::string> FactSources::Text(std::string_view path) const {
  absl::StatusOr<std::string> text = ReadFile(Under(path), kMaxFileBytes);
  if (!text.ok()) return std::nullopt;
  return *std::move(text);
}

std::optional<std::string> FactSources::Line(std::string_view path) const {
  std::optional<std::string> text = Text(path);
  if (!text.has_value()) return std::nullopt;
  absl::StripAsciiWhitespace(&*text);
  if (text->empty()) return std::nullopt;
  return text;
}

std::vector<std::string> FactSources::List(std::string_view folder) const {
  std::vector<std::string> names;
  DIR* dir = opendir(Under(folder).c_str());
  if (dir == nullptr) return names;
  while (const dirent* entry = readdir(dir)) {
    if (entry->d_name[0] != '.' && names.size() < kMaxNames) names.emplace_back(entry->d_name);
  }
  closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

bool FactSources::Exists(std::string_view path) const { return access(Under(path).c_str(), F_OK) == 0; }

std::optional<std::string> FactSources::LinkName(std::string_view path) const {
  char target[4096];
  const ssize_t size = readlink(Under(path).c_str(), target, sizeof target);
  if (size <= 0) return std::nullopt;
  const std::string text(target, static_cast<size_t>(size));
  return text.substr(text.rfind('/') + 1);
}

void FactSet::Add(const std::string& name, const std::optional<std::string>& value) {
  if (!value.has_value() || name.size() > limits::kFactNameBytes) return;
  if (facts_.size() >= limits::kFactsPerNode) return;
  bool repaired = false;
  std::string clean = RepairUtf8(value->substr(0, limits::kFactValueBytes), &repaired);
  // A repair puts three bytes in the place of one.
  while (clean.size() > limits::kFactValueBytes || !IsValidUtf8(clean)) clean.pop_back();
  for (char& c : clean) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  absl::StripAsciiWhitespace(&clean);
  if (!clean.empty()) facts_.emplace(name, std::move(clean));
}

std::optional<uint64_t> MemoryTotal(std::string_view meminfo) {
  const size_t at = meminfo.find("MemTotal:");  // of a NUMA node: "Node 0 MemTotal:"
  if (at == std::string_view::npos) return std::nullopt;
  const size_t digits = meminfo.find_first_of("0123456789", at);
  if (digits == std::string_view::npos) return std::nullopt;
  uint64_t kib = 0;
  const size_t end = std::min(meminfo.find_first_not_of("0123456789", digits), meminfo.size());
  if (!absl::SimpleAtoi(ToAbsl(meminfo.substr(digits, end - digits)), &kib)) return std::nullopt;
  if (kib > std::numeric_limits<uint64_t>::max() / 2048) return std::nullopt;
  return (kib * 1024 + kMemoryGrainBytes / 2) / kMemoryGrainBytes * kMemoryGrainBytes;
}

size_t CountOfCpuList(std::string_view list) {
  size_t count = 0;
  for (absl::string_view item : absl::StrSplit(ToAbsl(list), ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(item, absl::MaxSplits('-', 1));
    size_t from = 0;
    size_t to = 0;
    if (!absl::SimpleAtoi(ends.first, &from)) continue;
    if (!absl::SimpleAtoi(ends.second, &to)) to = from;
    if (to >= from) count += to - from + 1;
  }
  return count;
}

std::string Bracketed(std::string_view text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::string(text);
  return std::string(text.substr(open + 1, close - open - 1));
}

std::optional<std::string> ValueOf(std::string_view text, std::string_view key) {
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    if (line.empty()) break;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::StripAsciiWhitespace(parts.first) == ToAbsl(key)) {
      return std::string(absl::StripAsciiWhitespace(parts.second));
    }
  }
  return std::nullopt;
}

}  // namespace fleetmark::agent
