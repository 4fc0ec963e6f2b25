// Tokens by which a node joins: one file each, named by the token's public half, so that to use one up is to
// remove a file, which succeeds once among however many processes.
//
// A token is "fmj1.ID.SECRET.FINGERPRINT": 16, 64 and 64 hex digits. Of the secret only its SHA-256 is kept:
// 256 random bits need no slower hash. The fingerprint is the authority's: the node checks the server by it.
//
// Thread-safety: all functions, any thread and process.
// Errors: PermissionDenied for tokens that are not good, with a reason that is for the log and not for the
// one who asks.
#ifndef FLEETMARK_COLLECTOR_JOIN_JOIN_TOKENS_H_
#define FLEETMARK_COLLECTOR_JOIN_JOIN_TOKENS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark::collector {

inline constexpr size_t kMaxJoinTokens = 100'000;  // that wait at once

// Makes a token for `node` in `folder`, which is there.
absl::StatusOr<std::string> MakeJoinToken(const std::string& folder, const std::string& node,
                                          const std::string& fingerprint, absl::Time expires);

// OK when the token is one of `node` and has not expired. With the right secret it is used up in any case:
// one that is shown late or by another node has fallen into wrong hands, or soon will.
absl::Status UseJoinToken(const std::string& folder, const std::string& token, const std::string& node,
                          absl::Time now);

// Removes those that have expired, or those of `node` if it is not empty. How many.
absl::StatusOr<size_t> RemoveJoinTokens(const std::string& folder, const std::string& node, absl::Time now);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_JOIN_JOIN_TOKENS_H_
