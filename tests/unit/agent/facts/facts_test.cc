#include "agent/facts/facts.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "agent/facts/fact_file.h"
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
    options_.nic_driver = [](const std::string&) { return std::nullopt; };
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

TEST_F(FactsTest, NumaAndPages) {
  Write("/sys/devices/system/node/node0/meminfo",
        "Node 0 MemTotal:       263905912 kB\nNode 0 MemFree: 1 kB\n");
  Write("/sys/devices/system/node/node0/cpulist", "0-63\n");
  Write("/sys/devices/system/node/node1/meminfo", "Node 1 MemFree: 1 kB\n");
  Write("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "4\n");
  auto facts = Facts();
  EXPECT_EQ(facts["numa.node0.memory"], "270247395328");
  EXPECT_EQ(facts["numa.node0.cpus"], "0-63");
  EXPECT_EQ(facts.count("numa.node1.memory"), 0u);
  EXPECT_EQ(facts["memory.hugepages.1048576kB"], "4");
  EXPECT_EQ(facts["memory.hugepages"], "512");
}

TEST_F(FactsTest, NetworkAndDisks) {
  options_.nic_driver = [](const std::string& name) -> std::optional<NicDriver> {
    if (name != "eth0") return std::nullopt;
    return NicDriver{"24.10-1.1.4", "28.43.1014 (MT_0000000838)"};
  };
  Write("/sys/class/infiniband/mlx5_0/fw_ver", "28.43.1014\n");
  Write("/sys/class/infiniband/mlx5_0/board_id", "MT_0000000838\n");
  Write("/sys/class/infiniband/mlx5_0/hca_type", "MT4129\n");
  Write("/sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  Write("/sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
  Write("/sys/class/infiniband/mlx5_9/fw_ver", "1\n");
  Write("/sys/class/infiniband/mlx5_9/device/physfn/vendor", "1\n");
  Write("/sys/block/nvme0n1/device/firmware_rev", "GDC7302Q\n");
  Write("/sys/block/nvme0n1/device/transport", "pcie\n");
  auto facts = Facts();
  EXPECT_EQ(facts["nic.eth0.firmware"], "28.43.1014 (MT_0000000838)");
  EXPECT_EQ(facts["nic.eth0.driver.version"], "24.10-1.1.4");
  EXPECT_EQ(facts.count("nic.eth1.firmware"), 0u);
  EXPECT_EQ(facts["infiniband.mlx5_0.firmware"], "28.43.1014");
  EXPECT_EQ(facts["infiniband.mlx5_0.board"], "MT_0000000838");
  EXPECT_EQ(facts["infiniband.mlx5_0.port1.rate"], "400 Gb/sec (4X NDR)");
  EXPECT_EQ(facts.count("infiniband.mlx5_9.firmware"), 0u);
  EXPECT_EQ(facts["disk.nvme0n1.firmware"], "GDC7302Q");
  EXPECT_EQ(facts["disk.nvme0n1.transport"], "pcie");
}

TEST_F(FactsTest, ImageDigest) {
  Write(kImageDigestFile, "sha256:aaaa\n");
  EXPECT_EQ(Facts()["container.image_digest"], "sha256:aaaa");
  options_.image_digest = "sha256:bbbb";
  EXPECT_EQ(Facts()["container.image_digest"], "sha256:bbbb");
}

TEST_F(FactsTest, GpusStayAsTheyWereWhileTheProbeFails) {
  absl::StatusOr<std::vector<GpuState>> answer = std::vector<GpuState>(1);
  (*answer)[0].gpu = {"gpu0", "nvidia", "GPU-aaaa", "0000:3b:00.0"};
  (*answer)[0].facts = {{"model", "NVIDIA H100"}, {"power.limit", "700 W"}};
  options_.gpus = [&answer] { return answer; };
  FactCollector collector(options_);
  const auto before = collector.Collect();
  std::map<std::string, std::string> facts;
  for (const v1::Fact& fact : before) facts[fact.name()] = fact.value();
  EXPECT_EQ(facts["gpu.count"], "1");
  EXPECT_EQ(facts["gpu0.uuid"], "GPU-aaaa");
  EXPECT_EQ(facts["gpu0.pci"], "0000:3b:00.0");
  EXPECT_EQ(facts["gpu0.model"], "NVIDIA H100");
  answer = absl::DeadlineExceededError("hangs");
  EXPECT_EQ(FactsDigest(collector.Collect(before)), FactsDigest(before));
  answer = std::vector<GpuState>();
  EXPECT_NE(FactsDigest(collector.Collect(before)), FactsDigest(before));
}

TEST_F(FactsTest, FilesOfTheSite) {
  Write("/labels", "pool=\"gpu \\\"a\\\" \\u00e9\"\nzone=\"z1\"\n");
  Write("/slurm", "# by the prolog\n\nfeatures=h100,ib\n");
  Write("/faulty", "fine=1\nnot a line\n");
  options_.files = {{folder_ + "/labels", "kubernetes"},
                    {folder_ + "/slurm", "slurm"},
                    {folder_ + "/faulty", "site"},
                    {folder_ + "/absent", "site"},
                    {folder_ + "/slurm", "cpu"}};
  Write("/cpu", "model=other\n");
  options_.files.push_back({folder_ + "/cpu", "cpu"});
  auto facts = Facts();
  EXPECT_EQ(facts["kubernetes.pool"], "gpu \"a\" \u00e9");
  EXPECT_EQ(facts["kubernetes.zone"], "z1");
  EXPECT_EQ(facts["slurm.features"], "h100,ib");
  EXPECT_EQ(facts.count("site.fine"), 0u);
  EXPECT_EQ(facts["cpu.model"], "AMD EPYC 7763 64-Core Processor");
}

TEST(FactFileTest, IsStrict) {
  EXPECT_EQ(ParseFactFile("a=\"x\\n\\x41\\\\\"\n")->at("a"), "x A\\");
  EXPECT_EQ(ParseFactFile("a=b=c")->at("a"), "b=c");
  EXPECT_THAT(*ParseFactFile("a=\n"), SizeIs(1));
  for (const char* text : {"a", "=b", "a b=c", "a=1\na=2", "a=\"x", "a=\"x\"y", "a=\"\\q\"", "a=\"\\x4\"",
                           "a=\"\\", "a=\xff", "a=\"\\xff\"", "a=\"\\ud800\""}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseFactFile(text).status())) << text;
  }
  std::string many;
  for (int i = 0; i < 257; ++i) many += "k" + std::to_string(i) + "=1\n";
  EXPECT_TRUE(absl::IsInvalidArgument(ParseFactFile(many).status()));
  EXPECT_EQ(ParseFactFile("ok=1\nbad\n").status().message(), "line 2: must be key=value");
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

TEST(GpusOfTest, TakesWhatTheFactsTellOrNothing) {
  const std::vector<v1::Fact> facts = {Fact("gpu0.pci", "0000:3b:00.0"), Fact("gpu0.uuid", "GPU-1"),
                                       Fact("gpu0.vendor", "nvidia"), Fact("gpu1.pci", "0000:af:00.0")};
  const auto all = GpusOf(facts, {});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].name, "gpu0");
  EXPECT_EQ(all[0].uuid, "GPU-1");
  EXPECT_EQ(all[0].vendor, "nvidia");
  EXPECT_EQ(all[1].pci_address, "0000:af:00.0");
  const auto one = GpusOf(facts, {"gpu1"});
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_EQ(one[0].name, "gpu1");
  EXPECT_THAT(GpusOf(facts, {"gpu1", "gpu2"}), IsEmpty()) << "gpu2 is unknown: it may be any of them";
  EXPECT_THAT(GpusOf({}, {}), IsEmpty());
}

TEST(FactsDigestTest, DependsOnContentAlone) {
  EXPECT_EQ(FactsDigest({Fact("a", "1"), Fact("b", "2")}), FactsDigest({Fact("b", "2"), Fact("a", "1")}));
  EXPECT_NE(FactsDigest({Fact("a", "1")}), FactsDigest({Fact("a", "2")}));
  EXPECT_THAT(FactsDigest({}), SizeIs(16));
}

}  // namespace
}  // namespace fleetmark::agent
