#include "collector/access/people.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "collector/access/node_names.h"
#include "collector/access/people_tokens.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr char kOwnToken[] = "fmt1.";
constexpr size_t kMaxNameBytes = 200;

absl::Status Unauthenticated() {
  return absl::UnauthenticatedError("show a token that is good: Authorization: Bearer TOKEN");
}

std::string NameOf(const Certificate& certificate) {
  if (!certificate.common_name.empty()) return certificate.common_name;
  if (!certificate.uris.empty()) return certificate.uris.front();
  return certificate.dns_names.empty() ? "serial " + certificate.serial : certificate.dns_names.front();
}

}  // namespace

std::string BearerToken(const std::string& authorization) {
  constexpr absl::string_view kScheme = "bearer ";
  if (!absl::StartsWithIgnoreCase(authorization, kScheme)) return "";
  return std::string(absl::StripAsciiWhitespace(absl::string_view(authorization).substr(kScheme.size())));
}

absl::StatusOr<Person> People::ByToken(const std::string& token, std::string* reason) const {
  if (!absl::StartsWith(token, kOwnToken) && options_.foreign_token) {
    return options_.foreign_token(token, reason);
  }
  const absl::StatusOr<TokenEntry> entry = CheckPeopleToken(options_.token_folder, token, clock_.Now());
  if (entry.ok()) return Person{entry->name, entry->role, entry->areas, absl::StrCat("token ", entry->id)};
  *reason = Message(entry.status());
  if (absl::IsPermissionDenied(entry.status())) return Unauthenticated();
  return absl::UnavailableError("tokens can't be checked; the collector's log says why");
}

absl::StatusOr<Person> People::ByCertificate(const Certificate& certificate, std::string* reason) const {
  if (options_.is_revoked && options_.is_revoked(certificate)) {
    *reason = "the certificate is revoked";
    return absl::PermissionDeniedError(*reason);
  }
  if (NodeNames::IsNodes(certificate)) {
    *reason = "a node's certificate is good for the node's results alone";
    return absl::PermissionDeniedError(*reason);
  }
  Person person{NameOf(certificate).substr(0, kMaxNameBytes), Role::kNobody, kEverywhere, "certificate"};
  if (!options_.asked) {
    person.role = Role::kAdmin;
    return person;
  }
  const auto raise = [&](const char* kind, const std::string& name) {
    const auto it = options_.certificates.find(absl::StrCat(kind, name));
    if (it != options_.certificates.end()) person.role = std::max(person.role, it->second);
  };
  raise("cn:", certificate.common_name);
  for (const std::string& name : certificate.dns_names) raise("dns:", name);
  for (const std::string& uri : certificate.uris) raise("uri:", uri);
  return person;
}

Person People::ByProxy(const std::string& user, const std::string& groups) const {
  Person person{user.substr(0, kMaxNameBytes), options_.proxy.otherwise, kEverywhere, "proxy"};
  for (const absl::string_view group : absl::StrSplit(groups, ',')) {
    const auto it = options_.proxy.roles.find(std::string(absl::StripAsciiWhitespace(group)));
    if (it != options_.proxy.roles.end()) person.role = std::max(person.role, it->second);
  }
  return person;
}

absl::StatusOr<Person> People::WhereNobodyIsAsked(const Caller& caller, std::string* reason) const {
  if (caller.certificate != nullptr) return ByCertificate(*caller.certificate, reason);
  if (!caller.certificates_asked) return Person{"", Role::kAdmin, kEverywhere, "nobody is asked"};
  *reason = "no certificate was shown";
  return absl::PermissionDeniedError(*reason);
}

absl::StatusOr<Person> People::Identify(const Caller& caller, std::string* reason) const {
  if (!options_.asked) return WhereNobodyIsAsked(caller, reason);
  if (!caller.bearer.empty()) return ByToken(caller.bearer, reason);
  const auto& proxies = options_.proxy.from;
  const bool of_proxy =
      caller.header && std::any_of(proxies.begin(), proxies.end(),
                                   [&](const AddressRange& range) { return range.Contains(caller.address); });
  if (of_proxy) {
    const std::string user = caller.header(options_.proxy.user_header);
    if (!user.empty()) return ByProxy(user, caller.header(options_.proxy.groups_header));
  }
  if (caller.certificate != nullptr) {
    FM_ASSIGN_OR_RETURN(Person person, ByCertificate(*caller.certificate, reason));
    if (person.role != Role::kNobody || options_.anonymous == Role::kNobody) return person;
  }
  if (options_.anonymous != Role::kNobody) return Person{"", options_.anonymous, kEverywhere, "anonymous"};
  *reason = "nothing was shown";
  return Unauthenticated();
}

}  // namespace fleetmark::collector
