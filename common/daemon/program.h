// What the mains of both daemons have in common: flags, exit statuses, and the life from start to stop as
// the service manager sees it.
//
// Thread-safety: called from main alone.
#ifndef FLEETMARK_COMMON_DAEMON_PROGRAM_H_
#define FLEETMARK_COMMON_DAEMON_PROGRAM_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace fleetmark {

// Exit statuses of the daemons, documented in docs/operations.md.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;   // something failed while running
inline constexpr int kExitUsage = 2;    // wrong command line
inline constexpr int kExitConfig = 3;   // the configuration or a file that it names is wrong
inline constexpr int kExitData = 4;     // the data folder can't be used
inline constexpr int kExitAddress = 5;  // an address can't be listened on

struct DaemonFlags {
  std::string config;
  bool check_config = false;
  std::string log_level;  // empty: as configured
  std::vector<std::string> arguments;
};

// Reads --config, --check_config, --log_level, --version, --help. Ends the process on --version, --help
// and usage errors.
DaemonFlags ParseDaemonFlags(int argc, char** argv, const std::string& summary,
                             const std::string& default_config);

// An error that ends the program: printed as "PROGRAM: message" on standard error, a line for each line
// of the message. Returns `exit_status`.
int Fail(const absl::Status& status, int exit_status);

// Tells the service manager that the daemon is ready, then waits: SIGHUP calls `reload`; SIGTERM and SIGINT
// end the wait. Feeds the watchdog in between as long as `alive` says so.
void ServeUntilStopped(const std::function<void()>& reload, const std::function<bool()>& alive);

// Before any thread starts.
void BlockDaemonSignals();

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_DAEMON_PROGRAM_H_
