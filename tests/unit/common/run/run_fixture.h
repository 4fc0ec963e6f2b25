// What tests of real runs share: the launcher, the program that misbehaves, and a look for processes that
// a run left behind.
#ifndef FLEETMARK_TESTS_UNIT_COMMON_RUN_RUN_FIXTURE_H_
#define FLEETMARK_TESTS_UNIT_COMMON_RUN_RUN_FIXTURE_H_

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "common/run/process_runner.h"

namespace fleetmark {

inline std::string LauncherPath() {
  const char* folder = getenv("FM_BIN_DIR");
  return std::string(folder != nullptr ? folder : FM_BIN_FOLDER) + "/fleetmark-launch";
}

// Living processes whose command line holds `marker`, but for this one.
inline std::vector<pid_t> ProcessesWith(const std::string& marker) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    // Where a process ends meanwhile, read() leaves a bad stream; a stream iterator would throw (ESRCH).
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string command(size_t{64} << 10, '\0');
    file.read(command.data(), static_cast<std::streamsize>(command.size()));
    command.resize(static_cast<size_t>(file.gcount()));
    const pid_t pid = static_cast<pid_t>(std::stol(name));
    if (pid != getpid() && command.find(marker) != std::string::npos) found.push_back(pid);
  }
  return found;
}

class RunFixture : public testing::Test {
 protected:
  RunFixture() : marker_("evil-" + std::to_string(getpid()) + "-" + std::to_string(++count_)) {
    folder_ = testing::TempDir() + "run_test_" + marker_;
    std::filesystem::create_directories(folder_);
  }
  ~RunFixture() override {
    EXPECT_TRUE(ProcessesWith(marker_).empty()) << "processes of the run are left";
    std::filesystem::remove_all(folder_);
  }

  // The last argument marks the run's processes.
  RunSpec Evil(const std::string& mode, const std::string& argument = "") {
    RunSpec spec;
    spec.command = {FM_EVIL_PLUGIN, mode, argument, marker_};
    spec.work_dir = folder_;
    spec.environment["PATH"] = "/usr/bin:/bin";
    spec.term_grace = absl::Milliseconds(100);
    spec.timeout = absl::Seconds(60);
    return spec;
  }

  absl::StatusOr<RunOutcome> Run(const RunSpec& spec) {
    return runner_.Run(
        spec,
        [this](std::string_view line) {
          lines_.emplace_back(line);
          if (line == cancel_at_) cancel_.Cancel("for the test");
          return line != refuse_at_;
        },
        [this](std::string_view line) { log_.emplace_back(line); }, cancel_);
  }

  static inline int count_ = 0;
  const std::string marker_;
  std::string folder_;
  ProcessRunner runner_{{LauncherPath()}, RealClock()};
  CancelToken cancel_;
  std::string cancel_at_ = "never";
  std::string refuse_at_ = "never";
  std::vector<std::string> lines_;
  std::vector<std::string> log_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_TESTS_UNIT_COMMON_RUN_RUN_FIXTURE_H_
