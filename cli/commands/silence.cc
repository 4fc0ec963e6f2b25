#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "cli/commands/arguments.h"
#include "cli/commands/commands.h"
#include "cli/output/format.h"
#include "common/base/status.h"
#include "common/config/quantities.h"

namespace fleetmark::cli {
namespace {

std::string MatchText(const v1::Silence& silence) { return FormatLabels(silence.match()); }

// "every mon, tue at 22:00 for 2 h, Europe/Berlin"; empty for one that holds once.
std::string RecursText(const v1::Silence& silence) {
  if (silence.at().empty()) return "";
  return absl::StrCat(
      silence.days_size() == 0 ? "every day" : absl::StrCat("every ", absl::StrJoin(silence.days(), ", ")),
      " at ", silence.at(), " for ", FormatSeconds(silence.seconds()), ", ",
      silence.time_zone().empty() ? "UTC" : silence.time_zone());
}

absl::StatusOr<absl::Duration> Parsed(const char* flag, const std::string& text) {
  const absl::StatusOr<absl::Duration> duration = ParseDuration(text);
  if (!duration.ok()) return Annotate(duration.status(), flag);
  return *duration;
}

absl::Status FillMatch(const SilenceOptions& options, Session& session, v1::Silence* silence) {
  FM_ASSIGN_OR_RETURN(const auto labels, ParseLabels(options.match));
  silence->mutable_match()->insert(labels.begin(), labels.end());
  if (!options.node.empty()) (*silence->mutable_match())["node"] = options.node;
  if (!options.alert.empty()) {
    v1::GetAlertRequest request;
    request.set_alert_id(options.alert);
    FM_ASSIGN_OR_RETURN(const v1::GetAlertResponse response, session.client.GetAlert(request));
    for (const char* name : {"class", "subject"}) {
      const auto it = response.alert().labels().find(name);
      if (it != response.alert().labels().end()) (*silence->mutable_match())[name] = it->second;
    }
  }
  if (silence->match().empty()) {
    return absl::InvalidArgumentError("say what is to be silenced: --node, --alert or --match");
  }
  return absl::OkStatus();
}

absl::Status FillTimes(const SilenceOptions& options, absl::Time now, v1::Silence* silence) {
  absl::Time from = now;
  std::string why;
  if (!options.from.empty() && !absl::ParseTime(absl::RFC3339_full, options.from, &from, &why)) {
    return absl::InvalidArgumentError(absl::StrCat("--from ", options.from, ": write 2026-05-01T22:00:00Z"));
  }
  FM_ASSIGN_OR_RETURN(const absl::Duration duration, Parsed("--for", options.duration));
  silence->set_from_unix_ns(absl::ToUnixNanos(from));
  silence->set_to_unix_ns(absl::ToUnixNanos(from + duration));
  if (options.at.empty() != options.length.empty()) {
    return absl::InvalidArgumentError("--at and --length need one another");
  }
  for (const std::string& day : options.days) silence->add_days(day);
  silence->set_at(options.at);
  silence->set_time_zone(options.time_zone);
  if (options.length.empty()) return absl::OkStatus();
  FM_ASSIGN_OR_RETURN(const absl::Duration length, Parsed("--length", options.length));
  silence->set_seconds(absl::ToDoubleSeconds(length));
  return absl::OkStatus();
}

}  // namespace

CommandResult ShowSilences(const SilencesOptions& options, Session& session) {
  v1::ListSilencesRequest request;
  request.set_all(options.all);
  FM_ASSIGN_OR_RETURN(const v1::ListSilencesResponse response, session.client.ListSilences(request));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
    return kExitOk;
  }
  const absl::Time now = session.clock.Now();
  Table table(
      {{"SILENCE"}, {"MATCHES"}, {"FROM"}, {"TO"}, {"RECURS"}, {"BY"}, {"NOTE"}, {"MAINTENANCE"}, {"ENDED"}});
  for (const v1::Silence& silence : response.silences()) {
    const bool ended = silence.ended_unix_ns() != 0;
    table.AddRow({silence.silence_id(), MatchText(silence), TimeCell(silence.from_unix_ns(), now),
                  TimeCell(silence.to_unix_ns(), now), RecursText(silence), silence.by(), silence.note(),
                  silence.maintenance() ? "yes" : "", ended ? absl::StrCat("by ", silence.ended_by()) : ""});
  }
  session.output.Print(table, "nothing is silenced");
  return kExitOk;
}

CommandResult AddSilence(const SilenceOptions& options, Session& session) {
  v1::AddSilenceRequest request;
  v1::Silence& silence = *request.mutable_silence();
  FM_RETURN_IF_ERROR(FillMatch(options, session, &silence));
  FM_RETURN_IF_ERROR(FillTimes(options, session.clock.Now(), &silence));
  silence.set_by(AskedBy());
  silence.set_note(options.note);
  silence.set_maintenance(options.maintenance);
  FM_ASSIGN_OR_RETURN(const v1::AddSilenceResponse response, session.client.AddSilence(request));
  if (session.output.json()) {
    FM_RETURN_IF_ERROR(session.output.Json(response));
    return kExitOk;
  }
  std::string text = absl::StrCat("silence ", response.silence().silence_id(), " until ",
                                  FormatTime(response.silence().to_unix_ns()), "; ", response.muted_size(),
                                  " open alerts match");
  for (const v1::Alert& alert : response.muted()) absl::StrAppend(&text, "\n  ", alert.title());
  session.output.Say(text);
  return kExitOk;
}

CommandResult EndSilence(const EndSilenceOptions& options, Session& session) {
  v1::EndSilenceRequest request;
  request.set_silence_id(options.id);
  request.set_by(AskedBy());
  FM_RETURN_IF_ERROR(session.client.EndSilence(request).status());
  session.output.Say(absl::StrCat("ended ", options.id));
  return kExitOk;
}

}  // namespace fleetmark::cli
