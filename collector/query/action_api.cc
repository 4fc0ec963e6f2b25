#include "collector/query/action_api.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "collector/action/action_book.h"
#include "collector/action/action_engine.h"
#include "collector/store/action_tables.h"
#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/model/labels.h"
#include "common/model/limits.h"

namespace fleetmark::collector {
namespace {

constexpr uint32_t kDefaultLimit = 100;
constexpr uint32_t kMaxLimit = 10'000;
constexpr size_t kAnswerBytes = limits::kMessageBytes / 2;  // the rest is for what was held back

absl::Status CheckBy(const std::string& by) {
  if (by.empty()) return absl::InvalidArgumentError("by: must say who asks");
  return CheckText("by", by, limits::kLabelValueBytes);
}

}  // namespace

absl::StatusOr<v1::ListActionsResponse> ActionApi::ListActions(const v1::ListActionsRequest& request) const {
  if (request.limit() > kMaxLimit) return absl::InvalidArgumentError("limit: is more than 10000");
  if (!request.page_token().empty() && !IsUlid(request.page_token())) {
    return absl::InvalidArgumentError("page_token: is not one of this server's");
  }
  const uint32_t limit = request.limit() == 0 ? kDefaultLimit : request.limit();
  v1::ListActionsResponse response;
  size_t bytes = 0;
  // False when the page is full.
  const auto take = [&](const v1::Action& action) {
    if (!request.node().empty() && action.node() != request.node()) return true;
    bytes += action.ByteSizeLong() + 8;
    if (static_cast<uint32_t>(response.actions_size()) == limit || bytes > kAnswerBytes) {
      response.set_next_page_token(response.actions(response.actions_size() - 1).action_id());
      return false;
    }
    *response.add_actions() = action;
    return true;
  };
  if (request.all()) {
    FM_RETURN_IF_ERROR(tables_.ScanActions(request.page_token(), take));
  } else {
    const std::vector<v1::Action> active = book_.Active();
    for (auto it = active.rbegin(); it != active.rend(); ++it) {
      if (!request.page_token().empty() && it->action_id() >= request.page_token()) continue;
      if (!take(*it)) break;
    }
  }
  response.set_enabled(engine_.enabled());
  response.set_dry_run(engine_.dry_run());
  *response.mutable_switch_() = book_.Switch();
  for (v1::ActionHeldBack& entry : engine_.HeldBack()) *response.add_held_back() = std::move(entry);
  response.set_trouble(engine_.Trouble());
  return response;
}

absl::StatusOr<v1::GetActionResponse> ActionApi::GetAction(const v1::GetActionRequest& request) const {
  v1::GetActionResponse response;
  FM_ASSIGN_OR_RETURN(*response.mutable_action(), book_.Find(request.action_id()));
  FM_ASSIGN_OR_RETURN(std::vector<v1::ActionChange> history, tables_.History(response.action().action_id()));
  for (v1::ActionChange& change : history) *response.add_history() = std::move(change);
  return response;
}

absl::StatusOr<v1::SwitchActionsResponse> ActionApi::SwitchActions(
    const v1::SwitchActionsRequest& request) const {
  FM_RETURN_IF_ERROR(CheckBy(request.by()));
  FM_RETURN_IF_ERROR(CheckText("note", request.note(), limits::kEventTextBytes));
  v1::ActionSwitch value;
  value.set_stopped(request.stop());
  value.set_by(request.by());
  value.set_note(request.note());
  FM_RETURN_IF_ERROR(book_.SetSwitch(value));
  v1::SwitchActionsResponse response;
  *response.mutable_switch_() = book_.Switch();
  return response;
}

absl::StatusOr<v1::UndoActionResponse> ActionApi::UndoAction(const v1::UndoActionRequest& request) const {
  FM_RETURN_IF_ERROR(CheckBy(request.by()));
  v1::UndoActionResponse response;
  FM_ASSIGN_OR_RETURN(*response.mutable_action(), book_.Find(request.action_id()));
  FM_RETURN_IF_ERROR(engine_.TakeBack(response.action().action_id(), request.by()));
  return response;
}

}  // namespace fleetmark::collector
