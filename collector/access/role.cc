#include "collector/access/role.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace fleetmark::collector {
namespace {

constexpr std::pair<Role, const char*> kRoles[] = {
    {Role::kViewer, "viewer"}, {Role::kOperator, "operator"}, {Role::kAdmin, "admin"}};
constexpr std::pair<Areas, const char*> kAreas[] = {
    {kApi, "api"}, {kPrometheus, "prometheus"}, {kMetrics, "metrics"}, {kRemoteWrite, "remote_write"}};

}  // namespace

absl::StatusOr<Role> ParseRole(std::string_view text) {
  for (const auto& [role, name] : kRoles) {
    if (text == name) return role;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", std::string(text), "' must be viewer, operator or admin"));
}

std::string RoleName(Role role) {
  for (const auto& [known, name] : kRoles) {
    if (role == known) return name;
  }
  return "nobody";
}

absl::StatusOr<Areas> ParseAreas(std::string_view text) {
  if (text == "all") return kEverywhere;
  Areas areas = 0;
  const std::vector<std::string> parts = absl::StrSplit(std::string(text), ',');
  for (const std::string& part : parts) {
    Areas found = 0;
    for (const auto& [area, name] : kAreas) {
      if (part == name) found = area;
    }
    if (found == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", part, "' must be all, or some of api, prometheus, metrics and remote_write"));
    }
    areas |= found;
  }
  return areas;
}

std::string AreasText(Areas areas) {
  if (areas == kEverywhere) return "all";
  std::vector<std::string> names;
  for (const auto& [area, name] : kAreas) {
    if ((areas & area) != 0) names.emplace_back(name);
  }
  return absl::StrJoin(names, ",");
}

}  // namespace fleetmark::collector
