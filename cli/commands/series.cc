#include "common/model/series.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "cli/commands/arguments.h"
#include "cli/commands/commands.h"
#include "cli/output/format.h"
#include "common/base/status.h"

namespace fleetmark::cli {
namespace {

constexpr uint32_t kSeriesShown = 1000;
constexpr uint32_t kSamplesShown = 50;

std::string BetterName(v1::Better better) {
  switch (better) {
    case v1::BETTER_HIGHER:
      return "↑ higher";
    case v1::BETTER_LOWER:
      return "↓ lower";
    default:
      return "-";
  }
}

void PrintList(const v1::ListSeriesResponse& response, Session& session) {
  const absl::Time now = session.clock.Now();
  Table table({{"ID", true},
               {"NODE"},
               {"BENCHMARK"},
               {"METRIC"},
               {"LABELS"},
               {"LAST", true},
               {"UNIT"},
               {"BETTER"},
               {"SAMPLES", true},
               {"PLUGIN", false, true},
               {"PLUGIN VERSION", false, true},
               {"PARAMS", false, true},
               {"FIRST TIME", false, true},
               {"LAST TIME"}});
  for (const v1::Series& series : response.series()) {
    const v1::SeriesKey& key = series.key();
    table.AddRow({CountCell(series.series_id()), key.node(), key.benchmark(), key.metric(),
                  FormatLabels(key.labels()), NumberCell(series.last_value()), key.unit(),
                  BetterName(series.better()), CountCell(series.samples()), key.plugin(),
                  key.plugin_version(), key.params_digest(), TimeCell(series.first_unix_ns(), now),
                  TimeCell(series.last_unix_ns(), now)});
  }
  session.output.Print(table,
                       "no series yet that matches; a series begins with the first good run of a benchmark: "
                       "`fleetmark run NODE BENCHMARK`");
}

void PrintSummary(const v1::ReadSamplesResponse& response, const Output& output) {
  const v1::Series& series = response.series();
  output.Say(DisplayName(series.key()));
  std::vector<double> values;
  for (const v1::Sample& sample : response.samples()) values.push_back(sample.value());
  if (values.empty()) return;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  output.Say(absl::StrCat(Sparkline(values, output.columns() - 1)));
  output.Say(absl::StrCat(values.size(), " of ", series.samples(), " samples, ", FormatNumber(*low), " to ",
                          FormatNumber(*high), " ", series.key().unit(), ", ", BetterName(series.better()),
                          " is better\n"));
}

void PrintSamples(const v1::ReadSamplesResponse& response, Session& session) {
  if (!session.output.csv()) PrintSummary(response, session.output);
  const absl::Time now = session.clock.Now();
  Table table({{"TIME"}, {"VALUE", true}, {"SPREAD", true}, {"RUN"}});
  for (const v1::Sample& sample : response.samples()) {
    const std::string spread =
        sample.relative_spread() == 0 ? "" : FormatChange(sample.relative_spread()).substr(1);
    table.AddRow({TimeCell(sample.time_unix_ns(), now), NumberCell(sample.value()),
                  Cell(spread, spread, FormatExact(sample.relative_spread())), sample.run_id()});
  }
  session.output.Print(table, "no sample in that time; leave out --since to see all");
}

CommandResult ShowSamples(const SeriesOptions& options, Session& session) {
  v1::ReadSamplesRequest request;
  FM_ASSIGN_OR_RETURN(const uint64_t id, ParseSeriesId(options.id));
  request.set_series_id(id);
  FM_ASSIGN_OR_RETURN(*request.mutable_range(), RangeSince(options.since, session.clock.Now()));
  request.set_limit(options.limit == 0 ? kSamplesShown : options.limit);
  request.set_newest(true);
  FM_ASSIGN_OR_RETURN(const v1::ReadSamplesResponse response, session.client.ReadSamples(request));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
  } else {
    PrintSamples(response, session);
  }
  if (response.truncated()) session.output.Note("there are older samples; --limit shows them");
  return kExitOk;
}

}  // namespace

CommandResult ShowSeries(const SeriesOptions& options, Session& session) {
  if (!options.id.empty()) return ShowSamples(options, session);
  v1::ListSeriesRequest request;
  request.mutable_selector()->set_node(options.node);
  request.mutable_selector()->set_benchmark(options.benchmark);
  request.mutable_selector()->set_metric(options.metric);
  FM_ASSIGN_OR_RETURN(const auto labels, ParseLabels(options.labels));
  request.mutable_selector()->mutable_labels()->insert(labels.begin(), labels.end());
  request.set_limit(options.limit == 0 ? kSeriesShown : options.limit);
  FM_ASSIGN_OR_RETURN(const v1::ListSeriesResponse response, session.client.ListSeries(request));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
  } else {
    PrintList(response, session);
  }
  if (!response.next_page_token().empty()) session.output.Note("there are more; --limit shows them");
  return kExitOk;
}

}  // namespace fleetmark::cli
