// Which node a certificate speaks for.
#include "collector/access/node_names.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

using testing::HasSubstr;

Certificate With(std::string cn, std::vector<std::string> dns, std::vector<std::string> uris) {
  Certificate out;
  out.common_name = std::move(cn);
  out.dns_names = std::move(dns);
  out.uris = std::move(uris);
  return out;
}

NodeNames Rules(const std::vector<std::string>& rules) { return NodeNames::Create(rules).value(); }

TEST(NodeNames, TheDefaultTakesDnsAndCommonName) {
  const NodeNames names = Rules(NodeNames::DefaultRules());
  EXPECT_TRUE(names.Check(With("", {"x", "N1"}, {}), "n1").ok());
  EXPECT_TRUE(names.Check(With("n1", {}, {}), "n1").ok());
  EXPECT_FALSE(names.Check(With("n1", {}, {}), "n2").ok());
  EXPECT_FALSE(names.Check(With("", {}, {"n1"}), "n1").ok());
  EXPECT_FALSE(names.Check(With("n1.example.org", {}, {}), "n1").ok());
  const absl::Status refused = names.Check(With("n1", {"a.b"}, {"u:v"}), "n2");
  EXPECT_TRUE(absl::IsPermissionDenied(refused));
  EXPECT_THAT(Message(refused), HasSubstr("cn:n1, dns:a.b, uri:u:v"));
}

TEST(NodeNames, APatternSurroundsTheName) {
  const NodeNames spiffe = Rules({"uri:spiffe://example.org/node/{node}/agent"});
  EXPECT_TRUE(spiffe.Check(With("", {}, {"spiffe://example.org/node/n1/agent"}), "n1").ok());
  EXPECT_FALSE(spiffe.Check(With("", {}, {"spiffe://example.org/node/n1"}), "n1").ok());
  EXPECT_FALSE(spiffe.Check(With("", {"spiffe://example.org/node/n1/agent"}, {}), "n1").ok());
  EXPECT_FALSE(spiffe.Check(With("n1", {"n1"}, {}), "n1").ok());
}

TEST(NodeNames, OneWithoutTheNameIsGoodForAll) {
  const NodeNames shared = Rules({"dns:fleetmark-agent"});
  EXPECT_TRUE(shared.Check(With("", {"fleetmark-agent"}, {}), "n1").ok());
  EXPECT_TRUE(shared.Check(With("", {"fleetmark-agent"}, {}), "n2").ok());
  EXPECT_FALSE(shared.Check(With("", {"other"}, {}), "n1").ok());
}

TEST(NodeNames, OneOfOurAuthorityIsItsNodesWhateverTheRulesSay) {
  for (const NodeNames& names : {Rules({}), Rules({"cn:{node}"}), Rules({"cn:n1"})}) {
    const Certificate ours = With("n1", {}, {"fleetmark:node:n1"});
    EXPECT_TRUE(names.Check(ours, "n1").ok());
    EXPECT_FALSE(names.Check(ours, "n2").ok());
    EXPECT_FALSE(names.Check(With("n2", {}, {"fleetmark:node:n1"}), "n2").ok());
  }
  EXPECT_TRUE(NodeNames::IsNodes(With("", {}, {"fleetmark:node:n1"})));
  EXPECT_FALSE(NodeNames::IsNodes(With("n1", {"n1"}, {"spiffe://n1"})));
}

TEST(NodeNames, WrongRulesAreFaults) {
  for (const char* rule : {"", "dns", "dns:", "ip:{node}", "{node}", "cn:{node}{node}"}) {
    EXPECT_FALSE(NodeNames::Create({rule}).ok()) << rule;
  }
}

}  // namespace
}  // namespace fleetmark::collector
