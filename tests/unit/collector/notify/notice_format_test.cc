#include "collector/notify/notice_format.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "collector/notify/text_template.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

using testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'790'000'600);

v1::Notice ANotice(v1::Notice::Reason reason = v1::Notice::REASON_FIRING) {
  v1::Notice notice;
  notice.set_notice_id("01J00000000000000000000000-1");
  notice.set_receiver("hook");
  notice.set_reason(reason);
  notice.set_made_unix_ns(1'790'000'000'500'000'000);
  v1::Alert& alert = *notice.mutable_alert();
  alert.set_alert_id("01J00000000000000000000000");
  alert.set_class_(v1::ALERT_CLASS_SLOW);
  alert.set_severity(v1::ALERT_SEVERITY_CRITICAL);
  alert.set_subject("node n7");
  alert.set_title("node n7: stream \"triad\" is 12 % lower <&>");
  alert.set_url("https://fleet.example/#/alerts/01J00000000000000000000000");
  alert.mutable_life()->set_state(v1::AlertLife::STATE_FIRING);
  alert.mutable_life()->set_firing_unix_ns(1'790'000'000'000'000'000);
  (*alert.mutable_labels())["node"] = "n7";
  (*alert.mutable_labels())["alertname"] = "FleetmarkSlow";
  (*alert.mutable_labels())["empty"] = "";
  return notice;
}

google::protobuf::Struct Parsed(const std::string& json) {
  google::protobuf::Struct out;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &out);
  EXPECT_TRUE(status.ok()) << status.message() << "\n" << json;
  return out;
}
std::string Text(const google::protobuf::Struct& object, const std::string& name) {
  const auto it = object.fields().find(name);
  return it == object.fields().end() ? "(none)" : it->second.string_value();
}
google::protobuf::Struct Sub(const google::protobuf::Struct& object, const std::string& name) {
  const auto it = object.fields().find(name);
  return it == object.fields().end() ? google::protobuf::Struct() : it->second.struct_value();
}

TEST(NoticeFormat, AlertmanagerAlert) {
  const auto alert = Parsed(AlertmanagerAlert(ANotice(), kNow + absl::Minutes(4), kNow));
  EXPECT_EQ(Text(alert, "startsAt"), "2026-09-21T14:13:20.000Z");
  EXPECT_EQ(Text(alert, "endsAt"), "2026-09-21T14:27:20.000Z");
  EXPECT_EQ(Text(alert, "generatorURL"), "https://fleet.example/#/alerts/01J00000000000000000000000");
  EXPECT_EQ(Text(Sub(alert, "labels"), "node"), "n7");
  EXPECT_EQ(Text(Sub(alert, "labels"), "empty"), "(none)");
  EXPECT_EQ(Text(Sub(alert, "annotations"), "summary"), ANotice().alert().title());
  EXPECT_THAT(Text(Sub(alert, "annotations"), "description"), HasSubstr("fleetmark alerts ack"));
}

TEST(NoticeFormat, AlertmanagerAlertNeverEndsBeforeItBegins) {
  const auto alert = Parsed(AlertmanagerAlert(ANotice(), absl::FromUnixSeconds(1), kNow));
  EXPECT_GT(Text(alert, "endsAt"), Text(alert, "startsAt"));
}

TEST(NoticeFormat, CloudEvent) {
  const auto event = Parsed(CloudEvent(ANotice(v1::Notice::REASON_RESOLVED), "urn:x", kNow));
  EXPECT_EQ(Text(event, "specversion"), "1.0");
  EXPECT_EQ(Text(event, "id"), "01J00000000000000000000000-1");
  EXPECT_EQ(Text(event, "source"), "urn:x");
  EXPECT_EQ(Text(event, "type"), "org.fleetmark.alert.resolved");
  EXPECT_EQ(Text(event, "subject"), "01J00000000000000000000000");
  EXPECT_EQ(Text(event, "time"), "2026-09-21T14:13:20.500Z");
  const auto data = Sub(event, "data");
  EXPECT_EQ(Text(data, "reason"), "resolved");
  EXPECT_EQ(Text(Sub(data, "alert"), "alert_id"), "01J00000000000000000000000");
}

// The value is openssl's: printf 1790000600.body | openssl dgst -sha256 -hmac secret
TEST(NoticeFormat, WebhookSignature) {
  EXPECT_EQ(WebhookSignature("secret", "body", kNow),
            "t=1790000600,v1=7d9f4680ca582482b71d79c3fd3dc8734c807d34f3f16346819167d34e9f0434");
  EXPECT_NE(WebhookSignature("other", "body", kNow), WebhookSignature("secret", "body", kNow));
}

TEST(NoticeFormat, SlackEscapesWhatHasAMeaningThereAndKeepsItsLimit) {
  const auto message = Parsed(SlackMessage(ANotice(), std::string(5000, 'x') + "é"));
  EXPECT_THAT(Text(message, "text"), HasSubstr("&lt;&amp;&gt;"));
  const auto block = message.fields().at("blocks").list_value().values(0).struct_value();
  EXPECT_LE(Text(Sub(block, "text"), "text").size(), 3000u);
}

TEST(NoticeFormat, CutsNoCharacterInTwo) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "é";
  Parsed(SlackMessage(ANotice(), text));  // is UTF-8, or it would not be JSON
}

TEST(NoticeFormat, PagerDutyKeepsOneIncidentForAnAlert) {
  const auto trigger = Parsed(PagerDutyEvent(ANotice(), "key", "urn:x", kNow));
  EXPECT_EQ(Text(trigger, "event_action"), "trigger");
  EXPECT_EQ(Text(trigger, "routing_key"), "key");
  EXPECT_EQ(Text(Sub(trigger, "payload"), "severity"), "critical");
  for (const auto& [reason, action] : {std::make_pair(v1::Notice::REASON_RESOLVED, "resolve"),
                                       std::make_pair(v1::Notice::REASON_ACKNOWLEDGED, "acknowledge")}) {
    const auto event = Parsed(PagerDutyEvent(ANotice(reason), "key", "urn:x", kNow));
    EXPECT_EQ(Text(event, "event_action"), action);
    EXPECT_EQ(Text(event, "dedup_key"), Text(trigger, "dedup_key"));
  }
}

TEST(NoticeFormat, MailsOfOneAlertAreOneThread) {
  const std::string mail =
      MailText(ANotice(), "fm@a.example", "ops@a.example", "größer\nBcc: x@y", "text é\n", kNow);
  EXPECT_THAT(mail, HasSubstr("Message-ID: <01J00000000000000000000000-1@fleetmark>\r\n"));
  EXPECT_THAT(mail, HasSubstr("References: <01J00000000000000000000000@fleetmark>\r\n"));
  EXPECT_THAT(mail, HasSubstr("Auto-Submitted: auto-generated\r\n"));
  EXPECT_THAT(mail, testing::Not(HasSubstr("\nBcc")));  // no header is smuggled in
  const std::vector<std::string> lines = absl::StrSplit(mail, "\r\n");
  for (const std::string& line : lines) EXPECT_LE(line.size(), 78u);
  std::string body;
  ASSERT_TRUE(absl::Base64Unescape(mail.substr(mail.find("\r\n\r\n") + 4, mail.size()), &body));
  EXPECT_EQ(body, "text é\n");
}

TEST(TextTemplate, FillsInWhatIsKnown) {
  const auto parsed = TextTemplate::Parse(
      "{{ title }}|{{severity}}|{{?runbook}}book: {{runbook}}{{/runbook}}|{{?url}}see{{/url}}.");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->Render(ANotice(), kNow), "node n7: stream \"triad\" is 12 % lower <&>|critical||see.");
}

TEST(TextTemplate, ErrorsAreFoundWhenItIsMade) {
  const auto fault = [](const std::string& text) { return Message(TextTemplate::Parse(text).status()); };
  EXPECT_THAT(fault("a\n{{titel}}"), HasSubstr("line 2: 'titel' is no variable; did you mean 'title'?"));
  EXPECT_THAT(fault("{{title"), HasSubstr("without }}"));
  EXPECT_THAT(fault("{{?url}}x"), HasSubstr("no end"));
  EXPECT_THAT(fault("{{/url}}"), HasSubstr("ends nothing"));
  EXPECT_THAT(fault("{{?url}}{{?title}}"), HasSubstr("within"));
  EXPECT_THAT(fault(std::string(20'000, 'x')), HasSubstr("16 KiB"));
}

}  // namespace
}  // namespace fleetmark::collector
