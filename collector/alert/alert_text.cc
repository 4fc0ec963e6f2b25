#include "collector/alert/alert_text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "collector/alert/alert_cause.h"

namespace fleetmark::collector {
namespace {

using v1::Alert;
using v1::AlertLife;
using v1::Finding;
using v1::Notice;

constexpr size_t kSparkColumns = 40;
constexpr size_t kListedNodes = 10;
constexpr size_t kListedEvents = 5;

bool IsMeasured(const Alert& alert) {
  return alert.class_() == v1::ALERT_CLASS_SLOW || alert.class_() == v1::ALERT_CLASS_SHIFT;
}

std::string Number(double value) { return absl::StrFormat("%.4g", value); }

// A reference of 0 has no relative change: the contract then gives the difference.
std::string Change(const Finding& finding, double change) {
  return finding.before() == 0 ? absl::StrFormat("%+.4g", change) : absl::StrFormat("%+.1f %%", change * 100);
}

std::string TimeText(int64_t unix_ns) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixNanos(unix_ns), absl::UTCTimeZone());
}

std::string AgeText(int64_t unix_ns, absl::Time now) {
  const int64_t minutes = std::max<int64_t>(0, absl::ToInt64Minutes(now - absl::FromUnixNanos(unix_ns)));
  if (minutes < 60) return absl::StrCat(minutes, " min ago");
  if (minutes < 48 * 60) return absl::StrFormat("%d h %d min ago", minutes / 60, minutes % 60);
  return absl::StrCat(minutes / (24 * 60), " days ago");
}

std::string Measurement(const Finding& finding) {
  const v1::SeriesKey& series = finding.series();
  std::string text = series.benchmark();
  if (!series.metric().empty()) absl::StrAppend(&text, text.empty() ? "" : " ", series.metric());
  if (!text.empty()) return text;
  const std::set<std::string> all = BenchmarksOf(finding);
  return absl::StrJoin(all, ", ");
}

std::string WithUnit(double value, const std::string& unit) {
  return unit.empty() ? Number(value) : absl::StrCat(Number(value), " ", unit);
}

std::string UnitOf(const Finding& finding) {
  if (!finding.series().unit().empty() || finding.members_size() == 0) return finding.series().unit();
  return finding.members(0).unit();
}

std::string What(const Alert& alert) {
  const Finding& main = alert.main();
  if (!IsMeasured(alert)) return main.explanation();
  const char* direction = main.change() < 0 ? "lower" : "higher";
  const std::string by = main.before() == 0 ? Number(std::abs(main.change()))
                                            : absl::StrFormat("%.1f %%", std::abs(main.change()) * 100);
  std::string text = absl::StrCat(Measurement(main), " is ", by, " ", direction);
  if (main.before() != 0 || main.after() != 0) {
    absl::StrAppend(&text, ", ", Number(main.before()), " to ", WithUnit(main.after(), UnitOf(main)));
  }
  return text;
}

std::string Where(const Alert& alert) {
  std::vector<std::string> labels;
  for (const char* name : {"cluster", "partition", "rack", "class"}) {
    const auto it = alert.labels().find(name);
    // The alert's own class is no node label.
    if (it != alert.labels().end() && std::string(name) != "class")
      labels.push_back(absl::StrCat(name, " ", it->second));
  }
  return labels.empty() ? alert.subject()
                        : absl::StrCat(alert.subject(), " (", absl::StrJoin(labels, ", "), ")");
}

std::string HowMuch(const Alert& alert) {
  const Finding& main = alert.main();
  if (!IsMeasured(alert)) return "";
  std::string text = Change(main, main.change());
  if (main.change_low() != main.change_high()) {
    absl::StrAppend(&text, ", 95 % interval ", Change(main, main.change_low()), " to ",
                    Change(main, main.change_high()));
  }
  return text;
}

std::string Since(const Alert& alert, absl::Time now) {
  const Finding& main = alert.main();
  const int64_t latest =
      main.onset_latest_unix_ns() != 0 ? main.onset_latest_unix_ns() : main.found_unix_ns();
  const int64_t earliest = main.onset_earliest_unix_ns();
  if (earliest != 0 && earliest != latest) {
    return absl::StrCat("between ", TimeText(earliest), " and ", TimeText(latest), ", ",
                        AgeText(latest, now));
  }
  return absl::StrCat(TimeText(latest), ", ", AgeText(latest, now));
}

// Rounded down, so that nothing looks certain that isn't.
std::string HowSure(const Alert& alert) {
  const Finding& main = alert.main();
  if (main.kind() == Finding::KIND_SILENCE) return "a fact: nothing came";
  if (main.kind() == Finding::KIND_REFERENCE) return "a fact: outside the reference that was set";
  const v1::Confirmation& runs = main.confirmation();
  std::vector<std::string> parts;
  if (main.confidence() > 0) {
    parts.push_back(
        absl::StrFormat("%.2f %%", std::floor(std::min(0.9999, main.confidence()) * 10000) / 100));
  }
  if (runs.state() == v1::Confirmation::STATE_CONFIRMED) {
    parts.push_back(absl::StrCat("confirmed by ", runs.reruns(), " later runs"));
  } else if (runs.reruns() > 0) {
    parts.push_back(absl::StrCat(runs.reruns(), " later runs looked at"));
  }
  if (!runs.peer().empty()) {
    parts.push_back(absl::StrCat("compared with ", runs.peer_reruns(), " runs of healthy ", runs.peer()));
  }
  return absl::StrJoin(parts, "; ");
}

std::string Changed(const Alert& alert) {
  std::vector<std::string> parts;
  for (const v1::Event& event : alert.main().events()) {
    if (parts.size() == kListedEvents) break;
    std::string text = event.subject();
    if (!event.old_value().empty() || !event.new_value().empty()) {
      absl::StrAppend(&text, " ", event.old_value(), " to ", event.new_value());
    }
    if (!event.message().empty()) absl::StrAppend(&text, text.empty() ? "" : ", ", event.message());
    if (!event.node().empty()) absl::StrAppend(&text, " on ", event.node());
    parts.push_back(absl::StrCat(text, " at ", TimeText(event.time_unix_ns())));
  }
  if (!parts.empty()) return absl::StrJoin(parts, "; ");
  return IsMeasured(alert) ? "no change of a fact is known near that time" : "";
}

std::string WhoElse(const Alert& alert) {
  const Finding& main = alert.main();
  std::vector<std::string> parts;
  for (const v1::Explanation& e : main.explanations()) {
    parts.push_back(absl::StrCat(e.changed_with(), " of ", e.total_with(), " ", e.units(), "s with ",
                                 e.attribute(), " ", e.value(), ", ", e.changed_without(), " of ",
                                 e.total_without(), " others"));
    if (parts.size() == 2) break;
  }
  if (alert.node_count() > 1) {
    std::vector<std::string> nodes(alert.nodes().begin(), alert.nodes().end());
    if (nodes.size() > kListedNodes) nodes.resize(kListedNodes);
    const size_t more = alert.node_count() - nodes.size();
    parts.push_back(absl::StrCat(alert.node_count(), " nodes: ", absl::StrJoin(nodes, ", "),
                                 more > 0 ? absl::StrCat(" and ", more, " more") : ""));
  }
  if (parts.empty()) return "nobody: it is the only one known to be affected";
  return absl::StrJoin(parts, "; ");
}

// The other findings of the same alert.
std::string Also(const Alert& alert) {
  std::vector<std::string> parts;
  for (const v1::AlertFinding& finding : alert.findings()) {
    if (!finding.open() || finding.finding_id() == alert.main().finding_id()) continue;
    if (parts.size() == kListedEvents) break;
    parts.push_back(finding.text());
  }
  const size_t shown = parts.size() + 1;
  if (alert.finding_count() > shown)
    parts.push_back(absl::StrCat(alert.finding_count() - shown, " more findings"));
  return absl::StrJoin(parts, "; ");
}

std::string StateName(AlertLife::State state) {
  switch (state) {
    case AlertLife::STATE_PENDING:
      return "pending";
    case AlertLife::STATE_ACKNOWLEDGED:
      return "acknowledged";
    case AlertLife::STATE_SILENCED:
      return "silenced";
    case AlertLife::STATE_RESOLVED:
      return "resolved";
    default:
      return "firing";
  }
}

// What this notice tells beyond the alert itself.
std::string ReasonText(const Notice& notice) {
  const AlertLife& life = notice.alert().life();
  switch (notice.reason()) {
    case Notice::REASON_REPEAT:
      return "still firing, not acknowledged";
    case Notice::REASON_GREW:
      return "has grown";
    case Notice::REASON_ESCALATED:
      return "escalated: nobody acknowledged it";
    case Notice::REASON_ACKNOWLEDGED: {
      const v1::Acknowledgement& ack = life.acknowledged();
      return absl::StrCat("acknowledged by ", ack.by(), ack.note().empty() ? "" : ": ", ack.note());
    }
    case Notice::REASON_RESOLVED:
      return absl::StrCat("resolved: ", life.resolution());
    default:
      if (life.flapping()) return absl::StrCat("flapping: fires for the ", life.firings(), ". time");
      return life.firings() > 1 ? absl::StrCat("fires again, for the ", life.firings(), ". time") : "";
  }
}

}  // namespace

std::string Sparkline(absl::Span<const double> values) {
  static constexpr std::array kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<double> columns;
  const size_t count = std::min(values.size(), kSparkColumns);
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * values.size() / count, end = (i + 1) * values.size() / count;
    std::vector<double> part(values.begin() + static_cast<ptrdiff_t>(begin),
                             values.begin() + static_cast<ptrdiff_t>(end));
    std::nth_element(part.begin(), part.begin() + static_cast<ptrdiff_t>(part.size() / 2), part.end());
    columns.push_back(part[part.size() / 2]);
  }
  if (columns.empty()) return "";
  const auto [low, high] = std::minmax_element(columns.begin(), columns.end());
  std::string out;
  for (const double value : columns) {
    const double part = *high > *low ? (value - *low) / (*high - *low) : 0.5;
    out += kBars[std::min<size_t>(kBars.size() - 1, static_cast<size_t>(part * 8))];
  }
  return out;
}

std::string AlertTitle(const Alert& alert) { return absl::StrCat(alert.subject(), ": ", What(alert)); }

std::string NoticeTitle(const Notice& notice) {
  const Alert& alert = notice.alert();
  switch (notice.reason()) {
    case Notice::REASON_RESOLVED:
      return absl::StrCat("resolved: ", alert.title());
    case Notice::REASON_REPEAT:
      return absl::StrCat("still firing: ", alert.title());
    case Notice::REASON_GREW:
      return absl::StrCat("has grown: ", alert.title());
    case Notice::REASON_ESCALATED:
      return absl::StrCat("not acknowledged: ", alert.title());
    case Notice::REASON_ACKNOWLEDGED:
      return absl::StrCat("acknowledged: ", alert.title());
    default:
      return alert.title();
  }
}

std::map<std::string, std::string> MessageParts(const Notice& notice, absl::Time now) {
  const Alert& alert = notice.alert();
  const bool resolved = alert.life().state() == AlertLife::STATE_RESOLVED;
  const std::vector<double> recent(alert.recent().begin(), alert.recent().end());
  return {{"title", NoticeTitle(notice)},
          {"state", StateName(alert.life().state())},
          {"reason", ReasonText(notice)},
          {"class", ClassName(alert.class_())},
          {"severity", SeverityName(alert.severity())},
          {"subject", alert.subject()},
          {"what", What(alert)},
          {"where", Where(alert)},
          {"how_much", HowMuch(alert)},
          {"since", Since(alert, now)},
          {"how_sure", HowSure(alert)},
          {"changed", Changed(alert)},
          {"who_else", WhoElse(alert)},
          {"sparkline", Sparkline(recent)},
          {"also", Also(alert)},
          {"url", alert.url()},
          {"runbook", alert.runbook_url()},
          {"ack", resolved ? "" : absl::StrCat("fleetmark alerts ack ", alert.alert_id())},
          {"alert_id", alert.alert_id()}};
}

std::string MessageText(const Notice& notice, absl::Time now) {
  static constexpr std::array<std::pair<const char*, const char*>, 14> kLines = {{{"What", "what"},
                                                                                  {"Now", "reason"},
                                                                                  {"Where", "where"},
                                                                                  {"How much", "how_much"},
                                                                                  {"Since", "since"},
                                                                                  {"How sure", "how_sure"},
                                                                                  {"Changed", "changed"},
                                                                                  {"Who else", "who_else"},
                                                                                  {"Also", "also"},
                                                                                  {"Course", "sparkline"},
                                                                                  {"Severity", "severity"},
                                                                                  {"Page", "url"},
                                                                                  {"Run book", "runbook"},
                                                                                  {"To acknowledge", "ack"}}};
  const std::map<std::string, std::string> parts = MessageParts(notice, now);
  std::string text = absl::StrCat(parts.at("title"), "\n\n");
  for (const auto& [heading, part] : kLines) {
    if (!parts.at(part).empty()) absl::StrAppend(&text, heading, ": ", parts.at(part), "\n");
  }
  return text;
}

}  // namespace fleetmark::collector
