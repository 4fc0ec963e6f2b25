#include "agent/facts/conditions.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/model/limits.h"
#include "tests/fakes/fake_clock.h"

namespace fleetmark::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

class ConditionsTest : public testing::Test {
 protected:
  ConditionsTest() {
    std::string name = testing::TempDir() + "fm_conditions_XXXXXX";
    folder_ = mkdtemp(name.data());
    options_.root = folder_;
  }
  ~ConditionsTest() override { fs::remove_all(folder_); }

  void Write(const std::string& path, const std::string& content) {
    fs::create_directories(fs::path(folder_ + path).parent_path());
    std::ofstream(folder_ + path) << content;
  }

  // The machine at a moment, with counters that grow with `n`.
  void WriteMachine(int n) {
    const auto text = [n](int factor) { return std::to_string(1000 + factor * n); };
    Write("/proc/loadavg", "3.25 2.00 1.00 1/200 4711\n");
    Write("/proc/meminfo", "MemTotal: 2000 kB\nMemAvailable:   1024 kB\n");
    Write("/proc/vmstat",
          "pswpin " + text(1) + "\npswpout " + text(2) + "\npgmajfault " + text(3) + "\noom_kill 0\n");
    Write("/proc/pressure/cpu", "some avg10=1.50 avg60=0.00 avg300=0.00 total=" + text(2'000'000) +
                                    "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    Write("/proc/pressure/io", "some avg10=0.25 avg60=0.00 avg300=0.00 total=" + text(500'000) +
                                   "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=" + text(250'000) + "\n");
    Write("/proc/stat", "cpu  100 0 " + std::to_string(100 + 30 * n) + " 100 0 0 0 " +
                            std::to_string(10 * n) + " 0 0\ncpu0 1 2 3\n");
    Write("/proc/interrupts", "           CPU0       CPU1\n  0:  5 6 timer\nMCE:          " +
                                  std::to_string(n) + "          2   Machine check exceptions\n");
    for (int cpu = 0; cpu < 2; ++cpu) {
      const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/thermal_throttle";
      Write(folder + "/core_throttle_count", text(1 + cpu));
      Write(folder + "/package_throttle_count", text(7));
    }
    Write("/sys/devices/system/edac/mc/mc0/ce_count", text(4));
    Write("/sys/devices/system/edac/mc/mc1/ce_count", text(1));
    Write("/sys/devices/system/edac/mc/mc0/ue_count", "0");
    Write("/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "3000000\n");
    Write("/sys/devices/system/cpu/cpufreq/policy1/scaling_cur_freq",
          std::to_string(3'000'000 - 500'000 * n));
    Write("/sys/class/hwmon/hwmon0/name", "nvme\n");
    Write("/sys/class/hwmon/hwmon0/temp1_input", "99000\n");
    Write("/sys/class/hwmon/hwmon1/name", "k10temp\n");
    Write("/sys/class/hwmon/hwmon1/temp1_input", std::to_string(40'000 + 10'500 * n));
    Write("/sys/class/hwmon/hwmon1/temp2_input", "20000");
  }

  std::string folder_;
  FakeClock clock_;
  ConditionsProbe::Options options_;
};

TEST_F(ConditionsTest, StatesAndChanges) {
  const ConditionsProbe probe(options_, clock_);
  WriteMachine(0);
  const Conditions before = probe.Before();
  clock_.Advance(absl::Seconds(4));
  WriteMachine(2);
  const std::string page = std::to_string(2 * sysconf(_SC_PAGESIZE));
  const std::string two_pages = std::to_string(4 * sysconf(_SC_PAGESIZE));
  const std::map<std::string, std::string> expected = {
      {"cpu_clock_mean_mhz_after", "2500"},
      {"cpu_clock_min_mhz_after", "2000"},
      {"edac_corrected_errors", "10"},
      {"edac_uncorrected_errors", "0"},
      {"load1_before", "3.25"},
      {"machine_check_exceptions", "2"},
      {"major_faults", "6"},
      {"memory_available_bytes_before", "1048576"},
      {"oom_kills", "0"},
      {"psi_cpu_some_avg10_before", "1.5"},
      {"psi_cpu_some_percent", "100"},
      {"psi_io_full_percent", "12.5"},
      {"psi_io_some_avg10_before", "0.25"},
      {"psi_io_some_percent", "25"},
      {"steal_percent", "25"},
      {"swap_in_bytes", page},
      {"swap_out_bytes", two_pages},
      {"temp_max_c_after", "61"},
      {"temp_max_c_before", "40"},
      {"throttle_core_count", "6"},
      {"throttle_package_count", "14"},
  };
  EXPECT_EQ(probe.After(before), expected);
}

TEST_F(ConditionsTest, NothingThere) {
  const ConditionsProbe probe(options_, clock_);
  EXPECT_THAT(probe.After(probe.Before()), IsEmpty());
}

TEST_F(ConditionsTest, ACounterThatFellTellsNothing) {
  const ConditionsProbe probe(options_, clock_);
  WriteMachine(2);
  const Conditions before = probe.Before();
  WriteMachine(0);
  const auto after = probe.After(before);
  EXPECT_EQ(after.count("edac_corrected_errors"), 0u);
  EXPECT_EQ(after.count("psi_cpu_some_percent"), 0u);
  EXPECT_EQ(after.count("steal_percent"), 0u);
}

TEST_F(ConditionsTest, ThermalZonesWhereNoProcessorsSensorIsKnown) {
  Write("/sys/class/hwmon/hwmon0/name", "nvme\n");
  Write("/sys/class/hwmon/hwmon0/temp1_input", "99000\n");
  Write("/sys/class/thermal/thermal_zone0/temp", "47500\n");
  Write("/sys/class/thermal/thermal_zone1/temp", "rubbish\n");
  const ConditionsProbe probe(options_, clock_);
  EXPECT_EQ(probe.After(probe.Before()).at("temp_max_c_after"), "47.5");
}

TEST_F(ConditionsTest, TheRunsGpusAlone) {
  int asked = 0;
  options_.gpus = [&asked]() -> absl::StatusOr<std::vector<GpuState>> {
    ++asked;
    std::vector<GpuState> gpus(3);
    for (size_t i = 0; i < gpus.size(); ++i) {
      gpus[i].gpu.name = "gpu" + std::to_string(i);
      gpus[i].temperature_c = 40.0 + 10.0 * static_cast<double>(i) + asked;
      gpus[i].clock_mhz = 1980.0 - 100.0 * static_cast<double>(i);
      gpus[i].throttle_reasons = {"gpu_idle", "sw_power_cap"};
    }
    return gpus;
  };
  const ConditionsProbe probe(options_, clock_);
  EXPECT_THAT(probe.After(probe.Before()), IsEmpty());
  EXPECT_EQ(asked, 0);
  const std::map<std::string, std::string> expected = {
      {"gpu_clock_min_mhz_after", "1880"},
      {"gpu_clock_min_mhz_before", "1880"},
      {"gpu_temp_max_c_after", "52"},
      {"gpu_temp_max_c_before", "51"},
      {"gpu_throttle_after", "gpu0:sw_power_cap gpu1:sw_power_cap"},
      {"gpu_throttle_before", "gpu0:sw_power_cap gpu1:sw_power_cap"},
  };
  EXPECT_EQ(probe.After(probe.Before({"gpu0", "gpu1"})), expected);
  options_.gpus = []() -> absl::StatusOr<std::vector<GpuState>> { return absl::UnavailableError("no"); };
  const ConditionsProbe broken(options_, clock_);
  EXPECT_THAT(broken.After(broken.Before({"gpu0"})), IsEmpty());
}

TEST(ConditionsOfThisMachineTest, AreFewAndQuicklyFound) {
  const ConditionsProbe probe({}, RealClock());
  const MonoTime start = RealClock().Mono();
  const Conditions before = probe.Before();
  const MonoTime middle = RealClock().Mono();
  const auto all = probe.After(before);
  const absl::Duration took = RealClock().Mono() - middle;
  EXPECT_LE(all.size(), ConditionsProbe::kMaxConditions);
  for (const auto& [name, value] : all) {
    EXPECT_LE(name.size(), limits::kNameBytes);
    EXPECT_LE(value.size(), limits::kFactValueBytes);
  }
  std::printf("before %s, after %s, %zu conditions\n", absl::FormatDuration(middle - start).c_str(),
              absl::FormatDuration(took).c_str(), all.size());
  EXPECT_LT(took, absl::Seconds(2));
}

}  // namespace
}  // namespace fleetmark::agent
