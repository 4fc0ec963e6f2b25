// Whether a source of the gate is asked: always, never, or where what it asks is installed.
//
// Thread-safety: plain values.
#ifndef FLEETMARK_AGENT_GATE_SOURCE_MODE_H_
#define FLEETMARK_AGENT_GATE_SOURCE_MODE_H_

namespace fleetmark::agent {

enum class SourceMode { kAuto, kOn, kOff };

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_SOURCE_MODE_H_
