// What judges a series: a pure function from its history and its newest sample to findings. No clock, no
// input or output, no log: the same input gives the same output, so that any finding can be replayed.
//
// Thread-safety: Judge is const and may be called from several threads.
#ifndef FLEETMARK_COLLECTOR_DETECT_DETECTOR_H_
#define FLEETMARK_COLLECTOR_DETECT_DETECTOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

struct Point {
  int64_t time_unix_ns;
  double value;
};

// What a detector states about the newest sample, without names and ids, which the caller knows.
struct Verdict {
  v1::Finding::Kind kind = v1::Finding::KIND_UNSPECIFIED;
  v1::Finding::Direction direction = v1::Finding::DIRECTION_NEUTRAL;
  // Index into the history (its size is the new sample): the first sample of the new level is after
  // `onset_low` and at the latest `onset_high`.
  size_t onset_low = 0;
  size_t onset_high = 0;
  double before = 0;
  double after = 0;
  double change = 0;  // after / before - 1; where before is 0 the difference
  double change_low = 0;
  double change_high = 0;
  double p_value = 1;
  double score = 0;
  std::string explanation;
  std::optional<v1::Reference> reference;
};

class Detector {
 public:
  virtual ~Detector() = default;
  virtual std::string_view name() const = 0;

  // `history`: samples of the series' current regime in time order, at most a few hundred, without `sample`.
  // `pooled_scale`: the noise (a standard deviation of log values, or of values where they are not all
  // positive) that earlier regimes of the series showed; 0 if unknown. A verdict means that the state of
  // affairs at `sample` deserves a finding; nothing means it does not.
  virtual std::optional<Verdict> Judge(absl::Span<const Point> history, const Point& sample,
                                       v1::Better better, double pooled_scale) const = 0;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_DETECT_DETECTOR_H_
