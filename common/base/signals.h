// Signals as a thing that main waits for, never as a handler that interrupts other code.
//
// Thread-safety: Block before any other thread is started, so that all inherit the mask; WaitFor from
// main alone.
#ifndef FLEETMARK_COMMON_BASE_SIGNALS_H_
#define FLEETMARK_COMMON_BASE_SIGNALS_H_

#include <initializer_list>

#include "absl/time/time.h"

namespace fleetmark {

// Blocks these signals for the calling thread and all that it starts later; ignores SIGPIPE.
void BlockSignals(std::initializer_list<int> signals);

// Waits until one of the blocked signals arrives and returns it; 0 after `timeout`.
int WaitForSignal(std::initializer_list<int> signals, absl::Duration timeout);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_BASE_SIGNALS_H_
