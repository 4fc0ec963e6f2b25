// Where this process stands in the kernel's control groups, of version 2, version 1, or both at once, read
// from /proc (cgroups(7)).
//
// Thread-safety: plain values; functions without state.
#ifndef FLEETMARK_COMMON_RUN_CGROUP_LAYOUT_H_
#define FLEETMARK_COMMON_RUN_CGROUP_LAYOUT_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fleetmark {

// One mounted hierarchy.
struct CgroupPlace {
  std::string mount;  // folder of its highest visible cgroup; empty: there is no such hierarchy
  std::string own;    // folder of the cgroup that this process is in; `mount` or below
};

struct CgroupLayout {
  CgroupPlace unified;                     // version 2
  std::map<std::string, CgroupPlace> old;  // version 1, by controller: memory, pids, cpu, …
};

// From the texts of /proc/self/mountinfo and /proc/self/cgroup.
CgroupLayout ParseCgroupLayout(std::string_view mountinfo, std::string_view cgroup);

// The same of this process; empty where /proc can't be read.
CgroupLayout OwnCgroupLayout();

// The folders from `place.own` up to `place.mount`, both included.
std::vector<std::string> WithAncestors(const CgroupPlace& place);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_CGROUP_LAYOUT_H_
