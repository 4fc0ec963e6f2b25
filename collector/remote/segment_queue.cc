#include "collector/remote/segment_queue.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kHeaderBytes = 12;  // length, CRC-32C of weight and record, weight; little-endian

constexpr std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
    table[i] = crc;
  }
  return table;
}

uint32_t Crc32c(std::string_view data, uint32_t crc = 0) {
  static constexpr std::array<uint32_t, 256> kTable = MakeCrcTable();
  crc = ~crc;
  for (const char c : data) crc = kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

void PutU32(uint32_t value, std::string* out) {
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

uint32_t GetU32(std::string_view data) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = (value << 8) | static_cast<uint8_t>(data[i]);
  return value;
}

struct RecordView {
  std::string_view record;
  uint32_t weight = 0;
  size_t bytes = 0;  // with its header
};

// The record at the begin of `data`; false when it is cut or broken.
bool ReadRecord(std::string_view data, RecordView* out) {
  if (data.size() < kHeaderBytes) return false;
  const uint32_t length = GetU32(data);
  if (length > SegmentQueue::kMaxRecordBytes || length > data.size() - kHeaderBytes) return false;
  const std::string_view checked = data.substr(8, 4 + length);
  if (Crc32c(checked) != GetU32(data.substr(4))) return false;
  *out = {checked.substr(4), GetU32(checked), kHeaderBytes + length};
  return true;
}

absl::Status WriteAll(int fd, std::string_view data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t written = write(fd, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(errno, absl::StrCat("write ", path));
    data.remove_prefix(static_cast<size_t>(written));
  }
  if (fdatasync(fd) != 0) return ErrnoStatus(errno, absl::StrCat("fdatasync ", path));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SegmentQueue>> SegmentQueue::Open(const Options& options) {
  FM_RETURN_IF_ERROR(MakeFolders(options.folder, 0750));
  std::unique_ptr<SegmentQueue> queue(new SegmentQueue(options));
  FM_RETURN_IF_ERROR(queue->Recover());
  return queue;
}

std::string SegmentQueue::PathOf(uint64_t number) const {
  return absl::StrFormat("%s/%020d.seg", options_.folder, number);
}

absl::Status SegmentQueue::Recover() {
  MutexLock lock(mu_);
  const absl::StatusOr<std::string> saved = ReadFile(options_.folder + "/position", 64);
  if (saved.ok()) {
    const std::vector<std::string> words = absl::StrSplit(*saved, absl::ByAnyChar(" \n"));
    if (words.size() < 2 || !absl::SimpleAtoi(words[0], &taken_.segment) ||
        !absl::SimpleAtoi(words[1], &taken_.offset)) {
      return absl::DataLossError(absl::StrCat(options_.folder, "/position can't be read"));
    }
  } else if (!absl::IsNotFound(saved.status())) {
    return saved.status();
  }
  std::vector<uint64_t> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder, error)) {
    uint64_t number = 0;
    if (entry.path().extension() == ".seg" && absl::SimpleAtoi(entry.path().stem().string(), &number)) {
      numbers.push_back(number);
    }
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("list ", options_.folder));
  std::sort(numbers.begin(), numbers.end());
  for (const uint64_t number : numbers) FM_RETURN_IF_ERROR(RecoverSegment(number, number == numbers.back()));
  if (!segments_.empty() && taken_.segment < segments_.front().number) taken_ = {segments_.front().number, 0};
  return BeginSegment();
}

// Counts what is in a segment. The last one may end in a record that a crash cut off, which nobody was told
// is safe; one that is broken elsewhere loses what comes after it.
absl::Status SegmentQueue::RecoverSegment(uint64_t number, bool last) {
  const std::string path = PathOf(number);
  if (number < taken_.segment) {
    unlink(path.c_str());
    return absl::OkStatus();
  }
  FM_ASSIGN_OR_RETURN(const std::string data,
                      ReadFile(path, options_.segment_bytes + kMaxRecordBytes + kHeaderBytes));
  Segment segment{.number = number};
  RecordView record;
  while (ReadRecord(std::string_view(data).substr(segment.bytes), &record)) {
    if (Position{number, segment.bytes} >= taken_) segment.weight += record.weight;
    segment.bytes += record.bytes;
  }
  if (segment.bytes < data.size()) {
    if (!last) ++dropped_weight_;  // at least one; how much more was there can't be known
    if (truncate(path.c_str(), static_cast<off_t>(segment.bytes)) != 0) {
      return ErrnoStatus(errno, absl::StrCat("truncate ", path));
    }
  }
  segments_.push_back(segment);
  return absl::OkStatus();
}

absl::Status SegmentQueue::BeginSegment() {
  const uint64_t number = std::max(taken_.segment, segments_.empty() ? 0 : segments_.back().number) + 1;
  const std::string path = PathOf(number);
  UniqueFd fd(open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_CLOEXEC, 0640));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("create ", path));
  const UniqueFd folder(open(options_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid() || fsync(folder.get()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("sync ", options_.folder));
  }
  writing_ = std::move(fd);
  segments_.push_back({.number = number});
  return absl::OkStatus();
}

void SegmentQueue::DropFront() {
  dropped_weight_ += segments_.front().weight;
  unlink(PathOf(segments_.front().number).c_str());
  segments_.pop_front();
  if (taken_.segment < segments_.front().number) taken_ = {segments_.front().number, 0};
}

absl::Status SegmentQueue::Append(std::string_view record, uint32_t weight) {
  if (record.size() > kMaxRecordBytes) return absl::InvalidArgumentError("the record is too large");
  std::string checked;
  PutU32(weight, &checked);
  checked.append(record);
  std::string bytes;
  PutU32(static_cast<uint32_t>(record.size()), &bytes);
  PutU32(Crc32c(checked), &bytes);
  bytes += checked;
  MutexLock lock(mu_);
  if (segments_.back().bytes >= options_.segment_bytes) FM_RETURN_IF_ERROR(BeginSegment());
  uint64_t total = bytes.size();
  for (const Segment& segment : segments_) total += segment.bytes;
  while (total > options_.max_bytes && segments_.size() > 1) {
    total -= segments_.front().bytes;
    DropFront();
  }
  Segment& last = segments_.back();
  if (absl::Status written = WriteAll(writing_.get(), bytes, PathOf(last.number)); !written.ok()) {
    // Nothing of it may stay: the next record would come after half a one.
    if (ftruncate(writing_.get(), static_cast<off_t>(last.bytes)) != 0) {
      return Annotate(written, "and what was written of it can't be taken back");
    }
    return written;
  }
  last.bytes += bytes.size();
  last.weight += weight;
  return absl::OkStatus();
}

absl::StatusOr<SegmentQueue::Batch> SegmentQueue::Peek(uint64_t max_weight, size_t max_bytes) {
  Batch batch;
  size_t bytes = 0;
  MutexLock lock(mu_);
  batch.end = taken_;
  for (const Segment& segment : segments_) {
    if (segment.number < batch.end.segment) continue;
    if (segment.number > batch.end.segment) batch.end = {segment.number, 0};
    if (batch.end.offset >= segment.bytes) continue;
    FM_ASSIGN_OR_RETURN(const std::string data, ReadFile(PathOf(segment.number), segment.bytes));
    RecordView record;
    while (ReadRecord(std::string_view(data).substr(batch.end.offset), &record)) {
      const bool full = batch.weight + record.weight > max_weight || bytes + record.record.size() > max_bytes;
      if (full && !batch.records.empty()) return batch;
      batch.records.emplace_back(record.record);
      batch.weight += record.weight;
      bytes += record.record.size();
      batch.end.offset += record.bytes;
    }
    if (batch.end.offset < segment.bytes) batch.end.offset = segment.bytes;  // broken since it was written
  }
  return batch;
}

absl::Status SegmentQueue::Advance(const Position& end) {
  MutexLock lock(mu_);
  if (end <= taken_) return absl::OkStatus();
  for (Segment& segment : segments_) {
    if (segment.number > end.segment) break;
    if (segment.number == end.segment && end.offset < segment.bytes) {
      FM_ASSIGN_OR_RETURN(const std::string data, ReadFile(PathOf(segment.number), segment.bytes));
      segment.weight = 0;
      RecordView record;
      for (size_t at = end.offset; ReadRecord(std::string_view(data).substr(at), &record);
           at += record.bytes) {
        segment.weight += record.weight;
      }
      break;
    }
    segment.weight = 0;
  }
  taken_ = end;
  FM_RETURN_IF_ERROR(SavePosition());
  while (segments_.size() > 1 && segments_.front().number < taken_.segment) DropFront();
  return absl::OkStatus();
}

absl::Status SegmentQueue::SavePosition() {
  return ReplaceFile(options_.folder + "/position", absl::StrCat(taken_.segment, " ", taken_.offset, "\n"),
                     0640);
}

uint64_t SegmentQueue::bytes() const {
  MutexLock lock(mu_);
  uint64_t total = 0;
  for (const Segment& segment : segments_) total += segment.bytes;
  return total;
}

uint64_t SegmentQueue::pending_weight() const {
  MutexLock lock(mu_);
  uint64_t total = 0;
  for (const Segment& segment : segments_) total += segment.weight;
  return total;
}

uint64_t SegmentQueue::dropped_weight() const {
  MutexLock lock(mu_);
  return dropped_weight_;
}

}  // namespace fleetmark::collector
