// Slurm by its own scontrol, each call a child process with a time limit: the state of nodes, drain, resume,
// reservations for maintenance.
//
// Formats: those of scontrol(1) `show node --oneliner` and `show reservation --oneliner` of Slurm 22.05;
// times are asked for in UTC.
//
// Thread-safety: calls from one thread at a time; `cancel` from any. Blocks: each call for Options::timeout
// and two seconds at most. Ownership: runner and cancel must outlive it. Errors: NotFound (Slurm knows no
// such node), PermissionDenied (this user may not), DeadlineExceeded, Unavailable (slurmctld can't be asked),
// Cancelled, InvalidArgument (an answer that is none).
#ifndef FLEETMARK_COLLECTOR_ACTION_SLURM_CLIENT_H_
#define FLEETMARK_COLLECTOR_ACTION_SLURM_CLIENT_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "common/run/cancel_token.h"
#include "common/run/runner.h"

namespace fleetmark::collector {

struct SlurmNode {
  std::string name;
  std::set<std::string> states;  // "IDLE", "DRAIN", …, without marks
  std::string reason;            // without who and when
  std::string stamp;             // who and when: "root@2026-12-03T11:55:18"
  absl::Time reason_time = absl::InfinitePast();
  absl::Time boot_time = absl::InfinitePast();  // InfinitePast: Slurm does not know

  // No new job may start: drained, draining, or about to be rebooted.
  bool Drained() const;
  // Somebody takes it out of use on purpose: drained, in maintenance, to be rebooted or powered down.
  bool ByPerson() const { return Drained() || states.contains("MAINT") || states.contains("MAINTENANCE"); }
  // Takes jobs, or runs them. States that this version has never heard of do not.
  bool AtWork() const;
  // "IDLE+DRAIN by root@…: reason"
  std::string Text() const;
};

// Of one line. InvalidArgument when it is none.
absl::StatusOr<SlurmNode> ParseSlurmNode(std::string_view line);

struct SlurmReservation {
  std::string name;
  std::string nodes;  // a host list, as Slurm writes it
  bool maintenance = false;
  bool active = false;
  absl::Time end = absl::InfiniteFuture();
};
absl::StatusOr<SlurmReservation> ParseSlurmReservation(std::string_view line);

class SlurmClient {
 public:
  struct Options {
    std::string scontrol = "scontrol";  // absolute, or looked up in /usr/bin and the like
    std::string slurm_conf;             // empty: Slurm's own default
    absl::Duration timeout = absl::Seconds(20);
  };

  SlurmClient(Options options, Runner& runner, CancelToken& cancel)
      : options_(std::move(options)), runner_(runner), cancel_(cancel) {}

  absl::StatusOr<std::vector<SlurmNode>> Nodes();
  absl::StatusOr<SlurmNode> Node(const std::string& name);
  absl::Status Drain(const std::string& name, const std::string& reason);
  // Takes the drain off; a node that is down stays so.
  absl::Status Resume(const std::string& name);

  absl::StatusOr<std::vector<SlurmReservation>> Reservations();
  // The names in a host list, "n[1-3,7]".
  absl::StatusOr<std::vector<std::string>> HostNames(const std::string& list);

 private:
  absl::StatusOr<std::vector<std::string>> Run(const std::vector<std::string>& arguments);

  const Options options_;
  Runner& runner_;
  CancelToken& cancel_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTION_SLURM_CLIENT_H_
