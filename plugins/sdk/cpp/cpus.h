// The CPUs that this process may use. Header only. Thread-safety: functions without state.
#ifndef FLEETMARK_PLUGINS_SDK_CPP_CPUS_H_
#define FLEETMARK_PLUGINS_SDK_CPP_CPUS_H_

#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <cstddef>
#include <vector>

namespace fleetmark::plugin {

// In ascending order; empty if the system won't say. Works on machines with more than 1024 CPUs.
inline std::vector<int> AllowedCpus() {
  std::vector<int> cpus;
  for (int limit = 1024; limit <= 1 << 20; limit *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(limit));
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(limit));
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; ok && cpu < limit; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (ok || errno != EINVAL) break;
  }
  return cpus;
}

// False if the system refuses.
inline bool PinThisThread(int cpu) {
  const size_t count = static_cast<size_t>(cpu) + 1;
  cpu_set_t* set = CPU_ALLOC(count);
  const size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(static_cast<size_t>(cpu), bytes, set);
  const int error = pthread_setaffinity_np(pthread_self(), bytes, set);
  CPU_FREE(set);
  return error == 0;
}

}  // namespace fleetmark::plugin

#endif  // FLEETMARK_PLUGINS_SDK_CPP_CPUS_H_
