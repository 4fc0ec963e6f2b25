// A fleet's starts over a week, minute by minute, as the agents' schedules make them; with --share also what
// the runs take of each node's time with that budget.
//
// usage: schedule_spread SUITE.yaml [--nodes N] [--days N] [--share S] [--json FILE]
//
// Exit status: 0 the largest minute of all starts has at most 1.5 times the mean and no node is over its
// budget, 1 otherwise, 2 wrong arguments.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "bench/schedule/budget_week.h"
#include "bench/schedule/start_spread.h"
#include "common/base/status.h"

namespace fleetmark::bench {
namespace {

constexpr double kLargestRatio = 1.5;

struct Arguments {
  std::string suite;
  int nodes = 10'000;
  int days = 7;
  double share = 0;  // 0: no budget is looked at
  std::string json;
};

std::string Json(const Arguments& args, const std::vector<StartSpread>& spreads) {
  std::vector<std::string> items;
  for (const StartSpread& s : spreads) {
    items.push_back(absl::StrCat("{\"benchmark\":\"", s.benchmark.empty() ? "*" : s.benchmark,
                                 "\",\"starts\":", s.starts, ",\"mean_minute\":", s.mean_minute,
                                 ",\"largest_minute\":", s.largest_minute,
                                 ",\"smallest_minute\":", s.smallest_minute, ",\"ratio\":", s.ratio(), "}"));
  }
  return absl::StrCat("{\"nodes\":", args.nodes, ",\"days\":", args.days, ",\"spreads\":[",
                      absl::StrJoin(items, ","), "]}\n");
}

int ReportBudget(const Arguments& args) {
  const auto week = MeasureBudgetWeek(args.suite, args.nodes, absl::Hours(24) * args.days, args.share);
  if (!week.ok()) {
    fprintf(stderr, "%s\n", Message(week.status()).c_str());
    return 2;
  }
  printf("\nbudget %.4f of each node's time: %lu runs of %lu that were due\n", args.share, week->runs,
         week->asked);
  printf("spent: mean %.3f of it, most of a node %.3f, worst 24 h of a node %.3f; longest run %s\n",
         week->mean_share / args.share, week->largest_share / args.share, week->largest_day / args.share,
         absl::FormatDuration(week->longest_run).c_str());
  printf("over the budget: %d nodes; over a day's and one run in some 24 h: %d nodes\n", week->nodes_over,
         week->nodes_over_day);
  return week->nodes_over + week->nodes_over_day == 0 ? 0 : 1;
}

int Main(const Arguments& args) {
  const auto spreads = MeasureStartSpread(args.suite, args.nodes, absl::Hours(24) * args.days);
  if (!spreads.ok()) {
    fprintf(stderr, "%s\n", Message(spreads.status()).c_str());
    return 2;
  }
  printf("%d nodes, %d days; starts a minute\n%-16s %10s %8s %8s %9s %6s\n", args.nodes, args.days,
         "benchmark", "starts", "mean", "largest", "smallest", "ratio");
  for (const StartSpread& s : *spreads) {
    printf("%-16s %10lu %8.1f %8lu %9lu %6.3f\n", s.benchmark.empty() ? "all" : s.benchmark.c_str(), s.starts,
           s.mean_minute, s.largest_minute, s.smallest_minute, s.ratio());
  }
  if (!args.json.empty()) std::ofstream(args.json) << Json(args, *spreads);
  const int budget = args.share > 0 ? ReportBudget(args) : 0;
  return budget != 0 ? budget : spreads->back().ratio() <= kLargestRatio ? 0 : 1;
}

}  // namespace
}  // namespace fleetmark::bench

int main(int argc, char** argv) {
  fleetmark::bench::Arguments args;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool has_value = i + 1 < argc;
    if (arg == "--nodes" && has_value) {
      args.nodes = std::atoi(argv[++i]);
    } else if (arg == "--days" && has_value) {
      args.days = std::atoi(argv[++i]);
    } else if (arg == "--share" && has_value) {
      args.share = std::atof(argv[++i]);
    } else if (arg == "--json" && has_value) {
      args.json = argv[++i];
    } else if (arg[0] != '-' && args.suite.empty()) {
      args.suite = arg;
    } else {
      args.suite.clear();
      break;
    }
  }
  if (args.suite.empty() || args.nodes <= 0 || args.days <= 0) {
    fprintf(stderr, "usage: %s SUITE.yaml [--nodes N] [--days N] [--share S] [--json FILE]\n", argv[0]);
    return 2;
  }
  return fleetmark::bench::Main(args);
}
