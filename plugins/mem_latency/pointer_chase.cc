#include "plugins/mem_latency/pointer_chase.h"

#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <utility>

namespace fleetmark::mem_latency {
namespace {

struct SizeUnit {
  std::string_view name;
  size_t bytes;
};
constexpr SizeUnit kSizeUnits[] = {
    {"GiB", size_t{1} << 30}, {"MiB", size_t{1} << 20}, {"KiB", size_t{1} << 10}, {"B", 1}};
constexpr size_t kHugePageBytes = size_t{2} << 20;
constexpr size_t kMaxBytes = size_t{64} << 30;

const Line* Walk(const Line* line, size_t loads) {
  for (size_t i = 0; i < loads; i += 8) {
    line = line->next->next->next->next->next->next->next->next;
    asm volatile("" : "+r"(line));  // the loads must happen
  }
  return line;
}

std::optional<size_t> ParseSize(std::string_view text) {
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value == 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  for (const SizeUnit& unit : kSizeUnits) {
    if (text == unit.name && value <= kMaxBytes / unit.bytes) return value * unit.bytes;
  }
  return std::nullopt;
}

}  // namespace

std::vector<uint32_t> RandomCycle(size_t count, uint32_t seed) {
  std::vector<uint32_t> next(count);
  std::iota(next.begin(), next.end(), 0U);
  std::mt19937 random(seed);
  for (size_t i = count; i-- > 1;) {
    // Below i, not up to it: that is what makes one cycle. The product's high half is uniform enough.
    const auto j = static_cast<size_t>((uint64_t{random()} * i) >> 32);
    std::swap(next[i], next[j]);
  }
  return next;
}

std::optional<Chain> Chain::Create(size_t bytes) {
  const size_t count = std::max<size_t>((bytes + kLineBytes - 1) / kLineBytes, 2);
  const size_t mapped_bytes = count * kLineBytes + kHugePageBytes;
  void* memory = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return std::nullopt;
  madvise(memory, mapped_bytes, MADV_HUGEPAGE);  // a wish only
  // The lines begin where a huge page can, or part of them would lie in small pages.
  void* aligned = memory;
  size_t space = mapped_bytes;
  auto* lines = static_cast<Line*>(std::align(kHugePageBytes, count * kLineBytes, aligned, space));
  const std::vector<uint32_t> next = RandomCycle(count, 1);
  for (size_t i = 0; i < count; ++i) lines[i].next = &lines[next[i]];
  return Chain(memory, mapped_bytes, lines, count);
}

Chain::Chain(Chain&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      lines_(other.lines_),
      count_(other.count_) {}

Chain::~Chain() {
  if (memory_ != nullptr) munmap(memory_, mapped_bytes_);
}

bool Chain::IsOneCycle() const {
  const Line* line = lines_;
  for (size_t i = 1; i < count_; ++i) {
    line = line->next;
    if (line == lines_) return false;
  }
  return line->next == lines_;
}

double Chain::MeasureNanoseconds(size_t loads, int repetitions) const {
  using Clock = std::chrono::steady_clock;
  loads = (loads + 7) / 8 * 8;
  const Line* line = Walk(lines_, std::min(count_, loads));
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    const auto begin = Clock::now();
    line = Walk(line, loads);
    const std::chrono::duration<double, std::nano> elapsed = Clock::now() - begin;
    best = std::min(best, elapsed.count() / static_cast<double>(loads));
  }
  return best;
}

std::vector<size_t> ParseSizes(std::string_view text) {
  std::vector<size_t> sizes;
  while (true) {
    const std::string_view item = text.substr(0, text.find(','));
    const std::optional<size_t> size = ParseSize(item);
    if (!size) return {};
    sizes.push_back(*size);
    if (item.size() == text.size()) return sizes;
    text.remove_prefix(item.size() + 1);
  }
}

std::string FormatSize(size_t bytes) {
  const auto* unit = std::find_if(std::begin(kSizeUnits), std::end(kSizeUnits),
                                  [bytes](const SizeUnit& u) { return bytes % u.bytes == 0; });
  return std::to_string(bytes / unit->bytes) + std::string(unit->name);
}

}  // namespace fleetmark::mem_latency
