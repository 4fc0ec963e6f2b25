#include "collector/fleet/node_class.h"

#include "gtest/gtest.h"

namespace fleetmark::collector {
namespace {

v1::Node MakeNode(const std::map<std::string, std::string>& facts,
                  const std::map<std::string, std::string>& labels = {}) {
  v1::Node node;
  for (const auto& [name, value] : facts) {
    v1::Fact* fact = node.add_facts();
    fact->set_name(name);
    fact->set_value(value);
  }
  node.mutable_identity()->mutable_labels()->insert(labels.begin(), labels.end());
  return node;
}

TEST(NodeClass, IsTheHardwareAndNotTheSoftware) {
  const v1::Node a = MakeNode(
      {{"cpu.model", "EPYC"}, {"gpu0.model", "A100"}, {"gpu1.model", "A100"}, {"kernel.release", "6.1"}});
  const v1::Node b = MakeNode(
      {{"cpu.model", "EPYC"}, {"gpu0.model", "A100"}, {"gpu1.model", "A100"}, {"kernel.release", "6.6"}});
  const v1::Node c = MakeNode({{"cpu.model", "EPYC"}, {"gpu0.model", "H100"}, {"gpu1.model", "H100"}});
  EXPECT_EQ(NodeClass(a), "cpu.model EPYC, gpu.model A100");
  EXPECT_EQ(NodeClass(a), NodeClass(b));
  EXPECT_NE(NodeClass(a), NodeClass(c));
}

TEST(NodeClass, TheOperatorsLabelComesFirst) {
  EXPECT_EQ(NodeClass(MakeNode({{"cpu.model", "EPYC"}}, {{"class", "login"}})), "login");
  EXPECT_EQ(NodeClass(MakeNode({})), "unknown");
}

TEST(NodeAttributes, DevicesThatAgreeAreOneAndIdentitiesAreNone) {
  v1::Node node = MakeNode({{"gpu0.driver", "570"},
                            {"gpu1.driver", "570"},
                            {"gpu0.vbios", "1"},
                            {"gpu1.vbios", "2"},
                            {"gpu0.uuid", "GPU-1"},
                            {"os.hostname", "n1"}},
                           {{"rack", "r1"}});
  node.set_agent_version("0.3");
  const Attributes attributes = NodeAttributes(node);
  EXPECT_EQ(attributes.at("gpu.driver"), "570");
  EXPECT_EQ(attributes.at("gpu0.vbios"), "1");
  EXPECT_EQ(attributes.at("gpu1.vbios"), "2");
  EXPECT_EQ(attributes.at("rack"), "r1");
  EXPECT_EQ(attributes.at("agent"), "0.3");
  EXPECT_FALSE(attributes.contains("gpu.vbios"));
  EXPECT_FALSE(attributes.contains("gpu.uuid"));
  EXPECT_FALSE(attributes.contains("os.hostname"));
  EXPECT_EQ(NodeRack(node), "r1");
}

TEST(AttributeName, DropsTheDevicesNumber) {
  EXPECT_EQ(AttributeName("gpu12.driver"), "gpu.driver");
  EXPECT_EQ(AttributeName("cpu.cache.l3"), "cpu.cache.l3");
  EXPECT_EQ(AttributeName("kernel"), "kernel");
}

}  // namespace
}  // namespace fleetmark::collector
