// Between which samples a level began: the places of the cut whose cost is not much above the best one's.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_DETECT_ONSET_H_
#define FLEETMARK_COMMON_DETECT_ONSET_H_

#include <cstddef>

#include "common/detect/level_model.h"

namespace fleetmark::detect {

struct OnsetInterval {
  size_t low = 0;  // both are first samples of the new level
  size_t high = 0;
};

// Of the cut after `segment`, which covers the true place in at least 95 % of cases (bench/accuracy measures
// it). No level gets fewer than `shortest` samples.
OnsetInterval OnsetOf(const LevelModel& model, size_t segment, size_t shortest);

}  // namespace fleetmark::detect

#endif  // FLEETMARK_COMMON_DETECT_ONSET_H_
