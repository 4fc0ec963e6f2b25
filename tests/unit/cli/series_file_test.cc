#include "cli/commands/series_file.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace fleetmark::cli {
namespace {

using Values = std::vector<double>;
using Indices = std::vector<size_t>;

FileSeries Read(const std::string& text) {
  const absl::StatusOr<FileSeries> series = ParseSeriesFile(text);
  EXPECT_TRUE(series.ok()) << series.status();
  return series.ok() ? *series : FileSeries();
}

void ExpectRefused(const std::string& text, const std::string& what) {
  const absl::StatusOr<FileSeries> series = ParseSeriesFile(text);
  ASSERT_TRUE(absl::IsInvalidArgument(series.status())) << text;
  EXPECT_NE(series.status().message().find(what), std::string::npos) << series.status();
}

TEST(SeriesFile, OneColumnWithMissingValues) {
  const FileSeries series = Read("1\n\n2.5\nnan\n3\n");
  EXPECT_EQ(series.values, (Values{1, 2.5, 3}));
  EXPECT_EQ(series.indices, (Indices{0, 2, 4}));
  EXPECT_TRUE(series.times.empty());
}

TEST(SeriesFile, TimesOfEveryFormGiveTheOrder) {
  EXPECT_EQ(Read("time,value\n3,30\n1,10\n2,\n").values, (Values{10, 30}));
  EXPECT_EQ(Read("time,value\n3,30\n1,10\n2,\n").indices, (Indices{0, 2}));
  EXPECT_EQ(Read("2024-01-02T00:00:00Z,2\n2024-01-01T23:00:00-02:00,3\n2024-01-01T00:00:00Z,1\n").values,
            (Values{1, 2, 3}));
  EXPECT_EQ(Read("\"2024-01-02 01:00:00\",2\r\n\"2024-01-02 00:00:00\",1\r\n").values, (Values{1, 2}));
}

TEST(SeriesFile, AHeaderPicksTheValueAmongMoreColumns) {
  EXPECT_EQ(Read("TimeStamp,Value,Label\n1,5,0\n2,6,1\n").values, (Values{5, 6}));
}

TEST(SeriesFile, JsonInItsForms) {
  EXPECT_EQ(Read("[1, null, 3]").indices, (Indices{0, 2}));
  EXPECT_EQ(Read("[[2, 20], [1, 10]]").values, (Values{10, 20}));
  EXPECT_EQ(Read("[{\"time\": \"2024-01-01\", \"value\": 4}]").values, (Values{4}));
  EXPECT_EQ(Read("{\"series\": [1, 2]}").values, (Values{1, 2}));
  EXPECT_EQ(Read("{\"values\": [1, 2]}").values, (Values{1, 2}));
  EXPECT_EQ(Read("{\"series\": [{\"label\": \"V1\", \"raw\": [1, null, 2]}]}").values, (Values{1, 2}));
}

TEST(SeriesFile, RefusesWhatItCannotRead) {
  ExpectRefused("", "no values");
  ExpectRefused("1\nx\n", "line 2");
  ExpectRefused("yesterday,1\n1,2\n", "line 1");
  ExpectRefused("1,2\n3\n", "line 2 has 1 columns");
  ExpectRefused("1,2,3\n", "more than two columns");
  ExpectRefused("[1, \"a\"]", "item 1");
  ExpectRefused("[[1, 2], 3]", "have none");
  ExpectRefused("{\"a\": 1}", "no list");
  ExpectRefused("[1,", "");
}

}  // namespace
}  // namespace fleetmark::cli
