#include "collector/join/ca_commands.h"

#include <cinttypes>
#include <cstdio>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/daemon/data_owner.h"
#include "common/daemon/program.h"

ABSL_FLAG(absl::Duration, valid, absl::Hours(1), "of `ca token`: how long the node has to join");

namespace fleetmark::collector {
namespace {

constexpr char kUsage[] = "the commands are: ca init NAME..., ca token NODE, ca revoke NODE, ca list";
constexpr absl::Duration kLongestValid = absl::Hours(24 * 30);

int Init(AuthorityFolder& authority, const std::vector<std::string>& names, const std::string& folder) {
  if (const absl::Status status = authority.Init(names); !status.ok()) return Fail(status, kExitFailed);
  printf("the authority's certificate is %s; who can read the folder beside it can pose as any node\n",
         AuthorityFolder::ServerFiles(folder).ca.c_str());
  return kExitOk;
}

int Token(AuthorityFolder& authority, const std::string& node) {
  const absl::Duration valid = absl::GetFlag(FLAGS_valid);
  if (valid <= absl::ZeroDuration() || valid > kLongestValid) {
    return Fail(absl::InvalidArgumentError("--valid must be above 0 and at most 720h"), kExitUsage);
  }
  const absl::StatusOr<std::string> token = authority.NewToken(node, valid);
  if (!token.ok()) return Fail(token.status(), kExitFailed);
  printf("%s\n", token->c_str());
  return kExitOk;
}

int Revoke(AuthorityFolder& authority, const std::string& node) {
  const absl::StatusOr<size_t> revoked = authority.Revoke(node);
  if (!revoked.ok()) return Fail(revoked.status(), kExitFailed);
  printf("%zu certificates of node %s are revoked\n", *revoked, node.c_str());
  return kExitOk;
}

int List(const AuthorityFolder& authority) {
  const auto all = authority.List();
  if (!all.ok()) return Fail(all.status(), kExitFailed);
  for (const auto& c : *all) {
    printf("%s %s %s\n", c.node.c_str(), c.serial.c_str(),
           absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", c.not_after, absl::UTCTimeZone()).c_str());
  }
  return kExitOk;
}

}  // namespace

int RunCaCommand(const std::vector<std::string>& arguments, const AuthorityFolder::Options& options,
                 const std::string& data_dir) {
  if (options.folder.empty()) {
    return Fail(absl::FailedPreconditionError("the configuration has no section `authority`"), kExitConfig);
  }
  if (const absl::Status status = BecomeOwner(data_dir); !status.ok()) return Fail(status, kExitFailed);
  AuthorityFolder authority(options, RealClock());
  const std::string command = arguments.empty() ? "" : arguments.front();
  const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (command == "init" && !rest.empty()) return Init(authority, rest, options.folder);
  if (command == "token" && rest.size() == 1) return Token(authority, rest[0]);
  if (command == "revoke" && rest.size() == 1) return Revoke(authority, rest[0]);
  if (command == "list" && rest.empty()) return List(authority);
  return Fail(absl::InvalidArgumentError(kUsage), kExitUsage);
}

}  // namespace fleetmark::collector
