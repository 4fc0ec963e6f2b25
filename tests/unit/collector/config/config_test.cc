#include "collector/config.h"

#include <cstdlib>

#include "gtest/gtest.h"

#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

std::string Fault(const std::string& text) {
  return Message(ParseCollectorConfig("data_dir: d\n" + text, "c.yaml", "/etc").status());
}

TEST(CollectorConfig, DefaultsAndReferences) {
  const CollectorConfig config = ParseCollectorConfig(
                                     "data_dir: d\nreferences:\n"
                                     "  - {benchmark: stream, metric: triad, value: 187.4, unit: GB/s, "
                                     "lower: -0.05, node_labels: {rack: r1}}\n",
                                     "c.yaml", "/etc")
                                     .value();
  EXPECT_EQ(config.data_dir, "/etc/d");
  EXPECT_EQ(config.grpc.ToString(), "127.0.0.1:9410");
  EXPECT_EQ(config.http.ToString(), "127.0.0.1:9412");
  ASSERT_EQ(config.references.size(), 1u);
  EXPECT_DOUBLE_EQ(config.references[0].reference.lower(), -0.05);
  EXPECT_FALSE(config.references[0].reference.has_upper());
}

TEST(CollectorConfig, ActionsAreOffAndDryByDefault) {
  const CollectorConfig none = ParseCollectorConfig("data_dir: d\n", "c.yaml", "/etc").value();
  EXPECT_FALSE(none.actions.enabled);
  EXPECT_TRUE(none.actions.dry_run);
  EXPECT_EQ(none.actions.limits.max_nodes, 1u);
  const CollectorConfig config = ParseCollectorConfig(
                                     "data_dir: d\nactions:\n  enabled: true\n  dry_run: false\n  limits: "
                                     "{max_nodes: 3, max_share: 0.2}\n"
                                     "  rules: [{name: drain, do: slurm_drain, match: {class: slow}}]\n",
                                     "c.yaml", "/etc")
                                     .value();
  EXPECT_TRUE(config.actions.enabled);
  EXPECT_FALSE(config.actions.dry_run);
  EXPECT_EQ(config.actions.limits.max_nodes, 3u);
  EXPECT_EQ(config.actions.kubernetes.url, "https://kubernetes.default.svc");
  ASSERT_EQ(config.actions.rules.size(), 1u);
  EXPECT_EQ(config.actions.rules[0].kind, v1::ACTION_KIND_SLURM_DRAIN);
}

TEST(CollectorConfig, FaultsOfActionsNameTheirPlace) {
  const auto has = [](const std::string& text, const std::string& fault) {
    return Fault(text).find(fault) != std::string::npos;
  };
  EXPECT_TRUE(has("actions: {enabled: true}", "c.yaml:2:"));
  EXPECT_TRUE(has("actions: {enabled: true}", "needs at least one rule"));
  EXPECT_TRUE(has("actions:\n  rules: [{name: a, do: slurm_drian}]", "c.yaml:3:"));
  EXPECT_TRUE(has("actions:\n  rules: [{name: a, do: slurm_drian}]", "slurm_drain"));
  EXPECT_TRUE(
      has("actions:\n  rules: [{name: a, do: slurm_drain}, {name: a, do: slurm_drain}]", "another rule 'a'"));
  EXPECT_TRUE(has("actions: {limits: {max_share: 5}}", "actions.limits.max_share"));
  EXPECT_TRUE(has("actions: {evidence: {benchmarks: 1}}", "actions.evidence.benchmarks"));
  EXPECT_TRUE(has("actions: {slurm: {scontrol: bin/scontrol}}", "absolute path"));
  EXPECT_TRUE(has("actions: {kubernetes: {url: nowhere}}", "actions.kubernetes.url"));
  EXPECT_TRUE(has("actions:\n  rules: [{name: a, do: command}]", "command"));
  EXPECT_TRUE(has("actions:\n  rules: [{name: a, do: command, command: [isolate]}]", "absolute path"));
  EXPECT_TRUE(has("actions:\n  rules: [{name: a, do: slurm_drain, timeout: 3s}]", "do: command"));
  EXPECT_TRUE(has("actions: {dryrun: true}", "dry_run"));
}

TEST(CollectorConfig, Prometheus) {
  const CollectorConfig automatic = ParseCollectorConfig("data_dir: d\n", "c.yaml", "/etc").value();
  EXPECT_EQ(automatic.prometheus.lookback, absl::ZeroDuration());
  EXPECT_EQ(automatic.prometheus.max_steps, 11'000u);
  const CollectorConfig config =
      ParseCollectorConfig("data_dir: d\nprometheus: {lookback: 20m, timeout: 5s, max_series: 7}\n", "c.yaml",
                           "/etc")
          .value();
  EXPECT_EQ(config.prometheus.lookback, absl::Minutes(20));
  EXPECT_EQ(config.prometheus.timeout, absl::Seconds(5));
  EXPECT_EQ(config.prometheus.max_series, 7u);
  EXPECT_NE(Fault("prometheus: {lookback: sometimes}"), "");
  EXPECT_NE(Fault("prometheus: {max_steps: 0}"), "");
  EXPECT_NE(Fault("prometheus: {max_step: 1}").find("max_steps"), std::string::npos);
}

TEST(CollectorConfig, RemoteWriteAndImport) {
  const CollectorConfig none = ParseCollectorConfig("data_dir: d\n", "c.yaml", "/etc").value();
  EXPECT_EQ(none.remote_write.url.server, "");
  EXPECT_FALSE(none.receive_remote_write);
  EXPECT_FALSE(none.receive_reframe);
  const CollectorConfig config =
      ParseCollectorConfig(
          "data_dir: d\nremote_write: {url: 'http://h:8428/api/v1/write', queue_bytes: "
          "20MiB, bearer_token_file: t}\nimport: {remote_write: true, reframe: true}\n",
          "c.yaml", "/etc")
          .value();
  EXPECT_EQ(config.remote_write.url.server, "http://h:8428");
  EXPECT_EQ(config.remote_write.bearer_token_file, "/etc/t");
  EXPECT_EQ(config.remote_write.queue_bytes, 20 << 20);
  EXPECT_TRUE(config.receive_remote_write);
  EXPECT_TRUE(config.receive_reframe);
  EXPECT_NE(Fault("remote_write: {timeout: 1s}").find("url"), std::string::npos);
  EXPECT_NE(Fault("remote_write: {url: 'h:8428'}").find("http://"), std::string::npos);
  EXPECT_NE(Fault("remote_write: {url: 'http://h', queue_bytes: 1MiB}"), "");
}

TEST(CollectorConfig, ReferenceFaults) {
  const std::string base = "references: [{benchmark: b, metric: m, ";
  EXPECT_NE(Fault(base + "value: 1, unit: GB/sec, lower: -0.1}]").find("did you mean 'GB/s'"),
            std::string::npos);
  EXPECT_NE(Fault(base + "value: 1, unit: s, lower: 0.1}]").find("must not be above 0"), std::string::npos);
  EXPECT_NE(Fault(base + "value: 1, unit: s, lower: -1.5}]").find("must not be below -1"), std::string::npos);
  EXPECT_NE(Fault(base + "value: -1, unit: s, upper: 1.5}]").find("must not be above 1"), std::string::npos);
  EXPECT_NE(Fault(base + "value: 1, unit: s}]").find("needs lower, upper, or both"), std::string::npos);
  EXPECT_EQ(Fault(base + "value: 0, unit: s, lower: -7, upper: 9}]"), "");
}

TEST(CollectorConfig, BudgetOfFalseAlarms) {
  const auto budget = [](const std::string& text) {
    return ParseCollectorConfig("data_dir: d\n" + text, "c.yaml", "/etc").value().false_alarms_per_week;
  };
  EXPECT_EQ(budget(""), 1);
  EXPECT_EQ(budget("detection: {false_alarms_per_week: 0.25}"), 0.25);
  EXPECT_NE(
      Fault("detection: {false_alarms_per_week: 0}")
          .find("detection.false_alarms_per_week: must be above 0 and at most 1000, not 0; it is how many "
                "false alerts you accept"),
      std::string::npos);
  EXPECT_NE(Fault("detection: {false_alarm_per_week: 1}").find("did you mean 'false_alarms_per_week'"),
            std::string::npos);
}

TEST(CollectorConfig, Limits) {
  const CollectorConfig config =
      ParseCollectorConfig(
          "data_dir: d\nlimits:\n"
          "  - {name: class, benchmarks: ['gpu_*'], node_labels: {class: gpu}, max_share: 2.5%, longest: "
          "1h}\n"
          "  - {name: rack, benchmarks: [disk, gemm], max_nodes: 1, per: [rack]}\n",
          "c.yaml", "/etc")
          .value();
  ASSERT_EQ(config.limits.size(), 2u);
  EXPECT_DOUBLE_EQ(config.limits[0].max_share, 0.025);
  EXPECT_EQ(config.limits[0].max_nodes, 0);
  EXPECT_EQ(config.limits[0].node_labels.at("class"), "gpu");
  EXPECT_EQ(config.limits[0].longest, absl::Hours(1));
  EXPECT_EQ(config.limits[1].max_nodes, 1);
  EXPECT_EQ(config.limits[1].per, std::vector<std::string>{"rack"});
  EXPECT_EQ(config.limits[1].longest, absl::Minutes(15));
}

TEST(CollectorConfig, LimitFaults) {
  const std::string base = "limits: [{name: l, benchmarks: [b], ";
  EXPECT_NE(Fault(base + "per: [rack]}]").find("exactly one of max_nodes and max_share"), std::string::npos);
  EXPECT_NE(Fault(base + "max_nodes: 1, max_share: 5%}]").find("exactly one"), std::string::npos);
  for (const char* share : {"0%", "101%", "0.05", "x%", "nan%"}) {
    EXPECT_NE(Fault(base + "max_share: '" + share + "'}]").find("must be a percentage"), std::string::npos)
        << share;
  }
  EXPECT_NE(Fault(base + "max_nodes: 0}]"), "");
  EXPECT_NE(Fault(base + "max_nodes: 1, longest: 2d}]"), "");
  EXPECT_NE(Fault(base + "max_nodes: 1, per: ['a b']}]"), "");
  EXPECT_NE(Fault(base + "max_nodes: 1, pre: [rack]}]").find("per"), std::string::npos);
  EXPECT_NE(Fault("limits: [{name: l, benchmarks: ['a[b]'], max_nodes: 1}]"), "");
  EXPECT_NE(Fault("limits: [{name: l, benchmarks: [], max_nodes: 1}]").find("at least one"),
            std::string::npos);
  EXPECT_NE(
      Fault("limits: [{name: l, benchmarks: [b], max_nodes: 1}, {name: l, benchmarks: [c], max_nodes: 1}]")
          .find("another limit 'l'"),
      std::string::npos);
}

TEST(CollectorConfig, ListeningBeyondThisMachineNeedsTlsOrConsent) {
  EXPECT_NE(Fault("grpc: {listen: '0.0.0.0:9410'}").find("set tls"), std::string::npos);
  EXPECT_NE(Fault("http: {listen: '0.0.0.0:9412'}").find("reverse proxy"), std::string::npos);
  EXPECT_EQ(Fault("allow_plaintext: true\ngrpc: {listen: '0.0.0.0:9410'}"), "");
}

TEST(CollectorConfig, TheShippedFileLoads) {
  const auto config = LoadCollectorConfig(std::string(getenv("FM_SOURCE_DIR")) + "/configs/collector.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
}

}  // namespace
}  // namespace fleetmark::collector
