// How one kind of receiver is told: the seam between the queue (notifier.h) and a protocol.
//
// Thread-safety: calls from one thread at a time, the receiver's own.
#ifndef FLEETMARK_COLLECTOR_NOTIFY_NOTICE_SENDER_H_
#define FLEETMARK_COLLECTOR_NOTIFY_NOTICE_SENDER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "fleetmark/v1/alert.pb.h"

namespace fleetmark::collector {

struct SendResult {
  enum Kind {
    kDelivered,
    kAgain,        // this notice failed now; others may succeed
    kUnreachable,  // so would every other
    kRefused,      // it will never be taken
  } kind = kDelivered;
  std::string text;            // for people; never a secret
  absl::Duration retry_after;  // at least; zero: as the queue likes
};

class NoticeSender {
 public:
  virtual ~NoticeSender() = default;

  // Blocks until it was taken or not, for the receiver's time limit at most.
  virtual SendResult Send(const v1::Notice& notice, absl::Time now) = 0;

  // How often the receiver wants to hear what still fires; InfiniteDuration: never.
  virtual absl::Duration RefreshInterval() const { return absl::InfiniteDuration(); }
  virtual SendResult Refresh(const std::vector<std::shared_ptr<const v1::Alert>>&, absl::Time) { return {}; }

  // "webhook", …
  virtual std::string kind() const = 0;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_NOTIFY_NOTICE_SENDER_H_
