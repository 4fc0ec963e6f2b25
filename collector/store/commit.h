// What one commit of senders' records writes: it sorts out what is stored already and gathers the rest in
// one write set.
//
// Thread-safety: none; belongs to the one writer, who alone may change the database until it is written.
#ifndef FLEETMARK_COLLECTOR_STORE_COMMIT_H_
#define FLEETMARK_COLLECTOR_STORE_COMMIT_H_

#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"

#include "collector/store/database.h"
#include "collector/store/keys.h"
#include "collector/store/series_index.h"
#include "collector/store/store_types.h"
#include "collector/store/values.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

class CommitBuilder {
 public:
  // What is older is not stored.
  struct Oldest {
    int64_t run_unix_ns = INT64_MIN;
    int64_t sample_unix_ns = INT64_MIN;
  };

  // `counters` are the totals before; they must outlive the builder.
  CommitBuilder(const Database& db, SeriesCatalog* catalog, const GroupWriter::Limits& limits,
                const Oldest& oldest, Counters* counters)
      : db_(db),
        limits_(limits),
        oldest_(oldest),
        counters_(counters),
        series_before_(counters->series),
        writes_(db.NewWriteSet()),
        groups_(db, catalog, limits) {}

  absl::Status Add(const SenderRecords& sender);
  // Completes the write set, which the caller then takes.
  CommitResult Finish();
  WriteSet TakeWrites() { return std::move(writes_); }
  // After the write has succeeded.
  void Publish() { groups_.Publish(); }
  // Before the write.
  void PublishLengths() const { groups_.PublishLengths(); }

 private:
  absl::Status AddRecord(const std::string& node, const v1::Record& record);
  absl::Status AddRun(const std::string& node, const v1::Run& run);
  absl::StatusOr<GroupWriter::Added> AddSamples(const std::string& node, const UlidBytes& run_id,
                                                const v1::Run& run);
  // The run with a warning that says which of its samples are not stored.
  v1::Run WithRefusal(const v1::Run& run, const GroupWriter::Added& added) const;
  absl::Status AddFacts(const std::string& node, const v1::FactsChanged& facts);
  absl::StatusOr<uint64_t*> WatermarkOf(const std::string& sender_key);

  const Database& db_;
  const GroupWriter::Limits limits_;
  const Oldest oldest_;
  Counters* const counters_;
  const uint64_t series_before_;
  WriteSet writes_;
  GroupWriter groups_;
  CommitResult result_;
  // What this commit has changed and the database does not show yet.
  std::map<std::string, uint64_t> watermarks_;  // by sender key
  std::set<UlidBytes> new_runs_;
  std::map<std::string, v1::Node> nodes_;
  std::set<std::string> new_nodes_;
};

// How far a sender's records are stored.
absl::StatusOr<uint64_t> ReadWatermark(const Database& db, const std::string& sender_key);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_COMMIT_H_
