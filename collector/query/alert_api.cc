#include "collector/query/alert_api.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/alert/alert_engine.h"
#include "collector/alert/alert_text.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/model/labels.h"
#include "common/model/limits.h"

namespace fleetmark::collector {
namespace {

constexpr uint32_t kDefaultLimit = 100;
constexpr uint32_t kMaxLimit = 10'000;
constexpr size_t kAnswerBytes = limits::kMessageBytes - 256 * 1024;

bool Matches(const v1::ListAlertsRequest& request, const v1::Alert& alert) {
  const v1::AlertLife::State state = alert.life().state();
  if (request.state() != v1::AlertLife::STATE_UNSPECIFIED) {
    if (state != request.state()) return false;
  } else if (!request.all() && state == v1::AlertLife::STATE_RESOLVED) {
    return false;
  }
  if (request.class_() != v1::ALERT_CLASS_UNSPECIFIED && request.class_() != alert.class_()) return false;
  return request.node().empty() ||
         std::find(alert.nodes().begin(), alert.nodes().end(), request.node()) != alert.nodes().end();
}

absl::Status CheckBy(const std::string& by, const std::string& note) {
  if (by.empty()) return absl::InvalidArgumentError("by: must say who asks");
  FM_RETURN_IF_ERROR(CheckText("by", by, limits::kLabelValueBytes));
  return CheckText("note", note, limits::kEventTextBytes);
}

}  // namespace

absl::StatusOr<v1::ListAlertsResponse> AlertApi::ListAlerts(const v1::ListAlertsRequest& request) const {
  if (!v1::AlertLife::State_IsValid(request.state())) {
    return absl::InvalidArgumentError("state: is not a known value");
  }
  if (!v1::AlertClass_IsValid(request.class_()))
    return absl::InvalidArgumentError("class: is not a known value");
  if (request.limit() > kMaxLimit) return absl::InvalidArgumentError("limit: is more than 10000");
  if (!request.page_token().empty() && !IsUlid(request.page_token())) {
    return absl::InvalidArgumentError("page_token: is not one of this server's");
  }
  const uint32_t limit = request.limit() == 0 ? kDefaultLimit : request.limit();
  v1::ListAlertsResponse response;
  size_t bytes = 0;
  // False when the page is full.
  const auto take = [&](const v1::Alert& alert) {
    if (!Matches(request, alert)) return true;
    bytes += alert.ByteSizeLong() + 8;
    if (static_cast<uint32_t>(response.alerts_size()) == limit || bytes > kAnswerBytes) {
      response.set_next_page_token(response.alerts(response.alerts_size() - 1).alert_id());
      return false;
    }
    *response.add_alerts() = alert;
    return true;
  };
  if (request.all() || request.state() == v1::AlertLife::STATE_RESOLVED) {
    FM_RETURN_IF_ERROR(options_.tables->ScanAlerts(request.page_token(), take));
    return response;
  }
  for (const auto& alert : options_.engine->Current()) {
    if (!request.page_token().empty() && alert->alert_id() >= request.page_token()) continue;
    if (!take(*alert)) break;
  }
  return response;
}

absl::StatusOr<v1::GetAlertResponse> AlertApi::GetAlert(const v1::GetAlertRequest& request) const {
  v1::GetAlertResponse response;
  FM_ASSIGN_OR_RETURN(*response.mutable_alert(), options_.engine->Find(request.alert_id()));
  FM_ASSIGN_OR_RETURN(std::vector<v1::AlertChange> history,
                      options_.tables->History(response.alert().alert_id()));
  for (v1::AlertChange& change : history) *response.add_history() = std::move(change);
  v1::Notice notice;
  *notice.mutable_alert() = response.alert();
  if (IsResolved(response.alert().life())) notice.set_reason(v1::Notice::REASON_RESOLVED);
  response.set_text(MessageText(notice, options_.clock->Now()));
  return response;
}

absl::StatusOr<v1::AckAlertResponse> AlertApi::AckAlert(const v1::AckAlertRequest& request) const {
  FM_RETURN_IF_ERROR(CheckBy(request.by(), request.note()));
  v1::AckAlertResponse response;
  FM_ASSIGN_OR_RETURN(*response.mutable_alert(), options_.engine->Acknowledge(request));
  return response;
}

absl::StatusOr<v1::ListReceiversResponse> AlertApi::ListReceivers(const v1::ListReceiversRequest&) const {
  v1::ListReceiversResponse response;
  for (v1::ReceiverStatus& status : options_.receivers()) {
    status.set_dead(options_.engine->DeadOf(status.name()));
    *response.add_receivers() = std::move(status);
  }
  return response;
}

absl::StatusOr<v1::ListSilencesResponse> AlertApi::ListSilences(
    const v1::ListSilencesRequest& request) const {
  v1::ListSilencesResponse response;
  const int64_t now = absl::ToUnixNanos(options_.clock->Now());
  for (v1::Silence& silence : options_.engine->Silences()) {
    const bool past = silence.ended_unix_ns() != 0 || silence.to_unix_ns() <= now;
    if (request.all() || !past) *response.add_silences() = std::move(silence);
  }
  return response;
}

absl::StatusOr<v1::AddSilenceResponse> AlertApi::AddSilence(const v1::AddSilenceRequest& request) const {
  v1::Silence silence = request.silence();
  if (!silence.silence_id().empty() || silence.ended_unix_ns() != 0 || !silence.ended_by().empty()) {
    return absl::InvalidArgumentError("silence: silence_id, ended_unix_ns and ended_by are the collector's");
  }
  if (silence.from_unix_ns() == 0) silence.set_from_unix_ns(absl::ToUnixNanos(options_.clock->Now()));
  FM_ASSIGN_OR_RETURN(v1::AddSilenceResponse response, options_.engine->AddSilence(std::move(silence)));
  // The list of what is muted is for a person's eyes.
  constexpr int kShown = 100;
  if (response.muted_size() > kShown)
    response.mutable_muted()->DeleteSubrange(kShown, response.muted_size() - kShown);
  return response;
}

absl::StatusOr<v1::EndSilenceResponse> AlertApi::EndSilence(const v1::EndSilenceRequest& request) const {
  FM_RETURN_IF_ERROR(CheckBy(request.by(), ""));
  FM_RETURN_IF_ERROR(options_.engine->EndSilence(request));
  return v1::EndSilenceResponse();
}

}  // namespace fleetmark::collector
