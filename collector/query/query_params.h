// Fills a request message from the parameters of a URL, so that HTTP offers exactly what the messages do.
//
// A field's name is its parameter: `benchmark=stream`, `limit=10`, `newest=true`. Enum values may be given
// without their prefix, in any case: `outcome=failed`. The fields of a selector stand for themselves. A list
// of texts or numbers is given with commas: `quantiles=0.5,0.99`. Of maps, `label.KEY=VALUE` fills `labels`
// and `node_label.KEY=VALUE` fills `node_labels`. A time range is `from` and `to`, each as RFC 3339
// (`2026-01-02T15:04:05Z`), a day (`2026-01-02`), Unix seconds
// (`1790000000.5`), a duration before now (`-24h`), or `now`.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_QUERY_QUERY_PARAMS_H_
#define FLEETMARK_COLLECTOR_QUERY_QUERY_PARAMS_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark::collector {

using QueryParams = std::multimap<std::string, std::string>;

// InvalidArgument names the parameter: unknown (with the nearest known one), given twice, or not a value of
// its field. `reserved` names fields that the path gives already.
absl::Status FillRequest(const QueryParams& params, absl::Time now, const std::set<std::string>& reserved,
                         google::protobuf::Message* request);

// Nanoseconds since 1970; InvalidArgument.
absl::StatusOr<int64_t> ParseTimeParameter(std::string_view text, absl::Time now);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_QUERY_PARAMS_H_
