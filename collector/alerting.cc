#include "collector/alerting.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/alert/alert_engine.h"
#include "collector/notify/http_senders.h"
#include "collector/notify/mail_sender.h"
#include "collector/notify/notifier.h"
#include "collector/query/alert_api.h"
#include "collector/store/store.h"
#include "common/base/clock.h"

namespace fleetmark::collector {
namespace {

std::unique_ptr<NoticeSender> MakeSender(const ReceiverConfig& config, const std::atomic<bool>& cancelled) {
  switch (config.kind) {
    case ReceiverConfig::kAlertmanager:
      return MakeAlertmanagerSender(config.http, config.resend, cancelled);
    case ReceiverConfig::kSlack:
      return MakeSlackSender(config.http, config.text, cancelled);
    case ReceiverConfig::kPagerDuty:
      return MakePagerDutySender(config.http, config.secret_file, cancelled);
    case ReceiverConfig::kMail:
      return MakeMailSender(config.mail, config.subject, config.text, cancelled);
    case ReceiverConfig::kWebhook:
      break;
  }
  return MakeWebhookSender(config.http, config.secret_file, cancelled);
}

}  // namespace

// In the order of construction; destroyed in reverse.
struct Alerting::Parts {
  std::atomic<bool> cancelled = false;
  std::unique_ptr<AlertEngine> engine;
  std::unique_ptr<Notifier> notifier;
  std::unique_ptr<AlertApi> api;
};

Alerting::Alerting(const AlertsConfig& config, Store& store, Clock& clock, Metrics& metrics)
    : parts_(std::make_unique<Parts>()) {
  Parts& p = *parts_;
  AlertEngine::Options engine;
  engine.store = &store;
  engine.clock = &clock;
  engine.metrics = &metrics;
  engine.policy = config.policy;
  engine.repeat_silent = config.repeat_silent;
  engine.routes = config.routes;
  engine.links = config.links;
  for (const ReceiverConfig& receiver : config.receivers) engine.receivers.push_back(receiver.name);
  engine.on_notices = [&p](std::vector<StoredNotice> notices) { p.notifier->Take(std::move(notices)); };
  p.engine = std::make_unique<AlertEngine>(std::move(engine));

  Notifier::Options notifier;
  notifier.clock = &clock;
  notifier.metrics = &metrics;
  notifier.give_up_after = config.give_up_after;
  notifier.seed = static_cast<uint64_t>(absl::ToUnixNanos(clock.Now()));
  notifier.finish = [&p](const StoredNotice& stored, bool delivered, const std::string& text) {
    return p.engine->Finish(stored, delivered, text);
  };
  notifier.told_to = [&p](const std::string& receiver) { return p.engine->ToldTo(receiver); };
  std::vector<Notifier::Receiver> receivers;
  for (const ReceiverConfig& receiver : config.receivers) {
    receivers.push_back({receiver.name, MakeSender(receiver, p.cancelled)});
  }
  p.notifier = std::make_unique<Notifier>(std::move(notifier), std::move(receivers));
  p.api = std::make_unique<AlertApi>(AlertApi::Options{
      .engine = p.engine.get(), .tables = &store.alerts(), .clock = &clock, .receivers = [&p] {
        return p.notifier->Status();
      }});
}

Alerting::~Alerting() { Stop(); }

absl::Status Alerting::Load() { return parts_->engine->Load(); }

void Alerting::Start() {
  parts_->notifier->Start();
  parts_->engine->Start();
}

void Alerting::Stop() {
  parts_->engine->Stop();
  parts_->notifier->Stop(&parts_->cancelled);
}

void Alerting::Notify() { parts_->engine->Notify(); }

const AlertApi& Alerting::api() const { return *parts_->api; }

std::vector<std::shared_ptr<const v1::Alert>> Alerting::Current() const { return parts_->engine->Current(); }

std::vector<std::string> Alerting::Problems() const {
  std::vector<std::string> out;
  for (const v1::ReceiverStatus& status : parts_->notifier->Status()) {
    if (status.trouble().empty()) continue;
    out.push_back(absl::StrCat("alerts do not reach receiver ", status.name(), " (", status.waiting(),
                               " wait): ", status.trouble()));
  }
  return out;
}

}  // namespace fleetmark::collector
