// The receivers that are told by HTTP: Alertmanager, webhooks, Slack's incoming webhooks, PagerDuty.
//
// Secrets come from files, which are read anew for each notice, and show in no error and no log.
//
// Thread-safety: as NoticeSender. Ownership: `cancelled` must outlive them.
#ifndef FLEETMARK_COLLECTOR_NOTIFY_HTTP_SENDERS_H_
#define FLEETMARK_COLLECTOR_NOTIFY_HTTP_SENDERS_H_

#include <atomic>
#include <memory>
#include <string>

#include "absl/time/time.h"

#include "collector/notify/notice_sender.h"
#include "collector/notify/text_template.h"

namespace fleetmark::collector {

// What all of them have. A URL that is a secret itself (Slack's) may come from a file: then `url` is empty.
struct HttpReceiver {
  std::string url;
  std::string url_file;
  std::string bearer_token_file;
  std::string ca_file;
  absl::Duration timeout = absl::Seconds(10);
  std::string source;  // how this collector is called there
};

// Posts to `url`/api/v2/alerts. What fires is sent again every `resend`, and is said to end after four times
// that, so that Alertmanager resolves nothing while this collector is away for less.
std::unique_ptr<NoticeSender> MakeAlertmanagerSender(const HttpReceiver& receiver, absl::Duration resend,
                                                     const std::atomic<bool>& cancelled);

// CloudEvents with the notice's id as Idempotency-Key, signed where there is a secret.
std::unique_ptr<NoticeSender> MakeWebhookSender(const HttpReceiver& receiver, const std::string& secret_file,
                                                const std::atomic<bool>& cancelled);

// `text`: nothing: the whole message.
std::unique_ptr<NoticeSender> MakeSlackSender(const HttpReceiver& receiver, const TextTemplate& text,
                                              const std::atomic<bool>& cancelled);

std::unique_ptr<NoticeSender> MakePagerDutySender(const HttpReceiver& receiver,
                                                  const std::string& routing_key_file,
                                                  const std::atomic<bool>& cancelled);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_NOTIFY_HTTP_SENDERS_H_
