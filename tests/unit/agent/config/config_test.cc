#include "agent/config.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "gtest/gtest.h"

#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::agent {
namespace {

constexpr char kGood[] =
    "node: {name: n1, labels: {rack: r1}}\n"
    "collectors: ['127.0.0.1:9410', '[::1]:9410']\n"
    "plugin_paths: [plugins, /usr/lib/fleetmark/plugins]\n"
    "data_dir: data\n"
    "benchmarks:\n"
    "  - {name: stream, plugin: mem_bandwidth, params: {repetitions: 5}, schedule: every 15m, timeout: 2m}\n";

std::string Fault(const std::string& text) {
  return Message(ParseAgentConfig(text, "agent.yaml", "/etc/fleetmark").status());
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(AgentConfig, ReadsEverything) {
  const AgentConfig config = ParseAgentConfig(kGood, "agent.yaml", "/etc/fleetmark").value();
  EXPECT_EQ(config.node_name, "n1");
  EXPECT_EQ(config.node_labels, (Labels{{"rack", "r1"}}));
  EXPECT_EQ(config.collectors, (std::vector<std::string>{"127.0.0.1:9410", "[::1]:9410"}));
  EXPECT_EQ(config.plugin_paths[0], "/etc/fleetmark/plugins");
  EXPECT_EQ(config.data_dir, "/etc/fleetmark/data");
  ASSERT_EQ(config.benchmarks.size(), 1u);
  const v1::Benchmark& b = config.benchmarks[0].benchmark;
  EXPECT_EQ(b.params_json(), R"({"repetitions":5})");
  EXPECT_EQ(b.timeout_seconds(), 120);
  EXPECT_TRUE(b.enabled());
  EXPECT_EQ(config.benchmarks[0].where, "agent.yaml:6:5");
}

TEST(AgentConfig, BoundsOfRuns) {
  const auto with = [](const std::string& plugins) {
    return ParseAgentConfig(kGood + ("plugins: {" + plugins + "}\n"), "agent.yaml", "/");
  };
  const AgentConfig plain = with("").value();
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  EXPECT_NEAR(static_cast<double>(plain.run_bounds.memory_bytes), static_cast<double>(machine) / 2, 100);
  EXPECT_EQ(plain.run_bounds.processes, 4096);
  EXPECT_EQ(plain.run_bounds.work_dir_bytes, int64_t{1} << 30);
  EXPECT_EQ(plain.plugin_cgroup, "auto");
  EXPECT_EQ(plain.io_class, IoClass::kBestEffort);
  const AgentConfig set =
      with("memory_max: 2GiB, io_class: idle, cgroup: /x.slice, max_processes: 99").value();
  EXPECT_EQ(set.run_bounds.memory_bytes, int64_t{2} << 30);
  EXPECT_EQ(set.io_class, IoClass::kIdle);
  EXPECT_EQ(set.plugin_cgroup, "/x.slice");
  EXPECT_EQ(set.run_bounds.processes, 99);
  for (const char* wrong : {"memory_max: 0%", "memory_max: 101%", "memory_max: lots", "cgroup: x",
                            "cgroup: /../x", "io_class: real-time", "work_dir_max_bytes: 5"}) {
    EXPECT_FALSE(with(wrong).ok()) << wrong;
  }
}

TEST(AgentConfig, HealthIsServedOnlyWhereItIsAskedFor) {
  EXPECT_EQ(ParseAgentConfig(kGood, "agent.yaml", "/")->health.host, "");
  const std::string with = std::string(kGood) + "health: {grpc_listen: '0.0.0.0:9413'}\n";
  EXPECT_EQ(ParseAgentConfig(with, "agent.yaml", "/")->health.ToString(), "0.0.0.0:9413");
  EXPECT_NE(Fault(Replaced(with, "9413", "94130")).find("health.grpc_listen"), std::string::npos);
}

TEST(AgentConfig, NodeNameIsTheHostsByDefault) {
  const auto config = ParseAgentConfig(Replaced(kGood, "name: n1, ", ""), "agent.yaml", "/");
  char host[256];
  gethostname(host, sizeof host);
  EXPECT_EQ(config.value().node_name, host);
}

TEST(AgentConfig, Faults) {
  EXPECT_EQ(Fault(Replaced(kGood, "data_dir", "data_dri")),
            "agent.yaml:1:1: data_dir: is missing\n"
            "agent.yaml:4:1: unknown key 'data_dri'; did you mean 'data_dir'?");
  EXPECT_EQ(Fault(Replaced(kGood, "name: n1", "name: n 1")),
            "agent.yaml:1:8: node.name: node name 'n 1' must be a host name of at most 253 characters");
  EXPECT_NE(
      Fault(Replaced(kGood, "127.0.0.1:9410", "10.0.0.1:9410")).find("collectors[0]: is not on this machine"),
      std::string::npos);
  EXPECT_EQ(Fault(Replaced(kGood, "{repetitions: 5}", "5")),
            "agent.yaml:6:43: benchmarks[0].params: must be a map of keys and values");
}

TEST(AgentConfig, ABenchmarkNameIsUsedOnce) {
  const std::string twice =
      std::string(kGood) + "  - {name: stream, plugin: mem_bandwidth, schedule: every 15m}\n";
  EXPECT_EQ(Fault(twice), "agent.yaml:7:5: benchmarks[1]: benchmark 'stream' is also at agent.yaml:6:5");
}

TEST(AgentConfig, Facts) {
  const std::string good = std::string(kGood) + "facts: {gpus: false, files: [{path: f, prefix: slurm}]}\n";
  const AgentConfig config = ParseAgentConfig(good, "agent.yaml", "/etc/fleetmark").value();
  EXPECT_FALSE(config.facts_gpus);
  EXPECT_EQ(config.facts_interval, absl::Hours(1));
  ASSERT_EQ(config.fact_files.size(), 1u);
  EXPECT_EQ(config.fact_files[0].path, "/etc/fleetmark/f");
  EXPECT_EQ(config.fact_files[0].prefix, "slurm");
  EXPECT_NE(Fault(Replaced(good, "slurm", "Slurm.x")).find("facts.files[0].prefix: "), std::string::npos);
  EXPECT_NE(Fault(Replaced(good, "path: f, ", "")).find("facts.files[0].path: is missing"),
            std::string::npos);
}

TEST(AgentConfig, PlaintextToOtherMachinesMustBeAskedFor) {
  const std::string away = Replaced(kGood, "127.0.0.1:9410", "10.0.0.1:9410");
  EXPECT_EQ(Fault(away + "allow_plaintext: true\n"), "");
}

TEST(AgentConfig, IncludedSuiteFaultsAreToldWithTheFilesOwn) {
  std::string pattern = testing::TempDir() + "fm_config_XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  ASSERT_TRUE(ReplaceFile(folder + "/s.yaml", "suite: s\nbenchmarks:\n  - {name: x, plugin: p}\n").ok());
  const std::string text = Replaced(kGood, "data_dir", "data_dri") + "include: [s.yaml]\n";
  const std::string fault = Message(ParseAgentConfig(text, "agent.yaml", folder).status());
  EXPECT_NE(fault.find("data_dri"), std::string::npos);
  EXPECT_NE(fault.find("/s.yaml:3:5: benchmarks[0].schedule: is missing"), std::string::npos) << fault;
  std::filesystem::remove_all(folder);
}

TEST(AgentConfig, TheShippedFileLoads) {
  const std::string path = std::string(getenv("FM_SOURCE_DIR")) + "/configs/agent.yaml";
  const auto config = LoadAgentConfig(path);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_GE(config->benchmarks.size(), 5u);
}

}  // namespace
}  // namespace fleetmark::agent
