// Who may call what: the one table of all HTTP routes and all gRPC methods. What is not in it is refused.
//
// Thread-safety: functions without state; rules live as long as the process.
#ifndef FLEETMARK_COLLECTOR_ACCESS_ACCESS_RULES_H_
#define FLEETMARK_COLLECTOR_ACCESS_ACCESS_RULES_H_

#include <string>
#include <string_view>
#include <vector>

#include "collector/access/role.h"

namespace google::protobuf {
class Descriptor;
}

namespace fleetmark::collector {

struct AccessRule {
  enum class Effect {
    kReads,
    kChanges,  // is in the audit log, each time
    kRecords,  // brings records in, over and over: in the audit log at most once an hour a caller
  };

  std::string method;  // "GET", "POST" or "gRPC"
  // A route's pattern, in which a '*' at the end stands for anything; "/fleetmark.v1.FleetService/GetRun".
  std::string name;
  Role least;  // kNobody: everybody may, or the service itself looks at the caller's certificate
  Areas area = kApi;
  Effect effect = Effect::kReads;
};

// All of them.
const std::vector<AccessRule>& AccessRules();

// Null: there is none.
const AccessRule* HttpRule(std::string_view method, std::string_view pattern);
const AccessRule* GrpcRule(std::string_view method);

// The rule of the gRPC method that takes this message; each takes one of its own.
const AccessRule* GrpcRuleOf(const google::protobuf::Descriptor* request);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACCESS_ACCESS_RULES_H_
