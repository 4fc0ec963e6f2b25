#include "collector/access/token_commands.h"

#include <cstdio>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"

#include "collector/access/people_tokens.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/config/quantities.h"
#include "common/daemon/data_owner.h"
#include "common/daemon/program.h"

ABSL_FLAG(std::string, role, "viewer", "of `token create`: viewer, operator or admin");
ABSL_FLAG(std::string, scope, "all",
          "of `token create`: all, or some of api, prometheus, metrics and remote_write with commas");
ABSL_FLAG(std::string, expires, "90d", "of `token create`: for how long it is good, at most 366d");

namespace fleetmark::collector {
namespace {

constexpr char kUsage[] = "the commands are: token create NAME, token list, token revoke ID_OR_NAME";
constexpr absl::Duration kLongest = absl::Hours(24 * 366);

absl::StatusOr<TokenEntry> ReadFlags(const std::string& name) {
  TokenEntry entry;
  entry.name = name;
  FM_ASSIGN_OR_RETURN(entry.role, ParseRole(absl::GetFlag(FLAGS_role)));
  FM_ASSIGN_OR_RETURN(entry.areas, ParseAreas(absl::GetFlag(FLAGS_scope)));
  FM_ASSIGN_OR_RETURN(const absl::Duration valid, ParseDuration(absl::GetFlag(FLAGS_expires)));
  if (valid <= absl::ZeroDuration() || valid > kLongest) {
    return absl::InvalidArgumentError("--expires must be above 0 and at most 366d");
  }
  entry.created = RealClock().Now();
  entry.expires = entry.created + valid;
  return entry;
}

int Create(const TokenCommandOptions& options, const std::string& name) {
  const absl::StatusOr<TokenEntry> entry = ReadFlags(name);
  if (!entry.ok()) return Fail(entry.status(), kExitUsage);
  const absl::StatusOr<std::string> token = MakePeopleToken(options.folder, *entry);
  if (!token.ok()) return Fail(token.status(), kExitFailed);
  printf("%s\n", token->c_str());
  if (!options.asked) {
    fprintf(stderr, "nobody is asked for it yet: the configuration has no section `people`\n");
  }
  return kExitOk;
}

int List(const std::string& folder) {
  const auto all = ListPeopleTokens(folder);
  if (!all.ok()) return Fail(all.status(), kExitFailed);
  for (const TokenEntry& entry : *all) {
    printf("%s %-8s %-12s %s%s %s\n", entry.id.c_str(), RoleName(entry.role).c_str(),
           AreasText(entry.areas).c_str(),
           absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", entry.expires, absl::UTCTimeZone()).c_str(),
           entry.expires <= RealClock().Now() ? " (expired)" : "", entry.name.c_str());
  }
  return kExitOk;
}

int Revoke(const std::string& folder, const std::string& id_or_name) {
  const absl::StatusOr<size_t> revoked = RevokePeopleTokens(folder, id_or_name);
  if (!revoked.ok()) return Fail(revoked.status(), kExitFailed);
  printf("revoked: %zu\n", *revoked);
  return kExitOk;
}

}  // namespace

int RunTokenCommand(const std::vector<std::string>& arguments, const TokenCommandOptions& options) {
  if (const absl::Status status = BecomeOwner(options.data_dir); !status.ok()) {
    return Fail(status, kExitFailed);
  }
  const std::string command = arguments.empty() ? "" : arguments.front();
  if (command == "create" && arguments.size() == 2) return Create(options, arguments[1]);
  if (command == "list" && arguments.size() == 1) return List(options.folder);
  if (command == "revoke" && arguments.size() == 2) return Revoke(options.folder, arguments[1]);
  return Fail(absl::InvalidArgumentError(kUsage), kExitUsage);
}

}  // namespace fleetmark::collector
