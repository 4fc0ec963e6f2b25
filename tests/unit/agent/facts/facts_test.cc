#include "agent/facts/facts.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/model/labels.h"
#include "common/model/limits.h"

namespace fleetmark::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A copy of the recorded node that a test may change.
class FactsTest : public ::testing::Test {
 protected:
  FactsTest() {
    std::string name = (fs::temp_directory_path() / "fleetmark-facts-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    fs::copy(fs::path(getenv("FM_SOURCE_DIR")) / "tests/data/facts/epyc", folder_,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    options_.root = folder_;
  }
  ~FactsTest() override { fs::remove_all(folder_); }

  void Write(const std::string& path, const std::string& content) {
    fs::create_directories(fs::path(folder_ + path).parent_path());
    std::ofstream(folder_ + path) << content;
  }

  std::map<std::string, std::string> Facts() {
    std::map<std::string, std::string> facts;
    for (const v1::Fact& fact : CollectFacts(options_)) facts[fact.name()] = fact.value();
    return facts;
  }

  std::string folder_;
  FactsOptions options_;
};

TEST_F(FactsTest, RecordedNode) {
  const std::map<std::string, std::string> expected = {
      {"cpu.boost", "on"},
      {"cpu.cache.l3", "32768K"},
      {"cpu.count", "4"},
      {"cpu.driver", "acpi-cpufreq"},
      {"cpu.frequency.max", "2450000"},
      {"cpu.governor", "performance,powersave"},
      {"cpu.microcode", "0xa0011d1"},
      {"cpu.model", "AMD EPYC 7763 64-Core Processor"},
      {"cpu.smt", "on"},
      {"cpu.sockets", "2"},
      {"cpu.threads_per_core", "2"},
      {"cpu.vendor", "AuthenticAMD"},
      {"cpu.vulnerability.meltdown", "Not affected"},
      {"cpu.vulnerability.retbleed", "Mitigation: untrained return thunk; SMT enabled with STIBP protection"},
      {"disk.nvme0n1.model", "SAMSUNG MZQL23T8HCLS-00A07"},
      {"disk.nvme0n1.rotational", "0"},
      {"disk.nvme0n1.scheduler", "none"},
      {"disk.nvme0n1.size", "3840755982336"},
      {"hardware.bios", "2.4"},
      {"hardware.product", "AS-2124GQ"},
      {"hardware.vendor", "Supermicro"},
      {"kernel.clocksource", "tsc"},
      {"kernel.cmdline", "BOOT_IMAGE=/vmlinuz-6.1.0 root=/dev/md0 mitigations=auto quiet"},
      {"kernel.release", "6.1.0-28-amd64"},
      {"memory.hugepages", "512"},
      {"memory.thp", "madvise"},
      {"memory.total", "540629008384"},
      {"nic.eth0.driver", "mlx5_core"},
      {"nic.eth0.mtu", "9000"},
      {"nic.eth0.speed", "100000 Mbit/s"},
      {"nic.eth1.mtu", "1500"},
      {"numa.nodes", "2"},
      {"os.hostname", "node042"},
      {"os.release", "Debian GNU/Linux 12 (bookworm)"},
  };
  EXPECT_EQ(Facts(), expected);
}

TEST_F(FactsTest, BootIdIsApart) {
  EXPECT_EQ(*BootId(options_), "3e4f3c1e-5c4e-4d1f-9a47-1f5c8f6f0b11");
  fs::remove(folder_ + "/proc/sys/kernel/random/boot_id");
  EXPECT_EQ(BootId(options_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FactsTest, NothingThere) {
  options_.root = folder_ + "/nowhere";
  EXPECT_THAT(CollectFacts(options_), IsEmpty());
}

TEST_F(FactsTest, WhatFlapsIsNoFact) {
  const auto before = CollectFacts(options_);
  Write("/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "3500000");
  Write("/proc/meminfo", "MemTotal: 527945000 kB\nMemFree: 1 kB\n");
  Write("/proc/sys/kernel/random/boot_id", "another");
  Write("/sys/class/net/veth9/mtu", "1500");
  Write("/sys/block/loop7/size", "5");
  Write("/sys/block/sdy/removable", "1");
  fs::create_directories(folder_ + "/sys/block/sdy/device");
  EXPECT_EQ(FactsDigest(CollectFacts(options_)), FactsDigest(before));
}

TEST_F(FactsTest, ContainerHidesItsHostName) {
  Write("/proc/self/cgroup", "0::/kubepods/besteffort/pod1/x\n");
  EXPECT_EQ(Facts()["container"], "kubernetes");
  EXPECT_EQ(Facts().count("os.hostname"), 0u);
  Write("/proc/self/cgroup", "0::/\n");
  Write("/.dockerenv", "");
  EXPECT_EQ(Facts()["container"], "docker");
}

TEST_F(FactsTest, VirtualMachine) {
  Write("/proc/cpuinfo", "model name : X\nflags : fpu hypervisor sse\n");
  EXPECT_EQ(Facts()["virtualization"], "virtual machine");
  Write("/sys/hypervisor/type", "xen\n");
  EXPECT_EQ(Facts()["virtualization"], "xen");
}

TEST_F(FactsTest, ArmProcessor) {
  Write("/proc/cpuinfo", "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\nCPU revision : 1\n");
  EXPECT_EQ(Facts()["cpu.model"], "implementer 0x41 part 0xd0c revision 1");
}

TEST_F(FactsTest, IntelTurbo) {
  fs::remove(folder_ + "/sys/devices/system/cpu/cpufreq/boost");
  Write("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  EXPECT_EQ(Facts()["cpu.boost"], "off");
}

TEST_F(FactsTest, StaysWithinLimitsWhateverTheFilesHold) {
  Write("/proc/cmdline", std::string(100'000, '\xff') + "x");
  Write("/proc/sys/kernel/osrelease", "6.1\x01\x02\nrest");
  Write("/proc/sys/kernel/hostname", std::string(1022, 'a') + "\xe2\x82\xac");
  for (int i = 0; i < 3000; ++i)
    Write("/sys/devices/system/cpu/vulnerabilities/v" + std::to_string(i), "Vulnerable");
  for (int i = 0; i < 200; ++i) Write("/sys/class/net/e" + std::to_string(i) + "/device/vendor", "1");
  const auto facts = CollectFacts(options_);
  EXPECT_LE(facts.size(), limits::kFactsPerNode);
  std::string last;
  for (const v1::Fact& fact : facts) {
    EXPECT_LT(last, fact.name());
    last = fact.name();
    EXPECT_TRUE(CheckText("value", fact.value(), limits::kFactValueBytes).ok()) << fact.name();
  }
}

TEST(FactsOfThisMachineTest, AreFoundAndSteady) {
  const auto facts = CollectFacts();
  EXPECT_GE(facts.size(), 5u);
  EXPECT_EQ(FactsDigest(facts), FactsDigest(CollectFacts()));
  EXPECT_THAT(*BootId(), SizeIs(36));
}

v1::Fact Fact(const std::string& name, const std::string& value) {
  v1::Fact fact;
  fact.set_name(name);
  fact.set_value(value);
  return fact;
}

TEST(DiffFactsTest, TellsWhatCameWentAndChanged) {
  const std::vector<v1::Fact> before = {Fact("a", "1"), Fact("b", "2"), Fact("c", "3")};
  const std::vector<v1::Fact> after = {Fact("d", "4"), Fact("b", "5"), Fact("a", "1")};
  const auto events = DiffFacts(before, after, "n1", absl::FromUnixSeconds(9));
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].subject(), "b");
  EXPECT_EQ(events[0].old_value(), "2");
  EXPECT_EQ(events[0].new_value(), "5");
  EXPECT_EQ(events[0].message(), "b changed from 2 to 5");
  EXPECT_EQ(events[0].kind(), v1::Event::KIND_FACT_CHANGED);
  EXPECT_EQ(events[0].node(), "n1");
  EXPECT_EQ(events[0].time_unix_ns(), 9'000'000'000);
  EXPECT_EQ(events[1].message(), "c is gone; it was 3");
  EXPECT_EQ(events[2].message(), "d is new: 4");
  EXPECT_NE(events[0].event_id(), events[1].event_id());
  EXPECT_THAT(DiffFacts(before, before, "n1", absl::UnixEpoch()), IsEmpty());
}

TEST(FactsDigestTest, DependsOnContentAlone) {
  EXPECT_EQ(FactsDigest({Fact("a", "1"), Fact("b", "2")}), FactsDigest({Fact("b", "2"), Fact("a", "1")}));
  EXPECT_NE(FactsDigest({Fact("a", "1")}), FactsDigest({Fact("a", "2")}));
  EXPECT_THAT(FactsDigest({}), SizeIs(16));
}

}  // namespace
}  // namespace fleetmark::agent
