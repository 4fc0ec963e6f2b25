// Every reader against outputs written for this test (tests/data/readers/READER/CASE.*): what is read of each
// stands beside it in CASE.expected. The outputs have the form of the tools', not their figures.
//
// With FM_WRITE_EXPECTED=1 in the environment the .expected files are written anew, to be looked at and
// committed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "plugins/parse/reader.h"

namespace fleetmark::parse {
namespace {

namespace fs = std::filesystem;

fs::path Folder() { return fs::path(getenv("FM_SOURCE_DIR")) / "tests/data/readers"; }

std::string FileText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Case {
  std::string reader;
  fs::path input;
  std::string text;
  std::string options;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const auto& entry : fs::recursive_directory_iterator(Folder())) {
    const fs::path& path = entry.path();
    if (!entry.is_regular_file() || path.extension() == ".expected" || path.extension() == ".options")
      continue;
    fs::path options = path;
    options.replace_extension(".options");
    cases.push_back({path.parent_path().filename(), path, FileText(path), FileText(options)});
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.input < b.input; });
  return cases;
}

ParsedOutput Read(const Case& one, std::string_view text) {
  ParsedOutput output;
  std::string error;
  EXPECT_TRUE(ReadOutput(one.reader, text, one.options, &output, &error)) << one.input << ": " << error;
  return output;
}

std::string Number(double value) { return nlohmann::json(value).dump(); }

std::string MetricLine(const Metric& metric) {
  std::string line = metric.name + " " + Number(metric.value) + " " + metric.unit + " " + metric.better;
  for (const auto& [name, value] : metric.labels) line += " " + name + "=" + nlohmann::json(value).dump();
  if (!metric.reference) return line;
  const auto bound = [](const std::optional<double>& value) { return value ? Number(*value) : "none"; };
  return line + " reference " + Number(metric.reference->value) + " " + bound(metric.reference->lower) + " " +
         bound(metric.reference->upper);
}

std::string Summary(const ParsedOutput& output) {
  std::string text = "outcome " + std::string(OutcomeName(output.outcome)) + "\n";
  for (const Metric& metric : output.metrics) text += MetricLine(metric) + "\n";
  for (const Problem& problem : output.problems) {
    text += (problem.warning ? "warning " : "error ") + std::to_string(problem.line) + " " +
            nlohmann::json(problem.text).dump() + "\n";
  }
  return text;
}

TEST(ReadersTest, EachOutputIsReadAsExpected) {
  for (const Case& one : Cases()) {
    fs::path expected = one.input;
    expected.replace_extension(".expected");
    const std::string summary = Summary(Read(one, one.text));
    if (getenv("FM_WRITE_EXPECTED") != nullptr) std::ofstream(expected, std::ios::binary) << summary;
    EXPECT_EQ(summary, FileText(expected)) << one.input;
  }
}

TEST(ReadersTest, EachReaderHasOutputsThatAreFineAndOutputsThatAreNot) {
  for (const Reader& reader : Readers()) {
    std::set<bool> fine;
    for (const Case& one : Cases()) {
      if (one.reader == reader.name) fine.insert(Read(one, one.text).outcome == Outcome::kOk);
    }
    EXPECT_THAT(fine, testing::ElementsAre(false, true)) << reader.name;
  }
}

// What an outcome that is not ok has to come with.
TEST(ReadersTest, WhatIsNotFineSaysWhy) {
  for (const Case& one : Cases()) {
    const ParsedOutput output = Read(one, one.text);
    const bool error =
        std::any_of(output.problems.begin(), output.problems.end(),
                    [](const Problem& problem) { return !problem.warning && !problem.text.empty(); });
    EXPECT_EQ(error, output.outcome != Outcome::kOk) << one.input;
    EXPECT_TRUE(output.outcome != Outcome::kOk || !output.metrics.empty()) << one.input;
  }
}

std::multiset<std::string> MetricLines(const ParsedOutput& output) {
  std::multiset<std::string> lines;
  for (const Metric& metric : output.metrics) lines.insert(MetricLine(metric));
  return lines;
}

// Of fio's documents the last counts, so that with one fewer another counts.
bool IsOneOfSeveral(const Case& one) { return one.input.stem() == "status_interval"; }

// An output that is cut off between lines is an error, or gives only values that the whole one gives too.
TEST(ReadersTest, AnOutputThatIsCutOffBetweenLinesGivesNoWrongValue) {
  for (const Case& one : Cases()) {
    if (IsOneOfSeveral(one)) continue;
    const auto whole = MetricLines(Read(one, one.text));
    for (size_t end = one.text.find('\n'); end != std::string::npos; end = one.text.find('\n', end + 1)) {
      const ParsedOutput cut = Read(one, std::string_view(one.text).substr(0, end + 1));
      if (cut.outcome != Outcome::kOk) continue;
      const auto some = MetricLines(cut);
      EXPECT_TRUE(std::includes(whole.begin(), whole.end(), some.begin(), some.end()))
          << one.input << " cut at byte " << end;
    }
  }
}

// Is each metric of `some` in `whole`, but for a tenth of a percent?
bool Holds(const ParsedOutput& whole, const ParsedOutput& some) {
  return std::all_of(some.metrics.begin(), some.metrics.end(), [&whole](const Metric& metric) {
    return std::any_of(whole.metrics.begin(), whole.metrics.end(), [&metric](const Metric& one) {
      return one.name == metric.name && one.labels == metric.labels &&
             std::abs(one.value - metric.value) <= 0.005 + 0.001 * std::abs(one.value);
    });
  });
}

// The same within a line, for those readers whose format has an end that can be told. Last decimals may be
// missing.
TEST(ReadersTest, AnOutputThatIsCutOffAnywhereGivesNoWrongValue) {
  const std::set<std::string> with_end = {"dcgmi_diag", "fio",        "hpcg",        "hpl",
                                          "hyperfine",  "ior",        "iperf3",      "mdtest",
                                          "json",       "nccl_tests", "nvbandwidth", "osu",
                                          "stream",     "cerebras",   "superbench",  "reframe_report"};
  for (const Case& one : Cases()) {
    if (!with_end.contains(one.reader) || IsOneOfSeveral(one)) continue;
    if (one.reader == "hyperfine" && one.input.extension() == ".csv") continue;  // that has no end
    const ParsedOutput read = Read(one, one.text);
    if (read.outcome != Outcome::kOk) continue;
    for (size_t end = 0; end<one.text.size(); end += one.text.size()> 3000 ? 7 : 1) {
      const ParsedOutput cut = Read(one, std::string_view(one.text).substr(0, end));
      if (cut.outcome != Outcome::kOk) continue;
      EXPECT_TRUE(Holds(read, cut)) << one.input << " cut at byte " << end << ": "
                                    << one.text.substr(end > 60 ? end - 60 : 0, std::min<size_t>(end, 60));
    }
  }
}

// Windows' ends of lines, and the prefix that a launcher puts before each line, change nothing that is read.
TEST(ReadersTest, EndsOfLinesAndLaunchersPrefixesChangeNothing) {
  for (const Case& one : Cases()) {
    if (one.reader == "popdist" || one.reader == "mlperf" || one.text.find('\r') != std::string::npos ||
        one.text.find("two\nlines") != std::string::npos) {
      continue;  // a rank becomes a label there
    }
    const ParsedOutput plain = Read(one, one.text);
    std::string windows;
    std::string prefixed = "[1,0]<stdout>:";
    for (const char c : one.text) {
      windows += c == '\n' ? "\r\n" : std::string(1, c);
      prefixed += c == '\n' ? "\n[1,0]<stdout>:" : std::string(1, c);
    }
    EXPECT_EQ(MetricLines(Read(one, windows)), MetricLines(plain)) << one.input;
    if (one.text.find("<stdout>") == std::string::npos) {
      EXPECT_EQ(MetricLines(Read(one, prefixed)), MetricLines(plain)) << one.input;
    }
  }
}

TEST(ReadersTest, AnEmptyTextIsInvalidForEach) {
  for (const Reader& reader : Readers()) {
    for (const char* text : {"", "\n", "\xEF\xBB\xBF", "hello world\n"}) {
      ParsedOutput output;
      std::string error;
      const char* one = R"j({"metrics":[{"name":"a","unit":"s","better":"lower","pattern":"a=(.*)"}]})j";
      const char* options = reader.name == "regex" ? one : "";
      ASSERT_TRUE(ReadOutput(reader.name, text, options, &output, &error)) << error;
      EXPECT_EQ(output.outcome, Outcome::kInvalid) << reader.name;
      EXPECT_TRUE(output.metrics.empty()) << reader.name;
      EXPECT_FALSE(output.problems.empty()) << reader.name;
    }
  }
}

TEST(ReadersTest, SecretsInTheToolsEnvironmentAreNotShown) {
  for (const Case& one : Cases()) {
    if (one.text.find("s3cret") == std::string::npos) continue;
    EXPECT_THAT(Summary(Read(one, one.text)), testing::Not(testing::HasSubstr("s3cret")));
    EXPECT_THAT(Summary(Read(one, one.text.substr(0, one.text.size() - 20))),
                testing::Not(testing::HasSubstr("s3cret")));
  }
}

std::string OptionsError(std::string_view reader, std::string_view options) {
  ParsedOutput output;
  std::string error;
  return ReadOutput(reader, "x=1\n", options, &output, &error) ? "" : error;
}

TEST(ReadersTest, WrongOptionsAreSentencesThatSayWhatIsRight) {
  EXPECT_THAT(OptionsError("none", ""), testing::HasSubstr("no reader 'none'"));
  EXPECT_THAT(OptionsError("fio", "{"), testing::HasSubstr("not JSON"));
  EXPECT_THAT(OptionsError("fio", "[1]"), testing::HasSubstr("must be a map"));
  EXPECT_THAT(OptionsError("fio", R"({"onyl":["a"]})"), testing::HasSubstr("no option 'onyl'; it has only"));
  EXPECT_THAT(OptionsError("fio", R"({"only":"a"})"), testing::HasSubstr("must be a list"));
  EXPECT_THAT(OptionsError("fio", R"({"reduce":"sum"})"), testing::HasSubstr("first, last"));
  EXPECT_THAT(OptionsError("fio", R"({"labels":{"a":1}})"), testing::HasSubstr("must hold strings"));
  EXPECT_THAT(OptionsError("json", R"({"metrics":[{"name":"a","unit":"s","better":"lower","path":"a[x]"}]})"),
              testing::HasSubstr("a[x]"));
}

ParsedOutput ReadNamed(std::string_view reader, std::string_view text, std::string_view options) {
  ParsedOutput output;
  std::string error;
  EXPECT_TRUE(ReadOutput(reader, text, options, &output, &error)) << error;
  return output;
}

TEST(ReadersTest, CommonOptionsSelectLabelAndReduce) {
  const char* text = "a=1\nb=2\na=3\n";
  const ParsedOutput output =
      ReadNamed("keyvalue", text, R"({"only":["a"],"reduce":"mean","labels":{"rack":"r1"}})");
  ASSERT_EQ(output.metrics.size(), 1U);
  EXPECT_EQ(MetricLine(output.metrics[0]), "a 2.0 1 none rack=\"r1\"");
  const ParsedOutput missing = ReadNamed("keyvalue", text, R"({"only":["c"]})");
  EXPECT_EQ(missing.outcome, Outcome::kInvalid);
  EXPECT_THAT(Summary(missing), testing::HasSubstr("no metric 'c'"));
}

TEST(ReadersTest, ReadersAreFoundByOtherNamesToo) {
  for (const char* name : {"nccl_tests", "nccl-tests", "NCCL"})
    EXPECT_EQ(FindReader(name)->name, "nccl_tests") << name;
  EXPECT_EQ(FindReader("nccl_test"), nullptr);
}

TEST(ReadersTest, TheJsonHasAllThatWasRead) {
  const auto json = nlohmann::json::parse(ToJson(ReadNamed(
      "reframe_perflog",
      "2022-03-04T10:11:12|reframe 3.12.0|Stream on hpc2:cpu using gnu|jobid=4411|triad=331000.5|ref=330000 "
      "(l=-0.05, u=null)|MB/s\nbroken\n",
      "")));
  EXPECT_EQ(json["outcome"], "invalid");
  ASSERT_EQ(json["metrics"].size(), 1U);
  const auto& metric = json["metrics"][0];
  EXPECT_EQ(metric["name"], "triad");
  EXPECT_EQ(metric["value"], 331000.5);
  EXPECT_EQ(metric["unit"], "MB/s");
  EXPECT_EQ(metric["better"], "higher");
  EXPECT_EQ(metric["labels"]["partition"], "cpu");
  EXPECT_EQ(metric["reference"]["lower"], -0.05);
  EXPECT_TRUE(metric["reference"]["upper"].is_null());
  EXPECT_EQ(json["problems"][0]["line"], 2);
  EXPECT_EQ(json["problems"][0]["severity"], "error");
}

TEST(ReadersTest, MetricsAndProblemsAreBounded) {
  std::string text;
  for (size_t i = 0; i < kMaxMetrics + 10; ++i) text += "k" + std::to_string(i) + "=1\n";
  const ParsedOutput output = ReadNamed("keyvalue", text, "");
  EXPECT_EQ(output.outcome, Outcome::kInvalid);
  EXPECT_EQ(output.metrics.size(), kMaxMetrics);
  std::string broken = "a,b\n";
  for (size_t i = 0; i < 1000; ++i) broken += "1\n";
  const ParsedOutput problems = ReadNamed("csv", broken, "");
  EXPECT_EQ(problems.problems.size(), kMaxProblems);
  EXPECT_THAT(problems.problems.back().text, testing::HasSubstr("more problems"));
}

}  // namespace
}  // namespace fleetmark::parse
