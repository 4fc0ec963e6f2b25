// Asks the gate's sources, for tests: gate_probe --config FILE SOURCE before|during|epilog [JOB or PID]
//
// FILE is an agent's configuration. "before" and "epilog" (a run that a job's epilog asked for) print one
// line each time a line comes in on standard input; "during" prints a line whenever its answer changes, asked
// five times a second, until standard input ends; the run is the process PID, or the probe itself.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "agent/gate/gate_config.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/run/process_runner.h"

namespace fleetmark::agent {
namespace {

// No pod has anything.
class NoKubelet final : public PodLister {
 public:
  absl::StatusOr<std::vector<PodUse>> List(absl::Duration) override { return std::vector<PodUse>(); }
};

std::string ToText(const GateAnswer& answer) {
  const char* states[] = {"free", "busy", "unknown"};
  return std::string(states[static_cast<int>(answer.state)]) + "\t" + answer.reason;
}

void Print(const std::string& text, const GateSource& source) {
  const auto* slurm = dynamic_cast<const SlurmSource*>(&source);
  printf("%.3f\t%s\tqueries=%d\n", absl::ToDoubleSeconds(RealClock().Mono().since_boot()), text.c_str(),
         slurm == nullptr ? 0 : static_cast<int>(slurm->controller_queries()));
  fflush(stdout);
}

// False at the end of standard input.
bool ReadLine() {
  char c = 0;
  ssize_t n;
  while ((n = read(STDIN_FILENO, &c, 1)) == 1 && c != '\n') {
  }
  return n == 1;
}

void WatchRun(GateSource& source, const GateQuery& query, pid_t run) {
  std::string last;
  while (true) {
    const std::string text = ToText(source.DuringRun(query, run));
    if (text != last) Print(text, source);
    last = text;
    pollfd in{STDIN_FILENO, POLLIN, 0};
    if (poll(&in, 1, 200) > 0 && !ReadLine()) return;
  }
}

int Probe(const std::string& file, const std::string& name, const std::string& mode, const std::string& job) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  YamlReader reader(ReadFile(file, 1 << 20).value_or(""), file);
  const GateConfig config = ReadGateSection(reader.root().Key("gate"), folder);
  if (!reader.status().ok()) {
    fprintf(stderr, "%s\n", reader.status().ToString().c_str());
    return 2;
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  ProcessRunner runner({self + "/fleetmark-launch"}, RealClock());
  NoKubelet kubelet;
  GpuReader gpus({}, runner);
  GateQuery query;
  query.cpu_exclusive = true;
  if (mode == "epilog") query.trigger = v1::TRIGGER_EPILOG;
  query.job_id = job;
  for (const auto& source : MakeGateSources(config, {runner, kubelet, gpus, RealClock()})) {
    if (source->name() != name) continue;
    if (mode == "during") {
      WatchRun(*source, query, job.empty() ? getpid() : atoi(job.c_str()));
    } else {
      while (ReadLine()) Print(ToText(source->BeforeRun(query)), *source);
    }
    return 0;
  }
  return 2;
}

}  // namespace
}  // namespace fleetmark::agent

int main(int argc, char** argv) {
  if (argc < 5 || strcmp(argv[1], "--config") != 0) {
    fprintf(stderr, "usage: gate_probe --config FILE SOURCE before|during|epilog [JOB or PID]\n");
    return 2;
  }
  return fleetmark::agent::Probe(argv[2], argv[3], argv[4], argc > 5 ? argv[5] : "");
}
