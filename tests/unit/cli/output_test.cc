// What the command line prints, without a collector: text, numbers, tables, progress, arguments, templates.
#include <cstdlib>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "cli/commands/arguments.h"
#include "cli/commands/plugin_templates.h"
#include "cli/commands/progress_view.h"
#include "cli/output/exit_code.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "common/base/status.h"

namespace fleetmark::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const absl::Time kNow = absl::FromUnixSeconds(1'790'000'000);

int64_t Ago(absl::Duration d) { return absl::ToUnixNanos(kNow - d); }

TEST(Text, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("node"), 4u);
  EXPECT_EQ(DisplayWidth("knöten"), 6u);
  EXPECT_EQ(DisplayWidth("e\xCC\x81"), 1u);  // e and a combining acute accent
  EXPECT_EQ(DisplayWidth("节点"), 4u);
  EXPECT_EQ(DisplayWidth("▁█"), 2u);
  EXPECT_EQ(DisplayWidth("\xFF\xFE"), 2u);
  EXPECT_EQ(DisplayWidth("a\xE8\x8A"), 3u);  // cut within a character
}

TEST(Text, PrintableLeavesNothingThatSteersATerminal) {
  EXPECT_EQ(Printable("\x1b[31mred\x07"), " [31mred ");
  EXPECT_EQ(Printable("a\nb\tc"), "a b c");
  EXPECT_EQ(Printable("a\nb\tc", true), "a\nb\tc");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m"),
            " 31m");  // the one-character form of ESC [
  EXPECT_EQ(Printable("a\xE2\x80\xAE"
                      "b"),
            "a b");  // right-to-left override
  EXPECT_EQ(Printable("ü\xFF"), "ü\xEF\xBF\xBD");
}

TEST(Text, FitColumnsCutsWholeCharacters) {
  EXPECT_EQ(FitColumns("stream", 6), "stream");
  EXPECT_EQ(FitColumns("stream", 5), "stre…");
  EXPECT_EQ(FitColumns("节点节点", 4), "节…");
  EXPECT_EQ(FitColumns("stream", 0), "");
}

TEST(Format, Numbers) {
  EXPECT_EQ(FormatNumber(0), "0");
  EXPECT_EQ(FormatNumber(12.3456), "12.35");
  EXPECT_EQ(FormatNumber(999.96), "1000");
  EXPECT_EQ(FormatNumber(123456.7), "123457");
  EXPECT_EQ(FormatNumber(-0.00012345), "-0.0001234");
  EXPECT_EQ(FormatNumber(1.5e18), "1.5e+18");
}

TEST(Format, ExactReadsBackAsTheSameDouble) {
  EXPECT_EQ(FormatExact(0.1), "0.1");
  EXPECT_EQ(FormatExact(12.3456789), "12.3456789");
  for (const double value : {1.0 / 3, 1e300, -5e-324, 123456789.125}) {
    EXPECT_EQ(strtod(FormatExact(value).c_str(), nullptr), value);
  }
}

TEST(Format, Durations) {
  EXPECT_EQ(FormatSeconds(-0.0004), "-0.4 ms");
  EXPECT_EQ(FormatSeconds(0.5), "0.50 s");
  EXPECT_EQ(FormatSeconds(12.34), "12.3 s");
  EXPECT_EQ(FormatSeconds(130), "2 m 10 s");
  EXPECT_EQ(FormatSeconds(3 * 3600 + 300), "3 h 5 m");
}

TEST(Format, Ages) {
  EXPECT_EQ(FormatAge(0, kNow), "never");
  EXPECT_EQ(FormatAge(Ago(absl::Milliseconds(300)), kNow), "now");
  EXPECT_EQ(FormatAge(Ago(absl::Seconds(59)), kNow), "59 s ago");
  EXPECT_EQ(FormatAge(Ago(absl::Seconds(60)), kNow), "1 m ago");
  EXPECT_EQ(FormatAge(Ago(absl::Hours(23) + absl::Minutes(59)), kNow), "23 h ago");
  EXPECT_EQ(FormatAge(Ago(absl::Hours(49)), kNow), "2 d ago");
  EXPECT_EQ(FormatAge(Ago(-absl::Minutes(5)), kNow), "in 5 m");
}

TEST(Format, TimesAreRfc3339InUtc) {
  EXPECT_EQ(FormatTime(1'790'000'000'000'000'000), "2026-09-21T14:13:20Z");
  EXPECT_EQ(FormatTime(0), "");
}

TEST(Format, Bytes) {
  EXPECT_EQ(FormatHumanBytes(0), "0 B");
  EXPECT_EQ(FormatHumanBytes(1023), "1023 B");
  EXPECT_EQ(FormatHumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatHumanBytes(200ull << 30), "200 GiB");
}

TEST(Format, EnumeratorsLoseTheirPrefix) {
  EXPECT_EQ(NameOf(v1::OUTCOME_OK), "ok");
  EXPECT_EQ(NameOf(v1::NODE_STATE_GONE), "gone");
  EXPECT_EQ(NameOf(v1::Event::KIND_FACT_CHANGED), "fact_changed");
  EXPECT_EQ(NameOf(v1::Finding::DIRECTION_WORSE), "worse");
}

TEST(Format, SparklineShowsTheShape) {
  EXPECT_EQ(Sparkline({}, 10), "");
  EXPECT_EQ(Sparkline({5, 5, 5}, 10), "▅▅▅");
  EXPECT_EQ(Sparkline({0, 7}, 10), "▁█");
  EXPECT_EQ(Sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 8), "▁▂▃▄▅▆▇█");
  // Three to a column: one outlier does not hide the level.
  EXPECT_EQ(Sparkline({1, 1, 1, 9, 1, 1, 5, 5, 5}, 3), "▁▁█");
  EXPECT_EQ(DisplayWidth(Sparkline(std::vector<double>(1000, 1.0), 79)), 79u);
}

Table SampleTable() {
  Table table({{"NAME"}, {"VALUE", true}, {"WHEN"}, {"MORE", false, true}});
  table.AddRow({"a", NumberCell(12.3456789), TimeCell(Ago(absl::Minutes(3)), kNow), "x"});
  table.AddRow({"节点", CountCell(7), TimeCell(0, kNow), "y"});
  return table;
}

TEST(Table, AlignsByColumnsOfTheTerminal) {
  EXPECT_EQ(SampleTable().Render(false, false),
            "NAME  VALUE  WHEN\n"
            "a     12.35  3 m ago\n"
            "节点      7  never\n");
}

TEST(Table, WideShowsAbsoluteTimesAndMoreColumns) {
  EXPECT_EQ(SampleTable().Render(true, false),
            "NAME  VALUE  WHEN                  MORE\n"
            "a     12.35  2026-09-21T14:10:20Z  x\n"
            "节点      7  never                 y\n");
}

TEST(Table, ColourDoesNotChangeTheWidth) {
  Table table({{"A"}, {"B"}});
  table.AddRow({Cell("bad", Look::kBad), "x"});
  EXPECT_EQ(table.Render(false, true), "\x1b[2mA\x1b[0m    \x1b[2mB\x1b[0m\n\x1b[31mbad\x1b[0m  x\n");
}

TEST(Table, CsvIsExactAndQuoted) {
  Table table({{"NAME"}, {"LAST VALUE", true}, {"WHEN", false, true}});
  table.AddRow({"say \"hi\", now", NumberCell(12.3456789), TimeCell(1'790'000'000'000'000'000, kNow)});
  table.AddRow({"=1+1", NumberCell(-2), ""});
  EXPECT_EQ(table.RenderCsv(),
            "name,last_value,when\r\n"
            "\"say \"\"hi\"\", now\",12.3456789,2026-09-21T14:13:20Z\r\n"
            "'=1+1,-2,\r\n");
}

TEST(ExitCode, SaysWhatKindOfError) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), 2);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::PermissionDeniedError("")), 5);
  EXPECT_EQ(ExitCodeOf(absl::FailedPreconditionError("")), 5);
  EXPECT_EQ(ExitCodeOf(absl::CancelledError("")), 130);
}

TEST(Arguments, Labels) {
  const auto labels = ParseLabels({"rack=r12", "note=a=b"});
  ASSERT_TRUE(labels.ok());
  EXPECT_THAT(*labels, testing::ElementsAre(testing::Pair("note", "a=b"), testing::Pair("rack", "r12")));
  EXPECT_THAT(Message(ParseLabels({"rack"}).status()), HasSubstr("key=value"));
  EXPECT_THAT(Message(ParseLabels({"a=1", "a=2"}).status()), HasSubstr("given twice"));
}

TEST(Arguments, Since) {
  EXPECT_EQ(RangeSince("", kNow)->from_unix_ns(), 0);
  EXPECT_EQ(RangeSince("24h", kNow)->from_unix_ns(), Ago(absl::Hours(24)));
  EXPECT_THAT(Message(RangeSince("yesterday", kNow).status()), HasSubstr("--since"));
}

TEST(Arguments, Outcome) {
  EXPECT_EQ(*ParseOutcome(""), v1::OUTCOME_UNSPECIFIED);
  EXPECT_EQ(*ParseOutcome("timeout"), v1::OUTCOME_TIMEOUT);
  EXPECT_THAT(Message(ParseOutcome("bad").status()), HasSubstr("ok, failed, invalid"));
}

TEST(ProgressBar, FitsAndShowsTheShare) {
  v1::RunProgress progress;
  EXPECT_EQ(ProgressBar("stream on n1", progress, absl::Seconds(1), 79),
            "stream on n1  ░░░░░░░░░░░░░░░░░░░░░░░░        1 s  queued");
  progress.set_state(v1::RunProgress::STATE_RUNNING);
  EXPECT_THAT(ProgressBar("stream on n1", progress, absl::Milliseconds(300), 79), HasSubstr("  ░░████░"));
  progress.set_fraction(0.5);
  progress.set_message("triad");
  EXPECT_EQ(ProgressBar("stream on n1", progress, absl::Seconds(75), 79),
            "stream on n1  ████████████░░░░░░░░░░░░  50 %  75 s  triad");
  progress.set_message(std::string(500, 'x'));
  EXPECT_EQ(DisplayWidth(ProgressBar("stream on n1", progress, absl::Seconds(75), 79)), 79u);
  progress.set_fraction(7);
  EXPECT_THAT(ProgressBar("s", progress, absl::Seconds(1), 200), HasSubstr("100 %"));
}

class PluginTemplates : public testing::TestWithParam<const char*> {};

TEST_P(PluginTemplates, LeaveNoPlaceholder) {
  const auto files = PluginFiles("my_plugin", GetParam());
  ASSERT_TRUE(files.ok());
  ASSERT_GE(files->size(), 2u);
  EXPECT_EQ((*files)[0].name, "manifest.yaml");
  EXPECT_THAT((*files)[0].content, HasSubstr("name: my_plugin\n"));
  EXPECT_THAT((*files)[0].content, HasSubstr("command: [./my_plugin"));
  for (const PluginFile& file : *files) {
    EXPECT_THAT(file.content, Not(testing::ContainsRegex("NAME|PROGRAM|SUMMARY|METRIC|UNIT"))) << file.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Languages, PluginTemplates, testing::Values("sh", "python", "cpp"));

TEST(PluginTemplatesError, NamesTheChoices) {
  EXPECT_THAT(Message(PluginFiles("x", "cobol").status()), HasSubstr("sh, python, cpp"));
}

}  // namespace
}  // namespace fleetmark::cli
