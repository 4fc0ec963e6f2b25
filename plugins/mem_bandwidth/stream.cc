#include "plugins/mem_bandwidth/stream.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>

#include "plugins/sdk/cpp/cpus.h"
#include "plugins/sdk/cpp/json_text.h"

namespace fleetmark::mem_bandwidth {
namespace {

using Time = std::chrono::steady_clock::time_point;

// Between two arrays. Without it their elements lie a power of two apart, and thereby in the same sets of the
// caches and banks of memory: the copy was a tenth slower than that of arrays which malloc gave.
constexpr size_t kGapElements = 4096 / sizeof(double);

// Three arrays in fresh pages, which no thread has touched yet.
class Memory {
 public:
  explicit Memory(size_t elements) : stride_(elements + kGapElements), bytes_(3 * stride_ * sizeof(double)) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  ~Memory() {
    if (ok()) munmap(memory_, bytes_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  bool ok() const { return memory_ != MAP_FAILED; }
  Arrays arrays() const {
    auto* first = static_cast<double*>(memory_);
    return {first, first + stride_, first + 2 * stride_};
  }

 private:
  const size_t stride_;
  const size_t bytes_;
  void* memory_;
};

std::string CheckArray(const char* name, const double* array, size_t elements, double expected) {
  double sum = 0;
  for (size_t i = 0; i < elements; ++i) sum += std::abs(array[i] - expected);
  const double error = sum / static_cast<double>(elements) / std::abs(expected);
  if (error < 1e-13) return "";  // false for a NaN
  return std::string("array ") + name + " is off by " + plugin::JsonNumber(error) + " relative to " +
         plugin::JsonNumber(expected);
}

}  // namespace

std::pair<size_t, size_t> Share(size_t elements, size_t index, size_t count) {
  const auto begin = [&](size_t i) { return elements / count * i + std::min(elements % count, i); };
  return {begin(index), begin(index + 1)};
}

std::string CheckArrays(const Arrays& arrays, size_t elements, int repetitions) {
  const auto [a, b, c] = ExpectedValues(repetitions);
  for (const auto& [name, array, expected] :
       {std::tuple{"a", arrays.a, a}, std::tuple{"b", arrays.b, b}, std::tuple{"c", arrays.c, c}}) {
    std::string error = CheckArray(name, array, elements, expected);
    if (!error.empty()) return error;
  }
  return "";
}

std::optional<StreamResult> RunStream(const StreamOptions& options) {
  const Memory memory(options.elements);
  if (!memory.ok()) return std::nullopt;

  // A kernel lasts from when all threads have ended the one before until all have ended it.
  std::vector<Time> stamps;
  stamps.reserve(static_cast<size_t>(options.repetitions) * kKernels + 1);
  const auto stamp = [&stamps]() noexcept { stamps.push_back(std::chrono::steady_clock::now()); };
  const size_t count = options.cpus.size();
  std::barrier barrier(static_cast<std::ptrdiff_t>(count), stamp);
  std::atomic<bool> pinned = true;
  const auto work = [&](size_t index) {
    if (!plugin::PinThisThread(options.cpus[index])) pinned = false;
    const auto [begin, end] = Share(options.elements, index, count);
    Initialise(memory.arrays(), begin, end);
    barrier.arrive_and_wait();
    for (int i = 0; i < options.repetitions; ++i) {
      for (size_t kernel = 0; kernel < kKernels; ++kernel) {
        RunKernel(static_cast<Kernel>(kernel), memory.arrays(), begin, end);
        barrier.arrive_and_wait();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < count; ++i) threads.emplace_back(work, i);
  }

  StreamResult result;
  result.best_seconds.fill(std::numeric_limits<double>::infinity());
  for (size_t i = kKernels; i + 1 < stamps.size(); ++i) {  // from the second repetition on
    const std::chrono::duration<double> elapsed = stamps[i + 1] - stamps[i];
    double& best = result.best_seconds[i % kKernels];
    best = std::min(best, elapsed.count());
  }
  result.error = pinned ? CheckArrays(memory.arrays(), options.elements, options.repetitions)
                        : "a thread could not be pinned to its CPU";
  return result;
}

}  // namespace fleetmark::mem_bandwidth
