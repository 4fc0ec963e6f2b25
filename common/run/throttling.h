// Whether a CPU quota held a run back: the throttled periods that the kernel counts for the cgroups that
// this process, and so each run of it, is in. A run that was throttled measured the quota, not the machine.
//
// Thread-safety: none; owned by one run.
#ifndef FLEETMARK_COMMON_RUN_THROTTLING_H_
#define FLEETMARK_COMMON_RUN_THROTTLING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/run/cgroup_layout.h"

namespace fleetmark {

struct Throttling {
  uint64_t periods = 0;  // 0: none
  std::string cgroup;    // folder of the one with the most
};

class ThrottleWatch {
 public:
  // Begins to count. Where there is no CPU controller it never finds anything.
  explicit ThrottleWatch(const CgroupLayout& layout);

  // Since the construction.
  Throttling Read() const;

 private:
  struct Count {
    std::string folder;
    uint64_t before;
  };

  std::vector<Count> counts_;
};

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_THROTTLING_H_
