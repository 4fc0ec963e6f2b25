// Keeps a fact that flaps, and a change of a whole lot of facts at once, from filling the spool with events.
//
// Of one fact at most kEventsPerFact events pass within kWindow of the first; what it did beyond is told by
// one event when that time is over, from the value last told to the present one, with the number of changes.
// Of one look at most kEventsPerLook pass; the last of these then counts and names the rest. What is held
// back is forgotten with the process; the facts themselves are always told whole.
//
// Thread-safety: none; one watcher's.
#ifndef FLEETMARK_AGENT_FACTS_FACT_EVENTS_H_
#define FLEETMARK_AGENT_FACTS_FACT_EVENTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/clock.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::agent {

class FactEventLimiter {
 public:
  static constexpr int kEventsPerFact = 4;
  static constexpr absl::Duration kWindow = absl::Hours(1);
  static constexpr size_t kEventsPerLook = 100;

  // `events`: of one look, at most one a fact. Returns those to tell now.
  std::vector<v1::Event> Limit(std::vector<v1::Event> events, MonoTime now);

 private:
  struct Fact {
    MonoTime window_began;
    int told = 0;
    int held = 0;
    v1::Event summary;  // when any is held
  };

  void Hold(v1::Event event, Fact& fact);
  void TakeDue(MonoTime now, std::vector<v1::Event>& out);

  std::map<std::string, Fact> facts_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_FACTS_FACT_EVENTS_H_
