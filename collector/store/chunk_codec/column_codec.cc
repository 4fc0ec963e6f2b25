#include "collector/store/chunk_codec/column_codec.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

#include "collector/store/chunk_codec/bit_stream.h"
#include "collector/store/chunk_codec/checksum.h"
#include "collector/store/chunk_codec/integer_codec.h"
#include "collector/store/chunk_codec/real_codec.h"

namespace fleetmark::collector {
namespace {

constexpr char kVersion = 1;
constexpr size_t kChecksumBytes = 4;

enum Kind : char { kTimes = 1, kValues = 2, kSparseValues = 3, kRunIds = 4 };

constexpr size_t kMillisecondBytes = 6;
constexpr size_t kRandomBytes = kRunIdBytes - kMillisecondBytes;
constexpr int64_t kNsPerMs = 1'000'000;

int64_t ReadMilliseconds(std::string_view id) {
  int64_t ms = 0;
  for (size_t i = 0; i < kMillisecondBytes; ++i) ms = ms << 8 | static_cast<unsigned char>(id[i]);
  return ms;
}

// Agents' clocks tick in nanoseconds, other tools' in milliseconds or seconds.
constexpr std::array<int64_t, 4> kTicks = {1, 1'000, 1'000'000, 1'000'000'000};

absl::Status Malformed() { return absl::DataLossError("a chunk's column is malformed"); }

std::string Begin(Kind kind, size_t rows) {
  std::string column = {kVersion, kind};
  AppendVarint(&column, rows);
  return column;
}

std::string Sealed(std::string column) {
  const uint32_t crc = Crc32c(column);
  for (unsigned i = 0; i < kChecksumBytes; ++i) column.push_back(static_cast<char>(crc >> (8 * i)));
  return column;
}

// Checks the frame; what follows the number of rows.
absl::StatusOr<std::string_view> Open(std::string_view column, Kind* kind, size_t* rows) {
  if (column.empty() || column[0] == 0) return Malformed();
  if (column[0] != kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("a chunk's column has version ", static_cast<int>(column[0])));
  }
  if (column.size() < 3 + kChecksumBytes) return Malformed();
  const std::string_view body = column.substr(0, column.size() - kChecksumBytes);
  uint32_t stored = 0;
  for (unsigned i = 0; i < kChecksumBytes; ++i) {
    stored |= static_cast<uint32_t>(static_cast<unsigned char>(column[body.size() + i])) << (8 * i);
  }
  if (Crc32c(body) != stored) return absl::DataLossError("a chunk's column fails its checksum");
  std::string_view rest = body.substr(2);
  uint64_t count = 0;
  if (!TakeVarint(&rest, &count) || count == 0 || count > kMaxRows) return Malformed();
  *kind = static_cast<Kind>(body[1]);
  *rows = count;
  return rest;
}

int64_t TickOf(absl::Span<const int64_t> times) {
  size_t tick = kTicks.size() - 1;
  for (const int64_t time : times) {
    int64_t apart = 0;
    if (__builtin_sub_overflow(time, times[0], &apart)) return 1;
    while (apart % kTicks[tick] != 0) --tick;
  }
  return kTicks[tick];
}

}  // namespace

std::string EncodeTimes(absl::Span<const int64_t> times) {
  std::string column = Begin(kTimes, times.size());
  const int64_t tick = TickOf(times);
  column.push_back(static_cast<char>(std::find(kTicks.begin(), kTicks.end(), tick) - kTicks.begin()));
  AppendSigned(&column, times[0]);
  std::vector<int64_t> ticks;
  ticks.reserve(times.size());
  for (const int64_t time : times) {
    const auto apart = static_cast<int64_t>(static_cast<uint64_t>(time) - static_cast<uint64_t>(times[0]));
    ticks.push_back(apart / tick);
  }
  EncodeIntegers(ticks, &column);
  return Sealed(std::move(column));
}

absl::Status DecodeTimes(std::string_view column, std::vector<int64_t>* times) {
  Kind kind{};
  size_t rows = 0;
  absl::StatusOr<std::string_view> rest = Open(column, &kind, &rows);
  if (!rest.ok()) return rest.status();
  uint8_t tick = 0;
  int64_t first = 0;
  if (kind != kTimes || !TakeByte(&*rest, &tick) || tick >= kTicks.size() || !TakeSigned(&*rest, &first)) {
    return Malformed();
  }
  times->resize(rows);
  const absl::Status status = DecodeIntegers(&*rest, absl::MakeSpan(*times));
  if (!status.ok()) return status;
  if (!rest->empty()) return Malformed();
  for (int64_t& time : *times) {
    time = static_cast<int64_t>(static_cast<uint64_t>(time) * static_cast<uint64_t>(kTicks[tick]) +
                                static_cast<uint64_t>(first));
  }
  return absl::OkStatus();
}

std::string EncodeValues(const ValueColumn& in) {
  const bool sparse = !in.present.empty();
  std::string column = Begin(sparse ? kSparseValues : kValues, in.rows);
  if (sparse) {
    AppendVarint(&column, in.present.size());
    EncodeIntegers(std::vector<int64_t>(in.present.begin(), in.present.end()), &column);
  }
  EncodeReals(in.values, &column);
  return Sealed(std::move(column));
}

absl::Status DecodeValues(std::string_view column, ValueColumn* out) {
  Kind kind{};
  absl::StatusOr<std::string_view> rest = Open(column, &kind, &out->rows);
  if (!rest.ok()) return rest.status();
  uint64_t count = out->rows;
  out->present.clear();
  if (kind == kSparseValues) {
    if (!TakeVarint(&*rest, &count) || count == 0 || count > out->rows) return Malformed();
    std::vector<int64_t> present(count);
    const absl::Status status = DecodeIntegers(&*rest, absl::MakeSpan(present));
    if (!status.ok()) return status;
    int64_t before = -1;
    for (const int64_t row : present) {
      if (row <= before || row >= static_cast<int64_t>(out->rows)) return Malformed();
      before = row;
      out->present.push_back(static_cast<uint32_t>(row));
    }
  } else if (kind != kValues) {
    return Malformed();
  }
  out->values.resize(count);
  const absl::Status status = DecodeReals(&*rest, absl::MakeSpan(out->values));
  if (!status.ok()) return status;
  return rest->empty() ? absl::OkStatus() : Malformed();
}

std::string EncodeRunIds(absl::Span<const std::string_view> ids, absl::Span<const int64_t> times) {
  std::string column = Begin(kRunIds, ids.size());
  std::vector<int64_t> milliseconds;
  milliseconds.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    milliseconds.push_back(ReadMilliseconds(ids[i]) - times[i] / kNsPerMs);
  }
  EncodeIntegers(milliseconds, &column);
  for (const std::string_view id : ids) column.append(id.substr(kMillisecondBytes, kRandomBytes));
  return Sealed(std::move(column));
}

absl::Status DecodeRunIds(std::string_view column, absl::Span<const int64_t> times, std::string* ids) {
  Kind kind{};
  size_t rows = 0;
  absl::StatusOr<std::string_view> rest = Open(column, &kind, &rows);
  if (!rest.ok()) return rest.status();
  if (kind != kRunIds || rows != times.size()) return Malformed();
  std::vector<int64_t> milliseconds(rows);
  const absl::Status status = DecodeIntegers(&*rest, absl::MakeSpan(milliseconds));
  if (!status.ok()) return status;
  if (rest->size() != rows * kRandomBytes) return Malformed();
  ids->clear();
  ids->reserve(rows * kRunIdBytes);
  for (size_t i = 0; i < rows; ++i) {
    const uint64_t ms = static_cast<uint64_t>(milliseconds[i]) + static_cast<uint64_t>(times[i] / kNsPerMs);
    if (ms >> (8 * kMillisecondBytes) != 0) return Malformed();
    for (size_t byte = kMillisecondBytes; byte > 0; --byte) {
      ids->push_back(static_cast<char>(ms >> (8 * (byte - 1))));
    }
    ids->append(rest->substr(i * kRandomBytes, kRandomBytes));
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
