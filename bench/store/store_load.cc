// store_load --to fleetmark|remote_write --port N …: sends a fleet's measurements and prints, as one line of
// JSON, how many and what sending cost. Only to this machine.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "bench/store/fleet_load.h"
#include "common/base/clock.h"

namespace fleetmark::bench {
namespace {

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int Main(const std::map<std::string, std::string>& flags) {
  const auto number = [&flags](const char* name, int64_t otherwise) {
    const auto it = flags.find(name);
    return it == flags.end() ? otherwise : std::atoll(it->second.c_str());
  };
  LoadOptions options;
  options.port = static_cast<int>(number("--port", 0));
  options.first_node = static_cast<int>(number("--first_node", 0));
  options.nodes = static_cast<int>(number("--nodes", options.nodes));
  options.metrics = static_cast<int>(number("--metrics", options.metrics));
  options.first_step = number("--first_step", 0);
  options.steps = number("--steps", options.steps);
  options.t0_ms = number("--t0_ms", 0);
  options.jitter_ms = number("--jitter_ms", 0);
  options.connections = static_cast<int>(number("--connections", options.connections));
  options.samples_per_request =
      static_cast<int>(number("--samples_per_request", options.samples_per_request));
  const auto to = flags.find("--to");
  if (to == flags.end() || options.port == 0 || options.metrics > kMetrics || options.connections < 1)
    return 2;
  const MonoTime began = RealClock().Mono();
  if (to->second == "remote_write") {
    SendRemoteWrite(options);
  } else {
    SendFleetmark(options);
  }
  const double seconds = absl::ToDoubleSeconds(RealClock().Mono() - began);
  const double samples =
      static_cast<double>(options.nodes) * options.metrics * static_cast<double>(options.steps);
  printf("{\"samples\":%.0f,\"seconds\":%.3f,\"client_cpu_seconds\":%.3f}\n", samples, seconds, CpuSeconds());
  return 0;
}

}  // namespace
}  // namespace fleetmark::bench

int main(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 1; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];
  const int status = fleetmark::bench::Main(flags);
  if (status == 2)
    fprintf(stderr, "usage: %s --to fleetmark|remote_write --port N [--nodes N] [--steps N] …\n", argv[0]);
  return status;
}
