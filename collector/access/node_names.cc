#include "collector/access/node_names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "common/tls/authority.h"

namespace fleetmark::collector {
namespace {

constexpr char kPlace[] = "{node}";

// What people can look for in a certificate, bounded.
std::string Names(const Certificate& certificate) {
  std::vector<std::string> names;
  if (!certificate.common_name.empty()) names.push_back(absl::StrCat("cn:", certificate.common_name));
  for (const std::string& name : certificate.dns_names) names.push_back(absl::StrCat("dns:", name));
  for (const std::string& uri : certificate.uris) names.push_back(absl::StrCat("uri:", uri));
  constexpr size_t kShown = 8;
  if (names.size() > kShown) names.resize(kShown);
  return absl::StrJoin(names, ", ");
}

}  // namespace

absl::StatusOr<NodeNames> NodeNames::Create(const std::vector<std::string>& rules) {
  NodeNames out;
  for (const std::string& text : rules) {
    const size_t colon = text.find(':');
    const std::string kind = text.substr(0, colon);
    Rule rule{};
    if (kind == "uri") {
      rule.kind = Kind::kUri;
    } else if (kind == "dns") {
      rule.kind = Kind::kDns;
    } else if (kind == "cn") {
      rule.kind = Kind::kCommonName;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("'", text, "' must begin with uri:, dns: or cn:"));
    }
    const std::string pattern = colon == std::string::npos ? "" : text.substr(colon + 1);
    const size_t place = pattern.find(kPlace);
    rule.any_node = place == std::string::npos;
    rule.before = pattern.substr(0, place);
    if (!rule.any_node) rule.after = pattern.substr(place + sizeof(kPlace) - 1);
    if (pattern.empty() || absl::StrContains(rule.after, kPlace)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' must have a pattern after the colon, with {node} at most once"));
    }
    out.rules_.push_back(std::move(rule));
  }
  return out;
}

bool NodeNames::Allows(const Rule& rule, const Certificate& certificate, const std::string& node) const {
  const std::string wanted = rule.any_node ? rule.before : absl::StrCat(rule.before, node, rule.after);
  switch (rule.kind) {
    case Kind::kUri:
      for (const std::string& uri : certificate.uris) {
        if (uri == wanted) return true;
      }
      return false;
    case Kind::kDns:
      for (const std::string& name : certificate.dns_names) {
        if (absl::EqualsIgnoreCase(name, wanted)) return true;
      }
      return false;
    case Kind::kCommonName:
      return certificate.common_name == wanted;
  }
  return false;
}

absl::Status NodeNames::Check(const Certificate& certificate, const std::string& node) const {
  // One of ours names its node and no other, whatever else the rules would allow its name.
  if (IsNodes(certificate)) {
    if (NodeOf(certificate) == node) return absl::OkStatus();
  } else {
    for (const Rule& rule : rules_) {
      if (Allows(rule, certificate, node)) return absl::OkStatus();
    }
  }
  return absl::PermissionDeniedError(
      absl::StrCat("the certificate (", Names(certificate), ") is not one of node '", node, "'"));
}

bool NodeNames::IsNodes(const Certificate& certificate) { return !NodeOf(certificate).empty(); }

std::string NodeNames::NodeOf(const Certificate& certificate) {
  for (const std::string& uri : certificate.uris) {
    if (absl::StartsWith(uri, kNodeUriPrefix)) return uri.substr(sizeof(kNodeUriPrefix) - 1);
  }
  return "";
}

}  // namespace fleetmark::collector
