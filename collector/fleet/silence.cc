#include "collector/fleet/silence.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "common/config/quantities.h"

namespace fleetmark::collector {
namespace {

constexpr absl::Duration kUnknownCron = absl::Hours(24 * 9);  // weekly, with room
constexpr absl::Duration kTogether = absl::Minutes(10);

std::string Rounded(absl::Duration d) {
  if (d >= absl::Hours(48)) return absl::StrCat(d / absl::Hours(24), " days");
  if (d >= absl::Hours(2)) return absl::StrCat(d / absl::Hours(1), " hours");
  return absl::StrCat(d / absl::Minutes(1), " minutes");
}

}  // namespace

absl::Duration ExpectedInterval(const PlannedBenchmark& benchmark) {
  absl::string_view rest = benchmark.schedule;
  if (absl::ConsumePrefix(&rest, "every ")) {
    const absl::StatusOr<absl::Duration> every = ParseDuration(std::string_view(rest.data(), rest.size()));
    if (every.ok() && *every > absl::ZeroDuration()) return *every;
  }
  return benchmark.longest_gap > absl::ZeroDuration() ? benchmark.longest_gap : kUnknownCron;
}

std::vector<Silent> JudgeSilence(const NodeActivity& node, absl::Time watching_since, absl::Time now,
                                 const SilenceOptions& options) {
  std::vector<Silent> silent;
  if (!node.connected) {
    const absl::Time since = std::max(node.last_seen, watching_since);
    if (now - node.last_seen > options.forgotten_after) return silent;
    if (now - since > options.gone_after) {
      silent.push_back(
          {node.node, "", node.last_seen,
           absl::StrCat("the agent of ", node.node, " is gone for ", Rounded(now - node.last_seen))});
    }
    return silent;  // what it would have run is no news then
  }
  for (const PlannedBenchmark& benchmark : node.benchmarks) {
    const absl::Duration interval = ExpectedInterval(benchmark);
    const absl::Duration splay = benchmark.splay > absl::ZeroDuration() ? benchmark.splay : interval;
    const absl::Time heard = std::max(benchmark.last_run, benchmark.known_since);
    absl::Duration allowed = options.intervals * interval + options.grace;
    if (benchmark.last_run == absl::InfinitePast()) allowed += splay;
    if (!node.waits_for.empty()) allowed = std::max(allowed, options.patience);
    if (now - std::max(heard, watching_since) <= allowed) continue;
    std::string text = absl::StrCat(benchmark.name,
                                    benchmark.last_run == absl::InfinitePast()
                                        ? " has never run, though it is planned"
                                        : absl::StrCat(" has no result for ", Rounded(now - heard)),
                                    " (", benchmark.schedule, ")");
    if (!node.waits_for.empty()) absl::StrAppend(&text, "; it waits: ", node.waits_for);
    silent.push_back({node.node, benchmark.name, heard, std::move(text)});
  }
  return silent;
}

std::vector<std::vector<size_t>> JoinSilences(absl::Span<const Silent> silent) {
  std::vector<size_t> order(silent.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return silent[a].since < silent[b].since; });
  std::vector<std::vector<size_t>> groups;
  std::map<std::string, size_t> by_benchmark;
  size_t gone = 0;
  absl::Time last_gone = absl::InfinitePast();
  for (const size_t i : order) {
    if (silent[i].benchmark.empty()) {
      if (silent[i].since - last_gone > kTogether) {
        gone = groups.size();
        groups.emplace_back();
      }
      last_gone = silent[i].since;
      groups[gone].push_back(i);
      continue;
    }
    const auto [it, inserted] = by_benchmark.emplace(silent[i].benchmark, groups.size());
    if (inserted) groups.emplace_back();
    groups[it->second].push_back(i);
  }
  return groups;
}

}  // namespace fleetmark::collector
