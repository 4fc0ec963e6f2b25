// What other systems are told of an action: its reason, in words that every one of them takes.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_ACTION_ACTION_TEXT_H_
#define FLEETMARK_COLLECTOR_ACTION_ACTION_TEXT_H_

#include <string>
#include <string_view>

#include "absl/time/time.h"

#include "fleetmark/v1/action.pb.h"
#include "fleetmark/v1/alert.pb.h"

namespace fleetmark::collector {

// Gives the action its id and its reason: "fleetmark ACTION: title; finding FINDING". The action's id makes
// it the only one of its kind, and the finding says where to read on.
void NameAction(const v1::Alert& alert, absl::Time now, v1::Action* action);

// Printable ASCII without what Slurm's own output uses around a reason; at most `max_bytes`.
std::string PlainText(std::string_view text, size_t max_bytes);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACTION_ACTION_TEXT_H_
