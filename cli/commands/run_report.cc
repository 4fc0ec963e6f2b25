#include "cli/commands/run_report.h"

#include "absl/strings/str_cat.h"

#include "cli/output/format.h"

namespace fleetmark::cli {

Look LookOf(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_OK:
      return Look::kGood;
    case v1::OUTCOME_SKIPPED:
    case v1::OUTCOME_CANCELLED:
      return Look::kWarn;
    default:
      return Look::kBad;
  }
}

std::string OutcomeLine(const v1::Run& run) {
  return run.reason().empty() ? NameOf(run.outcome())
                              : absl::StrCat(NameOf(run.outcome()), ": ", run.reason());
}

int64_t RunTime(const v1::Run& run) {
  return run.started_unix_ns() != 0 ? run.started_unix_ns() : run.scheduled_unix_ns();
}

Table MetricsTable(const v1::Run& run) {
  Table table({{"METRIC"}, {"VALUE", true}, {"UNIT"}, {"SPREAD", true}, {"REPEATED", true}});
  for (const v1::Metric& metric : run.metrics()) {
    const std::string spread =
        metric.repetitions() == 0 ? "" : FormatChange(metric.relative_spread()).substr(1);
    table.AddRow({FormatMetric(metric), NumberCell(metric.value()), metric.unit(),
                  Cell(spread, spread, FormatExact(metric.relative_spread())),
                  metric.repetitions() == 0 ? Cell("", "", "0") : CountCell(metric.repetitions())});
  }
  return table;
}

}  // namespace fleetmark::cli
