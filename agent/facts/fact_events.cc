#include "agent/facts/fact_events.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kNamesBytes = 2000;

// The events from `from` on as one.
v1::Event Rest(const std::vector<v1::Event>& events, size_t from) {
  v1::Event rest = events[from];
  std::string names;
  for (size_t i = from; i < events.size() && names.size() < kNamesBytes; ++i) {
    absl::StrAppend(&names, i == from ? "" : ", ", events[i].subject());
  }
  rest.set_subject("facts");
  rest.clear_old_value();
  rest.clear_new_value();
  rest.set_message(absl::StrCat(events.size() - from, " other facts changed: ", names));
  return rest;
}

}  // namespace

std::vector<v1::Event> FactEventLimiter::Limit(std::vector<v1::Event> events, MonoTime now) {
  std::vector<v1::Event> out;
  TakeDue(now, out);
  for (v1::Event& event : events) {
    Fact& fact = facts_.try_emplace(event.subject(), Fact{now}).first->second;
    if (fact.told < kEventsPerFact) {
      ++fact.told;
      out.push_back(std::move(event));
    } else {
      Hold(std::move(event), fact);
    }
  }
  if (out.size() <= kEventsPerLook) return out;
  out[kEventsPerLook - 1] = Rest(out, kEventsPerLook - 1);
  out.resize(kEventsPerLook);
  return out;
}

void FactEventLimiter::Hold(v1::Event event, Fact& fact) {
  const std::string last_told = fact.held == 0 ? event.old_value() : fact.summary.old_value();
  ++fact.held;
  fact.summary = std::move(event);
  fact.summary.set_old_value(last_told);
  fact.summary.set_message(absl::StrCat(fact.summary.subject(), " changed ", fact.held,
                                        " more times within an hour, from ", last_told, " to ",
                                        fact.summary.new_value()));
}

// Ends the windows that are over.
void FactEventLimiter::TakeDue(MonoTime now, std::vector<v1::Event>& out) {
  for (auto it = facts_.begin(); it != facts_.end();) {
    if (now - it->second.window_began < kWindow) {
      ++it;
      continue;
    }
    if (it->second.held > 0) out.push_back(std::move(it->second.summary));
    it = facts_.erase(it);
  }
}

}  // namespace fleetmark::agent
