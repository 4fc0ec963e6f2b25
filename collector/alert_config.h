// The section `alerts` of the collector's configuration: how alerts live, who is told of them, and how.
//
// Thread-safety: plain data. Errors: noted in the YamlValue's reader.
#ifndef FLEETMARK_COLLECTOR_ALERT_CONFIG_H_
#define FLEETMARK_COLLECTOR_ALERT_CONFIG_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

#include "collector/alert/alert_content.h"
#include "collector/alert/alert_life.h"
#include "collector/alert/alert_routes.h"
#include "collector/notify/http_senders.h"
#include "collector/notify/mail_sender.h"
#include "collector/notify/text_template.h"
#include "common/config/yaml_reader.h"

namespace fleetmark::collector {

struct ReceiverConfig {
  std::string name;
  enum Kind { kAlertmanager, kWebhook, kSlack, kPagerDuty, kMail } kind = kWebhook;
  HttpReceiver http;        // of all but mail
  absl::Duration resend;    // of Alertmanager
  std::string secret_file;  // of a webhook: to sign with; of PagerDuty: the routing key
  MailReceiver mail;
  TextTemplate subject;  // of a mail
  TextTemplate text;     // of a mail or Slack
};

struct AlertsConfig {
  AlertPolicy policy;
  absl::Duration repeat_silent;
  AlertLinks links;
  absl::Duration give_up_after;
  std::vector<ReceiverConfig> receivers;
  std::vector<AlertRoute> routes;
};

// `folder`: where relative paths start.
AlertsConfig ReadAlerts(YamlValue section, const std::string& folder);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ALERT_CONFIG_H_
