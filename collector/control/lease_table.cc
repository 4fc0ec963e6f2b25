#include "collector/control/lease_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fleetmark::collector {
namespace {

constexpr absl::Duration kShortestRetry = absl::Seconds(5);
constexpr absl::Duration kLongestRetry = absl::Minutes(2);
// One that can't succeed before the configuration of either side changes.
constexpr absl::Duration kHopelessRetry = absl::Minutes(10);
// An agent that does not come back this long after it should has given up.
constexpr absl::Duration kForgetAfter = absl::Seconds(30);
constexpr size_t kHoldersNamed = 3;

bool Concerns(const LeaseLimit& limit, std::string_view benchmark) {
  const std::string name(benchmark);
  return std::any_of(limit.benchmarks.begin(), limit.benchmarks.end(),
                     [&](const std::string& pattern) { return MatchesGlob(pattern, name); });
}

// A node without a label stands with the others that lack it.
std::string ValueOf(const Labels& labels, const std::string& name) {
  const auto it = labels.find(name);
  return it == labels.end() ? "" : it->second;
}

std::string Shown(absl::Duration d) { return absl::FormatDuration(absl::Ceil(d, absl::Seconds(1))); }

}  // namespace

LeaseTable::LeaseTable(Options options, Metrics& metrics, Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      started_(clock.Mono()),
      granted_(metrics.AddCounter("fleetmark_lease_granted_total", "Leases granted.")),
      rng_(options_.seed) {
  const auto add = [&](const std::string& limit) {
    denied_[limit] =
        &metrics.AddCounter("fleetmark_lease_denied_total",
                            "Leases denied, by limit; none: by the table's own bounds.", {{"limit", limit}});
  };
  add("");
  for (const LeaseLimit& limit : options_.limits) add(limit.name);
  Gauge& held_now = metrics.AddGauge("fleetmark_lease_held", "Leases that are out.");
  Gauge& waiting_now = metrics.AddGauge("fleetmark_lease_waiting", "Runs that wait for a lease.");
  metrics.OnScrape([this, &held_now, &waiting_now] {
    held_now.Set(static_cast<double>(held()));
    waiting_now.Set(static_cast<double>(waiting()));
  });
}

// --- who is there ----------------------------------------------------------------------------------------

void LeaseTable::Connected(uint64_t session_id, const std::string& name, const Labels& labels) {
  MutexLock lock(mu_);
  if (const auto it = nodes_.find(name); it != nodes_.end()) {
    if (it->second.session_id > session_id) return;
    Leave(it->second);
  }
  Node node;
  node.session_id = session_id;
  for (size_t i = 0; i < options_.limits.size(); ++i) {
    const LeaseLimit& limit = options_.limits[i];
    std::optional<std::string>& key = node.groups.emplace_back();
    if (!HasLabels(labels, limit.node_labels)) continue;
    std::vector<std::string> shown;
    key = absl::StrCat(i);
    for (const std::string& label : limit.per) {
      const std::string value = ValueOf(labels, label);
      absl::StrAppend(&*key, " ", value.size(), ":", value);  // no two lists of values give the same text
      shown.push_back(absl::StrCat(label, "=", value));
    }
    Group& group = groups_[*key];
    group.limit = i;
    group.shown = absl::StrJoin(shown, ", ");
    ++group.connected;
  }
  nodes_[name] = std::move(node);
}

void LeaseTable::Disconnected(uint64_t session_id, const std::string& name) {
  MutexLock lock(mu_);
  const auto it = nodes_.find(name);
  if (it == nodes_.end() || it->second.session_id != session_id) return;
  const Node node = std::move(it->second);
  nodes_.erase(it);
  Leave(node);
}

void LeaseTable::Leave(const Node& node) {
  for (const auto& key : node.groups) {
    if (!key.has_value()) continue;
    --groups_.at(*key).connected;
    EraseIfIdle(*key);
  }
}

void LeaseTable::EraseIfIdle(const std::string& key) {
  const auto it = groups_.find(key);
  if (it != groups_.end() && it->second.connected == 0 && it->second.holders.empty()) groups_.erase(it);
}

// --- places ----------------------------------------------------------------------------------------------

LeaseTable::Groups LeaseTable::GroupsOf(const Node& node, std::string_view benchmark) const {
  Groups groups;
  for (size_t i = 0; i < options_.limits.size(); ++i) {
    if (node.groups[i].has_value() && Concerns(options_.limits[i], benchmark))
      groups.push_back(*node.groups[i]);
  }
  return groups;
}

size_t LeaseTable::Capacity(const Group& group) const {
  const LeaseLimit& limit = options_.limits[group.limit];
  if (limit.max_nodes > 0) return limit.max_nodes;
  // 5 % of 100 must not become 4 by rounding.
  const double share = std::floor(limit.max_share * static_cast<double>(group.connected) + 1e-9);
  return std::max<size_t>(1, static_cast<size_t>(share));
}

bool LeaseTable::Fits(const std::string& node, const std::string& key, const Extra& extra) const {
  const auto it = groups_.find(key);
  if (it == groups_.end()) return true;  // neither connected nodes nor holders
  if (it->second.holders.count(node) > 0) return true;
  const auto more = extra.find(key);
  return it->second.holders.size() + (more == extra.end() ? 0 : more->second) < Capacity(it->second);
}

const std::string* LeaseTable::Obstacle(const std::string& node, const Groups& groups,
                                        const Extra& extra) const {
  for (const std::string& key : groups) {
    if (!Fits(node, key, extra)) return &key;
  }
  return nullptr;
}

LeaseTable::Extra LeaseTable::KeptForOthers(Waiters::const_iterator end, MonoTime now) const {
  Extra extra;
  for (auto it = waiters_.begin(); it != end; ++it) {
    const Waiter& waiter = it->second;
    if (waiter.due_back > now + kPatience || !nodes_.contains(waiter.node)) continue;
    if (Obstacle(waiter.node, waiter.groups, extra) != nullptr) continue;
    for (const std::string& key : waiter.groups) {
      if (const auto group = groups_.find(key);
          group == groups_.end() || group->second.holders.count(waiter.node) == 0)
        ++extra[key];
    }
  }
  return extra;
}

// --- deciding --------------------------------------------------------------------------------------------

v1::Lease LeaseTable::Ask(const Request& request) {
  MutexLock lock(mu_);
  Expire();
  const auto node = nodes_.find(request.node);
  if (node == nodes_.end()) {
    return Deny(request, {}, {"", "the node is not connected", Spread(kShortestRetry), false});
  }
  v1::Lease lease = Decide(request, node->second);
  lease.set_request_id(request.request_id);
  return lease;
}

v1::Lease LeaseTable::Decide(const Request& request, const Node& node) {
  if (const auto it = leases_.find({request.node, request.request_id}); it != leases_.end()) {
    if (it->second.benchmark != request.benchmark) {
      return Deny(request, {}, {"", "the request id is another lease's", Spread(kHopelessRetry), false});
    }
    v1::Lease lease;
    lease.set_granted(true);
    lease.set_expires_seconds(absl::ToDoubleSeconds(it->second.expires - clock_.Mono()));
    return lease;
  }
  Groups groups = GroupsOf(node, request.benchmark);
  if (groups.empty()) return Grant(request, {});
  std::optional<Denial> denial = CheckLimits(request, groups);
  if (!denial.has_value()) denial = CheckBounds(request);
  if (!denial.has_value()) denial = CheckPlaces(request, groups);
  if (denial.has_value()) return Deny(request, groups, *denial);
  return Grant(request, std::move(groups));
}

std::optional<LeaseTable::Denial> LeaseTable::CheckLimits(const Request& request, const Groups& groups) {
  const auto place = FindWaiter(request.node, request.benchmark);  // the end when it is new
  for (const std::string& key : groups) {
    const LeaseLimit& limit = options_.limits[groups_.at(key).limit];
    if (request.duration > limit.longest) {
      return Denial{limit.name,
                    absl::StrCat("limit '", limit.name, "' allows runs of at most ", Shown(limit.longest),
                                 ", and this one may take ", Shown(request.duration)),
                    Spread(kHopelessRetry), false};
    }
    const absl::Duration left = started_ + limit.longest + kMargin - clock_.Mono();
    if (left > absl::ZeroDuration()) {
      return Denial{
          limit.name,
          absl::StrCat("limit '", limit.name, "': the collector has started, and leases of before may ",
                       "be out for another ", Shown(left)),
          left + RetryAfter(key, place)};
    }
  }
  return std::nullopt;
}

std::optional<LeaseTable::Denial> LeaseTable::CheckBounds(const Request& request) {
  if (leases_.size() >= options_.max_leases) {
    return Denial{"", absl::StrCat("at most ", options_.max_leases, " leases are out at a time"),
                  Spread(kLongestRetry)};
  }
  size_t of_node = 0;
  for (auto it = leases_.lower_bound({request.node, ""});
       it != leases_.end() && it->first.first == request.node; ++it) {
    ++of_node;
  }
  if (of_node < options_.max_leases_per_node) return std::nullopt;
  return Denial{"", absl::StrCat("a node has at most ", options_.max_leases_per_node, " leases at a time"),
                Spread(kLongestRetry)};
}

std::optional<LeaseTable::Denial> LeaseTable::CheckPlaces(const Request& request, const Groups& groups) {
  const auto place = FindWaiter(request.node, request.benchmark);  // the end when it is new
  if (const std::string* key = Obstacle(request.node, groups, {})) {
    return Denial{options_.limits[groups_.at(*key).limit].name, Describe(*key), RetryAfter(*key, place)};
  }
  const Extra kept = KeptForOthers(place, clock_.Mono());
  const std::string* key = Obstacle(request.node, groups, kept);
  if (key == nullptr) return std::nullopt;
  return Denial{
      options_.limits[groups_.at(*key).limit].name,
      absl::StrCat(Describe(*key), "; the places left are kept for ", kept.at(*key), " that waited longer"),
      RetryAfter(*key, place)};
}

// Those at the head come back soon, so that a place that gets free is not idle for long.
absl::Duration LeaseTable::RetryAfter(const std::string& key, Waiters::const_iterator end) {
  size_t ahead = 0;
  for (auto it = waiters_.cbegin(); it != end; ++it) {
    const Groups& groups = it->second.groups;
    if (std::find(groups.begin(), groups.end(), key) != groups.end()) ++ahead;
  }
  const double rounds = static_cast<double>(ahead) / static_cast<double>(Capacity(groups_.at(key)));
  return Spread(std::min(kShortestRetry * (1 + rounds), kLongestRetry));
}

absl::Duration LeaseTable::Spread(absl::Duration mean) {
  return mean * std::uniform_real_distribution<double>(0.5, 1.5)(rng_);
}

std::string LeaseTable::Describe(const std::string& key) const {
  const Group& group = groups_.at(key);
  std::vector<std::string> holders;
  for (const auto& [node, benchmarks] : group.holders) {
    if (holders.size() == kHoldersNamed) break;
    holders.push_back(absl::StrCat(node, " (", absl::StrJoin(benchmarks, ", "), ")"));
  }
  const size_t unnamed = group.holders.size() - holders.size();
  return absl::StrCat("limit '", options_.limits[group.limit].name, "'",
                      group.shown.empty() ? "" : absl::StrCat(" for ", group.shown), ": ",
                      group.holders.size(), " of at most ", Capacity(group), " nodes",
                      holders.empty() ? "" : ": ", absl::StrJoin(holders, ", "),
                      unnamed == 0 ? "" : absl::StrCat(" and ", unnamed, " more"));
}

v1::Lease LeaseTable::Grant(const Request& request, Groups groups) {
  granted_.Add();
  const absl::Duration lasts = request.duration + kMargin;
  v1::Lease lease;
  lease.set_granted(true);
  lease.set_expires_seconds(absl::ToDoubleSeconds(lasts));
  if (const auto it = FindWaiter(request.node, request.benchmark); it != waiters_.end()) EraseWaiter(it);
  if (groups.empty()) return lease;  // nothing limits it, so nobody needs to know
  const LeaseKey key{request.node, request.request_id};
  const MonoTime expires = clock_.Mono() + lasts;
  for (const std::string& group : groups)
    groups_.at(group).holders[request.node].push_back(request.benchmark);
  by_expiry_.insert({expires, key});
  leases_[key] = {request.benchmark, std::move(groups), expires};
  return lease;
}

v1::Lease LeaseTable::Deny(const Request& request, const Groups& groups, const Denial& denial) {
  denied_.at(denial.limit)->Add();
  v1::Lease lease;
  lease.set_request_id(request.request_id);
  lease.set_reason(denial.reason);
  lease.set_retry_seconds(absl::ToDoubleSeconds(denial.retry));
  if (!denial.waits) return lease;
  const MonoTime due_back = clock_.Mono() + denial.retry;
  if (const auto it = FindWaiter(request.node, request.benchmark); it != waiters_.end()) {
    it->second.due_back = due_back;
    it->second.groups = groups;
  } else if (waiters_.size() < options_.max_waiting) {
    const Place place{clock_.Mono(), ++last_place_};
    waiters_[place] = {request.node, request.benchmark, groups, due_back};
    places_[{request.node, request.benchmark}] = place;
  } else {
    lease.set_retry_seconds(absl::ToDoubleSeconds(std::max(denial.retry, Spread(kLongestRetry))));
  }
  return lease;
}

// --- the end ---------------------------------------------------------------------------------------------

void LeaseTable::Release(const std::string& node, const std::string& request_id) {
  MutexLock lock(mu_);
  Expire();
  EraseLease({node, request_id});
}

void LeaseTable::EraseLease(const LeaseKey& key) {
  const auto it = leases_.find(key);
  if (it == leases_.end()) return;
  for (const std::string& name : it->second.groups) {
    Group& group = groups_.at(name);
    std::vector<std::string>& benchmarks = group.holders.at(key.first);
    benchmarks.erase(std::find(benchmarks.begin(), benchmarks.end(), it->second.benchmark));
    if (benchmarks.empty()) group.holders.erase(key.first);
    EraseIfIdle(name);
  }
  by_expiry_.erase({it->second.expires, key});
  leases_.erase(it);
}

void LeaseTable::Expire() {
  const MonoTime now = clock_.Mono();
  while (!by_expiry_.empty() && by_expiry_.begin()->first <= now) {
    EraseLease(LeaseKey(by_expiry_.begin()->second));
  }
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    const auto at = it++;
    if (at->second.due_back + kForgetAfter < now) EraseWaiter(at);
  }
}

LeaseTable::Waiters::iterator LeaseTable::FindWaiter(const std::string& node, const std::string& benchmark) {
  const auto it = places_.find({node, benchmark});
  return it == places_.end() ? waiters_.end() : waiters_.find(it->second);
}

void LeaseTable::EraseWaiter(Waiters::iterator it) {
  places_.erase({it->second.node, it->second.benchmark});
  waiters_.erase(it);
}

size_t LeaseTable::held() {
  MutexLock lock(mu_);
  Expire();
  return leases_.size();
}

size_t LeaseTable::waiting() {
  MutexLock lock(mu_);
  Expire();
  return waiters_.size();
}

}  // namespace fleetmark::collector
