#include "agent/benchmark_set.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "agent/plugin_user.h"
#include "common/base/status.h"
#include "common/model/benchmark.h"
#include "common/model/limits.h"

namespace fleetmark::agent {
namespace {

constexpr absl::Duration kCronSplay = absl::Minutes(15);

absl::StatusOr<PreparedBenchmark> PrepareOne(const AgentConfig& config, const v1::Benchmark& b,
                                             const std::optional<RunUser>& user, const Catalog& catalog) {
  PreparedBenchmark out;
  out.benchmark = b;
  FM_ASSIGN_OR_RETURN(const InstalledPlugin* plugin, catalog.Get(b.plugin()));
  out.plugin = *plugin;
  if (!b.plugin_digest().empty() && b.plugin_digest() != plugin->digest) {
    return absl::FailedPreconditionError(absl::StrCat("plugin '", b.plugin(), "' has digest ", plugin->digest,
                                                      ", not ", b.plugin_digest(), " as configured"));
  }
  if (plugin->manifest.privileges == Privileges::kRoot && !config.allow_root_plugins) {
    return absl::FailedPreconditionError(
        absl::StrCat("plugin '", b.plugin(), "' asks for root, which plugins.allow_root does not allow"));
  }
  if (user.has_value() && plugin->manifest.privileges != Privileges::kRoot) {
    FM_RETURN_IF_ERROR(CheckReachable(plugin->program, *user));
  }
  FM_ASSIGN_OR_RETURN(out.params, ResolveParams(plugin->manifest, b.params_json()));
  FM_ASSIGN_OR_RETURN(const Schedule schedule, PrepareSchedule(b, config.node_name));
  if (b.enabled()) out.schedule = schedule;
  return out;
}

Claim ToClaim(ResourceUse use) {
  switch (use) {
    case ResourceUse::kNone:
      return Claim::kNone;
    case ResourceUse::kShared:
      return Claim::kShared;
    case ResourceUse::kExclusive:
      return Claim::kExclusive;
  }
  return Claim::kExclusive;
}

}  // namespace

absl::StatusOr<Schedule> PrepareSchedule(const v1::Benchmark& b, const std::string& node) {
  FM_ASSIGN_OR_RETURN(const Schedule schedule, Schedule::Parse(b.schedule(), b.time_zone()));
  absl::Duration cap = absl::Seconds(b.splay_seconds());
  if (cap == absl::ZeroDuration()) {
    cap = absl::StartsWith(b.schedule(), "every") ? absl::InfiniteDuration() : kCronSplay;
  }
  return schedule.WithSplay(node, b.name(), cap);
}

absl::StatusOr<std::shared_ptr<const BenchmarkSet>> BenchmarkSet::Prepare(
    const AgentConfig& config, std::shared_ptr<const Catalog> catalog) {
  FM_ASSIGN_OR_RETURN(const std::optional<RunUser> user, FindPluginUser(config.plugin_user));
  auto set = std::make_shared<BenchmarkSet>();
  std::vector<std::string> faults;
  for (const BenchmarkConfig& item : config.benchmarks) {
    absl::StatusOr<PreparedBenchmark> prepared = PrepareOne(config, item.benchmark, user, *catalog);
    if (prepared.ok()) {
      set->benchmarks_.push_back(*std::move(prepared));
      continue;
    }
    // A fault of several lines, such as a manifest's, keeps each line whole.
    for (absl::string_view line : absl::StrSplit(prepared.status().message(), '\n')) {
      faults.push_back(absl::StrCat(item.where, ": benchmark '", item.benchmark.name(), "': ", line));
    }
  }
  if (!faults.empty()) return absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
  set->catalog_ = std::move(catalog);
  return set;
}

namespace {

absl::StatusOr<PreparedBenchmark> PreparePlanned(const AgentConfig& config, const v1::Benchmark& b,
                                                 const std::optional<RunUser>& user, const Catalog& catalog) {
  FM_RETURN_IF_ERROR(CheckBenchmark(b));
  FM_ASSIGN_OR_RETURN(const InstalledPlugin* plugin, catalog.Get(b.plugin()));
  if (!plugin->manifest.local_only || config.plan_plugins.count(b.plugin()) > 0) {
    return PrepareOne(config, b, user, catalog);
  }
  return absl::FailedPreconditionError(
      absl::StrCat("plugin '", b.plugin(),
                   "' runs what its parameters say, which a plan may not set here: configure it on "
                   "the node, or name it in plan.allow_plugins"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const BenchmarkSet>> BenchmarkSet::WithPlan(const AgentConfig& config,
                                                                           const v1::Plan& plan) const {
  FM_ASSIGN_OR_RETURN(const std::optional<RunUser> user, FindPluginUser(config.plugin_user));
  auto set = std::make_shared<BenchmarkSet>(*this);
  std::vector<std::string> faults;
  for (const v1::Benchmark& b : plan.benchmarks()) {
    if (Find(b.name()) != nullptr) continue;
    absl::StatusOr<PreparedBenchmark> prepared = PreparePlanned(config, b, user, *catalog_);
    if (prepared.ok() && set->Find(b.name()) != nullptr)
      prepared = absl::AlreadyExistsError("is there twice");
    if (prepared.ok()) {
      set->benchmarks_.push_back(*std::move(prepared));
    } else {
      faults.push_back(absl::StrCat("benchmark '", b.name(), "': ", Message(prepared.status())));
    }
  }
  if (set->benchmarks_.size() > limits::kBenchmarksPerNode) {
    faults.push_back(absl::StrCat("a node has at most ", limits::kBenchmarksPerNode, " benchmarks"));
  }
  if (!faults.empty()) return absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
  return set;
}

const PreparedBenchmark* BenchmarkSet::Find(const std::string& name) const {
  for (const PreparedBenchmark& b : benchmarks_) {
    if (b.benchmark.name() == name) return &b;
  }
  return nullptr;
}

namespace {

// Of "gpu3" the bit 3; of no devices all bits.
uint64_t GpuBits(const v1::Benchmark& b) {
  uint64_t bits = 0;
  for (const std::string& device : b.devices()) {
    int number = 0;
    if (absl::SimpleAtoi(device.substr(3), &number)) bits |= uint64_t{1} << std::clamp(number, 0, 63);
  }
  return bits == 0 ? ~uint64_t{0} : bits;
}

}  // namespace

std::vector<Scheduler::Job> BenchmarkSet::Jobs() const {
  std::vector<Scheduler::Job> jobs;
  for (const PreparedBenchmark& b : benchmarks_) {
    const PluginResources& uses = b.plugin.manifest.resources;
    jobs.push_back({b.benchmark.name(), b.schedule,
                    Claims{ToClaim(uses.cpu), ToClaim(uses.gpu), ToClaim(uses.disk), ToClaim(uses.net),
                           GpuBits(b.benchmark)}});
  }
  return jobs;
}

std::vector<v1::Benchmark> BenchmarkSet::Describe() const {
  std::vector<v1::Benchmark> out;
  for (const PreparedBenchmark& b : benchmarks_) out.push_back(b.benchmark);
  return out;
}

}  // namespace fleetmark::agent
