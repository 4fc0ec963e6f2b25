#include "agent/commands.h"

#include <stdlib.h>

#include <cstdio>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"

#include "agent/agent.h"
#include "agent/join/join_client.h"
#include "agent/local_control.h"
#include "agent/plan_text.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/daemon/program.h"

ABSL_FLAG(absl::Duration, expires, absl::Minutes(1),
          "of `run`: how long the node may stay busy before it gives up");

namespace fleetmark::agent {
namespace {

constexpr size_t kMaxTokenBytes = 4096;
constexpr char kCommands[] = "health, plan, run BENCHMARK [epilog], join ADDRESS [TOKEN_FILE]";

int Plan(const AgentConfig& config, const BenchmarkSet& benchmarks) {
  const auto text = PlanFromAgent(config.data_dir);
  if (text.ok()) {
    fputs(text->c_str(), stdout);
    return kExitOk;
  }
  Clock& clock = RealClock();
  Budget budget({config.budget_share, config.data_dir + "/budget.pb"}, clock);
  std::vector<Scheduler::Plan> plans;
  for (const Scheduler::Job& job : benchmarks.Jobs()) {
    Scheduler::Plan plan;
    plan.benchmark = job.benchmark;
    if (job.schedule.has_value()) plan.next_due = job.schedule->NextAfter(clock.Now());
    plans.push_back(std::move(plan));
  }
  fputs(PlanText(std::move(plans), budget, false, clock.Now()).c_str(), stdout);
  return kExitOk;
}

// By the agent that runs here, or else in its place.
int RunBenchmark(const LocalRunRequest& request, const AgentConfig& config,
                 const std::shared_ptr<const BenchmarkSet>& benchmarks) {
  const absl::StatusOr<int> by_agent = RunByAgent(config.data_dir, request);
  if (by_agent.ok()) return *by_agent;
  // One that listens and does not answer may be at it: to run it once more beside it would be wrong.
  if (!absl::IsUnavailable(by_agent.status())) return Fail(by_agent.status(), kExitFailed);
  Agent agent(config, benchmarks);
  if (const absl::Status status = agent.OpenData(); !status.ok()) return Fail(status, kExitData);
  const absl::StatusOr<v1::RunProgress> done = agent.RunOnce(request);
  agent.Stop();
  if (!done.ok()) return Fail(done.status(), kExitFailed);
  const RunReport report = ReportRun(*done);
  fputs(report.text.c_str(), stdout);
  return report.exit_status;
}

// The token comes by a file or standard input: arguments are everybody's to read.
int Join(const AgentConfig& config, const std::string& address, const std::string& token_file) {
  if (!config.tls.enabled()) {
    return Fail(absl::FailedPreconditionError(
                    "the configuration has no section `tls`, which says where the certificate goes"),
                kExitConfig);
  }
  const absl::StatusOr<std::string> token = ReadFile(token_file, kMaxTokenBytes);
  if (!token.ok()) return Fail(token.status(), kExitUsage);
  const absl::Status status = JoinFleet(address, *token, config.node_name, config.tls, RealClock());
  if (!status.ok()) return Fail(status, kExitFailed);
  printf("node %s has joined; its certificate is %s\n", config.node_name.c_str(),
         config.tls.certificate.c_str());
  return kExitOk;
}

}  // namespace

absl::StatusOr<bool> IsCommand(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return false;
  const std::string& command = arguments.front();
  if ((command == "health" || command == "plan") && arguments.size() == 1) return true;
  if (command == "join" && (arguments.size() == 2 || arguments.size() == 3)) return true;
  if (command == "run" && arguments.size() == 2) return true;
  if (command == "run" && arguments.size() == 3 && arguments[2] == "epilog") return true;
  return absl::InvalidArgumentError(
      absl::StrCat("'", command, "' is no command, or has wrong arguments; there are: ", kCommands));
}

int RunCommand(const std::vector<std::string>& arguments, const AgentConfig& config,
               const std::shared_ptr<const BenchmarkSet>& benchmarks) {
  const std::string& command = arguments.front();
  if (command == "health") return HealthCommand(config.data_dir);
  if (command == "join") {
    return Join(config, arguments[1], arguments.size() == 3 ? arguments[2] : "/dev/stdin");
  }
  if (command == "plan") return Plan(config, *benchmarks);
  LocalRunRequest request;
  request.benchmark = arguments[1];
  request.expires_after = absl::GetFlag(FLAGS_expires);
  if (arguments.size() == 3) {
    request.trigger = v1::TRIGGER_EPILOG;
    const char* job = getenv("SLURM_JOB_ID");
    if (job != nullptr) request.job_id = job;
  }
  return RunBenchmark(request, config, benchmarks);
}

}  // namespace fleetmark::agent
