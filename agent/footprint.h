// What keeps an agent at rest small: fewer of gRPC's wake-ups, and memory given back that only a start, a run
// or a look at the facts needs. docs/footprint.md has the figures.
#ifndef FLEETMARK_AGENT_FOOTPRINT_H_
#define FLEETMARK_AGENT_FOOTPRINT_H_

namespace fleetmark::agent {

// Settings of gRPC by its environment variables, unless somebody has set them.
// Thread-safety: before any thread starts and before gRPC is used.
void QuietGrpc();

// Gives free heap, and the pages of programs' text and constants that are mapped, back to the kernel. The
// latter come back from the page cache, a few microseconds each, when they are used again. Takes milliseconds.
// Thread-safety: any thread.
void ReleaseIdleMemory();

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_FOOTPRINT_H_
