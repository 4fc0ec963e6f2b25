// A FleetService with a small fleet that never changes, in this process, for tests of the command line.
//
// Thread-safety: starts and stops in one thread; the service's threads only read, but for what a call
// records under a lock. Ownership: owns its server.
#ifndef FLEETMARK_TESTS_UNIT_CLI_FAKE_FLEET_SERVICE_H_
#define FLEETMARK_TESTS_UNIT_CLI_FAKE_FLEET_SERVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::cli {

// Requests that change something, as the service got them.
struct Received {
  std::vector<v1::Event> events;
  std::vector<v1::CancelRunRequest> cancels;
};

class FakeFleet {
 public:
  // `empty`: a collector that nothing has reported to. Times are before `now`.
  FakeFleet(absl::Time now, bool empty);
  ~FakeFleet();

  std::string address() const;
  Received received() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fleetmark::cli

#endif  // FLEETMARK_TESTS_UNIT_CLI_FAKE_FLEET_SERVICE_H_
