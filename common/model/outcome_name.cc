#include "common/model/outcome_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace fleetmark {

std::string OutcomeName(v1::Outcome outcome) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::Outcome_Name(outcome), "OUTCOME_"));
}

}  // namespace fleetmark
