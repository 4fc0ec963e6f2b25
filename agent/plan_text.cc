#include "agent/plan_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "common/config/quantities.h"

namespace fleetmark::agent {
namespace {

std::string BudgetLine(Budget& budget) {
  if (!budget.limited()) return "Budget: none.\n";
  const double day_seconds = 86400 * budget.share();
  return absl::StrFormat(
      "Budget: %.3g %% of the node's time, %.3g s a day; %.0f %% of what may be spent now is left.\n",
      100 * budget.share(), day_seconds, 100 * (1 - budget.used()));
}

std::string State(const Scheduler::Plan& plan) {
  if (plan.running) return "runs";
  if (!plan.waits_for.empty()) return absl::StrCat("waits: ", plan.waits_for);
  if (plan.next_due == absl::InfiniteFuture()) return "only on request";
  return "";
}

}  // namespace

std::string PlanText(std::vector<Scheduler::Plan> plans, Budget& budget, bool running, absl::Time now) {
  std::string text = BudgetLine(budget);
  if (!running) absl::StrAppend(&text, "No agent runs; this is what one would do.\n");
  if (plans.empty()) return absl::StrCat(text, "No benchmarks are configured.\n");
  std::stable_sort(plans.begin(), plans.end(),
                   [](const auto& a, const auto& b) { return a.next_due < b.next_due; });
  size_t width = 9;
  for (const Scheduler::Plan& plan : plans) width = std::max(width, plan.benchmark.size());
  const auto line = [&](const std::string& benchmark, const std::string& next, const std::string& in,
                        const std::string& takes, const std::string& state) {
    std::string row = absl::StrFormat("%-*s  %-19s  %9s  %7s  %s", static_cast<int>(width), benchmark, next,
                                      in, takes, state);
    row.erase(row.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, row, "\n");
  };
  line("BENCHMARK", "NEXT", "IN", "TAKES", "STATE");
  for (const Scheduler::Plan& plan : plans) {
    const bool due = plan.next_due < absl::InfiniteFuture();
    line(plan.benchmark,
         due ? absl::FormatTime("%Y-%m-%d %H:%M:%S", plan.next_due, absl::LocalTimeZone()) : "-",
         due ? DurationText(absl::Trunc(plan.next_due - now, absl::Seconds(1))) : "-",
         DurationText(absl::Ceil(budget.Expected(plan.benchmark), absl::Seconds(1))), State(plan));
  }
  return text;
}

}  // namespace fleetmark::agent
