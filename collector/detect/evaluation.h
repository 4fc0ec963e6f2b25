// Judges the new samples of one series in time order, one by one: a pure function of the series' state,
// its samples, the detectors and the reference. docs/detection.md explains the rules; in short:
//
//   reference  A finding opens with the first sample out of bounds and closes with the first within, or
//              when the reference is no longer there.
//   change     A finding opens once for a change. The level after its onset is what later samples are
//              compared with. It closes when the level is back where it was; such a recovery opens no
//              finding of its own.
//   late       A sample older than the newest judged one counts as history and is not judged itself.
//
// Judging the same samples again changes nothing. Finding ids follow from series, sample and onset, so that
// the same data always give the same ids.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_DETECT_EVALUATION_H_
#define FLEETMARK_COLLECTOR_DETECT_EVALUATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "collector/detect/detector.h"
#include "collector/detect/series_state.pb.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

// More open changes than this close the oldest one as superseded.
inline constexpr int kMaxOpenChanges = 8;

struct EvaluationInput {
  const v1::Series* series = nullptr;
  absl::Span<const Point> history;  // ascending; everything that `fresh` may be compared with
  absl::Span<const Point> fresh;    // ascending, after `history`; those already judged are skipped
  absl::Span<const Detector* const> detectors;
  std::optional<v1::Reference> reference;  // valid, in the series' unit
  int64_t now_unix_ns = 0;
};

struct EvaluationResult {
  std::vector<v1::Finding> changed;  // opened or closed, each once, as it is at the end
  size_t judged = 0;
};

// Updates `state`.
EvaluationResult Evaluate(const EvaluationInput& input, SeriesState& state);

// Bytes for the store. Parse: DataLoss when they are no state, FailedPrecondition when a newer version
// wrote them; empty bytes are the state of a series that was never evaluated.
std::string SerializeState(const SeriesState& state);
absl::StatusOr<SeriesState> ParseState(std::string_view bytes);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_DETECT_EVALUATION_H_
