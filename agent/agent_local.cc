// What commands on this node, and probes of its health, ask.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "agent/agent_parts.h"
#include "agent/plan_text.h"
#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/config/quantities.h"
#include "common/model/outcome_name.h"
#include "common/obs/log.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kLocalThreads = 4;
// Over the time limit of a run, for it to be killed and recorded.
constexpr absl::Duration kEndWithin = absl::Minutes(1);

std::string Ago(absl::Time time, absl::Time now) {
  return absl::StrCat(DurationText(absl::Trunc(std::max(absl::ZeroDuration(), now - time), absl::Seconds(1))),
                      " ago");
}

}  // namespace

absl::StatusOr<v1::RunProgress> Agent::Parts::RunLocally(const LocalRunRequest& request) {
  const auto set = Benchmarks();
  const PreparedBenchmark* benchmark = set->Find(request.benchmark);
  if (benchmark == nullptr) {
    return absl::NotFoundError(absl::StrCat("no benchmark '", request.benchmark, "' is configured"));
  }
  const std::string id = absl::StrCat("local-", NewUlid(clock.Now()));
  FM_RETURN_IF_ERROR(local_requests.Add(id));
  const absl::Status asked =
      scheduler->RunNow({id, request.benchmark, request.trigger, request.expires_after, request.job_id});
  if (!asked.ok()) {
    local_requests.Await(id, clock.Mono()).IgnoreError();
    return asked;
  }
  const absl::Duration limit = TimeLimit(MakeSpec({.benchmark = request.benchmark}, "", *benchmark));
  return local_requests.Await(id, clock.Mono() + request.expires_after + limit + kEndWithin);
}

std::string Agent::Parts::Problem() {
  std::vector<std::string> problems = history.Problems();
  if (lost_records > 0) {
    problems.insert(problems.begin(),
                    absl::StrCat("the spool did not take ", lost_records.load(), " records"));
  }
  return absl::StrJoin(problems, "; ");
}

std::string Agent::Parts::HealthLine() {
  std::vector<std::string> parts = {absl::StrCat(Benchmarks()->Jobs().size(), " benchmarks")};
  const auto newest = history.Newest();
  parts.push_back(!newest.has_value()
                      ? "nothing has run yet"
                      : absl::StrCat("last ", newest->benchmark, " ", OutcomeName(newest->outcome), " ",
                                     Ago(newest->ended, clock.Now())));
  const std::string collector = uploader->stats().connected_to;
  const Spool::Stats stats = spool->stats();
  parts.push_back(collector.empty()
                      ? absl::StrCat("no collector is connected, ", stats.records, " records wait")
                      : absl::StrCat("connected to ", collector));
  return absl::StrJoin(parts, ", ");
}

absl::Status Agent::Parts::ServeLocally() {
  LocalControlHandlers handlers;
  handlers.problem = [this] { return Problem(); };
  handlers.health_line = [this] { return HealthLine(); };
  handlers.plan_text = [this] { return PlanText(scheduler->Snapshot(), *budget, true, clock.Now()); };
  handlers.run = [this](const LocalRunRequest& request) { return RunLocally(request); };
  local = std::make_unique<HttpServer>(kLocalThreads);
  ServeLocalControl(std::move(handlers), *local);
  return local->StartUnix(LocalSocketPath(config.data_dir));
}

absl::Status Agent::Parts::ServeHealth() {
  if (config.health.host.empty()) return absl::OkStatus();
  HealthService::States states = {{"", [this] { return Problem().empty(); }}};
  FM_ASSIGN_OR_RETURN(health, HealthServer::Start(config.health, std::move(states), clock));
  return absl::OkStatus();
}

}  // namespace fleetmark::agent
