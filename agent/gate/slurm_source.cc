#include "agent/gate/slurm_source.h"

#include <stdlib.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "agent/gate/slurm_node_state.h"
#include "common/base/digest.h"
#include "common/base/file.h"

namespace fleetmark::agent {
namespace {

// Slurm's own, Debian's, and where slurmd of a cluster without configuration files on the nodes keeps it.
constexpr const char* kConfigs[] = {"/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf",
                                    "/run/slurm/conf/slurm.conf", "/usr/local/etc/slurm.conf"};
constexpr char kDefaultSpoolDir[] = "/var/spool/slurmd";
constexpr size_t kConfigBytes = 16 << 20;

std::string Environment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string ShortHostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  const std::string host = name;
  return host.substr(0, host.find('.'));
}

SlurmSource::Options Complete(SlurmSource::Options options) {
  if (options.node.empty()) options.node = Environment("SLURMD_NODENAME");
  if (options.node.empty()) options.node = ShortHostName();
  if (options.slurm_conf.empty()) options.slurm_conf = Environment("SLURM_CONF");
  for (const char* path : kConfigs) {
    if (options.slurm_conf.empty() && Exists(path)) options.slurm_conf = path;
  }
  if (options.spool_dir.empty()) {
    options.spool_dir = SpoolDirOf(ReadFile(options.slurm_conf, kConfigBytes).value_or(""), options.node);
  }
  return options;
}

SlurmLocal::Options LocalOptions(const SlurmSource::Options& options) {
  return {options.node, options.spool_dir, options.prolog_flag_dir, options.cgroup_root, options.root};
}

SlurmController::Options ControllerOptions(const SlurmSource::Options& options) {
  SlurmController::Options controller;
  controller.node = options.node;
  controller.scontrol = options.scontrol;
  controller.slurm_conf = options.slurm_conf;
  controller.timeout = options.timeout;
  controller.cache = options.cache;
  controller.seed = StableHash64(options.node);
  return controller;
}

std::string Describe(const SlurmTrace& trace) {
  const std::string job = trace.job.empty() ? "a job" : absl::StrCat("job ", trace.job);
  switch (trace.kind) {
    case SlurmTrace::Kind::kStep:
    case SlurmTrace::Kind::kCgroup:
      return absl::StrCat(job, " runs on this node");
    case SlurmTrace::Kind::kProlog:
      return absl::StrCat("the prolog of ", job, " runs on this node");
    case SlurmTrace::Kind::kEpilog:
      return absl::StrCat("the epilog of ", job, " runs on this node");
    case SlurmTrace::Kind::kFlag:
      return absl::StrCat(job, " has its flag file on this node");
  }
  return job;
}

// The job whose epilog asks. Where the request does not name it, it is the only one that has an epilog.
std::string OwnJob(const GateQuery& query, const std::vector<SlurmTrace>& traces) {
  if (query.trigger != v1::TRIGGER_EPILOG) return "";
  if (!query.job_id.empty()) return query.job_id;
  std::set<std::string> jobs;
  for (const SlurmTrace& trace : traces) {
    if (trace.kind == SlurmTrace::Kind::kEpilog) jobs.insert(trace.job);
  }
  return jobs.size() == 1 ? *jobs.begin() : "";
}

}  // namespace

std::string SpoolDirOf(const std::string& conf, const std::string& node) {
  std::string dir = kDefaultSpoolDir;
  for (absl::string_view line : absl::StrSplit(conf, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line.substr(0, line.find('#')), absl::MaxSplits('=', 1));
    if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(parts.first), "SlurmdSpoolDir")) continue;
    dir = std::string(absl::StripAsciiWhitespace(parts.second));
  }
  return absl::StrReplaceAll(dir, {{"%n", node}, {"%h", ShortHostName()}});
}

SlurmSource::SlurmSource(Options options, Runner& runner, Clock& clock)
    : options_(Complete(std::move(options))),
      local_(LocalOptions(options_), clock),
      controller_(ControllerOptions(options_), runner, clock) {}

bool SlurmSource::IsHere() const {
  if (options_.mode != SourceMode::kAuto) return options_.mode == SourceMode::kOn;
  return Exists(options_.spool_dir) || (!options_.slurm_conf.empty() && Exists(options_.slurm_conf));
}

GateAnswer SlurmSource::CheckLocal(const GateQuery& query) {
  const absl::StatusOr<std::vector<SlurmTrace>> traces = local_.Find();
  if (!traces.ok()) return GateAnswer::Unknown(std::string(traces.status().message()));
  const std::string own = OwnJob(query, *traces);
  for (const SlurmTrace& trace : *traces) {
    if (own.empty() || trace.job != own) return GateAnswer::Busy(Describe(trace));
  }
  return GateAnswer::Free();
}

GateAnswer SlurmSource::BeforeRun(const GateQuery& query) {
  if (!IsHere()) return GateAnswer::Free();
  GateAnswer local = CheckLocal(query);
  if (!local.free() || !options_.ask_controller) return local;
  const SlurmController::Answer answer = controller_.NodeState();
  if (!answer.status.ok()) {
    return GateAnswer::Unknown(std::string(answer.status.message()), answer.retry_after);
  }
  return JudgeSlurmState(answer.state, {options_.allow_reserved, query.trigger == v1::TRIGGER_EPILOG});
}

GateAnswer SlurmSource::DuringRun(const GateQuery& query, pid_t) {
  return IsHere() ? CheckLocal(query) : GateAnswer::Free();
}

}  // namespace fleetmark::agent
