// An outcome in texts, counts and labels of metrics: "ok", "failed", …
//
// Thread-safety: a function without state.
#ifndef FLEETMARK_COMMON_MODEL_OUTCOME_NAME_H_
#define FLEETMARK_COMMON_MODEL_OUTCOME_NAME_H_

#include <string>

#include "fleetmark/v1/types.pb.h"

namespace fleetmark {

std::string OutcomeName(v1::Outcome outcome);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_MODEL_OUTCOME_NAME_H_
