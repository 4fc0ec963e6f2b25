#include "plugins/core_to_core/ping_pong.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "plugins/sdk/cpp/cpus.h"

namespace fleetmark::core_to_core {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{10};
constexpr uint64_t kSpinsBetweenLooks = 1 << 16;  // at the clock
constexpr size_t kLine = 128;                     // two lines: neighbours are fetched together

struct Shared {
  alignas(kLine) std::atomic<uint64_t> ball{0};
  alignas(kLine) std::atomic<int> pinned{0};
  alignas(kLine) std::atomic<int> fault{0};
};

void Report(Fault fault, Shared& shared) {
  int none = 0;
  shared.fault.compare_exchange_strong(none, static_cast<int>(fault));
}

// Waits until the ball shows `expected`. False after a fault.
bool Await(uint64_t expected, uint64_t before, SteadyClock::time_point deadline, Shared& shared) {
  for (uint64_t spins = 1;; ++spins) {
    const uint64_t seen = shared.ball.load(std::memory_order_acquire);
    if (seen == expected) return true;
    if (seen != before) {
      Report(Fault::kWrong, shared);
      return false;
    }
    if (spins % kSpinsBetweenLooks != 0) continue;
    if (shared.fault.load(std::memory_order_relaxed) != 0) return false;
    if (SteadyClock::now() > deadline) {
      Report(Fault::kTooSlow, shared);
      return false;
    }
  }
}

// Both sides begin once both are on their CPUs.
bool TakePlace(int cpu, SteadyClock::time_point deadline, Shared& shared) {
  if (!plugin::PinThisThread(cpu)) Report(Fault::kNotPinned, shared);
  shared.pinned.fetch_add(1);
  while (shared.pinned.load() < 2 && SteadyClock::now() < deadline) std::this_thread::yield();
  return shared.fault.load() == 0;
}

// Answers each odd number with the next even one.
void Answer(int cpu, int64_t rounds, SteadyClock::time_point deadline, Shared& shared) {
  if (!TakePlace(cpu, deadline, shared)) return;
  for (uint64_t round = 0; round < static_cast<uint64_t>(rounds); ++round) {
    if (!Await(2 * round + 1, 2 * round, deadline, shared)) return;
    shared.ball.store(2 * round + 2, std::memory_order_release);
  }
}

double Serve(int cpu, int64_t rounds, SteadyClock::time_point deadline, Shared& shared) {
  if (!TakePlace(cpu, deadline, shared)) return 0;
  const auto begin = SteadyClock::now();
  for (uint64_t round = 0; round < static_cast<uint64_t>(rounds); ++round) {
    shared.ball.store(2 * round + 1, std::memory_order_release);
    if (!Await(2 * round + 2, 2 * round + 1, deadline, shared)) return 0;
  }
  const std::chrono::duration<double, std::nano> taken = SteadyClock::now() - begin;
  return taken.count() / (2.0 * static_cast<double>(rounds));
}

PairResult MeasureOnce(Pair pair, int64_t rounds) {
  Shared shared;
  const auto deadline = SteadyClock::now() + kPatience;
  double nanoseconds = 0;
  std::thread other([&] { Answer(pair.second, rounds, deadline, shared); });
  std::thread own([&] { nanoseconds = Serve(pair.first, rounds, deadline, shared); });
  own.join();
  other.join();
  const auto fault = static_cast<Fault>(shared.fault.load());
  if (fault != Fault::kNone) return {fault, 0};
  if (shared.ball.load() != 2 * static_cast<uint64_t>(rounds)) return {Fault::kWrong, 0};
  return {Fault::kNone, nanoseconds};
}

}  // namespace

std::vector<Pair> ChoosePairs(const std::vector<int>& cpus, size_t most) {
  const size_t n = cpus.size();
  const size_t all = n < 2 ? 0 : n * (n - 1) / 2;
  const size_t taken = std::min(all, most);
  std::vector<Pair> pairs;
  size_t index = 0;
  for (size_t i = 0; i < n && pairs.size() < taken; ++i) {
    for (size_t k = i + 1; k < n && pairs.size() < taken; ++k, ++index) {
      if (index == pairs.size() * all / taken) pairs.emplace_back(cpus[i], cpus[k]);
    }
  }
  return pairs;
}

PairResult MeasurePair(Pair pair, int64_t rounds, int repetitions) {
  PairResult best;
  for (int i = 0; i < repetitions; ++i) {
    const PairResult one = MeasureOnce(pair, rounds);
    if (one.fault != Fault::kNone) return one;
    if (i == 0 || one.nanoseconds < best.nanoseconds) best = one;
  }
  return best;
}

}  // namespace fleetmark::core_to_core
