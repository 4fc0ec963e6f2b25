// One step of an action on a node in Kubernetes, for tests:
//   kube_action_probe URL TOKEN_FILE CA_FILE KIND VERB ACTION_ID NODE [UID BOOT]
// with KIND as in ActionKind without its prefix and VERB do, check, undo or away. Prints the result, its
// text, and the mark's uid and boot, apart by tabs; for away a line for each node.

#include <atomic>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"

#include "collector/action/kube_executor.h"

namespace fleetmark::collector {
namespace {

constexpr const char* kNames[] = {"done", "left", "again", "refused"};

int PrintAway(KubeExecutor& executor) {
  const absl::StatusOr<NodesAway> away = executor.Away();
  if (!away.ok()) {
    std::printf("error\t%s\n", away.status().ToString().c_str());
    return 1;
  }
  for (const auto& [name, node] : *away)
    std::printf("%s\t%s\t%s\n", name.c_str(), node.by_person ? "person" : "down", node.text.c_str());
  return 0;
}

int Run(int argc, char** argv) {
  const std::atomic<bool> cancelled = false;
  KubeClient client({argv[1], argv[2], argv[3], absl::Seconds(1)}, cancelled);
  v1::Action action;
  v1::ActionKind kind = v1::ACTION_KIND_UNSPECIFIED;
  if (!v1::ActionKind_Parse(absl::StrCat("ACTION_KIND_", argv[4]), &kind)) return 2;
  KubeExecutor executor(client, kind, "", RealClock());
  const std::string verb = argv[5];
  if (verb == "away") return PrintAway(executor);
  action.set_kind(kind);
  action.set_action_id(argv[6]);
  action.set_target(argv[7]);
  action.set_reason(absl::StrCat("fleetmark ", argv[6], ": \"slow\" by 25 %"));
  if (argc > 9) {
    action.mutable_mark()->set_uid(argv[8]);
    action.mutable_mark()->set_boot(argv[9]);
  }
  const ActionResult result = verb == "do"      ? executor.Do(action)
                              : verb == "check" ? executor.Check(action)
                                                : executor.Undo(action);
  std::printf("%s\t%s\t%s\t%s\n", kNames[result.kind], result.text.c_str(), result.mark.uid().c_str(),
              result.mark.boot().c_str());
  return 0;
}

}  // namespace
}  // namespace fleetmark::collector

int main(int argc, char** argv) { return argc < 8 ? 2 : fleetmark::collector::Run(argc, argv); }
