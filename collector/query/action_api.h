// Every method of ActionService as a plain call: checks the request and asks the engine and the record of
// actions.
//
// Thread-safety: all methods, any thread. Ownership: what it is given must outlive it, and it the servers.
// Errors: InvalidArgument names the field; NotFound; FailedPrecondition; those of the store.
#ifndef FLEETMARK_COLLECTOR_QUERY_ACTION_API_H_
#define FLEETMARK_COLLECTOR_QUERY_ACTION_API_H_

#include "absl/status/statusor.h"

#include "fleetmark/v1/action.pb.h"

namespace fleetmark::collector {

class ActionBook;
class ActionEngine;
class ActionTables;

class ActionApi {
 public:
  ActionApi(ActionEngine& engine, ActionBook& book, const ActionTables& tables)
      : engine_(engine), book_(book), tables_(tables) {}

  absl::StatusOr<v1::ListActionsResponse> ListActions(const v1::ListActionsRequest& request) const;
  absl::StatusOr<v1::GetActionResponse> GetAction(const v1::GetActionRequest& request) const;
  absl::StatusOr<v1::SwitchActionsResponse> SwitchActions(const v1::SwitchActionsRequest& request) const;
  absl::StatusOr<v1::UndoActionResponse> UndoAction(const v1::UndoActionRequest& request) const;

 private:
  ActionEngine& engine_;
  ActionBook& book_;
  const ActionTables& tables_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_QUERY_ACTION_API_H_
