#include "collector/notify/mail_sender.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"

#include "collector/notify/curl_transport.h"
#include "collector/notify/notice_format.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kMaxSecretBytes = 16 * 1024;

class MailSender final : public NoticeSender {
 public:
  MailSender(MailReceiver receiver, TextTemplate subject, TextTemplate text,
             const std::atomic<bool>& cancelled)
      : receiver_(std::move(receiver)),
        subject_(std::move(subject)),
        text_(std::move(text)),
        cancelled_(cancelled) {}

  SendResult Send(const v1::Notice& notice, absl::Time now) override {
    OutgoingMail mail;
    mail.server = receiver_.server;
    mail.starttls = receiver_.starttls;
    mail.user = receiver_.user;
    if (!receiver_.password_file.empty()) {
      absl::StatusOr<std::string> password = ReadFile(receiver_.password_file, kMaxSecretBytes);
      if (!password.ok()) return {SendResult::kUnreachable, Message(password.status()), {}};
      mail.password = std::string(absl::StripAsciiWhitespace(*password));
    }
    mail.from = receiver_.from;
    mail.to = receiver_.to;
    std::string subject = subject_.Render(notice, now);
    std::replace(subject.begin(), subject.end(), '\n', ' ');
    mail.text = MailText(notice, receiver_.from, absl::StrJoin(receiver_.to, ", "), subject,
                         text_.Render(notice, now), now);
    mail.timeout = receiver_.timeout;
    mail.ca_file = receiver_.ca_file;
    const absl::Status sent = SendSmtp(mail, cancelled_);
    if (sent.ok()) return {SendResult::kDelivered, "taken by the mail server", {}};
    return {
        absl::IsInvalidArgument(sent) ? SendResult::kRefused : SendResult::kUnreachable, Message(sent), {}};
  }

  std::string kind() const override { return "mail"; }

 private:
  const MailReceiver receiver_;
  const TextTemplate subject_;
  const TextTemplate text_;
  const std::atomic<bool>& cancelled_;
};

}  // namespace

std::unique_ptr<NoticeSender> MakeMailSender(const MailReceiver& receiver, const TextTemplate& subject,
                                             const TextTemplate& text, const std::atomic<bool>& cancelled) {
  return std::make_unique<MailSender>(receiver, subject, text, cancelled);
}

}  // namespace fleetmark::collector
