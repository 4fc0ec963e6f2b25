// Identifiers that sort by time: ULIDs (github.com/ulid/spec), 48 bits of milliseconds and 80 random
// bits in 26 characters of Crockford's base 32.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COMMON_BASE_ULID_H_
#define FLEETMARK_COMMON_BASE_ULID_H_

#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace fleetmark {

std::string NewUlid(absl::Time time);

// The same one each time for the same time and seed: its last 80 bits come from the seed's SHA-256.
std::string UlidFromSeed(absl::Time time, std::string_view seed);

// 26 characters of the alphabet, not above the largest ULID.
bool IsUlid(std::string_view text);

// 32 hex digits from the system's random source.
std::string RandomHex128();

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_BASE_ULID_H_
