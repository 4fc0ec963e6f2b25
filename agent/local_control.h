// The agent's own socket, DATA_DIR/agent.sock, for this user alone, and the commands that use it:
//
//   fleetmark-agent health           one line; for Slurm's HealthCheckProgram and Kubernetes' exec probes
//   fleetmark-agent plan             when everything runs next, and why something does not
//   fleetmark-agent run BENCHMARK    runs it now and waits; for a prolog, an epilog or a shell
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_AGENT_LOCAL_CONTROL_H_
#define FLEETMARK_AGENT_LOCAL_CONTROL_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/http/http_server.h"
#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::agent {

// Exit statuses of the commands, beside those of common/daemon/program.h; docs/operations.md.
inline constexpr int kExitNoAgent = 6;  // health: no agent answers
inline constexpr int kExitNotNow = 75;  // run: skipped, cancelled, or the node was not free (EX_TEMPFAIL)

struct LocalRunRequest {
  std::string benchmark;
  v1::Trigger trigger = v1::TRIGGER_MANUAL;  // or TRIGGER_EPILOG
  absl::Duration expires_after = absl::Minutes(1);
  std::string job_id;  // of TRIGGER_EPILOG: the job that ended; may be empty
};

struct LocalControlHandlers {
  // Empty: healthy. Else a line that says what is wrong.
  std::function<std::string()> problem;
  std::function<std::string()> health_line;
  std::function<std::string()> plan_text;
  // Blocks until the run has ended or was refused.
  std::function<absl::StatusOr<v1::RunProgress>(const LocalRunRequest&)> run;
};

std::string LocalSocketPath(const std::string& data_dir);

// Adds what the commands ask for to `server`.
void ServeLocalControl(LocalControlHandlers handlers, HttpServer& server);

// The commands; each prints and returns the exit status. Run returns Unavailable when no agent listens.
int HealthCommand(const std::string& data_dir);
absl::StatusOr<std::string> PlanFromAgent(const std::string& data_dir);
absl::StatusOr<int> RunByAgent(const std::string& data_dir, const LocalRunRequest& request);

// What `run` prints of a finished or refused run, and its exit status.
struct RunReport {
  std::string text;
  int exit_status = 0;
};
RunReport ReportRun(const v1::RunProgress& progress);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_LOCAL_CONTROL_H_
