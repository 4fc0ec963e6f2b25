#include "collector/store/log_tail.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"

#include "collector/store/chunk_codec/checksum.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kBlock = 32 * 1024;
constexpr size_t kHeader = 7;  // checksum, length, type
constexpr uint8_t kFull = 1;   // a record in one piece
constexpr uint8_t kFirst = 2;  // the first of several
constexpr uint8_t kLast = 4;
constexpr size_t kMaxLogBytes = size_t{1} << 30;  // far above what the store lets a log grow to

uint8_t ByteAt(std::string_view log, size_t at) { return static_cast<uint8_t>(log[at]); }

// As RocksDB masks it, so that checksums of checksums are no trouble.
uint32_t Masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8; }

struct Piece {
  uint8_t type = 0;
  size_t end = 0;
};

// The whole piece of a record that begins here, if one does.
std::optional<Piece> PieceAt(std::string_view log, size_t at) {
  const size_t block_end = std::min(log.size(), (at / kBlock + 1) * kBlock);
  if (at + kHeader > block_end) return std::nullopt;
  const size_t length = ByteAt(log, at + 4) + size_t{256} * ByteAt(log, at + 5);
  const uint8_t type = ByteAt(log, at + 6);
  if (type < kFull || type > kLast || at + kHeader + length > block_end) return std::nullopt;
  uint32_t stored = 0;
  for (size_t i = 0; i < 4; ++i) stored |= uint32_t{ByteAt(log, at + i)} << (8 * i);
  if (stored != Masked(Crc32c(log.substr(at + 6, 1 + length)))) return std::nullopt;
  return Piece{type, at + kHeader + length};
}

// The end of what can be read from the beginning on.
size_t ReadableEnd(std::string_view log) {
  size_t at = 0;
  while (at < log.size()) {
    if (kBlock - at % kBlock < kHeader) {
      at = (at / kBlock + 1) * kBlock;
      continue;
    }
    const std::optional<Piece> piece = PieceAt(log, at);
    if (!piece.has_value()) break;
    at = piece->end;
  }
  return std::min(at, log.size());
}

}  // namespace

absl::Status CheckLogTail(std::string_view log, const std::string& name) {
  const size_t end = ReadableEnd(log);
  // What is damaged before the last block RocksDB itself notices.
  if (log.size() - end > 2 * kBlock) return absl::OkStatus();
  for (size_t at = end + 1; at + kHeader <= log.size(); ++at) {
    const std::optional<Piece> piece = PieceAt(log, at);
    if (!piece.has_value() || piece->end == at + kHeader || piece->type > kFirst) continue;
    return absl::DataLossError(
        absl::StrCat(name, " is damaged at byte ", end, ": a whole record follows at byte ", at));
  }
  return absl::OkStatus();
}

absl::Status CheckLogTails(const std::string& folder) {
  const absl::StatusOr<std::string> current = ReadFile(folder + "/CURRENT", 1 << 10);
  if (!current.ok()) return absl::OkStatus();  // a new store, or opening says what is wrong
  const std::string manifest = current->substr(0, current->find('\n'));
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), last; !error && it != last;
       it.increment(error)) {
    const std::string name = it->path().filename();
    if (it->path().extension() != ".log" && name != manifest) continue;
    FM_ASSIGN_OR_RETURN(const std::string log, ReadFile(it->path(), kMaxLogBytes));
    FM_RETURN_IF_ERROR(CheckLogTail(log, it->path()));
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
