// A slow line between two network interfaces: takes every frame of the one to the other, later by a delay
// with jitter, in order, and loses some. It stands in for the kernel's netem, which not every kernel has.
//
// usage: link_emulator INTERFACE INTERFACE DELAY_MS JITTER_MS LOSS_PERCENT
//
// It needs CAP_NET_RAW, and runs until it is killed. The far ends must not leave checksums or segmentation to
// their interfaces (ethtool -K … tx off tso off gso off gro off).
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

#include "absl/time/time.h"

#include "common/base/clock.h"

namespace fleetmark {
namespace {

constexpr size_t kMaxQueued = 8192;
constexpr size_t kMaxFrame = 2048;
constexpr int kFramesAtOnce = 64;

struct Frame {
  MonoTime due;
  std::vector<char> bytes;
};

struct Line {
  absl::Duration delay;
  absl::Duration jitter;
  double loss = 0;
};

// Frames that come in on one interface and wait to go out on the other.
class Direction {
 public:
  Direction(int from, int to, const Line& line) : from_(from), to_(to), line_(line) {}

  void Receive(MonoTime now, std::mt19937_64& dice) {
    std::uniform_real_distribution<double> roll(0, 1);
    char buffer[kMaxFrame];
    for (int i = 0; i < kFramesAtOnce; ++i) {
      const ssize_t size = recv(from_, buffer, sizeof buffer, MSG_TRUNC);
      if (size <= 0) return;
      if (static_cast<size_t>(size) > sizeof buffer || queue_.size() >= kMaxQueued ||
          roll(dice) < line_.loss) {
        continue;
      }
      MonoTime due = now + line_.delay + line_.jitter * (2 * roll(dice) - 1);
      if (!queue_.empty()) due = std::max(due, queue_.back().due);
      queue_.push_back({due, std::vector<char>(buffer, buffer + size)});
    }
  }

  void SendDue(MonoTime now) {
    for (; !queue_.empty() && queue_.front().due <= now; queue_.pop_front()) {
      // A frame that the interface does not take, as when it is down, is lost as on a real line.
      (void)send(to_, queue_.front().bytes.data(), queue_.front().bytes.size(), 0);
    }
  }

  MonoTime NextDue() const { return queue_.empty() ? MonoTime::InfiniteFuture() : queue_.front().due; }

 private:
  const int from_;
  const int to_;
  const Line line_;
  std::deque<Frame> queue_;
};

// All frames that come in on the interface, and none that go out; or -1.
int OpenInterface(const char* name) {
  const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(name));
  const int on = 1;
  packet_mreq all{};
  all.mr_ifindex = address.sll_ifindex;
  all.mr_type = PACKET_MR_PROMISC;
  if (fd < 0 || address.sll_ifindex == 0 ||
      bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) != 0 ||
      setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) != 0) {
    perror(name);
    return -1;
  }
  return fd;
}

[[noreturn]] void Serve(int a, int b, const Line& line) {
  const Clock& clock = RealClock();
  std::mt19937_64 dice(1);
  Direction directions[] = {{a, b, line}, {b, a, line}};
  for (;;) {
    const MonoTime now = clock.Mono();
    for (Direction& direction : directions) direction.SendDue(now);
    const MonoTime next = std::min(directions[0].NextDue(), directions[1].NextDue());
    const timespec wait = absl::ToTimespec(std::clamp(next - now, absl::ZeroDuration(), absl::Seconds(1)));
    pollfd ready[] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
    ppoll(ready, 2, &wait, nullptr);
    for (int i = 0; i < 2; ++i) {
      if (ready[i].revents != 0) directions[i].Receive(clock.Mono(), dice);
    }
  }
}

}  // namespace
}  // namespace fleetmark

int main(int argc, char** argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: %s INTERFACE INTERFACE DELAY_MS JITTER_MS LOSS_PERCENT\n", argv[0]);
    return 2;
  }
  const int a = fleetmark::OpenInterface(argv[1]);
  const int b = fleetmark::OpenInterface(argv[2]);
  if (a < 0 || b < 0) return 1;
  fleetmark::Line line;
  line.delay = absl::Milliseconds(std::atof(argv[3]));
  line.jitter = absl::Milliseconds(std::atof(argv[4]));
  line.loss = std::atof(argv[5]) / 100;
  fleetmark::Serve(a, b, line);
}
