// Runs `run_driver LAUNCHER PROGRAM ARGUMENT…` as an agent would and never ends by itself, for the test
// that kills an agent in the middle of a run. Prints each line of the program.
#include <stdio.h>
#include <unistd.h>

#include <string>

#include "common/base/clock.h"
#include "common/run/process_runner.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  fleetmark::ProcessRunner runner({argv[1]}, fleetmark::RealClock());
  fleetmark::RunSpec spec;
  spec.command.assign(argv + 2, argv + argc);
  spec.work_dir = "/";
  fleetmark::CancelToken cancel;
  const auto outcome = runner.Run(
      spec,
      [](std::string_view line) {
        printf("%.*s\n", static_cast<int>(line.size()), line.data());
        fflush(stdout);
        return true;
      },
      [](std::string_view) {}, cancel);
  return outcome.ok() ? 0 : 1;
}
