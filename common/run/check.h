// Checks a plugin as its author would like it: the manifest, then one short real run, with errors that
// say what to do. What `fleetmark plugin check` prints.
//
// Thread-safety: a function without state.
#ifndef FLEETMARK_COMMON_RUN_CHECK_H_
#define FLEETMARK_COMMON_RUN_CHECK_H_

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/run/runner.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark {

struct PluginCheck {
  struct Line {
    bool ok;
    std::string text;
  };

  std::vector<Line> lines;  // in the order in which things were looked at; it ends at a fatal fault
  v1::Run run;              // of the self-check; outcome unspecified if it came to none

  bool ok() const;
};

// Blocks up to the self-check's time limit. `folder` is the plugin's; `work_root` an existing folder where
// the run's own is made.
PluginCheck CheckPlugin(const std::string& folder, const std::string& work_root, Runner& runner, Clock& clock,
                        CancelToken& cancel);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_CHECK_H_
