// A simulated fleet, a real store, and both detections, for tests of what an operator gets to see.
//
// Thread-safety: none.
#ifndef FLEETMARK_TESTS_UNIT_COLLECTOR_FLEET_FLEET_FIXTURE_H_
#define FLEETMARK_TESTS_UNIT_COLLECTOR_FLEET_FLEET_FIXTURE_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "collector/detect/change_detector.h"
#include "collector/detect/detection_loop.h"
#include "collector/fleet/fleet_detection.h"
#include "common/obs/metrics.h"
#include "store_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fleet_simulator.h"

namespace fleetmark::collector {

class FleetFixture : public StoreFixture {
 protected:
  void MakeFleet(const FleetSimulator::Options& options) {
    fleet_options_ = options;
    fleet_ = std::make_unique<FleetSimulator>(*store_, options);
    fleet_->RegisterAll();
    Restart();
  }

  // A new process over the same store.
  void Restart() {
    DetectionLoop::Options series;
    series.store = store_.get();
    series.clock = &clock_;
    series.metrics = &metrics_;
    series.detectors = {std::make_shared<ChangeDetector>()};
    series_detection_ = std::make_unique<DetectionLoop>(std::move(series));
    FleetDetection::Options fleet;
    fleet.store = store_.get();
    fleet.clock = &clock_;
    fleet.metrics = &metrics_;
    fleet.false_alarms_per_week = false_alarms_per_week_;
    fleet.fill_live = [this](v1::Node* node) {
      const bool gone = gone_.contains(node->identity().name());
      node->set_state(gone ? v1::NODE_STATE_GONE : v1::NODE_STATE_CONNECTED);
      if (!gone) node->set_last_seen_unix_ns(absl::ToUnixNanos(clock_.Now()));
      if (gone) node->set_last_seen_unix_ns(absl::ToUnixNanos(gone_since_));
      node->mutable_heartbeat()->set_waits_for(waits_for_);
    };
    fleet.run_now = [this](const v1::RunNowRequest& request) {
      requests_.push_back(request);
      return absl::OkStatus();
    };
    fleet.on_finding = [this](const v1::Finding& finding) { told_.push_back(finding); };
    fleet_detection_ = std::make_unique<FleetDetection>(std::move(fleet));
  }

  // Makes the runs of the next `hours`, looking at them every `look_every` hours.
  void Live(int hours, int look_every = 4) {
    for (int hour = 0; hour < hours; hour += look_every) {
      const int step = std::min(look_every, hours - hour);
      fleet_->Run(clock_.Now(), clock_.Now() + absl::Hours(step));
      clock_.Advance(absl::Hours(step));
      Look();
    }
  }
  void Look() {
    series_detection_->RunOnce();
    const absl::Status status = fleet_detection_->RunOnce();
    ASSERT_TRUE(status.ok()) << status;
  }

  std::vector<v1::Finding> Findings(bool top_level = true, bool open = true) {
    v1::ListFindingsRequest request;
    request.set_top_level(top_level);
    if (open) request.set_state(v1::Finding::STATE_OPEN);
    Page page;
    page.limit = 10'000;
    std::string next;
    return *store_->ListFindings(request, page, &next);
  }
  // One line each, for messages.
  std::string Text(const std::vector<v1::Finding>& findings) {
    std::string text;
    for (const v1::Finding& f : findings) {
      text += v1::Finding::Kind_Name(f.kind()) + " " + f.scope() + " " + f.series().node() + " " +
              f.series().benchmark() + ": " + f.explanation() + "\n";
    }
    return text;
  }

  FakeClock clock_;
  Metrics metrics_;
  FleetSimulator::Options fleet_options_;
  std::unique_ptr<FleetSimulator> fleet_;
  std::unique_ptr<DetectionLoop> series_detection_;
  std::unique_ptr<FleetDetection> fleet_detection_;
  double false_alarms_per_week_ = 1;
  std::set<std::string> gone_;
  absl::Time gone_since_;
  std::string waits_for_;
  std::vector<v1::RunNowRequest> requests_;
  std::vector<v1::Finding> told_;
};

}  // namespace fleetmark::collector

#endif  // FLEETMARK_TESTS_UNIT_COLLECTOR_FLEET_FLEET_FIXTURE_H_
