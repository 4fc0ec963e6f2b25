// A real Store in a temporary folder with a few runs, for tests of what reads it.
//
// Thread-safety: none.
#ifndef FLEETMARK_TESTS_UNIT_COLLECTOR_QUERY_STORE_FIXTURE_H_
#define FLEETMARK_TESTS_UNIT_COLLECTOR_QUERY_STORE_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "collector/store/store.h"

namespace fleetmark::collector {

inline constexpr int64_t kMinuteNs = 60'000'000'000;
inline constexpr int64_t kFirstRunNs = 1'789'000'000'000'000'000;

class StoreFixture : public testing::Test {
 protected:
  StoreFixture();
  ~StoreFixture() override;

  void AddNode(const std::string& name, const std::string& rack);
  // One run of `benchmark` for each value, a minute apart, following those already added; each with one
  // metric `bandwidth` in GB/s, higher is better.
  void AddRuns(const std::string& node, const std::string& benchmark, const std::vector<double>& values);
  // The ids of the runs so added, in time order.
  const std::vector<std::string>& run_ids() const { return run_ids_; }
  void Reopen();

  std::string folder_;
  std::unique_ptr<Store> store_;

 private:
  uint64_t sequence_ = 0;
  std::vector<std::string> run_ids_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_TESTS_UNIT_COLLECTOR_QUERY_STORE_FIXTURE_H_
