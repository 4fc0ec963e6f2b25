// The keys of the store's column families as bytes, and back. docs/storage-format.md shows each layout.
//
// Numbers are big-endian and times have their sign bit flipped, so that bytes sort as the values do. Texts
// end with NUL, which none may hold, so that no text's keys mix with those of a longer one.
//
// Thread-safety: functions without state. Errors: the Parse functions return nothing for bytes that are no
// such key.
#ifndef FLEETMARK_COLLECTOR_STORE_KEYS_H_
#define FLEETMARK_COLLECTOR_STORE_KEYS_H_

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fleetmark::collector {

// The 128 bits of a ULID; sorts as the text does.
using UlidBytes = std::array<char, 16>;

std::optional<UlidBytes> UlidFromText(std::string_view text);
std::string UlidToText(const UlidBytes& ulid);
// The time in the ULID, in nanoseconds.
int64_t UlidUnixNs(const UlidBytes& ulid);

void AppendU64(std::string* out, uint64_t value);
// `bytes` must hold at least eight.
uint64_t ReadU64(std::string_view bytes);

// detector_state; also the token of a listing of series
std::string SeriesIdKey(uint64_t series_id);
std::optional<uint64_t> ParseSeriesIdKey(std::string_view key);

// groups, group_stats, dirty_groups
std::string GroupIdKey(uint32_t group);
std::optional<uint32_t> ParseGroupIdKey(std::string_view key);

// rows: a run of a group that is not in a chunk yet
struct RowKey {
  uint32_t group = 0;
  int64_t time_unix_ns = 0;
  UlidBytes run{};

  friend auto operator<=>(const RowKey&, const RowKey&) = default;
};
std::string EncodeRowKey(const RowKey& key);
std::optional<RowKey> ParseRowKey(std::string_view key);

// chunks: one column of a chunk. The numbers of the kinds are on disk.
enum class ColumnKind : uint8_t { kTimes = 0, kRuns = 1, kValues = 2, kSpreads = 3, kRepetitions = 4 };
struct ChunkPlace {
  int64_t first_unix_ns = 0;  // the least of its times
  uint32_t number = 0;        // tells apart those that begin at one time

  friend auto operator<=>(const ChunkPlace&, const ChunkPlace&) = default;
};
struct ChunkKey {
  uint32_t group = 0;
  ColumnKind kind = ColumnKind::kTimes;
  uint16_t column = 0;
  ChunkPlace place;
};
std::string EncodeChunkKey(const ChunkKey& key);
std::optional<ChunkKey> ParseChunkKey(std::string_view key);
// What all chunks of one column begin with.
std::string ChunkColumnPrefix(uint32_t group, ColumnKind kind, uint16_t column);

// tier_days: a day of a group whose tiers are to be made
struct DayKey {
  uint32_t group = 0;
  int64_t day = 0;  // since 1970
};
std::string EncodeDayKey(const DayKey& key);
std::optional<DayKey> ParseDayKey(std::string_view key);

// tiers: a series' summaries of one tier that begin in one window
struct TierKey {
  uint32_t group = 0;
  uint8_t tier = 0;
  uint16_t column = 0;
  int64_t window_unix_ns = 0;
};
std::string EncodeTierKey(const TierKey& key);
std::optional<TierKey> ParseTierKey(std::string_view key);

// runs_by_time, events: time, then the ULID
struct TimeKey {
  int64_t time_unix_ns = 0;
  UlidBytes id{};
};
std::string EncodeTimeKey(const TimeKey& key);
std::optional<TimeKey> ParseTimeKey(std::string_view key);

// runs, events_by_node, open_findings: the node, then a TimeKey or a ULID
std::string NodePrefix(std::string_view node);
std::string EncodeNodeTimeKey(std::string_view node, const TimeKey& key);
std::string EncodeNodeUlidKey(std::string_view node, const UlidBytes& id);

// run_index, run_logs, findings, alerts, actions
std::string UlidKey(const UlidBytes& id);
// Of an id that a caller gave in `field`. InvalidArgument, which names the field, if it is no ULID.
absl::StatusOr<std::string> IdKey(const char* field, const std::string& text);
// alert_history, action_history: the ULID's key, then the entry's number
std::string HistoryKey(const std::string& ulid_key, uint64_t sequence);

// senders
std::string SenderKey(std::string_view node, std::string_view epoch);

// The smallest key above all that begin with `prefix`; empty if there is none.
std::string PrefixEnd(std::string prefix);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_KEYS_H_
