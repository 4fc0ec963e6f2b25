// Does Slurm use this node, or will it soon? First what is on the node itself, then, before a run alone, one
// question to the controller.
//
// Thread-safety: all methods, any thread. Blocks: BeforeRun as SlurmController says. Ownership: runner and
// clock must outlive it.
#ifndef FLEETMARK_AGENT_GATE_SLURM_SOURCE_H_
#define FLEETMARK_AGENT_GATE_SLURM_SOURCE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

#include "agent/gate/gate_source.h"
#include "agent/gate/slurm_controller.h"
#include "agent/gate/slurm_local.h"
#include "agent/gate/source_mode.h"
#include "common/base/clock.h"
#include "common/run/runner.h"

namespace fleetmark::agent {

class SlurmSource final : public GateSource {
 public:
  struct Options {
    SourceMode mode = SourceMode::kAuto;
    std::string node;        // empty: SLURMD_NODENAME, else the host's name up to the first dot
    std::string spool_dir;   // empty: SlurmdSpoolDir of slurm.conf
    std::string slurm_conf;  // empty: $SLURM_CONF, else the first of the usual places that is there
    std::string scontrol = "scontrol";
    std::string prolog_flag_dir;  // empty: none
    bool ask_controller = true;
    bool allow_reserved = false;
    absl::Duration timeout = absl::Seconds(5);
    absl::Duration cache = absl::Seconds(5);
    std::string cgroup_root = "/sys/fs/cgroup";
    std::string root;  // before /proc
  };

  SlurmSource(Options options, Runner& runner, Clock& clock);

  std::string_view name() const override { return "slurm"; }
  GateAnswer BeforeRun(const GateQuery& query) override;
  GateAnswer DuringRun(const GateQuery& query, pid_t run) override;

  // Asked of the controller so far.
  uint64_t controller_queries() const { return controller_.queries(); }

 private:
  bool IsHere() const;
  GateAnswer CheckLocal(const GateQuery& query);

  const Options options_;  // with the defaults filled in
  SlurmLocal local_;
  SlurmController controller_;
};

// SlurmdSpoolDir of slurm.conf's text, with %h and %n replaced; Slurm's default when it isn't set.
std::string SpoolDirOf(const std::string& conf, const std::string& node);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_SLURM_SOURCE_H_
