#include "collector/people_config.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace fleetmark::collector {
namespace {

Role ReadRole(YamlValue value) {
  const absl::StatusOr<Role> role = ParseRole(value.String());
  value.Check(role.status());
  return role.ok() ? *role : Role::kNobody;
}

std::map<std::string, Role> ReadRoles(YamlValue section) {
  std::map<std::string, Role> roles;
  for (auto& [name, value] : section.Entries()) roles[name] = ReadRole(value);
  return roles;
}

std::map<std::string, Role> ReadCertificates(YamlValue section) {
  for (auto& [name, value] : section.Entries()) {
    if (!absl::StartsWith(name, "cn:") && !absl::StartsWith(name, "dns:") && !absl::StartsWith(name, "uri:"))
      value.Fault(absl::StrCat("'", name, "' must begin with cn:, dns: or uri:"));
  }
  return ReadRoles(section);
}

TrustedProxy ReadProxy(YamlValue section) {
  TrustedProxy proxy;
  if (!section.present()) return proxy;
  YamlValue from = section.RequiredKey("from");
  for (const std::string& text : from.Strings()) {
    absl::StatusOr<AddressRange> range = AddressRange::Parse(text);
    from.Check(range.status());
    if (range.ok()) proxy.from.push_back(*std::move(range));
  }
  if (from.present() && proxy.from.empty()) from.Fault("must name at least one address");
  const auto header = [&section](const char* key, const char* otherwise) {
    return absl::AsciiStrToLower(section.Key(key).String(otherwise));
  };
  proxy.user_header = header("user_header", "X-Forwarded-User");
  proxy.groups_header = header("groups_header", "X-Forwarded-Groups");
  proxy.roles = ReadRoles(section.Key("roles"));
  YamlValue otherwise = section.Key("otherwise");
  if (otherwise.present()) proxy.otherwise = ReadRole(otherwise);
  section.NoOtherKeys();
  return proxy;
}

}  // namespace

PeopleConfig ReadPeople(YamlValue section, const std::string& data_dir) {
  PeopleConfig config;
  config.token_folder = absl::StrCat(data_dir, "/people");
  config.asked = section.present();
  config.keep_audit = absl::Hours(24 * 730);
  if (!config.asked) return config;
  config.certificates = ReadCertificates(section.Key("certificates"));
  config.proxy = ReadProxy(section.Key("proxy"));
  YamlValue anonymous = section.Key("anonymous");
  if (anonymous.present()) {
    config.anonymous = ReadRole(anonymous);
    if (config.anonymous > Role::kViewer) anonymous.Fault("must be viewer: who acts must be known");
  }
  config.requests_per_second = section.Key("requests_per_second").Double(50, 0.1, 1e6);
  config.keep_audit = section.Key("keep_audit").Duration(config.keep_audit, absl::Hours(24));
  section.NoOtherKeys();
  return config;
}

}  // namespace fleetmark::collector
