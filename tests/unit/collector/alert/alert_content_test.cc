// What an alert is about, whom it tells of, and what it says.
#include "collector/alert/alert_content.h"

#include <list>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "alert_finding.h"
#include "collector/alert/alert_cause.h"
#include "collector/alert/alert_text.h"
#include "collector/alert/inhibition.h"

namespace fleetmark::collector {
namespace {

using testing::HasSubstr;

v1::Alert AlertOf(const std::vector<const v1::Finding*>& findings, const std::string& id = "A") {
  v1::Alert alert;
  alert.set_alert_id(id);
  FillAlert(findings, {{"rack", "r3"}, {"topology.kubernetes.io/zone", "z1"}, {"class", "theirs"}},
            {"https://fleet.example/", {{"slow", "https://wiki.example/slow"}}}, &alert);
  return alert;
}

std::string Text(const v1::Alert& alert, v1::Notice::Reason reason = v1::Notice::REASON_FIRING) {
  v1::Notice notice;
  notice.set_reason(reason);
  *notice.mutable_alert() = alert;
  return MessageText(notice, absl::FromUnixNanos(kOnsetNs) + absl::Minutes(51));
}

TEST(AlertCause, OneNodeIsOneCauseWhateverShowsIt) {
  v1::Finding reference = SlowFinding("n7", "hpl");
  reference.set_kind(v1::Finding::KIND_REFERENCE);
  EXPECT_EQ(CauseOf(SlowFinding("n7")).key, CauseOf(reference).key);
  EXPECT_NE(CauseOf(SlowFinding("n7")).key, CauseOf(SlowFinding("n8")).key);
  EXPECT_NE(CauseOf(SilentFinding({"n7"}, "node n7")).key, CauseOf(SlowFinding("n7")).key);
  v1::Finding device = SlowFinding("n7");
  (*device.mutable_series()->mutable_labels())["device"] = "gpu3";
  EXPECT_EQ(CauseOf(device).subject, "device gpu3 of n7");
  EXPECT_NE(CauseOf(device).key, CauseOf(SlowFinding("n7")).key);
}

TEST(AlertCause, ACountOfNodesIsNoName) {
  v1::Finding one = SilentFinding({"n1", "n2"}, "2 nodes");
  v1::Finding other = SilentFinding({"n3", "n4"}, "2 nodes");
  other.set_finding_id(SlowFinding("x").finding_id());
  EXPECT_NE(CauseOf(one).key, CauseOf(other).key);
}

TEST(AlertCause, MissingResultsAreApartFromAnAgentThatIsGone) {
  EXPECT_NE(CauseOf(SilentFinding({"n1"}, "node n1")).key,
            CauseOf(SilentFinding({"n1"}, "node n1", "stream")).key);
}

TEST(AlertCause, StandingFollowsTheBudget) {
  EXPECT_EQ(CauseOf(SlowFinding("n7")).standing, AlertCause::kConfirmed);
  EXPECT_EQ(CauseOf(PendingFinding("n7")).standing, AlertCause::kPending);
  v1::Finding closed = SlowFinding("n7");
  closed.set_state(v1::Finding::STATE_CLOSED);
  EXPECT_EQ(CauseOf(closed).standing, AlertCause::kNone);
}

TEST(AlertContent, LabelsTellTheAlertApartAndHoldNoValues) {
  const v1::Finding a = SlowFinding("n7", "stream"), b = SlowFinding("n7", "gemm");
  const v1::Alert both = AlertOf({&a, &b});
  EXPECT_EQ(both.labels().at("alertname"), "FleetmarkSlow");
  EXPECT_EQ(both.labels().at("node"), "n7");
  EXPECT_EQ(both.labels().at("metric"), "triad");
  EXPECT_EQ(both.labels().at("rack"), "r3");
  EXPECT_EQ(both.labels().at("topology_kubernetes_io_zone"), "z1");
  EXPECT_EQ(both.labels().at("class"), "slow");  // the alert's, not the node's
  EXPECT_FALSE(both.labels().contains("benchmark"));
}

TEST(AlertContent, LabelsStayOnceSomebodyWasTold) {
  const v1::Finding a = SlowFinding("n7", "stream"), b = SlowFinding("n7", "gemm");
  v1::Alert alert = AlertOf({&a});
  alert.mutable_life()->add_told("ops");
  FillAlert(std::vector<const v1::Finding*>{&a, &b}, {}, {}, &alert);
  EXPECT_EQ(alert.labels().at("benchmark"), "stream");
  EXPECT_EQ(alert.finding_count(), 2u);
}

TEST(AlertContent, SeverityFollowsSizeAndSpread) {
  v1::Finding finding = SlowFinding("n7");
  EXPECT_EQ(AlertOf({&finding}).severity(), v1::ALERT_SEVERITY_WARNING);
  finding.set_change(-0.35);
  EXPECT_EQ(AlertOf({&finding}).severity(), v1::ALERT_SEVERITY_CRITICAL);
  finding.set_change(-0.02);
  EXPECT_EQ(AlertOf({&finding}).severity(), v1::ALERT_SEVERITY_INFO);
  const v1::Finding group = DriverFinding({"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"});
  EXPECT_EQ(AlertOf({&group}).severity(), v1::ALERT_SEVERITY_CRITICAL);
}

TEST(AlertContent, FindingsThatCloseStayListed) {
  const v1::Finding a = SlowFinding("n7", "stream"), b = SlowFinding("n7", "gemm");
  v1::Alert alert = AlertOf({&a, &b});
  FillAlert(std::vector<const v1::Finding*>{&b}, {}, {}, &alert);
  ASSERT_EQ(alert.findings_size(), 2);
  EXPECT_EQ(alert.findings(0).finding_id(), b.finding_id());
  EXPECT_FALSE(alert.findings(1).open());
}

TEST(AlertText, SaysEverythingThatIsNeededToDecide) {
  v1::Finding finding = SlowFinding("n7");
  finding.mutable_confirmation()->set_state(v1::Confirmation::STATE_CONFIRMED);
  finding.mutable_confirmation()->set_reruns(3);
  finding.mutable_confirmation()->set_peer("n9");
  finding.mutable_confirmation()->set_peer_reruns(2);
  v1::Event& event = *finding.add_events();
  event.set_subject("gpu.driver");
  event.set_old_value("550");
  event.set_new_value("570.124");
  event.set_node("n7");
  event.set_time_unix_ns(kOnsetNs);
  v1::Alert alert = AlertOf({&finding});
  for (const double value : {200.0, 201.0, 199.0, 176.0, 175.0}) alert.add_recent(value);
  EXPECT_EQ(alert.title(), "node n7: stream triad is 12.0 % lower, 200 to 176 GB/s");
  const std::string text = Text(alert);
  EXPECT_THAT(text, HasSubstr("Where: node n7 (rack r3)"));
  EXPECT_THAT(text, HasSubstr("How much: -12.0 %, 95 % interval -13.0 % to -11.0 %"));
  EXPECT_THAT(text, HasSubstr("Since: between 2026-09-21 13:56 UTC and 2026-09-21 13:57 UTC, 50 min ago"));
  EXPECT_THAT(text,
              HasSubstr("How sure: 99.99 %; confirmed by 3 later runs; compared with 2 runs of healthy n9"));
  EXPECT_THAT(text, HasSubstr("Changed: gpu.driver 550 to 570.124 on n7 at 2026-09-21 13:56 UTC"));
  EXPECT_THAT(text, HasSubstr("Who else: nobody"));
  EXPECT_THAT(text, HasSubstr("Course: ███▁▁"));
  EXPECT_THAT(text, HasSubstr("Page: https://fleet.example/#/alerts/A"));
  EXPECT_THAT(text, HasSubstr("Run book: https://wiki.example/slow"));
  EXPECT_THAT(text, HasSubstr("To acknowledge: fleetmark alerts ack A"));
}

TEST(AlertText, OfManyNamesTheDriverAndSomeOfThem) {
  std::vector<std::string> nodes;
  for (int i = 100; i < 140; ++i) nodes.push_back("n" + std::to_string(i));
  const v1::Finding group = DriverFinding(nodes);
  const std::string text = Text(AlertOf({&group}));
  EXPECT_THAT(text, HasSubstr("gpu.driver 570.124"));
  EXPECT_THAT(text, HasSubstr("40 of 40 nodes with gpu.driver 570.124, 0 of 180 others"));
  EXPECT_THAT(text, HasSubstr("40 nodes: n100, n101"));
  EXPECT_THAT(text, HasSubstr("and 30 more"));
}

TEST(AlertText, ClaimsNoCertaintyAboveWhatWasFound) {
  v1::Finding finding = SlowFinding("n7");
  finding.set_confidence(1);
  EXPECT_THAT(Text(AlertOf({&finding})), HasSubstr("How sure: 99.99 %"));
  const v1::Finding silent = SilentFinding({"n1"}, "node n1");
  EXPECT_THAT(Text(AlertOf({&silent})), HasSubstr("a fact"));
}

TEST(AlertText, AResolvedOneSaysWhyAndAsksForNothing) {
  const v1::Finding finding = SlowFinding("n7");
  v1::Alert alert = AlertOf({&finding});
  alert.mutable_life()->set_state(v1::AlertLife::STATE_RESOLVED);
  alert.mutable_life()->set_resolution("as before again");
  const std::string text = Text(alert, v1::Notice::REASON_RESOLVED);
  EXPECT_THAT(text, HasSubstr("resolved: node n7"));
  EXPECT_THAT(text, HasSubstr("as before again"));
  EXPECT_THAT(text, testing::Not(HasSubstr("acknowledge:")));
}

class InhibitionTest : public testing::Test {
 protected:
  void AddSource(const v1::Finding& finding) {
    sources_.push_back(finding);
    alerts_.push_back(AlertOf({&finding}, "source"));
    inhibition_.AddSource({&alerts_.back(), {&sources_.back()}});
  }
  bool Muted(const v1::Finding& finding, const std::string& id = "other") {
    const v1::Alert alert = AlertOf({&finding}, id);
    return !inhibition_.MutesOf({&alert, {&finding}}).empty();
  }

  std::list<v1::Finding> sources_;
  std::list<v1::Alert> alerts_;
  Inhibition inhibition_{[](const std::string& node) {
    return std::map<std::string, std::string>{{"gpu.driver", node == "old" ? "550" : "570.124"}};
  }};
};

TEST_F(InhibitionTest, AGroupTellsOfItsOwnAndOfNoOther) {
  AddSource(DriverFinding({"n1", "n2"}));
  EXPECT_TRUE(Muted(SlowFinding("n1")));
  EXPECT_FALSE(Muted(SlowFinding("n3")));
  EXPECT_FALSE(Muted(SlowFinding("n1", "fio")));  // the disk is another matter
  EXPECT_FALSE(Muted(SilentFinding({"n1"}, "node n1")));
  v1::Finding later = SlowFinding("n1");
  later.set_onset_latest_unix_ns(kOnsetNs + int64_t{72} * 3600 * 1'000'000'000);
  EXPECT_FALSE(Muted(later));
  EXPECT_FALSE(Muted(SlowFinding("n1"), "source"));  // never itself
}

TEST_F(InhibitionTest, AListThatIsCutShortIsCompletedByWhatExplainsIt) {
  v1::Finding group = DriverFinding({"n1"});
  group.set_member_count(500);
  AddSource(group);
  EXPECT_TRUE(Muted(SlowFinding("n400")));
  EXPECT_FALSE(Muted(SlowFinding("old")));
}

TEST_F(InhibitionTest, AFailingBenchmarkTellsOfItsMissingResults) {
  v1::Finding failing = SilentFinding({"n1"}, "node n1", "stream");
  failing.set_kind(v1::Finding::KIND_FAILURE);
  AddSource(failing);
  EXPECT_TRUE(Muted(SilentFinding({"n1"}, "node n1", "stream")));
  EXPECT_FALSE(Muted(SilentFinding({"n1"}, "node n1", "gemm")));
  EXPECT_FALSE(Muted(SlowFinding("n1")));
}

}  // namespace
}  // namespace fleetmark::collector
