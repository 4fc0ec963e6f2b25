#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "cli/commands/arguments.h"
#include "cli/commands/commands.h"
#include "cli/output/format.h"
#include "common/base/status.h"

namespace fleetmark::cli {
namespace {

Cell DirectionCell(v1::Finding::Direction direction) {
  switch (direction) {
    case v1::Finding::DIRECTION_WORSE:
      return Cell(NameOf(direction), Look::kBad);
    case v1::Finding::DIRECTION_BETTER:
      return Cell(NameOf(direction), Look::kGood);
    default:
      return NameOf(direction);
  }
}

// A reference of 0 has no relative change: the contract then gives the difference.
Cell ChangeCell(const v1::Finding& finding) {
  const bool relative = finding.before() != 0;
  const auto text = [&](double change) {
    return relative ? FormatChange(change) : absl::StrFormat("%+.4g", change);
  };
  const std::string wide = finding.change_low() == finding.change_high()
                               ? text(finding.change())
                               : absl::StrCat(text(finding.change()), " (", text(finding.change_low()),
                                              " to ", text(finding.change_high()), ")");
  return Cell(text(finding.change()), wide, FormatExact(finding.change()));
}

// Rounded down, so that nothing looks certain that isn't.
Cell ConfidenceCell(double confidence) {
  const double percent = std::min(99.99, confidence * 100);
  const std::string text = absl::StrFormat(percent > 99 ? "%.2f %%" : "%.0f %%", percent);
  return Cell(text, text, FormatExact(confidence));
}

// What it is about: a node, or what several nodes have in common.
std::string AboutText(const v1::Finding& finding) {
  return finding.scope().empty() || !finding.series().node().empty() ? finding.series().node()
                                                                     : finding.scope();
}

// May it become an alert, within the budget of false alarms?
std::string AlertText(const v1::Finding& finding) {
  if (finding.budget().within()) return "yes";
  switch (finding.confirmation().state()) {
    case v1::Confirmation::STATE_PENDING:
      return "awaits runs";
    case v1::Confirmation::STATE_REFUTED:
      return "refuted";
    case v1::Confirmation::STATE_INCONCLUSIVE:
      return "undecided";
    default:
      return finding.has_budget() ? "no" : "";
  }
}

std::string MembersText(const v1::Finding& finding) {
  return finding.member_count() == 0 ? "" : absl::StrCat(finding.member_count());
}

std::string EventsText(const v1::Finding& finding) {
  std::string text;
  for (const v1::Event& event : finding.events()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", NameOf(event.kind()), " ", event.subject(), " ",
                    event.message());
  }
  return text;
}

void PrintList(const v1::ListFindingsResponse& response, const char* when_empty, Session& session) {
  const absl::Time now = session.clock.Now();
  Table table({{"FOUND"},
               {"NODE"},
               {"BENCHMARK"},
               {"METRIC"},
               {"LABELS"},
               {"VERDICT"},
               {"CHANGE", true},
               {"BEFORE", true},
               {"AFTER", true},
               {"UNIT"},
               {"SURE", true},
               {"SINCE"},
               {"STATE"},
               {"SERIES", true},
               {"KIND", false, true},
               {"ALERT", false, true},
               {"MEMBERS", true, true},
               {"GROUP", false, true},
               {"DETECTOR", false, true},
               {"FINDING", false, true},
               {"EXPLANATION", false, true},
               {"EVENTS", false, true}});
  for (const v1::Finding& f : response.findings()) {
    table.AddRow({TimeCell(f.found_unix_ns(), now),
                  AboutText(f),
                  f.series().benchmark(),
                  f.series().metric(),
                  FormatLabels(f.series().labels()),
                  DirectionCell(f.direction()),
                  ChangeCell(f),
                  NumberCell(f.before()),
                  NumberCell(f.after()),
                  f.series().unit(),
                  ConfidenceCell(f.confidence()),
                  TimeCell(f.onset_latest_unix_ns(), now),
                  NameOf(f.state()),
                  CountCell(f.series_id()),
                  NameOf(f.kind()),
                  AlertText(f),
                  MembersText(f),
                  f.group_id(),
                  f.detector(),
                  f.finding_id(),
                  f.explanation(),
                  EventsText(f)});
  }
  session.output.Print(table, when_empty);
}

}  // namespace

CommandResult ShowFindings(const FindingsOptions& options, Session& session) {
  v1::ListFindingsRequest request;
  request.mutable_selector()->set_node(options.node);
  request.mutable_selector()->set_benchmark(options.benchmark);
  request.mutable_selector()->set_metric(options.metric);
  if (!options.all) request.set_state(v1::Finding::STATE_OPEN);
  // Who asks for a node's or a benchmark's findings means its members of findings about several too.
  const bool chosen = !options.node.empty() || !options.benchmark.empty() || !options.metric.empty();
  request.set_top_level(!options.members && !chosen);
  if (options.worse) request.set_direction(v1::Finding::DIRECTION_WORSE);
  FM_ASSIGN_OR_RETURN(*request.mutable_range(), RangeSince(options.since, session.clock.Now()));
  request.set_limit(options.limit);
  FM_ASSIGN_OR_RETURN(const v1::ListFindingsResponse response, session.client.ListFindings(request));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
  } else {
    PrintList(response,
              options.all ? "no finding yet that matches; a change shows once a series has enough samples to "
                            "tell it from noise (docs/detection.md)"
                          : "no open finding that matches; --all shows closed ones too",
              session);
  }
  if (!response.next_page_token().empty()) session.output.Note("there are older ones; --limit shows them");
  return kExitOk;
}

}  // namespace fleetmark::cli
