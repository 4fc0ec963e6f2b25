#include "common/base/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>

namespace fleetmark {
namespace {

sigset_t SetOf(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (int s : signals) sigaddset(&set, s);
  return set;
}

}  // namespace

void BlockSignals(std::initializer_list<int> signals) {
  const sigset_t set = SetOf(signals);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

int WaitForSignal(std::initializer_list<int> signals, absl::Duration timeout) {
  const sigset_t set = SetOf(signals);
  if (timeout == absl::InfiniteDuration()) {
    while (true) {
      const int got = sigwaitinfo(&set, nullptr);
      if (got > 0) return got;
    }
  }
  const timespec ts = absl::ToTimespec(std::max(timeout, absl::ZeroDuration()));
  const int got = sigtimedwait(&set, nullptr, &ts);
  return got > 0 ? got : 0;
}

}  // namespace fleetmark
