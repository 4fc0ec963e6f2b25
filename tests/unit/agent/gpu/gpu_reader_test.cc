#include "agent/gpu/gpu_reader.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "common/run/process_runner.h"

namespace fleetmark::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kTwoGpus[] =
    "count 2\ndriver 570.86.15\n"
    "0.bus 0xb1\n0.name NVIDIA H100 80GB HBM3\n0.uuid GPU-bbbb\n0.pids\n0.utilization 0\n"
    "1.bus 0x3b\n1.name NVIDIA H100 80GB HBM3\n1.uuid GPU-aaaa\n1.vbios 96.00.89.00.01\n1.ecc 1 1\n"
    "1.persistence 1\n1.max_clock1 1980\n1.max_clock2 2619\n1.power 700000\n1.enforced 650000\n1.mig 0 0\n"
    "1.utilization 37\n1.temperature 61\n1.clock1 1410\n1.throttle 0x24\n";

// The real probe under the real runner, before a fake library and a fake sysfs.
class GpuReaderTest : public testing::Test {
 protected:
  GpuReaderTest() : runner_({Bin() + "/fleetmark-launch"}, RealClock()) {
    std::string pattern = testing::TempDir() + "fm_gpu_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    options_.command = {Bin() + "/fleetmark-gpu-probe", "--root", folder_};
    options_.environment = {{"FAKE_NVML", folder_ + "/nvml"}, {"LD_LIBRARY_PATH", FM_FAKE_NVML_DIR}};
  }
  ~GpuReaderTest() override { fs::remove_all(folder_); }

  static std::string Bin() { return getenv("FM_BIN_DIR"); }

  void Write(const std::string& path, const std::string& content) {
    fs::create_directories(fs::path(folder_ + path).parent_path());
    std::ofstream(folder_ + path) << content;
  }

  absl::StatusOr<std::vector<GpuState>> Read() { return GpuReader(options_, runner_).Read(); }

  void WriteAmdCard() {
    const std::string device = "/sys/class/drm/card1/device";
    Write(device + "/vendor", "0x1002\n");
    Write(device + "/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:c1:00.0\n");
    Write(device + "/unique_id", "5f8a\n");
    Write(device + "/product_name", "AMD Instinct MI250X\n");
    Write(device + "/vbios_version", "113-D65201-042\n");
    Write(device + "/gpu_busy_percent", "12\n");
    Write(device + "/pp_dpm_sclk", "0: 500Mhz\n1: 800Mhz *\n2: 1700Mhz\n");
    Write(device + "/hwmon/hwmon3/temp1_input", "41000\n");
    Write(device + "/hwmon/hwmon3/freq1_input", "800000000\n");
    Write(device + "/hwmon/hwmon3/power1_cap", "560000000\n");
    Write("/sys/class/drm/card1-DP-1/status", "connected\n");
    Write("/sys/class/drm/card0/device/vendor", "0x1a03\n");
    Write("/sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
    Write("/sys/class/kfd/kfd/topology/nodes/1/gpu_id", "4711\n");
    Write("/sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 440\nlocation_id 49408\ndomain 0\n");
    Write("/sys/class/kfd/kfd/proc/77/queues/0/gpuid", "4711\n");
    Write("/sys/class/kfd/kfd/proc/78/vram_4711", "0\n");
    Write("/proc/77/comm", "train\n");
  }

  std::string folder_;
  GpuReader::Options options_;
  ProcessRunner runner_;
};

TEST_F(GpuReaderTest, NvidiaInTheOrderOfPciAddresses) {
  Write("/nvml", std::string(kTwoGpus) + "1.pids 42 43\n");
  Write("/proc/42/comm", "python3\n");
  const auto gpus = Read();
  ASSERT_TRUE(gpus.ok()) << gpus.status();
  ASSERT_THAT(*gpus, SizeIs(2));
  const GpuState& first = gpus->front();
  EXPECT_EQ(first.gpu.name, "gpu0");
  EXPECT_EQ(first.gpu.vendor, "nvidia");
  EXPECT_EQ(first.gpu.uuid, "GPU-aaaa");
  EXPECT_EQ(first.gpu.pci_address, "0000:3b:00.0");
  EXPECT_EQ(first.facts, (std::map<std::string, std::string>{{"clock.memory.max", "2619 MHz"},
                                                             {"clock.sm.max", "1980 MHz"},
                                                             {"driver", "570.86.15"},
                                                             {"ecc", "on"},
                                                             {"mig", "off"},
                                                             {"model", "NVIDIA H100 80GB HBM3"},
                                                             {"persistence", "on"},
                                                             {"power.enforced_limit", "650 W"},
                                                             {"power.limit", "700 W"},
                                                             {"vbios", "96.00.89.00.01"}}));
  EXPECT_DOUBLE_EQ(*first.utilization, 0.37);
  EXPECT_EQ(first.temperature_c, 61);
  EXPECT_EQ(first.clock_mhz, 1410);
  EXPECT_THAT(first.throttle_reasons, ElementsAre("sw_power_cap", "sw_thermal_slowdown"));
  EXPECT_TRUE(first.processes_known);
  ASSERT_THAT(first.processes, SizeIs(2));
  EXPECT_EQ(first.processes[0].pid, 42);
  EXPECT_EQ(first.processes[0].name, "python3");
  EXPECT_EQ(first.processes[1].name, "");
  EXPECT_EQ(gpus->back().gpu.name, "gpu1");
  EXPECT_EQ(gpus->back().gpu.uuid, "GPU-bbbb");
}

TEST_F(GpuReaderTest, ProcessRecordsOfEitherLengthAndAnyNumber) {
  for (const bool is_long : {false, true}) {
    for (const int count : {1, 2, 3, 4, 5, 64, 65, 300}) {
      std::string text = std::string(kTwoGpus) + (is_long ? "processes_long 1\n" : "") + "1.pids";
      for (int i = 0; i < count; ++i) text += " " + std::to_string(1000 + i);
      Write("/nvml", text + "\n");
      const auto gpus = Read();
      ASSERT_TRUE(gpus.ok()) << gpus.status();
      const auto& processes = gpus->front().processes;
      ASSERT_EQ(processes.size(), static_cast<size_t>(count)) << is_long;
      for (int i = 0; i < count; ++i) EXPECT_EQ(processes[static_cast<size_t>(i)].pid, 1000 + i) << is_long;
    }
  }
}

TEST_F(GpuReaderTest, Mig) {
  Write("/nvml", std::string(kTwoGpus) + "0.mig 1 1\n0.migs 7\n0.mig0.name NVIDIA A100 MIG 1g.5gb\n" +
                     "0.mig1.name NVIDIA A100 MIG 1g.5gb\n0.mig3.name NVIDIA A100 MIG 3g.20gb\n");
  const auto gpus = Read();
  ASSERT_TRUE(gpus.ok()) << gpus.status();
  EXPECT_EQ(gpus->back().facts.at("mig"), "on");
  EXPECT_EQ(gpus->back().facts.at("mig.devices"), "2x 1g.5gb, 1x 3g.20gb");
}

TEST_F(GpuReaderTest, ALostGpuKeepsItsPlace) {
  Write("/nvml", std::string(kTwoGpus) + "1.fail 15\n");
  Write("/sys/bus/pci/drivers/nvidia/0000:3b:00.0/class", "0x030200\n");
  Write("/sys/bus/pci/drivers/nvidia/0000:b1:00.0/class", "0x030200\n");
  Write("/sys/bus/pci/drivers/nvidia/0000:b1:00.1/class", "0x040300\n");
  const auto gpus = Read();
  ASSERT_TRUE(gpus.ok()) << gpus.status();
  ASSERT_THAT(*gpus, SizeIs(2));
  EXPECT_EQ(gpus->front().gpu.pci_address, "0000:3b:00.0");
  EXPECT_THAT(gpus->front().error, HasSubstr("does not answer"));
  EXPECT_EQ(gpus->back().gpu.name, "gpu1");
  EXPECT_EQ(gpus->back().error, "");
}

TEST_F(GpuReaderTest, NoDriverIsNoGpu) {
  Write("/nvml", "init 9\n");
  EXPECT_THAT(*Read(), IsEmpty());
  options_.environment.erase("LD_LIBRARY_PATH");
  EXPECT_THAT(*Read(), IsEmpty());
}

TEST_F(GpuReaderTest, ADriverThatFailsIsAnError) {
  Write("/nvml", "init 18\n");
  const absl::Status status = Read().status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("initialise: a fake error (18)"));
  Write("/nvml", "crash 1\n");
  EXPECT_TRUE(absl::IsUnavailable(Read().status())) << Read().status();
}

TEST_F(GpuReaderTest, AHungDriverIsGivenUp) {
  Write("/nvml", "hang 1\n");
  options_.timeout = absl::Milliseconds(100);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Read().status())) << Read().status();
}

TEST_F(GpuReaderTest, NoProbeIsAnError) {
  options_.command = {folder_ + "/nothing"};
  EXPECT_TRUE(absl::IsNotFound(Read().status())) << Read().status();
}

TEST_F(GpuReaderTest, Amd) {
  Write("/nvml", "init 9\n");
  WriteAmdCard();
  const auto gpus = Read();
  ASSERT_TRUE(gpus.ok()) << gpus.status();
  ASSERT_THAT(*gpus, SizeIs(1));
  const GpuState& gpu = gpus->front();
  EXPECT_EQ(gpu.gpu.vendor, "amd");
  EXPECT_EQ(gpu.gpu.uuid, "5f8a");
  EXPECT_EQ(gpu.gpu.pci_address, "0000:c1:00.0");
  EXPECT_EQ(gpu.facts, (std::map<std::string, std::string>{{"clock.sm.max", "1700 MHz"},
                                                           {"model", "AMD Instinct MI250X"},
                                                           {"power.limit", "560 W"},
                                                           {"vbios", "113-D65201-042"}}));
  EXPECT_DOUBLE_EQ(*gpu.utilization, 0.12);
  EXPECT_EQ(gpu.temperature_c, 41);
  EXPECT_EQ(gpu.clock_mhz, 800);
  ASSERT_THAT(gpu.processes, SizeIs(1));
  EXPECT_EQ(gpu.processes[0].pid, 77);
  EXPECT_EQ(gpu.processes[0].name, "train");
}

TEST(ParseProbeTest, RefusesWhatIsCutOrSenseless) {
  EXPECT_THAT(*ParseProbe({"end=0"}), IsEmpty());
  EXPECT_THAT(*ParseProbe({"gpu=0000:01:00.0", "vendor=amd", "from_a_newer_probe=1", "end=1"}), SizeIs(1));
  for (const std::vector<std::string>& lines :
       std::vector<std::vector<std::string>>{{},
                                             {"gpu=x"},
                                             {"gpu=x", "end=2"},
                                             {"vendor=amd", "end=0"},
                                             {"end=0", "gpu=x"},
                                             {"gpu=x", "rubbish", "end=1"},
                                             {"gpu=x", "process=one two", "end=1"},
                                             {"gpu=x", "process=-4 two", "end=1"},
                                             {"gpu=x", "temperature_c=nan", "end=1"},
                                             {"gpu=x", "utilization_percent=many", "end=1"}}) {
    EXPECT_TRUE(absl::IsInternal(ParseProbe(lines).status())) << testing::PrintToString(lines);
  }
  std::vector<std::string> many(1000, "gpu=x");
  EXPECT_TRUE(absl::IsInternal(ParseProbe(many).status()));
}

}  // namespace
}  // namespace fleetmark::agent
