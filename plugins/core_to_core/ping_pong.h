// A cache line that two CPUs write in turn: the time of one transfer between them.
//
// Thread-safety: functions without state; MeasurePair blocks, and has two threads of its own meanwhile.
#ifndef FLEETMARK_PLUGINS_CORE_TO_CORE_PING_PONG_H_
#define FLEETMARK_PLUGINS_CORE_TO_CORE_PING_PONG_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fleetmark::core_to_core {

using Pair = std::pair<int, int>;

// At most `most` pairs of different CPUs, spread evenly over all of them in order; the same each time.
std::vector<Pair> ChoosePairs(const std::vector<int>& cpus, size_t most);

enum class Fault {
  kNone,
  kNotPinned,  // the system does not let a thread stay on its CPU
  kTooSlow,    // the other side did not answer in time: a CPU is taken away from this process
  kWrong,      // a number came that nobody had written
};

struct PairResult {
  Fault fault = Fault::kNone;
  double nanoseconds = 0;  // one way, the fastest of the repetitions
};

// `rounds` round trips, `repetitions` times. At most about ten seconds a repetition.
PairResult MeasurePair(Pair pair, int64_t rounds, int repetitions);

}  // namespace fleetmark::core_to_core

#endif  // FLEETMARK_PLUGINS_CORE_TO_CORE_PING_PONG_H_
