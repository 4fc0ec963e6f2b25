#include "common/run/throttling.h"

#include <optional>

#include "absl/strings/str_cat.h"

#include "common/run/cgroup.h"

namespace fleetmark {
namespace {

// Nothing where the CPU controller does not count.
std::optional<uint64_t> ThrottledPeriods(const std::string& folder) {
  return CgroupCount(absl::StrCat(folder, "/cpu.stat"), "nr_throttled");
}

}  // namespace

ThrottleWatch::ThrottleWatch(const CgroupLayout& layout) {
  std::vector<std::string> folders = WithAncestors(layout.unified);
  if (const auto cpu = layout.old.find("cpu"); cpu != layout.old.end()) {
    const std::vector<std::string> more = WithAncestors(cpu->second);
    folders.insert(folders.end(), more.begin(), more.end());
  }
  for (const std::string& folder : folders) {
    if (const auto periods = ThrottledPeriods(folder)) counts_.push_back({folder, *periods});
  }
}

Throttling ThrottleWatch::Read() const {
  Throttling most;
  for (const Count& count : counts_) {
    const uint64_t now = ThrottledPeriods(count.folder).value_or(count.before);
    if (now > count.before && now - count.before > most.periods) most = {now - count.before, count.folder};
  }
  return most;
}

}  // namespace fleetmark
