#include "tests/fakes/fake_upload_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetmark::agent {

// Events are delivered under `delivery`, which the destructor takes too: after it none is running. It is
// recursive because an event may come from within Send.
class FakeCollector::Stream final : public UploadStream {
 public:
  Stream(FakeCollector* collector, Events events)
      : collector_(collector), shared_(std::make_shared<Shared>()) {
    shared_->events = std::move(events);
  }
  ~Stream() override {
    collector_->OnDestroyed(this);
    const std::lock_guard lock(shared_->delivery);
    shared_->gone = true;
  }

  void Send(const v1::AgentMessage& message) override { collector_->OnSend(this, message); }
  void Finish() override { collector_->OnFinish(this); }

  std::function<void()> Writable() {
    return [shared = shared_] {
      const std::lock_guard lock(shared->delivery);
      if (!shared->gone) shared->events.on_writable();
    };
  }
  std::function<void()> Message(v1::CollectorMessage message) {
    return [shared = shared_, message = std::move(message)] {
      const std::lock_guard lock(shared->delivery);
      if (!shared->gone) shared->events.on_message(message);
    };
  }
  std::function<void()> Closed(absl::Status status) {
    closed = true;
    return [shared = shared_, status = std::move(status)] {
      const std::lock_guard lock(shared->delivery);
      if (!shared->gone) shared->events.on_closed(status);
      shared->gone = true;
    };
  }

  // Guarded by the collector's lock.
  std::string epoch;
  int batches = 0;
  bool writable = true;
  bool closed = false;

 private:
  struct Shared {
    std::recursive_mutex delivery;
    Events events;
    bool gone = false;
  };
  FakeCollector* collector_;
  std::shared_ptr<Shared> shared_;
};

void FakeCollector::Deliver(const Actions& actions) {
  for (const auto& action : actions) action();
}

std::unique_ptr<UploadStream> FakeCollector::Connect(const std::string& address,
                                                     UploadStream::Events events) {
  auto stream = std::make_unique<Stream>(this, std::move(events));
  Actions actions;
  {
    MutexLock lock(mu_);
    addresses_.push_back(address);
    unacknowledged_bytes_ = 0;
    if (!faults_.refuse_connections.ok()) {
      actions.push_back(stream->Closed(faults_.refuse_connections));
    } else {
      open_ = stream.get();
      actions.push_back(stream->Writable());
    }
    changed_.NotifyAll();
  }
  Deliver(actions);
  return stream;
}

void FakeCollector::OnDestroyed(Stream* stream) {
  MutexLock lock(mu_);
  if (open_ == stream) open_ = nullptr;
  changed_.NotifyAll();
}

void FakeCollector::OnSend(Stream* stream, const v1::AgentMessage& message) {
  Actions actions;
  {
    MutexLock lock(mu_);
    if (stream->closed) return;
    if (!stream->writable) complaints_.push_back("a message came before on_writable");
    if (stream->epoch.empty() && !message.has_hello()) complaints_.push_back("the first message is no Hello");
    stream->writable = faults_.read || message.has_hello();
    if (stream->writable) actions.push_back(stream->Writable());
    if (message.has_hello()) {
      TakeHello(stream, message.hello(), actions);
    } else if (message.has_records()) {
      TakeRecords(stream, message.records(), message.ByteSizeLong(), actions);
    } else if (message.has_heartbeat()) {
      heartbeats_.push_back(message.heartbeat());
    } else {
      others_.push_back(message);
    }
    changed_.NotifyAll();
  }
  Deliver(actions);
}

void FakeCollector::TakeHello(Stream* stream, const v1::Hello& hello, Actions& actions) {
  hellos_.push_back(hello);
  stream->epoch = hello.epoch();
  if (!faults_.refuse_hello.ok()) {
    actions.push_back(stream->Closed(faults_.refuse_hello));
    return;
  }
  if (!faults_.answer_hello) return;
  v1::CollectorMessage welcome;
  const auto& stored = stored_[hello.epoch()];
  const uint64_t acked = stored.empty() ? 0 : stored.rbegin()->first;
  welcome.mutable_welcome()->set_protocol(1);
  welcome.mutable_welcome()->set_acked_sequence(faults_.claim_acked.value_or(acked));
  welcome.mutable_welcome()->set_heartbeat_seconds(heartbeat_seconds_);
  actions.push_back(stream->Message(welcome));
}

void FakeCollector::TakeRecords(Stream* stream, const v1::RecordBatch& batch, uint64_t bytes,
                                Actions& actions) {
  uint64_t last = 0;
  for (const v1::Record& record : batch.records()) {
    if (record.sequence() <= last) complaints_.push_back("sequences do not ascend");
    last = record.sequence();
    ++stored_[stream->epoch][last];
    ++records_received_;
  }
  ++stream->batches;
  unacknowledged_bytes_ += bytes;
  largest_unacknowledged_ = std::max(largest_unacknowledged_, unacknowledged_bytes_);
  if (faults_.cut_after_batches > 0 && stream->batches >= faults_.cut_after_batches) {
    actions.push_back(stream->Closed(absl::UnavailableError("cut")));
    return;
  }
  AddAck(stream, last, actions);
}

void FakeCollector::AddAck(Stream* stream, uint64_t sequence, Actions& actions) {
  if (faults_.hold_acks) {
    held_ack_ = std::max(held_ack_, sequence);
    return;
  }
  ++acks_;
  unacknowledged_bytes_ = 0;
  if (faults_.lose_every_nth_ack > 0 && acks_ % faults_.lose_every_nth_ack == 0) return;
  v1::CollectorMessage ack;
  ack.mutable_ack()->set_sequence(sequence);
  actions.push_back(stream->Message(ack));
  if (faults_.double_every_nth_ack > 0 && acks_ % faults_.double_every_nth_ack == 0) {
    actions.push_back(stream->Message(ack));
  }
}

void FakeCollector::OnFinish(Stream* stream) {
  Actions actions;
  {
    MutexLock lock(mu_);
    if (stream->closed) return;
    finished_ = true;
    actions.push_back(stream->Closed(absl::OkStatus()));
    changed_.NotifyAll();
  }
  Deliver(actions);
}

void FakeCollector::Push(const v1::CollectorMessage& message) {
  Actions actions;
  {
    MutexLock lock(mu_);
    if (open_ != nullptr && !open_->closed) actions.push_back(open_->Message(message));
  }
  Deliver(actions);
}

void FakeCollector::ReleaseAcks() {
  Actions actions;
  {
    MutexLock lock(mu_);
    faults_.hold_acks = false;
    if (open_ != nullptr && !open_->closed && held_ack_ > 0)
      AddAck(open_, std::exchange(held_ack_, 0), actions);
  }
  Deliver(actions);
}

void FakeCollector::CutStream(const absl::Status& status) {
  Actions actions;
  {
    MutexLock lock(mu_);
    if (open_ != nullptr && !open_->closed) actions.push_back(open_->Closed(status));
  }
  Deliver(actions);
}

void FakeCollector::SetFaults(const Faults& faults) {
  MutexLock lock(mu_);
  faults_ = faults;
}

void FakeCollector::SetHeartbeat(double seconds) {
  MutexLock lock(mu_);
  heartbeat_seconds_ = seconds;
}

void FakeCollector::Await(const std::function<bool(const FakeCollector&)>& predicate) {
  while (true) {
    if (predicate(*this)) return;
    MutexLock lock(mu_);
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    changed_.WaitUntilSteady(mu_, soon);
  }
}

std::vector<uint64_t> FakeCollector::Stored(const std::string& epoch) const {
  MutexLock lock(mu_);
  std::vector<uint64_t> sequences;
  if (const auto it = stored_.find(epoch); it != stored_.end()) {
    for (const auto& [sequence, times] : it->second) sequences.push_back(sequence);
  }
  return sequences;
}

std::vector<std::string> FakeCollector::Addresses() const {
  MutexLock lock(mu_);
  return addresses_;
}
std::vector<v1::Hello> FakeCollector::Hellos() const {
  MutexLock lock(mu_);
  return hellos_;
}
std::vector<v1::Heartbeat> FakeCollector::Heartbeats() const {
  MutexLock lock(mu_);
  return heartbeats_;
}
std::vector<v1::AgentMessage> FakeCollector::Others() const {
  MutexLock lock(mu_);
  return others_;
}
uint64_t FakeCollector::RecordsReceived() const {
  MutexLock lock(mu_);
  return records_received_;
}
uint64_t FakeCollector::LargestUnacknowledgedBytes() const {
  MutexLock lock(mu_);
  return largest_unacknowledged_;
}
bool FakeCollector::Finished() const {
  MutexLock lock(mu_);
  return finished_;
}
std::vector<std::string> FakeCollector::Complaints() const {
  MutexLock lock(mu_);
  return complaints_;
}

}  // namespace fleetmark::agent
