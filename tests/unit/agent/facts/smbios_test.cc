#include "agent/facts/smbios.h"

#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace fleetmark::agent {
namespace {

void Put(std::string& area, size_t at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) area[at + i] = static_cast<char>(value >> 8 * i);
}

std::string Structure(uint8_t type, std::string area, const std::vector<std::string>& strings) {
  area[0] = static_cast<char>(type);
  area[1] = static_cast<char>(area.size());
  for (const std::string& text : strings) area += text + '\0';
  if (strings.empty()) area += '\0';
  return area + '\0';
}

struct Module {
  uint64_t size = 0x7fff;
  uint64_t extended_megabytes = 32768;
  uint64_t type = 0x1a;
  uint64_t speed = 3200;
  uint64_t configured = 2933;
  std::string part = "M393A4K40DB3-CWE   ";
};

std::string Dimm(const Module& module, size_t area_bytes = 0x5c) {
  std::string area(0x5c, '\0');
  Put(area, 0x0c, module.size, 2);
  Put(area, 0x12, module.type, 1);
  Put(area, 0x15, module.speed, 2);
  Put(area, 0x10, 1, 1);
  Put(area, 0x1a, 2, 1);
  Put(area, 0x1c, module.extended_megabytes, 4);
  Put(area, 0x20, module.configured, 2);
  return Structure(17, area.substr(0, area_bytes), {"P1-DIMMA1", module.part});
}

std::string Other(uint8_t type) { return Structure(type, std::string(24, '\x11'), {}); }

TEST(SmbiosTest, CountsModulesAndNamesWhatDiffers) {
  std::string table = Other(0) + Other(16);
  for (int i = 0; i < 7; ++i) table += Dimm({});
  table += Dimm({.configured = 2400, .part = "OTHER"});
  table += Dimm({.size = 0, .part = "NO DIMM"});
  table += Other(127) + Dimm({});
  const MemoryModules modules = ReadMemoryModules(table);
  EXPECT_EQ(modules.slots, 9);
  EXPECT_EQ(modules.count, 8);
  EXPECT_EQ(modules.sizes, "8x 32 GiB");
  EXPECT_EQ(modules.types, "8x DDR4");
  EXPECT_EQ(modules.speeds, "1x 2400 MT/s, 7x 2933 MT/s");
  EXPECT_EQ(modules.parts, "7x M393A4K40DB3-CWE, 1x OTHER");
}

TEST(SmbiosTest, WaysToGiveSizeAndSpeed) {
  EXPECT_EQ(ReadMemoryModules(Dimm({.size = 16384})).sizes, "1x 16 GiB");
  EXPECT_EQ(ReadMemoryModules(Dimm({.size = 512})).sizes, "1x 512 MiB");
  EXPECT_EQ(ReadMemoryModules(Dimm({.size = 0x8000 | 2048})).sizes, "1x 2 MiB");
  EXPECT_EQ(ReadMemoryModules(Dimm({.size = 0xffff})).count, 0);
  EXPECT_EQ(ReadMemoryModules(Dimm({.configured = 0})).speeds, "1x 3200 MT/s");
  EXPECT_EQ(ReadMemoryModules(Dimm({.type = 0x22})).types, "1x DDR5");
  EXPECT_EQ(ReadMemoryModules(Dimm({.type = 0x02})).types, "");
  // An older table, whose structures end before the configured speed.
  const MemoryModules old = ReadMemoryModules(Dimm({.size = 8192}, 0x1b));
  EXPECT_EQ(old.speeds, "1x 3200 MT/s");
  EXPECT_EQ(old.parts, "1x M393A4K40DB3-CWE");
}

TEST(SmbiosTest, AnyCutIsSafe) {
  const std::string table = Other(0) + Dimm({}) + Dimm({}) + Other(127);
  for (size_t size = 0; size <= table.size(); ++size) {
    // A copy of its own, so that a sanitizer sees a read beyond the end.
    const std::vector<char> cut(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_LE(ReadMemoryModules({cut.data(), cut.size()}).count, 2);
  }
}

TEST(SmbiosTest, AnyBytesAreSafe) {
  std::mt19937 random(17);
  const std::string table = Other(0) + Dimm({}) + Dimm({}) + Other(127);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<char> bytes(table.begin(), table.end());
    for (int change = 0; change < 1 + i % 8; ++change) {
      bytes[random() % bytes.size()] = static_cast<char>(random() % 4 == 0 ? 17 : random());
    }
    EXPECT_LE(ReadMemoryModules({bytes.data(), bytes.size()}).count, 4096);
  }
}

}  // namespace
}  // namespace fleetmark::agent
