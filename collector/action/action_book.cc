#include "collector/action/action_book.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "collector/action/action_policy.h"
#include "collector/store/action_tables.h"
#include "common/base/status.h"
#include "common/base/ulid.h"
#include "common/obs/log.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kLeastIdCharacters = 4;
constexpr size_t kDroppedAtOnce = 1000;

}  // namespace

absl::Status ActionBook::Load() {
  std::map<std::string, v1::Action> actions;
  size_t seen = 0;
  FM_RETURN_IF_ERROR(tables_.ScanActions("", [&](const v1::Action& action) {
    if (++seen <= kRemembered || IsActive(action)) actions.emplace(action.action_id(), action);
    return true;
  }));
  FM_ASSIGN_OR_RETURN(v1::ActionSwitch value, tables_.GetSwitch());
  MutexLock lock(mu_);
  actions_ = std::move(actions);
  by_node_.clear();
  for (const auto& [id, action] : actions_) by_node_[action.node()].insert(id);
  switch_ = std::move(value);
  return absl::OkStatus();
}

absl::Status ActionBook::Enter(v1::Action* action, std::string_view text) {
  const absl::Time now = clock_.Now();
  if (action->action_id().empty()) action->set_action_id(NewUlid(now));
  action->set_begun_unix_ns(absl::ToUnixNanos(now));
  return Change(action, "collector", text);
}

absl::Status ActionBook::Change(v1::Action* action, std::string_view by, std::string_view text) {
  v1::Action next = *action;
  const int64_t now = absl::ToUnixNanos(clock_.Now());
  if (!IsActive(next) && next.ended_unix_ns() == 0) next.set_ended_unix_ns(now);
  next.set_last_sequence(next.last_sequence() + 1);
  v1::ActionChange change;
  change.set_sequence(next.last_sequence());
  change.set_time_unix_ns(now);
  change.set_state(next.state());
  change.set_by(by.data(), by.size());
  change.set_text(text.data(), text.size());
  FM_RETURN_IF_ERROR(tables_.Write(next, change));
  LogInfo("action changed", {{"action", next.action_id()},
                             {"node", next.node()},
                             {"kind", v1::ActionKind_Name(next.kind())},
                             {"state", v1::Action::State_Name(next.state())},
                             {"by", by},
                             {"text", text}});
  *action = next;
  Remember(next);
  return absl::OkStatus();
}

void ActionBook::Remember(const v1::Action& action) {
  MutexLock lock(mu_);
  actions_[action.action_id()] = action;
  by_node_[action.node()].insert(action.action_id());
  for (auto it = actions_.begin(); actions_.size() > kRemembered && it != actions_.end();) {
    if (IsActive(it->second)) {
      ++it;
      continue;
    }
    const auto of_node = by_node_.find(it->second.node());
    of_node->second.erase(it->first);
    if (of_node->second.empty()) by_node_.erase(of_node);
    it = actions_.erase(it);
  }
}

std::vector<v1::Action> ActionBook::All() const {
  std::vector<v1::Action> out;
  MutexLock lock(mu_);
  for (const auto& [id, action] : actions_) out.push_back(action);
  return out;
}

std::vector<v1::Action> ActionBook::Active() const {
  std::vector<v1::Action> out;
  MutexLock lock(mu_);
  for (const auto& [id, action] : actions_) {
    if (IsActive(action)) out.push_back(action);
  }
  return out;
}

std::vector<v1::Action> ActionBook::OfNode(const std::string& node) const {
  std::vector<v1::Action> out;
  MutexLock lock(mu_);
  const auto it = by_node_.find(node);
  if (it == by_node_.end()) return out;
  for (const std::string& id : it->second) out.push_back(actions_.at(id));
  return out;
}

absl::StatusOr<v1::Action> ActionBook::Find(const std::string& id) const {
  if (IsUlid(id)) return tables_.GetAction(id);
  if (id.size() < kLeastIdCharacters) {
    return absl::InvalidArgumentError("action_id: needs the whole id, or at least its last 4 characters");
  }
  const v1::Action* found = nullptr;
  MutexLock lock(mu_);
  for (const auto& [known, action] : actions_) {
    if (!absl::EndsWithIgnoreCase(known, id)) continue;
    if (found != nullptr) return absl::InvalidArgumentError(absl::StrCat("action_id: several end with ", id));
    found = &action;
  }
  if (found == nullptr) return absl::NotFoundError(absl::StrCat("no action of late has the id ", id));
  return *found;
}

v1::ActionSwitch ActionBook::Switch() const {
  MutexLock lock(mu_);
  return switch_;
}

absl::Status ActionBook::SetSwitch(const v1::ActionSwitch& value) {
  MutexLock switching(switching_);
  v1::ActionSwitch next = value;
  next.set_time_unix_ns(absl::ToUnixNanos(clock_.Now()));
  // A stop holds at once, also where it can't be written.
  if (next.stopped()) {
    MutexLock lock(mu_);
    switch_ = next;
  }
  FM_RETURN_IF_ERROR(tables_.PutSwitch(next));
  LogWarn(next.stopped() ? "actions are stopped" : "actions go on",
          {{"by", next.by()}, {"note", next.note()}});
  MutexLock lock(mu_);
  switch_ = std::move(next);
  return absl::OkStatus();
}

absl::Status ActionBook::DropEndedBefore(absl::Time time) {
  return tables_.DropEndedBefore(absl::ToUnixNanos(time), kDroppedAtOnce).status();
}

}  // namespace fleetmark::collector
