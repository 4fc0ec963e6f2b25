// The identity of a series. Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_MODEL_SERIES_H_
#define FLEETMARK_COMMON_MODEL_SERIES_H_

#include <string>

#include "absl/status/status.h"

#include "fleetmark/v1/types.pb.h"

namespace fleetmark {

// The series that `metric` of `run` on `node` belongs to.
v1::SeriesKey SeriesKeyOf(const std::string& node, const v1::Run& run, const v1::Metric& metric);

// One text for one series whatever the order in which its labels were given. Stable: it is an index key
// on disk (docs/storage-format.md). Fields are joined by NUL, which none of them may hold.
std::string CanonicalText(const v1::SeriesKey& key);

// `node/benchmark metric{a="x"}`, for people.
std::string DisplayName(const v1::SeriesKey& key);

// Are all names, texts, counts and values of this run or event within common/model/limits.h? The
// InvalidArgument names the field.
absl::Status CheckRun(const v1::Run& run);
absl::Status CheckEvent(const v1::Event& event);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_MODEL_SERIES_H_
