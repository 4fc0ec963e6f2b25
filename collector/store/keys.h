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
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

// series, series_stats, dirty, detector_state
std::string SeriesIdKey(uint64_t series_id);
std::optional<uint64_t> ParseSeriesIdKey(std::string_view key);

// samples
struct SampleKey {
  uint64_t series_id = 0;
  int64_t time_unix_ns = 0;
  UlidBytes run{};
};
std::string EncodeSampleKey(const SampleKey& key);
std::optional<SampleKey> ParseSampleKey(std::string_view key);

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

// run_index, run_logs, findings
std::string UlidKey(const UlidBytes& id);

// senders
std::string SenderKey(std::string_view node, std::string_view epoch);

// The smallest key above all that begin with `prefix`; empty if there is none.
std::string PrefixEnd(std::string prefix);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_STORE_KEYS_H_
