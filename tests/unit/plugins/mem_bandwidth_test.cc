#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "plugins/mem_bandwidth/machine.h"
#include "plugins/mem_bandwidth/stream.h"
#include "plugins/sdk/cpp/cpus.h"

namespace fleetmark::mem_bandwidth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr size_t kMiB = size_t{1} << 20;

class MachineTest : public ::testing::Test {
 protected:
  MachineTest() { std::filesystem::create_directories(root_); }
  ~MachineTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  void WriteCache(int cpu, int index, int level, const std::string& type, const std::string& size,
                  const std::string& shared) {
    const std::string folder =
        "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/";
    Write(folder + "level", std::to_string(level));
    Write(folder + "type", type);
    Write(folder + "size", size);
    Write(folder + "shared_cpu_list", shared);
  }

  const std::filesystem::path root_ =
      std::filesystem::path(::testing::TempDir()) / ("machine_test." + std::to_string(getpid()));
};

TEST(Stream, SharesCoverTheArrayOnce) {
  for (const size_t elements : {0UL, 1UL, 7UL, 1000UL, 1001UL}) {
    size_t expected_begin = 0;
    for (size_t i = 0; i < 7; ++i) {
      const auto [begin, end] = Share(elements, i, 7);
      EXPECT_EQ(begin, expected_begin);
      EXPECT_LE(end - begin, elements / 7 + 1);
      expected_begin = end;
    }
    EXPECT_EQ(expected_begin, elements);
  }
}

TEST(Stream, CheckAcceptsTheKernelsAndRejectsOneLostStore) {
  constexpr size_t kElements = 1000;
  std::vector<double> a(kElements), b(kElements), c(kElements);
  const Arrays arrays{a.data(), b.data(), c.data()};
  Initialise(arrays, 0, kElements);
  for (int i = 0; i < 5; ++i) {
    for (size_t kernel = 0; kernel < kKernels; ++kernel) {
      RunKernel(static_cast<Kernel>(kernel), arrays, 0, kElements);
    }
  }
  EXPECT_EQ(CheckArrays(arrays, kElements, 5), "");
  EXPECT_THAT(CheckArrays(arrays, kElements, 6), HasSubstr("array a is off"));
  c[777] = 0;
  EXPECT_THAT(CheckArrays(arrays, kElements, 5), HasSubstr("array c is off"));
  c[777] = 0.0 / 0.0;
  EXPECT_THAT(CheckArrays(arrays, kElements, 5), HasSubstr("array c is off"));
}

TEST(Stream, RunsOnAllCpusAndIsRight) {
  const auto result = RunStream({.cpus = plugin::AllowedCpus(), .elements = 100003, .repetitions = 3});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->error, "");
  for (const double seconds : result->best_seconds) {
    EXPECT_GT(seconds, 0);
    EXPECT_LT(seconds, 10);
  }
}

TEST(Stream, ReportsACpuThatCantBeUsed) {
  const auto result = RunStream({.cpus = {100000}, .elements = 100, .repetitions = 2});
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(result->error, HasSubstr("pinned"));
}

TEST_F(MachineTest, ParsesCpuLists) {
  EXPECT_THAT(ParseCpuList("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(ParseCpuList("5"), ElementsAre(5));
  EXPECT_THAT(ParseCpuList(""), IsEmpty());
  EXPECT_THAT(ParseCpuList("1,x"), ElementsAre(1));
}

TEST_F(MachineTest, GroupsAllowedCpusByNumaNode) {
  Write("sys/devices/system/node/node0/cpulist", "0-3");
  Write("sys/devices/system/node/node1/cpulist", "4-7");
  Write("sys/devices/system/node/node2/cpulist", "");  // memory without CPUs
  Write("sys/devices/system/node/possible", "0-2");
  EXPECT_THAT(NumaNodes(root_, {1, 2, 7}), ElementsAre(Pair(0, ElementsAre(1, 2)), Pair(1, ElementsAre(7))));
}

TEST_F(MachineTest, WithoutNumaThereIsOneNode) {
  EXPECT_THAT(NumaNodes(root_, {0, 1}), ElementsAre(Pair(0, ElementsAre(0, 1))));
}

TEST_F(MachineTest, AddsUpEachLastLevelCacheOnce) {
  for (int cpu = 0; cpu < 4; ++cpu) {
    WriteCache(cpu, 0, 1, "Data", "48K", std::to_string(cpu));
    WriteCache(cpu, 1, 3, "Unified", "32768K", cpu < 2 ? "0-1" : "2-3");
  }
  EXPECT_EQ(LastLevelCacheBytes(root_, {0, 1, 2, 3}), 64 * kMiB);
  EXPECT_EQ(LastLevelCacheBytes(root_, {0, 1}), 32 * kMiB);
  EXPECT_EQ(LastLevelCacheBytes(root_ / "nothing", {0}), 0U);
}

TEST_F(MachineTest, ReadsAvailableMemory) {
  Write("proc/meminfo", "MemTotal:       2000 kB\nMemFree:  1 kB\nMemAvailable:    1000 kB");
  EXPECT_EQ(AvailableMemoryBytes(root_), 1000U * 1024);
  EXPECT_EQ(AvailableMemoryBytes(root_ / "nothing"), 0U);
}

TEST_F(MachineTest, ArraysFollowTheRuleWithinAQuarterOfMemory) {
  EXPECT_EQ(ChooseArrayBytes(32 * kMiB, 100000 * kMiB), 128 * kMiB);
  EXPECT_EQ(ChooseArrayBytes(1 * kMiB, 100000 * kMiB), 64 * kMiB);
  EXPECT_EQ(ChooseArrayBytes(1000 * kMiB, 1200 * kMiB), 100 * kMiB);
  EXPECT_EQ(ChooseArrayBytes(32 * kMiB, 0), 128 * kMiB);
}

}  // namespace
}  // namespace fleetmark::mem_bandwidth
