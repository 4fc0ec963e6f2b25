#include "agent/facts/smbios.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kHeaderBytes = 4;
constexpr uint8_t kMemoryDevice = 17;
constexpr uint8_t kEndOfTable = 127;
constexpr int kMaxSlots = 4096;

// One structure: its formatted area, and the strings after it.
struct Structure {
  std::string_view area;
  std::string_view strings;

  // 0 beyond the area, as older versions of the table are shorter.
  uint64_t Number(size_t at, size_t bytes) const {
    if (at + bytes > area.size()) return 0;
    uint64_t value = 0;
    for (size_t i = bytes; i > 0; --i) value = value << 8 | static_cast<uint8_t>(area[at + i - 1]);
    return value;
  }

  std::string String(size_t at) const {
    uint64_t index = Number(at, 1);
    std::string_view rest = strings;
    for (; index > 1 && !rest.empty(); --index)
      rest.remove_prefix(std::min(rest.find('\0'), rest.size() - 1) + 1);
    if (index == 0 || rest.empty()) return "";
    std::string text(rest.substr(0, rest.find('\0')));
    absl::StripAsciiWhitespace(&text);
    return text;
  }
};

// Takes the first structure off `table`. False when there is no whole one.
bool TakeStructure(std::string_view& table, Structure* structure) {
  if (table.size() < kHeaderBytes) return false;
  const size_t length = static_cast<uint8_t>(table[1]);
  if (length < kHeaderBytes || length > table.size()) return false;
  const size_t end = table.find(std::string_view("\0\0", 2), length);
  if (end == std::string_view::npos) return false;
  structure->area = table.substr(0, length);
  structure->strings = table.substr(length, end - length);
  table.remove_prefix(end + 2);
  return true;
}

uint64_t MegabytesOf(const Structure& device) {
  const uint64_t size = device.Number(0x0c, 2);
  if (size == 0x7fff) return device.Number(0x1c, 4) & 0x7fffffff;
  if (size == 0xffff) return 0;
  return (size & 0x8000) != 0 ? (size & 0x7fff) / 1024 : size;
}

std::string Size(uint64_t megabytes) {
  return megabytes % 1024 == 0 ? absl::StrCat(megabytes / 1024, " GiB") : absl::StrCat(megabytes, " MiB");
}

std::string Speed(const Structure& device) {
  uint64_t speed = device.Number(0x20, 2);
  if (speed == 0xffff) speed = device.Number(0x58, 4) & 0x7fffffff;
  if (speed == 0) speed = device.Number(0x15, 2);  // what the module can do
  return speed == 0 ? "" : absl::StrCat(speed, " MT/s");
}

std::string Type(const Structure& device) {
  static constexpr struct {
    uint8_t code;
    const char* name;
  } kTypes[] = {{0x12, "DDR"},    {0x13, "DDR2"},   {0x18, "DDR3"},   {0x1a, "DDR4"},         {0x1b, "LPDDR"},
                {0x1c, "LPDDR2"}, {0x1d, "LPDDR3"}, {0x1e, "LPDDR4"}, {0x1f, "non-volatile"}, {0x20, "HBM"},
                {0x21, "HBM2"},   {0x22, "DDR5"},   {0x23, "LPDDR5"}, {0x24, "HBM3"}};
  const uint64_t code = device.Number(0x12, 1);
  for (const auto& type : kTypes) {
    if (type.code == code) return type.name;
  }
  return "";
}

std::string Join(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [value, count] : counts) {
    if (!value.empty()) absl::StrAppend(&text, text.empty() ? "" : ", ", count, "x ", value);
  }
  return text;
}

}  // namespace

MemoryModules ReadMemoryModules(std::string_view table) {
  MemoryModules modules;
  std::map<std::string, int> sizes;
  std::map<std::string, int> types;
  std::map<std::string, int> speeds;
  std::map<std::string, int> parts;
  Structure structure;
  while (modules.slots < kMaxSlots && TakeStructure(table, &structure)) {
    const uint64_t type = structure.Number(0, 1);
    if (type == kEndOfTable) break;
    if (type != kMemoryDevice) continue;
    ++modules.slots;
    const uint64_t megabytes = MegabytesOf(structure);
    if (megabytes == 0) continue;
    ++modules.count;
    ++sizes[Size(megabytes)];
    ++types[Type(structure)];
    ++speeds[Speed(structure)];
    ++parts[structure.String(0x1a)];
  }
  modules.sizes = Join(sizes);
  modules.types = Join(types);
  modules.speeds = Join(speeds);
  modules.parts = Join(parts);
  return modules;
}

}  // namespace fleetmark::agent
