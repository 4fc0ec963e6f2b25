// The receiver that is told by mail (SMTP, RFC 5321), with STARTTLS unless it is switched off.
//
// Thread-safety: as NoticeSender. Ownership: `cancelled` must outlive it.
#ifndef FLEETMARK_COLLECTOR_NOTIFY_MAIL_SENDER_H_
#define FLEETMARK_COLLECTOR_NOTIFY_MAIL_SENDER_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "collector/notify/notice_sender.h"
#include "collector/notify/text_template.h"

namespace fleetmark::collector {

struct MailReceiver {
  std::string server;  // smtp://host:port or smtps://host:port
  bool starttls = true;
  std::string user;
  std::string password_file;  // read anew for each mail
  std::string ca_file;
  std::string from;
  std::vector<std::string> to;
  absl::Duration timeout = absl::Seconds(30);
};

std::unique_ptr<NoticeSender> MakeMailSender(const MailReceiver& receiver, const TextTemplate& subject,
                                             const TextTemplate& text, const std::atomic<bool>& cancelled);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_NOTIFY_MAIL_SENDER_H_
