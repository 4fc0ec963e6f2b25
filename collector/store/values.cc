#include "collector/store/values.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"

#include "collector/store/chunk_codec/bit_stream.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr char kVersion = 1;
constexpr uint64_t kSignBit = uint64_t{1} << 63;

std::string Versioned() { return std::string(1, kVersion); }

// What follows the version byte, which must be known and followed by at least `min_bytes`.
absl::StatusOr<std::string_view> Payload(std::string_view value, size_t min_bytes) {
  if (value.empty() || value[0] == 0) return absl::DataLossError("a stored value has no version");
  if (value[0] != kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("a stored value has version ", static_cast<int>(static_cast<unsigned char>(value[0])),
                     "; this program reads version ", static_cast<int>(kVersion)));
  }
  value.remove_prefix(1);
  if (value.size() < min_bytes) return absl::DataLossError("a stored value is cut short");
  return value;
}

}  // namespace

std::string EncodeMessage(const google::protobuf::MessageLite& message) {
  std::string value = Versioned();
  message.AppendToString(&value);
  return value;
}

absl::Status DecodeMessage(std::string_view value, google::protobuf::MessageLite* message) {
  FM_ASSIGN_OR_RETURN(const std::string_view payload, Payload(value, 0));
  if (!message->ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return absl::DataLossError(absl::StrCat("a stored ", message->GetTypeName(), " can't be parsed"));
  }
  return absl::OkStatus();
}

// Fields are dropped from the bytes: a copy of the message without them would cost more than all the rest,
// and unknown fields stay.
std::string EncodeRun(const v1::Run& run, bool metrics_apart) {
  std::string whole;
  run.AppendToString(&whole);
  std::string value = Versioned();
  value.push_back(metrics_apart ? 1 : 0);
  std::string_view rest = whole;
  while (!rest.empty()) {
    const std::string_view field = rest;
    uint64_t tag = 0;
    uint64_t size = 0;
    bool ok = TakeVarint(&rest, &tag);
    switch (ok ? tag & 7 : 0) {
      case 0:
        ok = ok && TakeVarint(&rest, &size);
        size = 0;
        break;
      case 1:
        size = 8;
        break;
      case 2:
        ok = TakeVarint(&rest, &size);
        break;
      case 5:
        size = 4;
        break;
      default:
        ok = false;
    }
    if (!ok || size > rest.size()) return value.append(field);  // groups, which no field of a run is
    rest.remove_prefix(size);
    const uint64_t number = tag >> 3;
    if (number == v1::Run::kLogTailFieldNumber) continue;
    if (metrics_apart && number == v1::Run::kMetricsFieldNumber) continue;
    value.append(field.substr(0, field.size() - rest.size()));
  }
  return value;
}

absl::Status DecodeRun(std::string_view value, v1::Run* run, bool* metrics_apart) {
  FM_ASSIGN_OR_RETURN(std::string_view payload, Payload(value, 1));
  if (payload[0] != 0 && payload[0] != 1) return absl::DataLossError("a stored run is malformed");
  *metrics_apart = payload[0] == 1;
  payload.remove_prefix(1);
  if (!run->ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return absl::DataLossError("a stored run can't be parsed");
  }
  return absl::OkStatus();
}

std::string EncodeBytes(std::string_view bytes) { return Versioned().append(bytes); }

absl::StatusOr<std::string> DecodeBytes(std::string_view value) {
  FM_ASSIGN_OR_RETURN(const std::string_view payload, Payload(value, 0));
  return std::string(payload);
}

std::string EncodeNumber(uint64_t number) {
  std::string value = Versioned();
  AppendU64(&value, number);
  return value;
}

absl::StatusOr<uint64_t> DecodeNumber(std::string_view value) {
  FM_ASSIGN_OR_RETURN(const std::string_view payload, Payload(value, 8));
  return ReadU64(payload);
}

void SeriesStats::Add(int64_t time_unix_ns, double value) {
  first_unix_ns = samples == 0 ? time_unix_ns : std::min(first_unix_ns, time_unix_ns);
  if (samples == 0 || time_unix_ns >= last_unix_ns) {
    last_unix_ns = time_unix_ns;
    last_value = value;
  }
  ++samples;
}

int64_t RunUnixNs(const v1::Run& run, const UlidBytes& id) {
  if (run.started_unix_ns() != 0) return run.started_unix_ns();
  if (run.scheduled_unix_ns() != 0) return run.scheduled_unix_ns();
  return UlidUnixNs(id);
}

std::string EncodeRunSummary(const RunSummary& summary) {
  std::string value = Versioned();
  value.push_back(static_cast<char>(summary.outcome));
  value.append(summary.node).push_back('\0');
  value.append(summary.benchmark);
  return value;
}

absl::StatusOr<RunSummary> DecodeRunSummary(std::string_view value) {
  FM_ASSIGN_OR_RETURN(std::string_view payload, Payload(value, 2));
  const int outcome = static_cast<unsigned char>(payload[0]);
  payload.remove_prefix(1);
  const size_t end = payload.find('\0');
  if (end == payload.npos) return absl::DataLossError("a stored run summary has no node");
  RunSummary summary;
  summary.outcome = static_cast<v1::Outcome>(outcome);
  summary.node = std::string(payload.substr(0, end));
  summary.benchmark = std::string(payload.substr(end + 1));
  return summary;
}

std::string EncodeRunPlace(const RunPlace& place) {
  std::string value = Versioned();
  AppendU64(&value, static_cast<uint64_t>(place.time_unix_ns) ^ kSignBit);
  value.append(place.node);
  return value;
}

absl::StatusOr<RunPlace> DecodeRunPlace(std::string_view value) {
  FM_ASSIGN_OR_RETURN(const std::string_view payload, Payload(value, 8));
  return RunPlace{static_cast<int64_t>(ReadU64(payload) ^ kSignBit), std::string(payload.substr(8))};
}

// The outcomes come last, so that a later one makes the value longer and nothing else.
std::string EncodeCounters(const Counters& c) {
  std::string value = Versioned();
  for (const uint64_t n :
       {c.next_series_id, c.nodes, c.series, c.runs, c.samples, c.open_findings, c.open_findings_worse}) {
    AppendU64(&value, n);
  }
  for (const uint64_t n : c.runs_by_outcome) AppendU64(&value, n);
  return value;
}

absl::StatusOr<Counters> DecodeCounters(std::string_view value) {
  FM_ASSIGN_OR_RETURN(std::string_view payload, Payload(value, 7 * 8));
  Counters c;
  for (uint64_t* n : {&c.next_series_id, &c.nodes, &c.series, &c.runs, &c.samples, &c.open_findings,
                      &c.open_findings_worse}) {
    *n = ReadU64(payload);
    payload.remove_prefix(8);
  }
  for (uint64_t& n : c.runs_by_outcome) {
    if (payload.size() < 8) break;
    n = ReadU64(payload);
    payload.remove_prefix(8);
  }
  return c;
}

}  // namespace fleetmark::collector
