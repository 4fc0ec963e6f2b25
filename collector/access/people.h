// Who calls: a person or a program, by a bearer token, a trusted reverse proxy's header, or a certificate.
//
// Thread-safety: constant once made; Identify from any thread. It reads a token's file, and waits for nothing
// else. Errors: Unauthenticated, with words for the caller; why exactly goes to `reason`, for the operator.
#ifndef FLEETMARK_COLLECTOR_ACCESS_PEOPLE_H_
#define FLEETMARK_COLLECTOR_ACCESS_PEOPLE_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/access/address_range.h"
#include "collector/access/role.h"
#include "common/base/clock.h"
#include "common/tls/certificate.h"

namespace fleetmark::collector {

struct Person {
  std::string name;  // empty: somebody
  Role role = Role::kNobody;
  Areas areas = 0;
  std::string means;  // how that is known: "token 0123456789abcdef", "certificate", "proxy", …
};

// What a request says of who sent it.
struct Caller {
  std::string bearer;   // a token; empty: none
  std::string address;  // the peer's IP address
  const Certificate* certificate = nullptr;
  // Where certificates are asked for: where people are not asked to show more, they need one.
  bool certificates_asked = false;
  // Of HTTP: a header by its name in lower case. Empty for gRPC.
  std::function<std::string(const std::string&)> header;
};

// A reverse proxy that has asked people who they are. Its headers are taken from its addresses alone.
struct TrustedProxy {
  std::vector<AddressRange> from;
  std::string user_header;  // in lower case
  std::string groups_header;
  std::map<std::string, Role> roles;  // of groups; the highest counts
  Role otherwise = Role::kNobody;     // of users in none of them
};

class People {
 public:
  struct Options {
    bool asked = false;  // false: everybody who can connect is an admin
    std::string token_folder;
    std::map<std::string, Role> certificates;  // "cn:NAME", "dns:NAME" or "uri:NAME"
    TrustedProxy proxy;
    Role anonymous = Role::kNobody;  // of those who show nothing
    std::function<bool(const Certificate&)> is_revoked;
    // Of a bearer token that is not one of ours; empty: there are no others.
    std::function<absl::StatusOr<Person>(const std::string& token, std::string* reason)> foreign_token;
  };
  People(Options options, Clock& clock) : options_(std::move(options)), clock_(clock) {}

  absl::StatusOr<Person> Identify(const Caller& caller, std::string* reason) const;

  bool asked() const { return options_.asked; }

 private:
  absl::StatusOr<Person> ByToken(const std::string& token, std::string* reason) const;
  absl::StatusOr<Person> ByCertificate(const Certificate& certificate, std::string* reason) const;
  Person ByProxy(const std::string& user, const std::string& groups) const;
  absl::StatusOr<Person> WhereNobodyIsAsked(const Caller& caller, std::string* reason) const;

  const Options options_;
  Clock& clock_;
};

// "Bearer X" -> X; empty for anything else.
std::string BearerToken(const std::string& authorization);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACCESS_PEOPLE_H_
