// The client against a server that speaks the kubelet's API on a Unix socket.
#include "agent/gate/kubelet_client.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <memory>

#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"

#include "agent/gate/pod_resources_source.h"
#include "agent/gate/podresources/v1.grpc.pb.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "tests/unit/agent/gate/files.h"

namespace fleetmark::agent {
namespace {

class FakeKubelet final : public ::v1::PodResourcesLister::Service {
 public:
  grpc::Status List(grpc::ServerContext* context, const ::v1::ListPodResourcesRequest*,
                    ::v1::ListPodResourcesResponse* response) override {
    while (slow && !context->IsCancelled()) WaitFor(RealClock(), absl::Milliseconds(10));
    *response = answer;
    return status;
  }

  ::v1::ListPodResourcesResponse answer;
  grpc::Status status;
  bool slow = false;
};

class KubeletClientTest : public testing::Test {
 protected:
  void Start() { StartWith(&kubelet_); }

  void StartWith(grpc::Service* service) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
    builder.RegisterService(service);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  void Stop() {
    server_->Shutdown(std::chrono::system_clock::time_point());
    server_.reset();
  }

  void TearDown() override {
    if (server_ != nullptr) Stop();
  }

  Files files_;
  const std::string socket_ = files_.Path("/kubelet.sock");
  FakeKubelet kubelet_;
  std::unique_ptr<grpc::Server> server_;
  KubeletClient client_{socket_};
};

TEST_F(KubeletClientTest, ListsDevicesAndCpus) {
  ::v1::PodResources& pod = *kubelet_.answer.add_pod_resources();
  pod.set_name("train-0");
  pod.set_namespace_("ml");
  ::v1::ContainerResources& container = *pod.add_containers();
  ::v1::ContainerDevices& devices = *container.add_devices();
  devices.set_resource_name("nvidia.com/gpu");
  devices.add_device_ids("GPU-aaaa");
  devices.add_device_ids("GPU-bbbb");
  container.add_cpu_ids(2);
  container.add_cpu_ids(3);
  ::v1::ClaimResource& claim = *container.add_dynamic_resources()->add_claim_resources();
  claim.set_driver_name("gpu.nvidia.com");
  claim.set_device_name("gpu-3");
  claim.add_cdi_devices()->set_name("k8s.gpu.nvidia.com/claim=GPU-cccc");
  kubelet_.answer.add_pod_resources()->set_name("without");
  Start();
  const auto uses = client_.List(absl::Seconds(20));
  ASSERT_TRUE(uses.ok()) << uses.status();
  ASSERT_EQ(uses->size(), 1u);
  EXPECT_EQ((*uses)[0].space, "ml");
  EXPECT_EQ((*uses)[0].exclusive_cpus, 2u);
  ASSERT_EQ((*uses)[0].devices.size(), 4u);
  EXPECT_EQ((*uses)[0].devices[1].id, "GPU-bbbb");
  EXPECT_EQ((*uses)[0].devices[2].id, "GPU-cccc");
  EXPECT_EQ((*uses)[0].devices[3].id, "gpu-3");
}

TEST_F(KubeletClientTest, AKubeletThatComesBackIsFoundAtOnce) {
  EXPECT_EQ(client_.List(absl::Seconds(20)).status().code(), absl::StatusCode::kUnavailable);
  for (int i = 0; i < 3; ++i) {
    Start();
    const auto uses = client_.List(absl::Seconds(20));
    EXPECT_TRUE(uses.ok()) << uses.status();
    Stop();
    EXPECT_EQ(client_.List(absl::Seconds(20)).status().code(), absl::StatusCode::kUnavailable);
  }
}

TEST_F(KubeletClientTest, ASlowOneRunsIntoTheDeadline) {
  kubelet_.slow = true;
  Start();
  const MonoTime begin = RealClock().Mono();
  EXPECT_EQ(client_.List(absl::Milliseconds(200)).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_LT(RealClock().Mono() - begin, absl::Seconds(5));
}

TEST_F(KubeletClientTest, AnErrorNamesTheSocket) {
  kubelet_.status = grpc::Status(grpc::StatusCode::INTERNAL, "device manager broken");
  Start();
  const absl::Status status = client_.List(absl::Seconds(20)).status();
  EXPECT_EQ(status.message(), "kubelet at " + socket_ + ": device manager broken");
}

TEST_F(KubeletClientTest, AnOldKubeletDoesNotKnowTheCall) {
  ::v1::PodResourcesLister::Service none;
  StartWith(&none);
  EXPECT_EQ(client_.List(absl::Seconds(20)).status().code(), absl::StatusCode::kUnimplemented);
}

TEST_F(KubeletClientTest, WhatIsNoGrpcServerIsUnknown) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_.copy(address.sun_path, sizeof address.sun_path - 1);
  const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener.get(), 5), 0);
  // It takes the connection and never says a word.
  PodResourcesSource source({.mode = SourceMode::kOn, .socket = socket_, .timeout = absl::Milliseconds(300)},
                            client_, RealClock());
  GateQuery query;
  query.uses_gpu = true;
  EXPECT_EQ(source.BeforeRun(query).state, GateAnswer::State::kUnknown);
}

}  // namespace
}  // namespace fleetmark::agent
