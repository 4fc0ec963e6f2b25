#include "agent/gate/slurm_source.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "agent/gate/slurm_node_state.h"
#include "common/base/digest.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kProcFileBytes = 256 * 1024;
constexpr size_t kAnswerBytes = 64 * 1024;
constexpr absl::Duration kAnswerIsGoodFor = absl::Seconds(5);
constexpr absl::Duration kDaemonsAreGoodFor = absl::Seconds(10);
constexpr Backoff::Options kControllerBackoff{absl::Seconds(15), absl::Minutes(5), 2.0};

std::vector<std::string> ListFolder(const std::string& path, bool* readable) {
  std::vector<std::string> names;
  DIR* dir = opendir(path.c_str());
  if (readable != nullptr) *readable = dir != nullptr;
  if (dir == nullptr) return names;
  while (const dirent* entry = readdir(dir)) names.emplace_back(entry->d_name);
  closedir(dir);
  return names;
}

// A step that was killed leaves its socket behind; nobody listens there any more.
bool SomebodyListens(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return true;
  path.copy(address.sun_path, path.size());
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return true;
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  return errno != ECONNREFUSED && errno != ENOENT;
}

bool HasVariable(const std::string& environment, const std::string& entry) {
  const std::string all = absl::StrCat(std::string(1, '\0'), environment, std::string(1, '\0'));
  return absl::StrContains(all, absl::StrCat(std::string(1, '\0'), entry, std::string(1, '\0')));
}

}  // namespace

SlurmSource::SlurmSource(Options options, Runner& runner, Clock& clock)
    : options_(std::move(options)),
      runner_(runner),
      clock_(clock),
      daemons_until_(clock.Mono()),
      answer_until_(clock.Mono()),
      backoff_(kControllerBackoff, StableHash64(options_.node)) {}

GateAnswer SlurmSource::BeforeRun(const GateQuery& query) {
  GateAnswer local = Local(query);
  if (!local.free()) return local;
  const absl::StatusOr<std::string> state = NodeState();
  if (!state.ok()) {
    GateAnswer answer =
        GateAnswer::Unknown(absl::StrCat("the controller gave no answer: ", Message(state.status())));
    MutexLock lock(query_mu_);
    answer.retry_after = std::max(absl::ZeroDuration(), answer_until_ - clock_.Mono());
    return answer;
  }
  return JudgeSlurmState(*state, {options_.allow_reserved, query.trigger == v1::TRIGGER_EPILOG});
}

GateAnswer SlurmSource::DuringRun(const GateQuery& query, pid_t) { return Local(query); }

GateAnswer SlurmSource::Local(const GateQuery& query) {
  GateAnswer answer = Steps();
  return answer.free() ? Scripts(query) : answer;
}

// slurmd's folder has a socket NODE_JOB.STEP for each step that runs.
GateAnswer SlurmSource::Steps() const {
  bool readable = false;
  const std::vector<std::string> names = ListFolder(options_.spool_dir, &readable);
  if (!readable) {
    return GateAnswer::Unknown(
        absl::StrCat(options_.spool_dir, " can't be read; is slurmd's folder another?"));
  }
  const std::string prefix = absl::StrCat(options_.node, "_");
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, prefix)) continue;
    const std::string step = name.substr(prefix.size());
    const size_t dot = step.find('.');
    if (dot == std::string::npos || step.find_first_not_of("0123456789.") != std::string::npos) continue;
    if (SomebodyListens(absl::StrCat(options_.spool_dir, "/", name))) {
      return GateAnswer::Busy(absl::StrCat("job ", step.substr(0, dot), " runs here"));
    }
  }
  return GateAnswer::Free();
}

// Processes of slurmd, looked for rarely: on a node there is one, and it lives long.
std::vector<std::string> SlurmSource::Daemons() {
  MutexLock lock(mu_);
  if (clock_.Mono() < daemons_until_) return daemons_;
  daemons_.clear();
  for (const std::string& pid : ListFolder(options_.proc, nullptr)) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(pid[0]))) continue;
    const auto name = ReadFile(absl::StrCat(options_.proc, "/", pid, "/comm"), kProcFileBytes);
    if (name.ok() && *name == "slurmd\n") daemons_.push_back(pid);
  }
  daemons_until_ = clock_.Mono() + kDaemonsAreGoodFor;
  return daemons_;
}

// Prolog and epilog run as children of slurmd, which tells them so.
GateAnswer SlurmSource::Scripts(const GateQuery& query) {
  for (const std::string& daemon : Daemons()) {
    const std::string tasks = absl::StrCat(options_.proc, "/", daemon, "/task");
    for (const std::string& task : ListFolder(tasks, nullptr)) {
      const auto children = ReadFile(absl::StrCat(tasks, "/", task, "/children"), kProcFileBytes);
      if (!children.ok()) continue;
      for (const absl::string_view child : absl::StrSplit(*children, ' ', absl::SkipWhitespace())) {
        const auto environment =
            ReadFile(absl::StrCat(options_.proc, "/", child, "/environ"), kProcFileBytes);
        if (!environment.ok() ||
            !HasVariable(*environment, absl::StrCat("SLURMD_NODENAME=", options_.node))) {
          continue;
        }
        if (HasVariable(*environment, "SLURM_SCRIPT_CONTEXT=prolog_slurmd")) {
          return GateAnswer::Busy("a job's prolog runs here");
        }
        if (HasVariable(*environment, "SLURM_SCRIPT_CONTEXT=epilog_slurmd") &&
            query.trigger != v1::TRIGGER_EPILOG) {
          return GateAnswer::Busy("a job's epilog runs here");
        }
      }
    }
  }
  return GateAnswer::Free();
}

absl::StatusOr<std::string> SlurmSource::NodeState() {
  MutexLock lock(query_mu_);
  if (clock_.Mono() < answer_until_) return answer_;
  ++queries_;
  answer_ = AskController();
  if (answer_.ok()) {
    backoff_.Reset();
    answer_until_ = clock_.Mono() + kAnswerIsGoodFor;
  } else {
    answer_until_ = clock_.Mono() + backoff_.Next();
  }
  return answer_;
}

absl::StatusOr<std::string> SlurmSource::AskController() {
  RunSpec spec;
  spec.command = {options_.scontrol, "show", "node", "-o", options_.node};
  spec.work_dir = "/";
  spec.environment = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
                      {"LANG", "C"}};
  if (!options_.conf.empty()) spec.environment["SLURM_CONF"] = options_.conf;
  spec.timeout = options_.query_timeout;
  spec.term_grace = absl::Milliseconds(100);
  spec.limits.total_bytes = kAnswerBytes;
  std::string state;
  std::string error;
  CancelToken never;
  FM_ASSIGN_OR_RETURN(const RunOutcome outcome, runner_.Run(
                                                    spec,
                                                    [&](std::string_view line) {
                                                      if (state.empty())
                                                        state = std::string(ScontrolField(line, "State"));
                                                      return true;
                                                    },
                                                    [&](std::string_view line) {
                                                      if (error.empty()) error = std::string(line);
                                                    },
                                                    never));
  if (outcome.end == RunEnd::kTimedOut) {
    return absl::DeadlineExceededError(
        absl::StrCat("scontrol took longer than ", absl::FormatDuration(options_.query_timeout)));
  }
  if (!state.empty()) return state;
  return absl::UnavailableError(error.empty() ? absl::StrCat("scontrol tells nothing of node ", options_.node)
                                              : absl::StrCat("scontrol: ", error));
}

uint64_t SlurmSource::queries() const {
  MutexLock lock(query_mu_);
  return queries_;
}

}  // namespace fleetmark::agent
