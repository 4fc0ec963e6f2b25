// The repetitions of one measurement within a run, in two numbers.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_RUN_REPETITIONS_H_
#define FLEETMARK_COMMON_RUN_REPETITIONS_H_

#include <vector>

namespace fleetmark {

struct Repetitions {
  double median = 0;
  // 1.4826 * median absolute deviation / |median|, which for normal noise estimates the standard
  // deviation; 0 when the median is 0, as nothing is relative to it. Always finite.
  double relative_spread = 0;
};

// Of at least one finite value.
Repetitions Summarize(std::vector<double> values);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_RUN_REPETITIONS_H_
