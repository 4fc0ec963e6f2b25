// Runs the real program and keeps what it wrote.
//
// Thread-safety: none. Ownership: a Process kills and waits for its child when destroyed.
#ifndef FLEETMARK_TESTS_UNIT_CLI_PROCESS_H_
#define FLEETMARK_TESTS_UNIT_CLI_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace fleetmark::cli {

struct Result {
  int exit_status = -1;
  std::string out;
  std::string err;
};

class Process {
 public:
  // `environment` has items NAME=value; nothing is inherited but PATH.
  Process(std::vector<std::string> command, std::vector<std::string> environment);
  ~Process();

  // Reads standard error until it holds `text`, or ends. Blocks; the test's time limit bounds it.
  bool AwaitError(const std::string& text);
  void Signal(int signal);
  Result Wait();

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  Result result_;
};

}  // namespace fleetmark::cli

#endif  // FLEETMARK_TESTS_UNIT_CLI_PROCESS_H_
