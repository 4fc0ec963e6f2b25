// Answers a PromQL query: at one time, or at each step of a range.
//
// Thread-safety: all methods, any thread. They block for as long as the store reads.
// Ownership: source and clock must outlive it.
// Errors: InvalidArgument (the query or a parameter is wrong; Prometheus' "bad_data"), FailedPrecondition (it
// can't be executed, or exceeds a limit; "execution"), DeadlineExceeded ("timeout"), those of the source.
#ifndef FLEETMARK_COLLECTOR_PROMQL_ENGINE_H_
#define FLEETMARK_COLLECTOR_PROMQL_ENGINE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "collector/promql/ast.h"
#include "collector/promql/query_options.h"
#include "collector/promql/series_source.h"

namespace fleetmark {
class Clock;
}

namespace fleetmark::collector::promql {

struct ResultSeries {
  Metric metric;
  std::vector<Point> points;  // one for an instant vector
};

struct QueryResult {
  ValueType type = ValueType::kScalar;
  std::vector<ResultSeries> series;  // kVector, kMatrix
  Point scalar;                      // kScalar; the time also of kString
  std::string text;                  // kString
};

struct QueryRange {
  int64_t start_ms = 0;
  int64_t end_ms = 0;
  int64_t step_ms = 0;
};

class Engine {
 public:
  struct Options {
    const SeriesSource* source = nullptr;
    const Clock* clock = nullptr;
    QueryOptions query;
  };
  explicit Engine(Options options) : options_(options) {}

  // `timeout` shortens the configured one.
  absl::StatusOr<QueryResult> Instant(std::string_view query, int64_t time_ms,
                                      absl::Duration timeout = absl::InfiniteDuration()) const;
  absl::StatusOr<QueryResult> Range(std::string_view query, QueryRange range,
                                    absl::Duration timeout = absl::InfiniteDuration()) const;

  const SeriesSource& source() const { return *options_.source; }
  const QueryOptions& query_options() const { return options_.query; }

 private:
  const Options options_;
};

}  // namespace fleetmark::collector::promql

#endif  // FLEETMARK_COLLECTOR_PROMQL_ENGINE_H_
