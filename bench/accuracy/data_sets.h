// Readers of the labelled and real series that detection is measured by. The data are not part of the
// project; a set that is not there reads as NotFound.
//
// Thread-safety: functions without state. Errors: NotFound without the file, InvalidArgument when it is not
// of the expected form.
#ifndef FLEETMARK_BENCH_ACCURACY_DATA_SETS_H_
#define FLEETMARK_BENCH_ACCURACY_DATA_SETS_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetmark::bench {

struct DataSeries {
  std::string name;
  std::vector<double> values;
  std::vector<size_t> places;                    // index of each value in the file, where some are missing
  size_t length = 0;                             // with the missing ones
  std::vector<std::vector<size_t>> annotations;  // TCPD: one list an annotator
  std::vector<size_t> expected;                  // changes that are known
};

// The Turing Change Point Dataset's univariate series in `folder`, by name.
absl::StatusOr<std::vector<DataSeries>> ReadTcpd(const std::string& folder);

// Talos series with the changes that Perfherder's tests expect.
absl::StatusOr<std::vector<DataSeries>> ReadTalos(const std::string& folder);

// Median kernel times of single GPUs with at least `fewest` runs, in time order.
absl::StatusOr<std::vector<DataSeries>> ReadGpuHistories(const std::string& file, size_t fewest);

// {"series": [...]}
absl::StatusOr<DataSeries> ReadTigerBeetle(const std::string& file);

// A list of numbers.
absl::StatusOr<DataSeries> ReadNumberList(const std::string& file);

// One series for each test and metric: test,metric,timestamp,seq,value,…
absl::StatusOr<std::vector<DataSeries>> ReadRocksDb(const std::string& file);

// The second column of a CSV file with a header line.
absl::StatusOr<DataSeries> ReadCsv(const std::string& file);

// Published scores: [table][series][method]; methods that failed are left out.
using PublishedScores = std::map<std::string, std::map<std::string, std::map<std::string, double>>>;
absl::StatusOr<PublishedScores> ReadPublished(const std::string& file);

}  // namespace fleetmark::bench

#endif  // FLEETMARK_BENCH_ACCURACY_DATA_SETS_H_
