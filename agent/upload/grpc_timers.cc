#include "agent/upload/grpc_timers.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "grpcpp/version_info.h"

#include "common/base/mutex.h"
#include "grpc/event_engine/event_engine.h"
#include "grpc/grpc.h"

static_assert(GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR == 51,
              "look whether gRPC's timers still work as this file says");

// Of gRPC's core, and in none of its public headers: ends the core's own timer threads; makes this thread
// forget when it last believed the next timer to be due; runs the timers that are due.
void grpc_timer_manager_set_threading(bool enabled);
void grpc_timer_consume_kick();
void grpc_timer_manager_tick();

namespace fleetmark::agent {
namespace {

using grpc_event_engine::experimental::EventEngine;

constexpr absl::Duration kTick = absl::Milliseconds(250);
constexpr absl::Duration kQuietTick = absl::Seconds(15);

}  // namespace

struct GrpcTimers::Impl {
  using Task = absl::AnyInvocable<void()>;
  using Key = std::pair<MonoTime, intptr_t>;  // when, and a number of its own

  explicit Impl(Clock& c) : clock(c) {}

  EventEngine::TaskHandle Add(absl::Duration after, Task task);
  bool Cancel(EventEngine::TaskHandle handle);
  [[noreturn]] void Loop();

  Clock& clock;
  Mutex mu;
  CondVar changed;
  int exact ABSL_GUARDED_BY(mu) = 0;  // how many want it
  MonoTime next_tick ABSL_GUARDED_BY(mu) = clock.Mono();
  intptr_t last_number ABSL_GUARDED_BY(mu) = 0;
  std::map<Key, Task> tasks ABSL_GUARDED_BY(mu);
  std::map<intptr_t, MonoTime> due ABSL_GUARDED_BY(mu);  // of each task, by its number
  std::thread::id thread;                                // before gRPC is told of the engine
};

EventEngine::TaskHandle GrpcTimers::Impl::Add(absl::Duration after, Task task) {
  MutexLock lock(mu);
  const intptr_t number = ++last_number;
  const MonoTime when = clock.Mono() + after;
  due[number] = when;
  const auto added = tasks.emplace(Key{when, number}, std::move(task)).first;
  if (added == tasks.begin()) changed.NotifyAll();
  return {{number, 0}};
}

bool GrpcTimers::Impl::Cancel(EventEngine::TaskHandle handle) {
  Task task;  // whose destructor may call back
  MutexLock lock(mu);
  const auto it = due.find(handle.keys[0]);
  if (it == due.end()) return false;
  const auto found = tasks.find(Key{it->second, it->first});
  task = std::move(found->second);
  tasks.erase(found);
  due.erase(it);
  return true;
}

void GrpcTimers::Impl::Loop() {
  MutexLock lock(mu);
  while (true) {
    const MonoTime now = clock.Mono();
    if (!tasks.empty() && tasks.begin()->first.first <= now) {
      auto first = tasks.extract(tasks.begin());
      due.erase(first.key().second);
      mu.Unlock();
      first.mapped()();
      first = {};
      mu.Lock();
    } else if (next_tick <= now) {
      next_tick = now + (exact > 0 ? kTick : kQuietTick);
      mu.Unlock();
      grpc_timer_consume_kick();
      grpc_timer_manager_tick();
      mu.Lock();
    } else {
      clock.WaitUntil(changed, mu,
                      tasks.empty() ? next_tick : std::min(next_tick, tasks.begin()->first.first));
    }
  }
}

// What gRPC uses of an engine on Linux: tasks. Its connections and names go by its core.
class GrpcTimers::Engine final : public EventEngine {
 public:
  explicit Engine(Impl& timers) : timers_(timers) {}

  bool IsWorkerThread() override { return std::this_thread::get_id() == timers_.thread; }
  void Run(Closure* closure) override { RunAfter(Duration::zero(), closure); }
  void Run(absl::AnyInvocable<void()> closure) override { RunAfter(Duration::zero(), std::move(closure)); }
  TaskHandle RunAfter(Duration when, Closure* closure) override {
    return timers_.Add(absl::FromChrono(when), [closure] { closure->Run(); });
  }
  TaskHandle RunAfter(Duration when, absl::AnyInvocable<void()> closure) override {
    return timers_.Add(absl::FromChrono(when), std::move(closure));
  }
  bool Cancel(TaskHandle handle) override { return timers_.Cancel(handle); }

  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(
      Listener::AcceptCallback, absl::AnyInvocable<void(absl::Status)>,
      const grpc_event_engine::experimental::EndpointConfig&,
      std::unique_ptr<grpc_event_engine::experimental::MemoryAllocatorFactory>) override {
    return absl::UnimplementedError("this engine has timers only");
  }
  ConnectionHandle Connect(OnConnectCallback on_connect, const ResolvedAddress&,
                           const grpc_event_engine::experimental::EndpointConfig&,
                           grpc_event_engine::experimental::MemoryAllocator, Duration) override {
    timers_.Add(absl::ZeroDuration(), [on_connect = std::move(on_connect)]() mutable {
      on_connect(absl::UnimplementedError("this engine has timers only"));
    });
    return {{0, 0}};
  }
  bool CancelConnect(ConnectionHandle) override { return false; }
  std::unique_ptr<DNSResolver> GetDNSResolver(const DNSResolver::ResolverOptions&) override {
    return nullptr;
  }

 private:
  Impl& timers_;
};

GrpcTimers::GrpcTimers(Clock& clock) : impl_(new Impl(clock)) {
  grpc_event_engine::experimental::SetEventEngineFactory(
      [impl = impl_] { return std::make_unique<Engine>(*impl); });
  grpc_init();  // for good: another start of gRPC would start its threads again
  grpc_timer_manager_set_threading(false);
  std::thread thread([impl = impl_] { impl->Loop(); });
  impl_->thread = thread.get_id();
  thread.detach();
}

GrpcTimers& GrpcTimers::TakeOver(Clock& clock) {
  static GrpcTimers* const timers = new GrpcTimers(clock);
  return *timers;
}

GrpcTimers::Exact::Exact(GrpcTimers& timers) : timers_(timers) {
  MutexLock lock(timers_.impl_->mu);
  if (timers_.impl_->exact++ > 0) return;
  timers_.impl_->next_tick = timers_.impl_->clock.Mono();
  timers_.impl_->changed.NotifyAll();
}

GrpcTimers::Exact::~Exact() {
  MutexLock lock(timers_.impl_->mu);
  --timers_.impl_->exact;
}

}  // namespace fleetmark::agent
