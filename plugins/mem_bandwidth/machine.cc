#include "plugins/mem_bandwidth/machine.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

namespace fleetmark::mem_bandwidth {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMiB = size_t{1} << 20;

// The file without the newline at its end; empty if it can't be read.
std::string ReadText(const fs::path& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// The number that `text` begins with, which is then removed from it.
template <typename T>
std::optional<T> TakeNumber(std::string_view* text) {
  T value{};
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc()) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return value;
}

// "32768K" in bytes.
size_t ParseCacheSize(std::string_view text) {
  const size_t value = TakeNumber<size_t>(&text).value_or(0);
  if (text == "K") return value << 10;
  if (text == "M") return value << 20;
  return value;
}

struct Cache {
  int level = 0;
  size_t bytes = 0;
  std::string shared_by;
};

Cache LastLevelCache(const fs::path& cpu_folder) {
  Cache last;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(cpu_folder / "cache", error)) {
    if (!entry.path().filename().string().starts_with("index")) continue;
    const std::string text = ReadText(entry.path() / "level");
    std::string_view rest = text;
    const int level = TakeNumber<int>(&rest).value_or(0);
    if (level <= last.level || ReadText(entry.path() / "type") == "Instruction") continue;
    last = {level, ParseCacheSize(ReadText(entry.path() / "size")),
            ReadText(entry.path() / "shared_cpu_list")};
  }
  return last;
}

}  // namespace

std::vector<int> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  while (const auto first = TakeNumber<int>(&text)) {
    std::optional<int> last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      last = TakeNumber<int>(&text);
      if (!last || *last > 1 << 20) break;
    }
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    if (!text.starts_with(',')) break;
    text.remove_prefix(1);
  }
  return cpus;
}

std::map<int, std::vector<int>> NumaNodes(const fs::path& root, const std::vector<int>& cpus) {
  std::map<int, std::vector<int>> nodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "sys/devices/system/node", error)) {
    const std::string name = entry.path().filename().string();
    std::string_view number = name;
    if (!number.starts_with("node")) continue;
    number.remove_prefix(4);
    const std::optional<int> node = TakeNumber<int>(&number);
    if (!node) continue;
    for (const int cpu : ParseCpuList(ReadText(entry.path() / "cpulist"))) {
      if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) nodes[*node].push_back(cpu);
    }
  }
  if (nodes.empty()) nodes[0] = cpus;
  return nodes;
}

size_t LastLevelCacheBytes(const fs::path& root, const std::vector<int>& cpus) {
  std::set<std::string> seen;
  size_t bytes = 0;
  for (const int cpu : cpus) {
    const Cache cache = LastLevelCache(root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)));
    if (seen.insert(cache.shared_by).second) bytes += cache.bytes;
  }
  return bytes;
}

size_t AvailableMemoryBytes(const fs::path& root) {
  std::ifstream file(root / "proc/meminfo");
  for (std::string name, unit; file >> name;) {
    size_t value = 0;
    if (name == "MemAvailable:" && file >> value) return value << 10;
    std::getline(file, unit);
  }
  return 0;
}

size_t ChooseArrayBytes(size_t cache_bytes, size_t available_bytes) {
  const size_t wanted = std::max(4 * cache_bytes, 64 * kMiB);
  const size_t allowed = available_bytes == 0 ? wanted : available_bytes / 4 / 3;
  return std::max(std::min(wanted, allowed) / kMiB, size_t{1}) * kMiB;
}

}  // namespace fleetmark::mem_bandwidth
