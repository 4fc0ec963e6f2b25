#include "collector/acting.h"

#include <atomic>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/action/action_book.h"
#include "collector/action/action_engine.h"
#include "collector/action/command_executor.h"
#include "collector/action/kube_executor.h"
#include "collector/action/slurm_executor.h"
#include "collector/alerting.h"
#include "collector/fleet/node_class.h"
#include "collector/query/action_api.h"
#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/run/process_runner.h"

namespace fleetmark::collector {
namespace {

constexpr uint32_t kNodesAtOnce = 1000;

// Built, the launcher is beside the collector; installed, in a folder of the collector's package, since the
// agent's has it in /usr/bin.
std::string LauncherPath() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = self.parent_path() / "fleetmark-launch";
  const auto installed = self.parent_path().parent_path() / "lib/fleetmark/collector/fleetmark-launch";
  return (std::filesystem::exists(installed, error) ? installed : beside).string();
}

// A node whose agent was never seen gives results by import: alerts alone tell whether it is well.
bool IsHeardOf(const v1::Node& node) {
  return node.state() == v1::NODE_STATE_CONNECTED || node.agent_version().empty();
}

absl::StatusOr<std::vector<ActionNode>> ListNodes(const Store& store,
                                                  const std::function<void(v1::Node*)>& fill_live) {
  std::vector<ActionNode> out;
  Page page{kNodesAtOnce, ""};
  do {
    std::string next;
    FM_ASSIGN_OR_RETURN(std::vector<v1::Node> nodes, store.ListNodes(page, &next));
    for (v1::Node& node : nodes) {
      fill_live(&node);
      const auto& labels = node.identity().labels();
      out.push_back(
          {node.identity().name(), NodeClass(node), {labels.begin(), labels.end()}, IsHeardOf(node)});
    }
    page.token = std::move(next);
  } while (!page.token.empty());
  return out;
}

}  // namespace

// In the order of construction; destroyed in reverse.
struct Acting::Parts {
  Parts(const ActionsConfig& config, Store& store, Clock& clock)
      : book(store.actions(), clock),
        runner({.launcher = LauncherPath()}, clock),
        slurm_client(config.slurm, runner, cancel),
        slurm(slurm_client, config.slurm_name_label),
        kube_client(config.kubernetes, cancelled) {}

  // One for each kind of Kubernetes' actions that a rule asks for, and for each command.
  ActionExecutor* ExecutorOf(const ActionRuleConfig& rule, const ActionsConfig& config, Clock& clock) {
    if (rule.kind == v1::ACTION_KIND_SLURM_DRAIN) return &slurm;
    if (rule.kind == v1::ACTION_KIND_COMMAND) {
      commands.push_back(std::make_unique<CommandExecutor>(rule.command, runner, cancel));
      return commands.back().get();
    }
    auto& executor = kubernetes[rule.kind];
    if (executor == nullptr)
      executor = std::make_unique<KubeExecutor>(kube_client, rule.kind, config.kubernetes_name_label, clock);
    return executor.get();
  }

  ActionBook book;
  CancelToken cancel;
  std::atomic<bool> cancelled = false;
  ProcessRunner runner;
  SlurmClient slurm_client;
  SlurmExecutor slurm;
  KubeClient kube_client;
  std::map<v1::ActionKind, std::unique_ptr<KubeExecutor>> kubernetes;
  std::vector<std::unique_ptr<CommandExecutor>> commands;
  std::unique_ptr<ActionEngine> engine;
  std::unique_ptr<ActionApi> api;
};

Acting::Acting(const ActionsConfig& config, Store& store, const Alerting& alerting,
               std::function<void(v1::Node*)> fill_live, Clock& clock, Metrics& metrics)
    : parts_(std::make_unique<Parts>(config, store, clock)) {
  Parts& p = *parts_;
  ActionEngine::Options options;
  options.book = &p.book;
  options.clock = &clock;
  options.metrics = &metrics;
  options.enabled = config.enabled;
  options.dry_run = config.dry_run;
  options.limits = config.limits;
  options.evidence = config.evidence;
  options.settle = config.settle;
  options.recover_after = config.recover_after;
  options.interval = config.interval;
  for (const ActionRuleConfig& rule : config.rules) {
    options.rules.push_back({rule.name, rule.kind, rule.match, p.ExecutorOf(rule, config, clock)});
  }
  options.alerts = [&alerting] { return alerting.Current(); };
  options.finding = [&store](const std::string& id) { return store.GetFinding(id); };
  options.nodes = [&store, fill_live = std::move(fill_live)] { return ListNodes(store, fill_live); };
  p.engine = std::make_unique<ActionEngine>(std::move(options));
  p.api = std::make_unique<ActionApi>(*p.engine, p.book, store.actions());
}

Acting::~Acting() { Stop(); }

absl::Status Acting::Load() { return parts_->book.Load(); }

void Acting::Start() { parts_->engine->Start(); }

void Acting::Stop() {
  parts_->cancel.Cancel("the collector stops", CancelCause::kShutdown);
  parts_->cancelled = true;
  parts_->engine->Stop();
}

const ActionApi& Acting::api() const { return *parts_->api; }

std::vector<std::string> Acting::Problems() const {
  const std::string trouble = parts_->engine->Trouble();
  if (trouble.empty()) return {};
  return {absl::StrCat("actions can't be decided: ", trouble)};
}

}  // namespace fleetmark::collector
