#include "collector/alert_config.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "collector/alert/alert_cause.h"
#include "common/base/status.h"
#include "common/daemon/config_sections.h"
#include "common/http/http_client.h"
#include "common/model/labels.h"

namespace fleetmark::collector {
namespace {

constexpr char kPagerDutyUrl[] = "https://events.pagerduty.com/v2/enqueue";
constexpr char kDefaultSubject[] = "[fleetmark] {{title}}";
constexpr size_t kMaxReceivers = 32;

std::string ReadUrl(YamlValue value, const std::string& default_value) {
  std::string url = value.String(default_value);
  if (value.present()) value.Check(ParseHttpUrl(url).status());
  return url;
}

TextTemplate ReadTemplate(YamlValue value, const char* default_text) {
  if (!value.present() && default_text == nullptr) return TextTemplate();
  const absl::StatusOr<TextTemplate> parsed = TextTemplate::Parse(value.String(default_text));
  if (parsed.ok()) return *parsed;
  value.Check(parsed.status());
  return TextTemplate();
}

// The parts that all receivers by HTTP have.
HttpReceiver ReadHttp(YamlValue section, const std::string& folder) {
  HttpReceiver out;
  out.bearer_token_file = ReadPath(section.Key("bearer_token_file"), "", folder);
  out.ca_file = ReadPath(section.Key("ca_file"), "", folder);
  out.timeout = section.Key("timeout").Duration(absl::Seconds(10), absl::Milliseconds(100), absl::Minutes(1));
  return out;
}

MailReceiver ReadMail(YamlValue section, const std::string& folder) {
  MailReceiver out;
  YamlValue server = section.RequiredKey("server");
  out.server = server.String();
  if (server.present() && !absl::StartsWith(out.server, "smtp://") &&
      !absl::StartsWith(out.server, "smtps://")) {
    server.Fault("must begin with smtp:// or smtps://");
  }
  out.starttls = section.Key("starttls").Bool(absl::StartsWith(out.server, "smtp://"));
  out.user = section.Key("user").String();
  out.password_file = ReadPath(section.Key("password_file"), "", folder);
  out.ca_file = ReadPath(section.Key("ca_file"), "", folder);
  out.timeout = section.Key("timeout").Duration(absl::Seconds(30), absl::Milliseconds(100), absl::Minutes(2));
  const auto address = [](YamlValue& value, const std::string& text) {
    const bool good =
        text.find('@') != std::string::npos && text.find_first_of(" <>\r\n\t") == std::string::npos;
    if (!good) value.Fault(absl::StrCat("'", text, "' is no address; it is as ops@example.org"));
  };
  YamlValue from = section.RequiredKey("from");
  out.from = from.String();
  if (from.present()) address(from, out.from);
  YamlValue to = section.RequiredKey("to");
  out.to = to.Strings();
  if (to.present() && out.to.empty()) to.Fault("must name at least one address");
  for (const std::string& one : out.to) address(to, one);
  return out;
}

void ReadKind(const std::string& kind, YamlValue section, const std::string& folder, ReceiverConfig* out) {
  if (kind == "mail") {
    out->kind = ReceiverConfig::kMail;
    out->mail = ReadMail(section, folder);
    out->subject = ReadTemplate(section.Key("subject"), kDefaultSubject);
    out->text = ReadTemplate(section.Key("text"), nullptr);
    return;
  }
  out->http = ReadHttp(section, folder);
  if (kind == "alertmanager") {
    out->kind = ReceiverConfig::kAlertmanager;
    out->http.url = ReadUrl(section.RequiredKey("url"), "");
    out->resend = section.Key("resend").Duration(absl::Minutes(1), absl::Seconds(1), absl::Hours(1));
  } else if (kind == "webhook") {
    out->kind = ReceiverConfig::kWebhook;
    out->http.url = ReadUrl(section.RequiredKey("url"), "");
    out->secret_file = ReadPath(section.Key("secret_file"), "", folder);
  } else if (kind == "slack") {
    out->kind = ReceiverConfig::kSlack;
    out->http.url = ReadUrl(section.Key("url"), "");
    out->http.url_file = ReadPath(section.Key("url_file"), "", folder);
    if (out->http.url.empty() == out->http.url_file.empty())
      section.Fault("needs exactly one of url and url_file");
    out->text = ReadTemplate(section.Key("text"), nullptr);
  } else {
    out->kind = ReceiverConfig::kPagerDuty;
    out->http.url = ReadUrl(section.Key("url"), kPagerDutyUrl);
    out->secret_file = ReadPath(section.RequiredKey("routing_key_file"), "", folder);
  }
}

ReceiverConfig ReadReceiver(YamlValue item, const std::string& folder) {
  ReceiverConfig out;
  YamlValue name = item.RequiredKey("name");
  out.name = name.String();
  if (name.present()) name.Check(CheckBenchmarkName("receiver", out.name));
  int kinds = 0;
  for (const char* kind : {"alertmanager", "webhook", "slack", "pagerduty", "mail"}) {
    YamlValue section = item.Key(kind);
    if (!section.present()) continue;
    ++kinds;
    ReadKind(kind, section, folder, &out);
    section.NoOtherKeys();
  }
  if (kinds != 1) item.Fault("needs exactly one of alertmanager, webhook, slack, pagerduty, mail");
  item.NoOtherKeys();
  return out;
}

WeeklyHours ReadHours(YamlValue item) {
  const std::vector<std::string> days = item.Key("days").Strings();
  const std::string at = item.RequiredKey("at").String();
  const absl::Duration length = item.RequiredKey("length").Duration(absl::Hours(1));
  const std::string zone = item.Key("time_zone").String();
  item.NoOtherKeys();
  absl::StatusOr<WeeklyHours> hours = MakeWeeklyHours(days, at, length, zone);
  if (hours.ok()) return *std::move(hours);
  item.Check(hours.status());
  return WeeklyHours();
}

std::vector<std::string> ReadNames(YamlValue value, const std::set<std::string>& known) {
  std::vector<std::string> names = value.Strings();
  for (const std::string& name : names) {
    if (known.contains(name)) continue;
    const std::string nearest = NearestName(name, known);
    value.Fault(absl::StrCat("there is no receiver '", name, "'",
                             nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?")));
  }
  return names;
}

AlertRoute ReadRoute(YamlValue item, size_t number, const std::set<std::string>& receivers) {
  AlertRoute out;
  out.name = item.Key("name").String(absl::StrCat("route ", number));
  out.match = item.Key("match").StringMap();
  for (YamlValue& hours : item.Key("hours").Items()) out.hours.push_back(ReadHours(hours));
  out.receivers = ReadNames(item.RequiredKey("receivers"), receivers);
  YamlValue after = item.Key("escalate_after");
  YamlValue to = item.Key("escalate_to");
  if (after.present() != to.present()) item.Fault("escalate_after and escalate_to need one another");
  if (after.present()) out.escalate_after = after.Duration(absl::ZeroDuration(), absl::Seconds(1));
  out.escalate_to = ReadNames(to, receivers);
  out.go_on = item.Key("continue").Bool(false);
  item.NoOtherKeys();
  return out;
}

void ReadPolicy(YamlValue& section, AlertsConfig* out) {
  AlertPolicy& policy = out->policy;
  const auto duration = [&section](const char* key, absl::Duration fallback, absl::Duration least) {
    return section.Key(key).Duration(fallback, least, absl::Hours(24 * 366));
  };
  policy.wait = duration("wait", policy.wait, absl::ZeroDuration());
  policy.repeat = duration("repeat", policy.repeat, absl::Minutes(1));
  out->repeat_silent = duration("repeat_silent", absl::Hours(4), absl::Minutes(1));
  policy.update_interval = duration("update_interval", policy.update_interval, absl::ZeroDuration());
  policy.resolve_after = duration("resolve_after", policy.resolve_after, absl::ZeroDuration());
  policy.reopen_within = duration("reopen_within", policy.reopen_within, absl::ZeroDuration());
  policy.flap_quiet = duration("flap_quiet", policy.flap_quiet, absl::ZeroDuration());
  policy.pending_limit = duration("pending_limit", policy.pending_limit, absl::Minutes(1));
  out->give_up_after = duration("give_up_after", absl::Hours(72), absl::Minutes(1));
}

AlertLinks ReadLinks(YamlValue& section) {
  AlertLinks out;
  out.external_url = ReadUrl(section.Key("external_url"), "");
  if (!out.external_url.empty() && !absl::EndsWith(out.external_url, "/")) out.external_url += "/";
  YamlValue runbooks = section.Key("runbooks");
  for (const v1::AlertClass alert_class :
       {v1::ALERT_CLASS_SLOW, v1::ALERT_CLASS_SHIFT, v1::ALERT_CLASS_FAILING, v1::ALERT_CLASS_SILENT}) {
    const std::string name = ClassName(alert_class);
    const std::string url = ReadUrl(runbooks.Key(name), "");
    if (!url.empty()) out.runbooks[name] = url;
  }
  runbooks.NoOtherKeys();
  return out;
}

}  // namespace

AlertsConfig ReadAlerts(YamlValue section, const std::string& folder) {
  AlertsConfig out;
  ReadPolicy(section, &out);
  out.links = ReadLinks(section);
  std::set<std::string> names;
  YamlValue receivers = section.Key("receivers");
  for (YamlValue& item : receivers.Items()) {
    ReceiverConfig receiver = ReadReceiver(item, folder);
    receiver.http.source =
        out.links.external_url.empty() ? "urn:fleetmark:collector" : out.links.external_url;
    if (!names.insert(receiver.name).second) {
      item.Fault(absl::StrCat("there is another receiver '", receiver.name, "'"));
    }
    out.receivers.push_back(std::move(receiver));
  }
  if (out.receivers.size() > kMaxReceivers) receivers.Fault("more than 32 receivers");
  YamlValue routes = section.Key("routes");
  size_t number = 0;
  for (YamlValue& item : routes.Items()) out.routes.push_back(ReadRoute(item, ++number, names));
  // Without routes everybody is told of everything.
  if (!routes.present() && !names.empty()) {
    AlertRoute all;
    all.name = "all";
    all.receivers = {names.begin(), names.end()};
    out.routes.push_back(std::move(all));
  }
  section.NoOtherKeys();
  return out;
}

}  // namespace fleetmark::collector
