#include "agent/gate/kubelet_client.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

#include "agent/gate/podresources/v1.grpc.pb.h"
#include "common/base/status.h"
#include "common/net/grpc_status.h"

namespace fleetmark::agent {
namespace {

// The kubelet's own clients allow as much.
constexpr int kMaxAnswerBytes = 16 << 20;

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  // Neither a connection nor the memory of an earlier failure is shared with another channel.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
  // The path is no host name.
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  return grpc::CreateCustomChannel(absl::StrCat("unix:", socket), grpc::InsecureChannelCredentials(),
                                   arguments);
}

void AddClaim(const ::v1::ClaimResource& claim, PodUse& use) {
  for (const ::v1::CDIDevice& device : claim.cdi_devices()) {
    use.devices.push_back({claim.driver_name(), device.name().substr(device.name().find('=') + 1)});
  }
  if (!claim.device_name().empty()) use.devices.push_back({claim.driver_name(), claim.device_name()});
}

PodUse ToUse(const ::v1::PodResources& pod) {
  PodUse use{pod.namespace_(), pod.name(), {}, 0};
  for (const ::v1::ContainerResources& container : pod.containers()) {
    for (const ::v1::ContainerDevices& devices : container.devices()) {
      for (const std::string& id : devices.device_ids()) use.devices.push_back({devices.resource_name(), id});
    }
    for (const ::v1::DynamicResource& resource : container.dynamic_resources()) {
      for (const ::v1::ClaimResource& claim : resource.claim_resources()) AddClaim(claim, use);
    }
    use.exclusive_cpus += static_cast<size_t>(container.cpu_ids_size());
  }
  return use;
}

}  // namespace

absl::StatusOr<std::vector<PodUse>> KubeletClient::List(absl::Duration timeout) {
  const std::unique_ptr<::v1::PodResourcesLister::Stub> stub =
      ::v1::PodResourcesLister::NewStub(MakeChannel(socket_));
  grpc::ClientContext context;
  context.set_deadline(gpr_time_from_millis(absl::ToInt64Milliseconds(timeout), GPR_TIMESPAN));
  ::v1::ListPodResourcesResponse response;
  const grpc::Status status = stub->List(&context, {}, &response);
  if (!status.ok()) return Annotate(FromGrpc(status), absl::StrCat("kubelet at ", socket_));
  std::vector<PodUse> uses;
  for (const ::v1::PodResources& pod : response.pod_resources()) {
    PodUse use = ToUse(pod);
    if (!use.devices.empty() || use.exclusive_cpus != 0) uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace fleetmark::agent
