#include "collector/store/keys.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

#include "common/base/ulid.h"

namespace fleetmark::collector {
namespace {

constexpr std::string_view kBase32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr uint64_t kSignBit = uint64_t{1} << 63;
constexpr size_t kTimeKeyBytes = 8 + 16;
constexpr size_t kChunkKeyBytes = 4 + 1 + 2 + 8 + 4;

void AppendShort(std::string* out, uint64_t value, unsigned bytes) {
  for (unsigned i = bytes; i > 0; --i) out->push_back(static_cast<char>(value >> (8 * (i - 1))));
}

uint64_t ReadShort(std::string_view bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

void AppendTime(std::string* out, int64_t time) { AppendU64(out, static_cast<uint64_t>(time) ^ kSignBit); }

int64_t ReadTime(std::string_view bytes) { return static_cast<int64_t>(ReadU64(bytes) ^ kSignBit); }

UlidBytes ReadUlid(std::string_view bytes) {
  UlidBytes ulid;
  std::copy_n(bytes.begin(), ulid.size(), ulid.begin());
  return ulid;
}

}  // namespace

// 26 digits of 5 bits are 130 bits; the first two are zero.
std::optional<UlidBytes> UlidFromText(std::string_view text) {
  if (!IsUlid(text)) return std::nullopt;
  UlidBytes ulid{};
  for (size_t digit = 0; digit < text.size(); ++digit) {
    const auto value = static_cast<unsigned>(kBase32.find(text[digit]));
    for (size_t bit = 0; bit < 5; ++bit) {
      const size_t position = digit * 5 + bit;
      if (position < 2 || (value >> (4 - bit) & 1u) == 0) continue;
      char& byte = ulid[(position - 2) / 8];
      byte = static_cast<char>(static_cast<unsigned char>(byte) | (0x80u >> ((position - 2) % 8)));
    }
  }
  return ulid;
}

std::string UlidToText(const UlidBytes& ulid) {
  std::string text(26, '0');
  for (size_t digit = 0; digit < text.size(); ++digit) {
    unsigned value = 0;
    for (size_t bit = 0; bit < 5; ++bit) {
      const size_t position = digit * 5 + bit;
      unsigned b = 0;
      if (position >= 2) {
        b = static_cast<unsigned char>(ulid[(position - 2) / 8]) >> (7 - (position - 2) % 8) & 1u;
      }
      value = value << 1 | b;
    }
    text[digit] = kBase32[value];
  }
  return text;
}

int64_t UlidUnixNs(const UlidBytes& ulid) {
  const uint64_t ms = ReadU64({ulid.data(), ulid.size()}) >> 16;
  constexpr uint64_t kMaxMs = std::numeric_limits<int64_t>::max() / 1'000'000;
  return static_cast<int64_t>(std::min(ms, kMaxMs)) * 1'000'000;
}

void AppendU64(std::string* out, uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out->push_back(static_cast<char>(value >> shift));
}

uint64_t ReadU64(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string SeriesIdKey(uint64_t series_id) {
  std::string key;
  AppendU64(&key, series_id);
  return key;
}

std::optional<uint64_t> ParseSeriesIdKey(std::string_view key) {
  if (key.size() != 8) return std::nullopt;
  return ReadU64(key);
}

std::string GroupIdKey(uint32_t group) {
  std::string key;
  AppendShort(&key, group, 4);
  return key;
}

std::optional<uint32_t> ParseGroupIdKey(std::string_view key) {
  if (key.size() != 4) return std::nullopt;
  return static_cast<uint32_t>(ReadShort(key, 4));
}

std::string EncodeRowKey(const RowKey& key) {
  std::string out;
  out.reserve(4 + kTimeKeyBytes);
  AppendShort(&out, key.group, 4);
  AppendTime(&out, key.time_unix_ns);
  out.append(key.run.data(), key.run.size());
  return out;
}

std::optional<RowKey> ParseRowKey(std::string_view key) {
  if (key.size() != 4 + kTimeKeyBytes) return std::nullopt;
  return RowKey{static_cast<uint32_t>(ReadShort(key, 4)), ReadTime(key.substr(4)), ReadUlid(key.substr(12))};
}

std::string ChunkColumnPrefix(uint32_t group, ColumnKind kind, uint16_t column) {
  std::string key;
  key.reserve(kChunkKeyBytes);
  AppendShort(&key, group, 4);
  key.push_back(static_cast<char>(kind));
  AppendShort(&key, column, 2);
  return key;
}

std::string EncodeChunkKey(const ChunkKey& key) {
  std::string out = ChunkColumnPrefix(key.group, key.kind, key.column);
  AppendTime(&out, key.place.first_unix_ns);
  AppendShort(&out, key.place.number, 4);
  return out;
}

std::optional<ChunkKey> ParseChunkKey(std::string_view key) {
  if (key.size() != kChunkKeyBytes) return std::nullopt;
  const uint64_t kind = ReadShort(key.substr(4), 1);
  if (kind > static_cast<uint64_t>(ColumnKind::kRepetitions)) return std::nullopt;
  return ChunkKey{static_cast<uint32_t>(ReadShort(key, 4)),
                  static_cast<ColumnKind>(kind),
                  static_cast<uint16_t>(ReadShort(key.substr(5), 2)),
                  {ReadTime(key.substr(7)), static_cast<uint32_t>(ReadShort(key.substr(15), 4))}};
}

std::string EncodeDayKey(const DayKey& key) {
  std::string out = GroupIdKey(key.group);
  AppendTime(&out, key.day);
  return out;
}

std::optional<DayKey> ParseDayKey(std::string_view key) {
  if (key.size() != 12) return std::nullopt;
  return DayKey{static_cast<uint32_t>(ReadShort(key, 4)), ReadTime(key.substr(4))};
}

std::string EncodeTierKey(const TierKey& key) {
  std::string out = GroupIdKey(key.group);
  out.push_back(static_cast<char>(key.tier));
  AppendShort(&out, key.column, 2);
  AppendTime(&out, key.window_unix_ns);
  return out;
}

std::optional<TierKey> ParseTierKey(std::string_view key) {
  if (key.size() != 15) return std::nullopt;
  return TierKey{static_cast<uint32_t>(ReadShort(key, 4)), static_cast<uint8_t>(ReadShort(key.substr(4), 1)),
                 static_cast<uint16_t>(ReadShort(key.substr(5), 2)), ReadTime(key.substr(7))};
}

std::string EncodeTimeKey(const TimeKey& key) {
  std::string out;
  out.reserve(kTimeKeyBytes);
  AppendTime(&out, key.time_unix_ns);
  out.append(key.id.data(), key.id.size());
  return out;
}

std::optional<TimeKey> ParseTimeKey(std::string_view key) {
  if (key.size() != kTimeKeyBytes) return std::nullopt;
  return TimeKey{ReadTime(key), ReadUlid(key.substr(8))};
}

std::string NodePrefix(std::string_view node) {
  std::string key(node);
  key.push_back('\0');
  return key;
}

std::string EncodeNodeTimeKey(std::string_view node, const TimeKey& key) {
  return NodePrefix(node) + EncodeTimeKey(key);
}

std::string EncodeNodeUlidKey(std::string_view node, const UlidBytes& id) {
  return NodePrefix(node) + UlidKey(id);
}

std::string UlidKey(const UlidBytes& id) { return std::string(id.data(), id.size()); }

absl::StatusOr<std::string> IdKey(const char* field, const std::string& text) {
  const std::optional<UlidBytes> id = UlidFromText(text);
  if (id.has_value()) return UlidKey(*id);
  return absl::InvalidArgumentError(absl::StrCat(field, " must be a ULID of 26 characters"));
}

std::string HistoryKey(const std::string& ulid_key, uint64_t sequence) {
  std::string key = ulid_key;
  AppendU64(&key, sequence);
  return key;
}

std::string SenderKey(std::string_view node, std::string_view epoch) {
  return NodePrefix(node).append(epoch);
}

std::string PrefixEnd(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xFF') prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

}  // namespace fleetmark::collector
