// Whether a gRPC caller may use a method for people: AccessControl, asked with what gRPC knows of the caller.
//
// Thread-safety: gRPC's threads call it, several at once.
#ifndef FLEETMARK_COLLECTOR_QUERY_CALLER_CHECK_H_
#define FLEETMARK_COLLECTOR_QUERY_CALLER_CHECK_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "collector/access/access_control.h"

namespace google::protobuf {
class Descriptor;
}
namespace grpc {
class ServerContextBase;
}

namespace fleetmark::collector {

struct CallerCheck {
  AccessControl* access = nullptr;  // null: every caller may
  bool certificates_asked = false;  // by the server's credentials
};

// A call that was let in.
class AdmittedCall {
 public:
  AdmittedCall() = default;
  AdmittedCall(AccessControl& access, const AccessRule& rule, Person person, std::string address)
      : access_(&access), rule_(&rule), person_(std::move(person)), address_(std::move(address)) {}

  const std::string& person() const { return person_.name; }
  // To be called with how it ended.
  void Ended(const absl::Status& status) const;

 private:
  AccessControl* access_ = nullptr;
  const AccessRule* rule_ = nullptr;
  Person person_;
  std::string address_;
};

// `request` is the message that the method takes, by which its rule is found.
absl::StatusOr<AdmittedCall> CheckCaller(const CallerCheck& check, const grpc::ServerContextBase& context,
                                         const google::protobuf::Descriptor* request);

// "ipv4:127.0.0.1:1234" and "ipv6:%5B::1%5D:1234", as gRPC writes peers -> the address alone.
std::string AddressOfPeer(const std::string& peer);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_CALLER_CHECK_H_
