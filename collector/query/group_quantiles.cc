#include "collector/query/group_quantiles.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "collector/fleet/node_class.h"
#include "collector/store/store.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/model/labels.h"
#include "common/model/limits.h"

namespace fleetmark::collector {
namespace {

constexpr uint32_t kPage = 10'000;
constexpr int kMaxBy = 8;
constexpr int kMaxQuantiles = 32;
constexpr double kDefaultQuantiles[] = {0.05, 0.25, 0.5, 0.75, 0.95};
constexpr double kMaxStepSeconds = 100 * 366 * 86'400.0;
constexpr char kSeriesLabel[] = "label.";

absl::Status Check(const v1::ReadQuantilesRequest& request) {
  if (request.selector().benchmark().empty()) return absl::InvalidArgumentError("benchmark: must be set");
  if (request.selector().metric().empty()) return absl::InvalidArgumentError("metric: must be set");
  const double step = request.step_seconds();
  if (!(step == 0 || (step >= 1 && step <= kMaxStepSeconds))) {
    return absl::InvalidArgumentError("step_seconds: must be 0, or from 1 to a hundred years");
  }
  if (request.by_size() > kMaxBy)
    return absl::InvalidArgumentError(absl::StrCat("by: more than ", kMaxBy, " names"));
  for (const std::string& name : request.by()) {
    if (name.empty()) return absl::InvalidArgumentError("by: a name is empty");
    FM_RETURN_IF_ERROR(CheckText("by", name, limits::kLabelValueBytes));
  }
  if (request.quantiles_size() > kMaxQuantiles) {
    return absl::InvalidArgumentError(absl::StrCat("quantiles: more than ", kMaxQuantiles));
  }
  for (const double q : request.quantiles()) {
    if (!(q >= 0 && q <= 1)) return absl::InvalidArgumentError("quantiles: each must be from 0 to 1");
  }
  return absl::OkStatus();
}

class Grouping {
 public:
  Grouping(const Store& store, const v1::ReadQuantilesRequest& request, const QuantileLimits& limits)
      : store_(store), request_(request), limits_(limits) {}

  // Sorts the series that match into groups.
  absl::Status ReadSeries() {
    Page page{kPage, {}};
    do {
      FM_ASSIGN_OR_RETURN(const std::vector<v1::Series> some,
                          store_.ListSeries(request_.selector(), page, &page.token));
      if (series_.size() + some.size() > limits_.series) {
        return absl::ResourceExhaustedError(absl::StrCat("more than ", limits_.series, " series match"));
      }
      for (const v1::Series& series : some) FM_RETURN_IF_ERROR(AddSeries(series));
    } while (!page.token.empty());
    return absl::OkStatus();
  }

  // Ascending.
  const std::vector<uint64_t>& series() const { return series_; }
  size_t GroupOf(uint64_t series_id) const { return group_of_.at(series_id); }
  const std::vector<v1::QuantileGroup>& groups() const { return groups_; }
  int64_t first_unix_ns() const { return first_unix_ns_; }  // of all samples

 private:
  absl::Status AddSeries(const v1::Series& series) {
    if (series.samples() == 0) return absl::OkStatus();
    v1::QuantileGroup group;
    group.set_unit(series.key().unit());
    group.set_better(series.better());
    std::vector<std::string> values;
    for (const std::string& name : request_.by()) {
      FM_ASSIGN_OR_RETURN(values.emplace_back(), ValueOf(series.key(), name));
      (*group.mutable_by())[name] = values.back();
    }
    const auto [it, made] = numbers_.try_emplace({values, group.unit(), group.better()}, groups_.size());
    if (made && groups_.size() == limits_.groups) {
      return absl::ResourceExhaustedError(absl::StrCat("by: makes more than ", limits_.groups, " groups"));
    }
    if (made) groups_.push_back(std::move(group));
    v1::QuantileGroup& to = groups_[it->second];
    to.set_series(to.series() + 1);
    series_.push_back(series.series_id());
    group_of_[series.series_id()] = it->second;
    first_unix_ns_ = std::min(first_unix_ns_, series.first_unix_ns());
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ValueOf(const v1::SeriesKey& key, const std::string& name) {
    if (name == "node") return key.node();
    if (name == "params_digest") return key.params_digest();
    if (name == "plugin_version") return key.plugin_version();
    if (absl::StartsWith(name, kSeriesLabel)) {
      const auto it = key.labels().find(name.substr(sizeof kSeriesLabel - 1));
      return it == key.labels().end() ? std::string() : it->second;
    }
    const auto [attributes, made] = attributes_.try_emplace(key.node());
    if (made) {
      const absl::StatusOr<v1::Node> node = store_.GetNode(key.node());
      if (!node.ok() && !absl::IsNotFound(node.status())) return node.status();
      Attributes all = NodeAttributes(node.ok() ? *node : v1::Node());
      for (const std::string& wanted : request_.by()) attributes->second[wanted] = all[wanted];
    }
    return attributes->second[name];
  }

  const Store& store_;
  const v1::ReadQuantilesRequest& request_;
  const QuantileLimits& limits_;
  std::vector<uint64_t> series_;
  absl::flat_hash_map<uint64_t, size_t> group_of_;
  std::vector<v1::QuantileGroup> groups_;
  std::map<std::tuple<std::vector<std::string>, std::string, int>, size_t> numbers_;
  absl::flat_hash_map<std::string, Attributes> attributes_;  // of nodes; those asked for
  int64_t first_unix_ns_ = INT64_MAX;
};

// Where steps begin: at the range's begin, or at whole multiples of the step since 1970.
struct Steps {
  int64_t origin_ns = 0;
  int64_t length_ns = INT64_MAX;

  int64_t Of(int64_t time_ns) const { return (time_ns - origin_ns) / length_ns; }
};

Steps StepsOf(const v1::ReadQuantilesRequest& request, int64_t first_unix_ns) {
  Steps steps;
  steps.origin_ns = request.range().from_unix_ns();
  if (request.step_seconds() > 0) steps.length_ns = std::llround(request.step_seconds() * 1e9);
  if (steps.origin_ns == 0 && request.step_seconds() > 0) {
    steps.origin_ns = first_unix_ns - first_unix_ns % steps.length_ns;
  }
  return steps;
}

absl::Status ReadValues(const Store& store, const Clock& clock, const v1::ReadQuantilesRequest& request,
                        const QuantileLimits& limits, const Grouping& grouping, const Steps& steps,
                        QuantilePools* pools) {
  const MonoTime until = clock.Mono() + limits.time;
  absl::Status status;
  const auto visit = [&](uint64_t id, absl::Span<const int64_t> times, absl::Span<const double> values) {
    const size_t group = grouping.GroupOf(id);
    for (size_t begin = 0; begin < times.size() && status.ok();) {
      const int64_t step = steps.Of(times[begin]);
      size_t end = begin + 1;
      while (end < times.size() && steps.Of(times[end]) == step) ++end;
      status = pools->Add({group, step}, values.subspan(begin, end - begin));
      begin = end;
    }
    if (status.ok() && clock.Mono() > until) {
      status = absl::DeadlineExceededError(absl::StrCat("took more than ", absl::FormatDuration(limits.time),
                                                        "; ask for fewer series or less time"));
    }
    return status.ok();
  };
  const v1::TimeRange& range = request.range();
  const int64_t to = range.to_unix_ns() == 0 ? INT64_MAX : range.to_unix_ns();
  FM_RETURN_IF_ERROR(store.ScanValues(grouping.series(), range.from_unix_ns(), to, visit));
  return status;
}

}  // namespace

absl::StatusOr<v1::ReadQuantilesResponse> GroupQuantiles(const Store& store, const Clock& clock,
                                                         const v1::ReadQuantilesRequest& request,
                                                         const QuantileLimits& limits) {
  FM_RETURN_IF_ERROR(Check(request));
  v1::ReadQuantilesResponse response;
  response.mutable_quantiles()->Add(request.quantiles().begin(), request.quantiles().end());
  if (request.quantiles().empty()) {
    response.mutable_quantiles()->Add(std::begin(kDefaultQuantiles), std::end(kDefaultQuantiles));
  }
  Grouping grouping(store, request, limits);
  FM_RETURN_IF_ERROR(grouping.ReadSeries());
  const Steps steps = StepsOf(request, grouping.first_unix_ns());
  QuantilePools pools(limits.pools);
  FM_RETURN_IF_ERROR(ReadValues(store, clock, request, limits, grouping, steps, &pools));
  size_t bytes = 0;
  size_t group = SIZE_MAX;
  for (const QuantilePools::Answer& answer :
       pools.Quantiles({response.quantiles().data(), static_cast<size_t>(response.quantiles_size())})) {
    if (answer.key.first != group) {
      group = answer.key.first;
      *response.add_groups() = grouping.groups()[group];
      bytes += response.groups().rbegin()->ByteSizeLong() + 8;
    }
    v1::QuantileStep& step = *response.mutable_groups()->rbegin()->add_steps();
    step.set_begin_unix_ns(steps.origin_ns + answer.key.second * steps.length_ns);
    step.set_samples(answer.count);
    step.mutable_values()->Add(answer.values.begin(), answer.values.end());
    bytes += step.ByteSizeLong() + 8;
    if (bytes > limits.answer_bytes) {
      return absl::ResourceExhaustedError(
          "the answer would be too long; ask for fewer groups or longer steps");
    }
  }
  response.set_relative_error(pools.exact() ? 0 : QuantilePools::kRelativeError);
  return response;
}

}  // namespace fleetmark::collector
