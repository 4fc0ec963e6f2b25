// gRPC's timers, run by one thread of ours that sleeps until one is due.
//
// gRPC 1.51 has two sets of timers, each with threads that wake about once a second for each two processors
// whether a timer is due or not: most of what an agent at rest costs (docs/footprint.md). Here
//   - those of its event engine are kept by deadline, and nobody wakes before the first one;
//   - those of its core are looked at by the same thread, every quarter of a second while something is under
//     way that waits for them, every 15 s otherwise. They fire that much late: they are the deadlines
//     of calls and connections, and the keepalive.
//
// Thread-safety: all methods, any thread. Ownership: lives as long as the process, as gRPC uses it until
// then.
#ifndef FLEETMARK_AGENT_UPLOAD_GRPC_TIMERS_H_
#define FLEETMARK_AGENT_UPLOAD_GRPC_TIMERS_H_

#include "common/base/clock.h"

namespace fleetmark::agent {

class GrpcTimers {
 public:
  // The process's; made by the first call, which must come before gRPC is used.
  static GrpcTimers& TakeOver(Clock& clock);

  // Something is under way that waits for a deadline of gRPC, until this is destroyed.
  class Exact {
   public:
    explicit Exact(GrpcTimers& timers);
    ~Exact();
    Exact(const Exact&) = delete;
    Exact& operator=(const Exact&) = delete;

   private:
    GrpcTimers& timers_;
  };

 private:
  struct Impl;
  class Engine;
  explicit GrpcTimers(Clock& clock);
  Impl* const impl_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_UPLOAD_GRPC_TIMERS_H_
