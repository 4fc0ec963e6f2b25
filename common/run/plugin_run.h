// Runs a plugin once: makes its call (docs/plugin-protocol.md §2), runs it, and states what came of it.
//
// Thread-safety: a function without state; any number of runs at once.
#ifndef FLEETMARK_COMMON_RUN_PLUGIN_RUN_H_
#define FLEETMARK_COMMON_RUN_PLUGIN_RUN_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/plugin/catalog.h"
#include "common/plugin/params.h"
#include "common/run/folder_seal.h"
#include "common/run/runner.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark {

struct PluginRunSpec {
  InstalledPlugin plugin;
  ResolvedParams params;
  std::string benchmark;
  std::string suite;
  std::string run_id;  // a ULID
  v1::Trigger trigger = v1::TRIGGER_SCHEDULE;
  std::string request_id;
  absl::Time scheduled;
  std::string facts_digest;
  absl::Duration timeout;  // zero: the manifest's
  absl::Duration term_grace = absl::Seconds(2);
  std::vector<std::string> devices;
  std::vector<int> cpus;  // that it may use; empty: those of this process
  std::vector<std::string> peers;
  std::string work_root;  // where the run's own folder is made; it exists
  int nice = 0;
  IoClass io_class = IoClass::kInherit;
  RunBounds bounds;
  std::optional<RunUser> user;
  std::function<void(pid_t reaper)> on_started;  // see RunSpec
  FolderSeals* seals = nullptr;                  // null: the plugin's files are taken as they are
};

// How long the run may take at most.
absl::Duration TimeLimit(const PluginRunSpec& spec);

// What is known of the run before it begins: all but how it went.
v1::Run DescribeRun(const PluginRunSpec& spec);

// Blocks until the run has ended. `progress` (fraction of 0 to 1, message) is called in this thread. The
// result is complete and passes CheckRun of common/model/series.h, given that the ids and names in `spec`
// do. A run that can't be started is a failed one with no start time.
v1::Run RunPlugin(const PluginRunSpec& spec, Runner& runner, Clock& clock, CancelToken& cancel,
                  absl::FunctionRef<void(double, std::string_view)> progress);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_PLUGIN_RUN_H_
