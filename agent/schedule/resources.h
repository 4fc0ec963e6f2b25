// What a run needs for itself while it measures.
//
// Thread-safety: plain values.
#ifndef FLEETMARK_AGENT_SCHEDULE_RESOURCES_H_
#define FLEETMARK_AGENT_SCHEDULE_RESOURCES_H_

#include <cstdint>

namespace fleetmark::agent {

enum class Claim { kNone, kShared, kExclusive };

struct Claims {
  Claim cpu = Claim::kNone;
  Claim gpu = Claim::kNone;
  Claim disk = Claim::kNone;
  Claim net = Claim::kNone;
  uint64_t gpus = ~uint64_t{0};  // which GPUs: bit n is gpu n, the last bit all from 63 on
};

// The name of a resource that keeps these two from overlapping; null when they may. Two that claim the same
// may overlap only if both share it.
inline const char* Conflict(const Claims& a, const Claims& b) {
  const auto excludes = [](Claim x, Claim y) {
    return x != Claim::kNone && y != Claim::kNone && (x == Claim::kExclusive || y == Claim::kExclusive);
  };
  if (excludes(a.cpu, b.cpu)) return "cpu";
  if ((a.gpus & b.gpus) != 0 && excludes(a.gpu, b.gpu)) return "gpu";
  if (excludes(a.disk, b.disk)) return "disk";
  if (excludes(a.net, b.net)) return "net";
  return nullptr;
}

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_SCHEDULE_RESOURCES_H_
