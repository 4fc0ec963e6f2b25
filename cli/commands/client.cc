#include "cli/commands/client.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"

#include "common/base/file.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/model/limits.h"
#include "common/net/credentials.h"
#include "common/net/endpoint.h"
#include "common/net/grpc_status.h"
#include "fleetmark/v1/alert.grpc.pb.h"
#include "fleetmark/v1/audit.grpc.pb.h"
#include "fleetmark/v1/fleet.grpc.pb.h"

namespace fleetmark::cli {
namespace {

using Deadline = std::chrono::system_clock::time_point;

constexpr uint32_t kPageEntries = 1000;
constexpr int kMaxAnswerBytes = 64 * 1024 * 1024;  // 100,000 samples are about 5 MB
constexpr absl::Duration kLostGrace = absl::Milliseconds(100);
constexpr size_t kMaxTokenBytes = 16 << 10;

// What a bearer token may be made of (RFC 6750), so that a file of another kind is told.
bool IsToken(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-._~+/=", c);
  });
}

// Empty: none is to be shown. It is not sent in plain text to other machines, where anybody might read it.
absl::StatusOr<std::string> ReadToken(const Client::Options& options) {
  std::string token;
  const char* from_environment = getenv("FLEETMARK_TOKEN");
  if (!options.token_file.empty()) {
    FM_ASSIGN_OR_RETURN(token, ReadFile(options.token_file, kMaxTokenBytes));
  } else if (from_environment != nullptr) {
    token = from_environment;
  }
  token = std::string(absl::StripAsciiWhitespace(token));
  const std::string from = options.token_file.empty() ? "FLEETMARK_TOKEN" : options.token_file;
  if (token.empty() && options.token_file.empty()) return token;
  if (!IsToken(token)) return absl::InvalidArgumentError(absl::StrCat(from, " holds no token"));
  HostPort address;
  FM_RETURN_IF_ERROR(ParseHostPort(options.address, &address));
  if (options.tls_ca.empty() && !IsLoopback(address.host)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the token of ", from, " would go to ", options.address,
                     " in plain text, for anybody to read on the way; --tls-ca encrypts it"));
  }
  return token;
}

}  // namespace

struct Client::Impl {
  Impl(Options o, Clock& c) : options(std::move(o)), clock(c) {}

  void ShowToken(grpc::ClientContext& context) const {
    if (!token.empty()) context.AddMetadata("authorization", absl::StrCat("Bearer ", token));
  }

  Deadline In(absl::Duration d) const { return absl::ToChronoTime(clock.Now() + d); }

  // Ends at the first failure: a person waits, and asks again when the collector is there.
  bool AwaitReady() {
    const Deadline deadline = In(options.connect_timeout);
    grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
    while (state != GRPC_CHANNEL_READY && state != GRPC_CHANNEL_TRANSIENT_FAILURE) {
      if (!channel->WaitForStateChange(state, deadline)) return false;
      state = channel->GetState(true);
    }
    return state == GRPC_CHANNEL_READY;
  }

  // See the header about Unavailable. A connection that broke leaves READY within moments.
  absl::Status Explain(const grpc::Status& status) const {
    const absl::Status plain = FromGrpc(status);
    if (plain.code() == absl::StatusCode::kDeadlineExceeded) {
      return absl::DeadlineExceededError(
          absl::StrCat("the collector at ", options.address, " did not answer within ",
                       absl::FormatDuration(options.call_timeout), "; see its log and `fleetmark status`"));
    }
    if (plain.code() != absl::StatusCode::kUnavailable) return plain;
    const bool lost = channel->GetState(false) != GRPC_CHANNEL_READY ||
                      channel->WaitForStateChange(GRPC_CHANNEL_READY, In(kLostGrace));
    if (!lost) return absl::FailedPreconditionError(Message(plain));
    return absl::UnavailableError(absl::StrCat("lost the connection to the collector at ", options.address,
                                               " (", Message(plain), "); is it still running?"));
  }

  template <typename Stub, typename Request, typename Response>
  using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

  v1::FleetService::Stub& StubOf(const v1::FleetService::Stub*) { return *stub; }
  v1::AlertService::Stub& StubOf(const v1::AlertService::Stub*) { return *alert_stub; }
  v1::AuditService::Stub& StubOf(const v1::AuditService::Stub*) { return *audit_stub; }

  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Call(Method<Stub, Request, Response> method, const Request& request) {
    return Call(method, request, options.call_timeout);
  }

  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Call(Method<Stub, Request, Response> method, const Request& request,
                                absl::Duration timeout) {
    grpc::ClientContext context;
    ShowToken(context);
    if (timeout < absl::InfiniteDuration()) context.set_deadline(In(timeout));
    Response response;
    const grpc::Status status =
        (StubOf(static_cast<const Stub*>(nullptr)).*method)(&context, request, &response);
    if (!status.ok()) return Explain(status);
    return response;
  }

  // `size_of` counts the entries of an answer.
  template <typename Stub, typename Request, typename Response, typename SizeOf>
  absl::StatusOr<Response> CallPages(Method<Stub, Request, Response> method, Request request,
                                     SizeOf size_of) {
    const uint32_t wanted = request.limit();
    Response all;
    while (true) {
      const auto have = static_cast<uint32_t>(size_of(all));
      request.set_limit(std::min(kPageEntries, wanted - have));
      FM_ASSIGN_OR_RETURN(const Response page, Call(method, request));
      all.clear_next_page_token();
      all.MergeFrom(page);
      const bool enough = static_cast<uint32_t>(size_of(all)) >= wanted;
      if (page.next_page_token().empty() || size_of(page) == 0 || enough) return all;
      request.set_page_token(page.next_page_token());
    }
  }

  const Options options;
  std::string token;
  Clock& clock;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::FleetService::Stub> stub;
  std::unique_ptr<v1::AlertService::Stub> alert_stub;
  std::unique_ptr<v1::AuditService::Stub> audit_stub;
  Mutex mu;
  grpc::ClientContext* following ABSL_GUARDED_BY(mu) = nullptr;
  bool stop_following ABSL_GUARDED_BY(mu) = false;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const Options& options, Clock& clock) {
  auto impl = std::make_unique<Impl>(options, clock);
  FM_ASSIGN_OR_RETURN(impl->token, ReadToken(options));
  FM_ASSIGN_OR_RETURN(const auto credentials,
                      MakeChannelCredentials({options.tls_ca, options.tls_certificate, options.tls_key}));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  impl->channel = grpc::CreateCustomChannel(options.address, credentials, arguments);
  if (!impl->AwaitReady()) {
    return absl::UnavailableError(
        absl::StrCat("can't reach a collector at ", options.address,
                     "; is it running there? --collector or FLEETMARK_COLLECTOR names "
                     "another address, and a collector with TLS needs --tls-ca, and "
                     "--tls-cert with --tls-key or a token"));
  }
  impl->stub = v1::FleetService::NewStub(impl->channel);
  impl->alert_stub = v1::AlertService::NewStub(impl->channel);
  impl->audit_stub = v1::AuditService::NewStub(impl->channel);
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

absl::StatusOr<v1::GetStatusResponse> Client::GetStatus(const v1::GetStatusRequest& request) {
  return impl_->Call(&v1::FleetService::Stub::GetStatus, request);
}
absl::StatusOr<v1::ReadSamplesResponse> Client::ReadSamples(const v1::ReadSamplesRequest& request) {
  return impl_->Call(&v1::FleetService::Stub::ReadSamples, request);
}
absl::StatusOr<v1::GetRunResponse> Client::GetRun(const v1::GetRunRequest& request) {
  return impl_->Call(&v1::FleetService::Stub::GetRun, request);
}
absl::StatusOr<v1::ImportRunsResponse> Client::ImportRuns(const v1::ImportRunsRequest& request) {
  return impl_->Call(&v1::FleetService::Stub::ImportRuns, request);
}
absl::StatusOr<v1::AddEventResponse> Client::AddEvent(const v1::AddEventRequest& request) {
  return impl_->Call(&v1::FleetService::Stub::AddEvent, request);
}
absl::StatusOr<v1::FleetResponse> Client::GetFleet(const v1::GetFleetRequest& request) {
  return impl_->Call(&v1::FleetService::Stub::GetFleet, request);
}
absl::StatusOr<v1::BenchmarksResponse> Client::ListBenchmarks(const v1::ListBenchmarksRequest& request) {
  return impl_->Call(&v1::FleetService::Stub::ListBenchmarks, request);
}
absl::StatusOr<v1::Curve> Client::ReadCurve(const v1::ReadCurveRequest& request) {
  return impl_->Call(&v1::FleetService::Stub::ReadCurve, request);
}
absl::StatusOr<v1::CompareResponse> Client::Compare(const v1::CompareRequest& request) {
  return impl_->Call(&v1::FleetService::Stub::Compare, request);
}
absl::StatusOr<v1::ReadQuantilesResponse> Client::ReadQuantiles(const v1::ReadQuantilesRequest& request) {
  return impl_->Call(&v1::FleetService::Stub::ReadQuantiles, request);
}
absl::StatusOr<v1::BackupResponse> Client::Backup(const v1::BackupRequest& request) {
  return impl_->Call(&v1::FleetService::Stub::Backup, request, absl::InfiniteDuration());
}
absl::StatusOr<v1::CancelRunResponse> Client::CancelRun(const v1::CancelRunRequest& request) {
  return impl_->Call(&v1::FleetService::Stub::CancelRun, request);
}

absl::StatusOr<v1::ListNodesResponse> Client::ListNodes(v1::ListNodesRequest request) {
  return impl_->CallPages(&v1::FleetService::Stub::ListNodes, std::move(request),
                          [](const v1::ListNodesResponse& r) { return r.nodes_size(); });
}
absl::StatusOr<v1::ListSeriesResponse> Client::ListSeries(v1::ListSeriesRequest request) {
  return impl_->CallPages(&v1::FleetService::Stub::ListSeries, std::move(request),
                          [](const v1::ListSeriesResponse& r) { return r.series_size(); });
}
absl::StatusOr<v1::ListRunsResponse> Client::ListRuns(v1::ListRunsRequest request) {
  return impl_->CallPages(&v1::FleetService::Stub::ListRuns, std::move(request),
                          [](const v1::ListRunsResponse& r) { return r.runs_size(); });
}
absl::StatusOr<v1::ListFindingsResponse> Client::ListFindings(v1::ListFindingsRequest request) {
  return impl_->CallPages(&v1::FleetService::Stub::ListFindings, std::move(request),
                          [](const v1::ListFindingsResponse& r) { return r.findings_size(); });
}
absl::StatusOr<v1::ListLatestResponse> Client::ListLatest(v1::ListLatestRequest request) {
  return impl_->CallPages(&v1::FleetService::Stub::ListLatest, std::move(request),
                          [](const v1::ListLatestResponse& r) { return r.samples_size(); });
}
absl::StatusOr<v1::ListEventsResponse> Client::ListEvents(v1::ListEventsRequest request) {
  return impl_->CallPages(&v1::FleetService::Stub::ListEvents, std::move(request),
                          [](const v1::ListEventsResponse& r) { return r.events_size(); });
}

absl::StatusOr<v1::ListAuditResponse> Client::ListAudit(v1::ListAuditRequest request) {
  return impl_->CallPages(&v1::AuditService::Stub::ListAudit, std::move(request),
                          [](const v1::ListAuditResponse& r) { return r.entries_size(); });
}

absl::StatusOr<v1::GetAlertResponse> Client::GetAlert(const v1::GetAlertRequest& request) {
  return impl_->Call(&v1::AlertService::Stub::GetAlert, request);
}
absl::StatusOr<v1::AckAlertResponse> Client::AckAlert(const v1::AckAlertRequest& request) {
  return impl_->Call(&v1::AlertService::Stub::AckAlert, request);
}
absl::StatusOr<v1::ListReceiversResponse> Client::ListReceivers(const v1::ListReceiversRequest& request) {
  return impl_->Call(&v1::AlertService::Stub::ListReceivers, request);
}
absl::StatusOr<v1::ListSilencesResponse> Client::ListSilences(const v1::ListSilencesRequest& request) {
  return impl_->Call(&v1::AlertService::Stub::ListSilences, request);
}
absl::StatusOr<v1::AddSilenceResponse> Client::AddSilence(const v1::AddSilenceRequest& request) {
  return impl_->Call(&v1::AlertService::Stub::AddSilence, request);
}
absl::StatusOr<v1::EndSilenceResponse> Client::EndSilence(const v1::EndSilenceRequest& request) {
  return impl_->Call(&v1::AlertService::Stub::EndSilence, request);
}
absl::StatusOr<v1::ListAlertsResponse> Client::ListAlerts(v1::ListAlertsRequest request) {
  return impl_->CallPages(&v1::AlertService::Stub::ListAlerts, std::move(request),
                          [](const v1::ListAlertsResponse& r) { return r.alerts_size(); });
}

absl::Status Client::Follow(const v1::RunNowRequest& request,
                            const std::function<void(const v1::RunProgress&)>& on_progress) {
  grpc::ClientContext context;
  impl_->ShowToken(context);
  {
    MutexLock lock(impl_->mu);
    if (impl_->stop_following) return absl::CancelledError("stopped");
    impl_->following = &context;
  }
  const auto reader = impl_->stub->RunNow(&context, request);
  v1::RunProgress progress;
  while (reader->Read(&progress)) on_progress(progress);
  const grpc::Status status = reader->Finish();
  MutexLock lock(impl_->mu);
  impl_->following = nullptr;
  if (impl_->stop_following) return absl::CancelledError("stopped");
  return status.ok() ? absl::OkStatus() : impl_->Explain(status);
}

void Client::StopFollowing() {
  MutexLock lock(impl_->mu);
  impl_->stop_following = true;
  if (impl_->following != nullptr) impl_->following->TryCancel();
}

}  // namespace fleetmark::cli
