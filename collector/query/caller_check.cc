#include "collector/query/caller_check.h"

#include <google/protobuf/descriptor.h>

#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "grpcpp/server_context.h"

#include "common/base/status.h"
#include "common/net/credentials.h"

namespace fleetmark::collector {
namespace {

constexpr char kAuthorization[] = "authorization";

}  // namespace

std::string AddressOfPeer(const std::string& peer) {
  absl::string_view rest(peer);
  if (!absl::ConsumePrefix(&rest, "ipv4:") && !absl::ConsumePrefix(&rest, "ipv6:")) return peer;
  return absl::StrReplaceAll(rest.substr(0, rest.rfind(':')),
                             {{"%5B", ""}, {"%5D", ""}, {"[", ""}, {"]", ""}});
}

void AdmittedCall::Ended(const absl::Status& status) const {
  if (access_ == nullptr) return;
  Caller caller;
  caller.address = address_;
  access_->Ended(person_, caller, *rule_, rule_->name, status);
}

absl::StatusOr<AdmittedCall> CheckCaller(const CallerCheck& check, const grpc::ServerContextBase& context,
                                         const google::protobuf::Descriptor* request) {
  if (check.access == nullptr) return AdmittedCall();
  Caller caller;
  const auto& metadata = context.client_metadata();
  if (const auto it = metadata.find(kAuthorization); it != metadata.end()) {
    caller.bearer = BearerToken(std::string(it->second.data(), it->second.size()));
  }
  caller.address = AddressOfPeer(context.peer());
  const absl::StatusOr<Certificate> certificate = PeerCertificate(context);
  if (certificate.ok()) caller.certificate = &*certificate;
  caller.certificates_asked = check.certificates_asked;
  const AccessRule* rule = GrpcRuleOf(request);
  const std::string action = rule == nullptr ? std::string(request->full_name()) : rule->name;
  FM_ASSIGN_OR_RETURN(Person person, check.access->Admit(caller, rule, action));
  return AdmittedCall(*check.access, *rule, std::move(person), caller.address);
}

}  // namespace fleetmark::collector
