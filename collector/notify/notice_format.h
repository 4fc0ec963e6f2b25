// A notice in the words of each kind of receiver, as bytes. Pure, so that golden files hold them.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_NOTIFY_NOTICE_FORMAT_H_
#define FLEETMARK_COLLECTOR_NOTIFY_NOTICE_FORMAT_H_

#include <string>
#include <string_view>

#include "absl/time/time.h"

#include "fleetmark/v1/alert.pb.h"

namespace fleetmark::collector {

// One alert of Alertmanager's API v2 (an object of the array that is posted to /api/v2/alerts).
std::string AlertmanagerAlert(const v1::Notice& notice, absl::Time ends_at, absl::Time now);

// A CloudEvents 1.0 event in structured mode: `data` has reason, title, text, and the alert by protobuf's
// JSON mapping.
std::string CloudEvent(const v1::Notice& notice, const std::string& source, absl::Time now);
// "org.fleetmark.alert.firing", …
std::string CloudEventType(v1::Notice::Reason reason);

// The value of Fleetmark-Signature: "t=<Unix seconds>,v1=<hex HMAC-SHA256 of t, '.', body>".
std::string WebhookSignature(std::string_view secret, std::string_view body, absl::Time now);

// For Slack's incoming webhooks, and what understands them. `text` is the message.
std::string SlackMessage(const v1::Notice& notice, const std::string& text);

// An event of PagerDuty's Events API v2; the alert's id is the key that it deduplicates by.
std::string PagerDutyEvent(const v1::Notice& notice, const std::string& routing_key,
                           const std::string& source, absl::Time now);

// A mail by RFC 5322 with its headers. Mails of one alert are one thread, and each has the notice's id.
std::string MailText(const v1::Notice& notice, const std::string& from, const std::string& to,
                     const std::string& subject, const std::string& text, absl::Time now);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_NOTIFY_NOTICE_FORMAT_H_
