// The bearer tokens of people and programs, as files of one folder, which `fleetmark-collector token` and the
// daemon work on at the same time: a token that was made or revoked counts from the next request on.
//
//   ID   SHA-256 of the secret, end and begin in Unix seconds, role, areas, name: one line, one space between
//
// A token is "fmt1.ID.SECRET", with 256 random bits as the secret, so that a plain digest of it can't be
// guessed back.
//
// Thread-safety: functions without state but the folder, which they block on.
// Errors: those of files; PermissionDenied for a token that is not good, with the reason for the log alone.
#ifndef FLEETMARK_COLLECTOR_ACCESS_PEOPLE_TOKENS_H_
#define FLEETMARK_COLLECTOR_ACCESS_PEOPLE_TOKENS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "collector/access/role.h"

namespace fleetmark::collector {

inline constexpr size_t kMaxPeopleTokens = 10'000;

struct TokenEntry {
  std::string id;
  std::string name;  // whom or what it is for
  Role role = Role::kNobody;
  Areas areas = 0;
  absl::Time created;
  absl::Time expires;
};

// The token. InvalidArgument for a name that is empty, longer than 100 bytes or has a control character;
// ResourceExhausted when the folder is full.
absl::StatusOr<std::string> MakePeopleToken(const std::string& folder, const TokenEntry& entry);

// Whose token it is. Compares in constant time.
absl::StatusOr<TokenEntry> CheckPeopleToken(const std::string& folder, std::string_view token,
                                            absl::Time now);

// By name, then by end; expired ones too. Empty when there is no folder yet.
absl::StatusOr<std::vector<TokenEntry>> ListPeopleTokens(const std::string& folder);

// Removes the token with this id, or all of this name. How many; NotFound: none.
absl::StatusOr<size_t> RevokePeopleTokens(const std::string& folder, const std::string& id_or_name);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACCESS_PEOPLE_TOKENS_H_
