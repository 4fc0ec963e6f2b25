#include "agent/gate/gate_config.h"

#include "gtest/gtest.h"

#include "common/base/status.h"
#include "tests/fakes/fake_clock.h"
#include "tests/unit/agent/gate/fake_runner.h"

namespace fleetmark::agent {
namespace {

class NoKubelet final : public PodLister {
 public:
  absl::StatusOr<std::vector<PodUse>> List(absl::Duration) override { return std::vector<PodUse>(); }
};

std::string Fault(const std::string& text) {
  YamlReader reader(text, "a.yaml");
  ReadGateSection(reader.root().Key("gate"), "/etc/fm");
  return Message(reader.status());
}

TEST(GateConfig, ReadsEverything) {
  YamlReader reader(
      "gate:\n"
      "  cool_down: 1s\n"
      "  retry: 1m\n"
      "  pressure: {cpu_busy: 0.2, exclusive_only: true, memory: 0.3, io: 1}\n"
      "  users: {enabled: true}\n"
      "  gpus: {busy: 0.2}\n"
      "  slurm: {mode: on, node: n1, slurm_conf: slurm.conf, prolog_flag_dir: /run/p, timeout: 2s}\n"
      "  kubernetes:\n"
      "    mode: off\n"
      "    ignore_namespaces: [monitoring]\n"
      "    maintenance: {file: labels, match: a=b, required: true}\n",
      "a.yaml");
  const GateConfig config = ReadGateSection(reader.root().Key("gate"), "/etc/fm");
  EXPECT_TRUE(reader.status().ok()) << reader.status();
  EXPECT_EQ(config.cool_down, absl::Seconds(1));
  EXPECT_EQ(config.retry, absl::Minutes(1));
  EXPECT_EQ(config.pressure.cpu_busy, 0.2);
  EXPECT_EQ(config.slurm.mode, SourceMode::kOn);
  EXPECT_EQ(config.slurm.slurm_conf, "/etc/fm/slurm.conf");
  EXPECT_EQ(config.slurm.scontrol, "scontrol");
  EXPECT_EQ(config.pods.maintenance_file, "/etc/fm/labels");
  FakeRunner runner;
  NoKubelet kubelet;
  GpuReader gpus({}, runner);
  FakeClock clock;
  std::vector<std::string> names;
  for (const auto& source : MakeGateSources(config, {runner, kubelet, gpus, clock})) {
    names.emplace_back(source->name());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"users", "slurm", "pressure", "gpu"}));
}

TEST(GateConfig, Faults) {
  EXPECT_EQ(Fault("gate: {}\n"), "");
  EXPECT_NE(Fault("gate: {slrum: {}}\n").find("did you mean 'slurm'?"), std::string::npos);
  EXPECT_NE(Fault("gate: {slurm: {mode: maybe}}\n"), "");
  EXPECT_NE(Fault("gate: {pressure: {cpu_busy: 20}}\n"), "");
  EXPECT_NE(Fault("gate: {kubernetes: {maintenance: {match: a=b}}}\n").find("needs a file"),
            std::string::npos);
}

}  // namespace
}  // namespace fleetmark::agent
