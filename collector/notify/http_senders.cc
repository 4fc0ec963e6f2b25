#include "collector/notify/http_senders.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

#include "collector/alert/alert_text.h"
#include "collector/notify/curl_transport.h"
#include "collector/notify/notice_format.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kMaxSecretBytes = 16 * 1024;
constexpr size_t kAlertsAtOnce = 256;
constexpr size_t kShownAnswerBytes = 200;
constexpr int kValidResends = 4;

absl::StatusOr<std::string> ReadSecret(const std::string& path) {
  FM_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxSecretBytes));
  return std::string(absl::StripAsciiWhitespace(text));
}

SendResult Unreachable(const absl::Status& status) { return {SendResult::kUnreachable, Message(status), {}}; }

// 408, 429 and 5xx may be taken later; every other refusal is for good.
SendResult JudgeAnswer(const absl::StatusOr<HttpAnswer>& answer) {
  if (!answer.ok()) return Unreachable(answer.status());
  const std::string text =
      absl::StrCat("HTTP status ", answer->status, answer->status / 100 == 2 ? "" : ": ",
                   answer->status / 100 == 2 ? "" : answer->body.substr(0, kShownAnswerBytes));
  if (answer->status / 100 == 2) return {SendResult::kDelivered, text, {}};
  if (answer->status == 408 || answer->status == 429 || answer->status / 100 == 5) {
    return {SendResult::kAgain, text, answer->retry_after};
  }
  return {SendResult::kRefused, text, {}};
}

class HttpSender : public NoticeSender {
 public:
  HttpSender(HttpReceiver receiver, const std::atomic<bool>& cancelled)
      : receiver_(std::move(receiver)), cancelled_(cancelled) {}

 protected:
  SendResult Post(const std::string& path, std::string body, std::map<std::string, std::string> headers) {
    OutgoingRequest post;
    post.url = receiver_.url;
    if (!receiver_.url_file.empty()) {
      const absl::StatusOr<std::string> url = ReadSecret(receiver_.url_file);
      if (!url.ok()) return Unreachable(url.status());
      post.url = *url;
    }
    post.url = absl::StrCat(absl::StripSuffix(post.url, path.empty() ? "" : "/"), path);
    post.headers = std::move(headers);
    post.headers.emplace("Content-Type", "application/json");
    post.headers["User-Agent"] = absl::StrCat("fleetmark-collector/", FM_VERSION);
    if (!receiver_.bearer_token_file.empty()) {
      const absl::StatusOr<std::string> token = ReadSecret(receiver_.bearer_token_file);
      if (!token.ok()) return Unreachable(token.status());
      post.headers["Authorization"] = absl::StrCat("Bearer ", *token);
    }
    post.body = std::move(body);
    post.timeout = receiver_.timeout;
    post.ca_file = receiver_.ca_file;
    return JudgeAnswer(SendHttp(post, cancelled_));
  }

  const HttpReceiver receiver_;

 private:
  const std::atomic<bool>& cancelled_;
};

class AlertmanagerSender final : public HttpSender {
 public:
  AlertmanagerSender(HttpReceiver receiver, absl::Duration resend, const std::atomic<bool>& cancelled)
      : HttpSender(std::move(receiver), cancelled), resend_(resend) {}

  SendResult Send(const v1::Notice& notice, absl::Time now) override {
    const absl::Time valid_until = now + kValidResends * resend_;
    const SendResult told = PostAlerts({AlertmanagerAlert(notice, valid_until, now)});
    if (notice.reason() != v1::Notice::REASON_RESOLVED || told.kind != SendResult::kDelivered) return told;
    // It was told first that the alert is there: an Alertmanager that was started anew knows nothing of it,
    // and drops the end of what it does not know.
    const absl::Time ended = absl::FromUnixNanos(notice.alert().life().resolved_unix_ns());
    return PostAlerts({AlertmanagerAlert(notice, std::min(ended, now), now)});
  }

  absl::Duration RefreshInterval() const override { return resend_; }

  SendResult Refresh(const std::vector<std::shared_ptr<const v1::Alert>>& alerts, absl::Time now) override {
    SendResult result;
    for (size_t begin = 0; begin < alerts.size(); begin += kAlertsAtOnce) {
      std::vector<std::string> part;
      for (size_t i = begin; i < std::min(alerts.size(), begin + kAlertsAtOnce); ++i) {
        v1::Notice notice;
        *notice.mutable_alert() = *alerts[i];
        part.push_back(AlertmanagerAlert(notice, now + kValidResends * resend_, now));
      }
      result = PostAlerts(part);
      if (result.kind != SendResult::kDelivered) break;
    }
    return result;
  }

  std::string kind() const override { return "alertmanager"; }

 private:
  SendResult PostAlerts(const std::vector<std::string>& alerts) {
    return Post("/api/v2/alerts", absl::StrCat("[", absl::StrJoin(alerts, ","), "]"), {});
  }

  const absl::Duration resend_;
};

class WebhookSender final : public HttpSender {
 public:
  WebhookSender(HttpReceiver receiver, std::string secret_file, const std::atomic<bool>& cancelled)
      : HttpSender(std::move(receiver), cancelled), secret_file_(std::move(secret_file)) {}

  SendResult Send(const v1::Notice& notice, absl::Time now) override {
    const std::string body = CloudEvent(notice, receiver_.source, now);
    std::map<std::string, std::string> headers = {
        {"Content-Type", "application/cloudevents+json; charset=utf-8"},
        {"Idempotency-Key", notice.notice_id()}};
    if (!secret_file_.empty()) {
      const absl::StatusOr<std::string> secret = ReadSecret(secret_file_);
      if (!secret.ok()) return Unreachable(secret.status());
      headers["Fleetmark-Signature"] = WebhookSignature(*secret, body, now);
    }
    return Post("", body, std::move(headers));
  }
  std::string kind() const override { return "webhook"; }

 private:
  const std::string secret_file_;
};

class SlackSender final : public HttpSender {
 public:
  SlackSender(HttpReceiver receiver, TextTemplate text, const std::atomic<bool>& cancelled)
      : HttpSender(std::move(receiver), cancelled), text_(std::move(text)) {}

  SendResult Send(const v1::Notice& notice, absl::Time now) override {
    return Post("", SlackMessage(notice, text_.Render(notice, now)), {});
  }
  std::string kind() const override { return "slack"; }

 private:
  const TextTemplate text_;
};

class PagerDutySender final : public HttpSender {
 public:
  PagerDutySender(HttpReceiver receiver, std::string routing_key_file, const std::atomic<bool>& cancelled)
      : HttpSender(std::move(receiver), cancelled), routing_key_file_(std::move(routing_key_file)) {}

  SendResult Send(const v1::Notice& notice, absl::Time now) override {
    const absl::StatusOr<std::string> key = ReadSecret(routing_key_file_);
    if (!key.ok()) return Unreachable(key.status());
    return Post("", PagerDutyEvent(notice, *key, receiver_.source, now), {});
  }
  std::string kind() const override { return "pagerduty"; }

 private:
  const std::string routing_key_file_;
};

}  // namespace

std::unique_ptr<NoticeSender> MakeAlertmanagerSender(const HttpReceiver& receiver, absl::Duration resend,
                                                     const std::atomic<bool>& cancelled) {
  return std::make_unique<AlertmanagerSender>(receiver, resend, cancelled);
}

std::unique_ptr<NoticeSender> MakeWebhookSender(const HttpReceiver& receiver, const std::string& secret_file,
                                                const std::atomic<bool>& cancelled) {
  return std::make_unique<WebhookSender>(receiver, secret_file, cancelled);
}

std::unique_ptr<NoticeSender> MakeSlackSender(const HttpReceiver& receiver, const TextTemplate& text,
                                              const std::atomic<bool>& cancelled) {
  return std::make_unique<SlackSender>(receiver, text, cancelled);
}

std::unique_ptr<NoticeSender> MakePagerDutySender(const HttpReceiver& receiver,
                                                  const std::string& routing_key_file,
                                                  const std::atomic<bool>& cancelled) {
  return std::make_unique<PagerDutySender>(receiver, routing_key_file, cancelled);
}

}  // namespace fleetmark::collector
