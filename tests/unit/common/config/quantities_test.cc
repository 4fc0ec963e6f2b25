#include "common/config/quantities.h"

#include "gtest/gtest.h"

namespace fleetmark {
namespace {

TEST(Quantities, Durations) {
  EXPECT_EQ(ParseDuration("90s").value(), absl::Seconds(90));
  EXPECT_EQ(ParseDuration("1h30m").value(), absl::Minutes(90));
  EXPECT_EQ(ParseDuration("250ms").value(), absl::Milliseconds(250));
  EXPECT_EQ(ParseDuration("2d").value(), absl::Hours(48));
  EXPECT_EQ(ParseDuration("1.5h").value(), absl::Minutes(90));
  for (const char* bad : {"", "5", "s", "5x", "-3s", "inf", "1h 30m", "nan", "99999999d", "1..2s"}) {
    EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
  }
}

TEST(Quantities, Bytes) {
  EXPECT_EQ(ParseBytes("512").value(), 512);
  EXPECT_EQ(ParseBytes("64KiB").value(), 65536);
  EXPECT_EQ(ParseBytes("1.5GiB").value(), 1610612736);
  EXPECT_EQ(ParseBytes("10MB").value(), 10000000);
  for (const char* bad : {"", "KiB", "10 MB", "-1", "5XB", "1e30TiB", "10mb"})
    EXPECT_FALSE(ParseBytes(bad).ok()) << bad;
}

TEST(Quantities, FormatIsReadBack) {
  for (const char* text : {"90ms", "1h30m", "2d", "1d2h3m4s5ms"}) {
    EXPECT_EQ(DurationText(ParseDuration(text).value()), text);
  }
  EXPECT_EQ(DurationText(absl::ZeroDuration()), "0s");
  for (const char* text : {"64KiB", "1000B", "2GiB"}) EXPECT_EQ(BytesText(ParseBytes(text).value()), text);
}

}  // namespace
}  // namespace fleetmark
