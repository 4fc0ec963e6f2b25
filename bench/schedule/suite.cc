#include "bench/schedule/suite.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark::bench {

std::string NodeName(int i) { return absl::StrCat("rack", i / 40, "-node", i % 40, ".cluster.example"); }

absl::StatusOr<std::vector<BenchmarkConfig>> ReadSuite(const std::string& file) {
  const std::string text =
      absl::StrCat("node: {name: n}\ncollectors: ['127.0.0.1:1']\nplugin_paths: [.]\n",
                   "data_dir: d\ninclude: ['", std::filesystem::absolute(file).string(), "']\n");
  FM_ASSIGN_OR_RETURN(agent::AgentConfig config, agent::ParseAgentConfig(text, "bench", "/"));
  return std::move(config.benchmarks);
}

}  // namespace fleetmark::bench
