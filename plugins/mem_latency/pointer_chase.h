// The time of a load that depends on the one before it: a walk through a random cycle over cache lines.
//
// Thread-safety: a Chain belongs to one thread.
#ifndef FLEETMARK_PLUGINS_MEM_LATENCY_POINTER_CHASE_H_
#define FLEETMARK_PLUGINS_MEM_LATENCY_POINTER_CHASE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fleetmark::mem_latency {

inline constexpr size_t kLineBytes = 64;

struct alignas(kLineBytes) Line {
  const Line* next;
};

// Element i is the index that follows i; all `count` elements are one cycle (Sattolo's algorithm).
std::vector<uint32_t> RandomCycle(size_t count, uint32_t seed);

// Memory of lines linked into one random cycle. Huge pages are asked for, so that the time is that of the
// cache or memory and not of the page tables.
class Chain {
 public:
  // `bytes` is rounded up to whole lines, at least two. Empty if there is not the memory.
  static std::optional<Chain> Create(size_t bytes);
  Chain(Chain&& other) noexcept;
  Chain& operator=(Chain&&) = delete;
  ~Chain();

  // Does the walk come back to its start after each line was visited, and not before?
  bool IsOneCycle() const;

  // Nanoseconds a load: the least of `repetitions` walks of at least `loads` loads each, after one that
  // fills the cache.
  double MeasureNanoseconds(size_t loads, int repetitions) const;

 private:
  Chain(void* memory, size_t mapped_bytes, const Line* lines, size_t count)
      : memory_(memory), mapped_bytes_(mapped_bytes), lines_(lines), count_(count) {}

  void* memory_;  // owned
  size_t mapped_bytes_;
  const Line* lines_;  // in it
  size_t count_;
};

// "16KiB,8MiB" is 16384, 8388608. Empty if it isn't a list of sizes in B, KiB, MiB or GiB.
std::vector<size_t> ParseSizes(std::string_view text);

// The largest unit that is exact: "16KiB".
std::string FormatSize(size_t bytes);

}  // namespace fleetmark::mem_latency

#endif  // FLEETMARK_PLUGINS_MEM_LATENCY_POINTER_CHASE_H_
