#include "collector/notify/notice_format.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include "collector/alert/alert_cause.h"
#include "collector/alert/alert_text.h"
#include "common/base/digest.h"
#include "common/base/quote_json.h"

namespace fleetmark::collector {
namespace {

using v1::Notice;

// Slack takes 3,000 characters in a section; PagerDuty 1,024 in a summary.
constexpr size_t kSlackTextBytes = 2900;
constexpr size_t kPagerDutySummaryBytes = 1000;
constexpr size_t kMailLineBytes = 57;  // of content: 76 characters of base 64

std::string Rfc3339(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

// Members in the order given.
std::string Object(const std::vector<std::pair<std::string, std::string>>& members) {
  return absl::StrCat("{",
                      absl::StrJoin(members, ",",
                                    [](std::string* out, const auto& member) {
                                      absl::StrAppend(out, QuoteJson(member.first), ":", member.second);
                                    }),
                      "}");
}

std::string StringObject(const std::map<std::string, std::string>& members) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, value] : members) {
    if (!value.empty()) out.emplace_back(name, QuoteJson(value));
  }
  return Object(out);
}

// At most so many bytes, without cutting a character in two.
std::string Cut(const std::string& text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "…");
}

std::string ReasonName(Notice::Reason reason) {
  std::string name = Notice::Reason_Name(reason).substr(sizeof("REASON_") - 1);
  for (char& c : name) c = absl::ascii_tolower(static_cast<unsigned char>(c));
  return name;
}

// A header's value: what is not ASCII as RFC 2047 has it, in words of 75 characters at most.
std::string EncodedHeader(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f; });
  if (plain) return text;
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.size(), at + 42);
    while (end < text.size() && end > at + 1 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    words.push_back(absl::StrCat("=?UTF-8?B?", absl::Base64Escape(text.substr(at, end - at)), "?="));
    at = end;
  }
  return absl::StrJoin(words, "\r\n ");
}

}  // namespace

std::string AlertmanagerAlert(const Notice& notice, absl::Time ends_at, absl::Time now) {
  const v1::Alert& alert = notice.alert();
  std::map<std::string, std::string> parts = MessageParts(notice, now);
  std::map<std::string, std::string> annotations = {{"summary", alert.title()},
                                                    {"description", MessageText(notice, now)},
                                                    {"dashboard_url", alert.url()},
                                                    {"runbook_url", alert.runbook_url()},
                                                    {"alert_id", alert.alert_id()}};
  for (const char* name : {"how_much", "since", "how_sure", "changed", "who_else"}) {
    annotations[name] = parts[name];
  }
  if (alert.life().has_acknowledged()) annotations["acknowledged_by"] = alert.life().acknowledged().by();
  const absl::Time starts_at = absl::FromUnixNanos(alert.life().firing_unix_ns());
  std::vector<std::pair<std::string, std::string>> members = {
      {"labels", StringObject({alert.labels().begin(), alert.labels().end()})},
      {"annotations", StringObject(annotations)},
      {"startsAt", QuoteJson(Rfc3339(starts_at))},
      {"endsAt", QuoteJson(Rfc3339(std::max(ends_at, starts_at + absl::Milliseconds(1))))}};
  if (!alert.url().empty()) members.emplace_back("generatorURL", QuoteJson(alert.url()));
  return Object(members);
}

std::string CloudEventType(Notice::Reason reason) {
  return absl::StrCat("org.fleetmark.alert.", ReasonName(reason));
}

std::string CloudEvent(const Notice& notice, const std::string& source, absl::Time now) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string alert;
  if (!google::protobuf::util::MessageToJsonString(notice.alert(), &alert, options).ok()) alert = "null";
  const std::string data = Object({{"reason", QuoteJson(ReasonName(notice.reason()))},
                                   {"title", QuoteJson(NoticeTitle(notice))},
                                   {"text", QuoteJson(MessageText(notice, now))},
                                   {"alert", alert}});
  return Object({{"specversion", "\"1.0\""},
                 {"id", QuoteJson(notice.notice_id())},
                 {"source", QuoteJson(source)},
                 {"type", QuoteJson(CloudEventType(notice.reason()))},
                 {"subject", QuoteJson(notice.alert().alert_id())},
                 {"time", QuoteJson(Rfc3339(absl::FromUnixNanos(notice.made_unix_ns())))},
                 {"datacontenttype", "\"application/json\""},
                 {"data", data}});
}

std::string WebhookSignature(std::string_view secret, std::string_view body, absl::Time now) {
  const std::string stamp = absl::StrCat(absl::ToUnixSeconds(now));
  std::string signed_text = stamp + ".";
  signed_text += body;
  return absl::StrCat("t=", stamp, ",v1=", HmacSha256Hex(secret, signed_text));
}

std::string SlackMessage(const Notice& notice, const std::string& text) {
  // The three characters that Slack's markup gives a meaning.
  const auto escaped = [](const std::string& from) {
    return absl::StrReplaceAll(from, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
  };
  const std::string section = Object(
      {{"type", "\"section\""},
       {"text", Object({{"type", "\"mrkdwn\""}, {"text", QuoteJson(Cut(escaped(text), kSlackTextBytes))}})}});
  return Object({{"text", QuoteJson(Cut(escaped(NoticeTitle(notice)), kSlackTextBytes))},
                 {"blocks", absl::StrCat("[", section, "]")}});
}

std::string PagerDutyEvent(const Notice& notice, const std::string& routing_key, const std::string& source,
                           absl::Time now) {
  const v1::Alert& alert = notice.alert();
  std::vector<std::pair<std::string, std::string>> event = {
      {"routing_key", QuoteJson(routing_key)},
      {"dedup_key", QuoteJson(alert.alert_id())},
  };
  if (notice.reason() == Notice::REASON_RESOLVED || notice.reason() == Notice::REASON_ACKNOWLEDGED) {
    const bool resolved = notice.reason() == Notice::REASON_RESOLVED;
    event.emplace_back("event_action", resolved ? "\"resolve\"" : "\"acknowledge\"");
    return Object(event);
  }
  event.emplace_back("event_action", "\"trigger\"");
  std::map<std::string, std::string> details = MessageParts(notice, now);
  details["text"] = MessageText(notice, now);
  event.emplace_back(
      "payload",
      Object({{"summary", QuoteJson(Cut(alert.title(), kPagerDutySummaryBytes))},
              {"source", QuoteJson(source)},
              {"severity", QuoteJson(SeverityName(alert.severity()))},
              {"timestamp", QuoteJson(Rfc3339(absl::FromUnixNanos(alert.life().firing_unix_ns())))},
              {"component", QuoteJson(alert.subject())},
              {"class", QuoteJson(ClassName(alert.class_()))},
              {"custom_details", StringObject(details)}}));
  std::vector<std::string> links;
  for (const auto& [text, url] :
       {std::make_pair("Fleetmark", alert.url()), std::make_pair("Run book", alert.runbook_url())}) {
    if (!url.empty()) links.push_back(Object({{"href", QuoteJson(url)}, {"text", QuoteJson(text)}}));
  }
  if (!links.empty()) event.emplace_back("links", absl::StrCat("[", absl::StrJoin(links, ","), "]"));
  return Object(event);
}

std::string MailText(const Notice& notice, const std::string& from, const std::string& to,
                     const std::string& subject, const std::string& text, absl::Time now) {
  const std::string& alert_id = notice.alert().alert_id();
  const std::string thread = absl::StrCat("<", alert_id, "@fleetmark>");
  std::string mail;
  const auto header = [&mail](const char* name, const std::string& value) {
    absl::StrAppend(&mail, name, ": ", value, "\r\n");
  };
  header("From", from);
  header("To", to);
  header("Subject", EncodedHeader(subject));
  header("Date", absl::FormatTime("%a, %d %b %Y %H:%M:%S +0000", now, absl::UTCTimeZone()));
  header("Message-ID", absl::StrCat("<", notice.notice_id(), "@fleetmark>"));
  header("In-Reply-To", thread);
  header("References", thread);
  header("Auto-Submitted", "auto-generated");
  header("MIME-Version", "1.0");
  header("Content-Type", "text/plain; charset=utf-8");
  header("Content-Transfer-Encoding", "base64");
  mail += "\r\n";
  for (size_t at = 0; at < text.size(); at += kMailLineBytes) {
    absl::StrAppend(&mail, absl::Base64Escape(text.substr(at, kMailLineBytes)), "\r\n");
  }
  return mail;
}

}  // namespace fleetmark::collector
