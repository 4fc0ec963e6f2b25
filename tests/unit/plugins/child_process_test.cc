#include "plugins/command/child_process.h"

#include <signal.h>

#include <cerrno>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetmark::command {
namespace {

ChildOptions Shell(const std::string& script) { return {.command = {"sh", "-c", script}}; }

TEST(ChildProcess, KeepsEachStreamAndTheStatus) {
  const ChildResult result = RunChild(Shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(result.start_error, 0);
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_EQ(result.standard_output, "out\n");
  EXPECT_EQ(result.standard_error, "err\n");
  EXPECT_EQ(result.both.size(), 8U);
}

TEST(ChildProcess, GivesInputAndEnvironment) {
  ChildOptions options = Shell("cat; echo \"$WORD\"");
  options.standard_input = std::string(300000, 'x');  // more than a pipe holds
  options.environment = {{"WORD", "hello"}};
  EXPECT_EQ(RunChild(options).standard_output, options.standard_input + "hello\n");
}

TEST(ChildProcess, ASignalIsAStatusToo) { EXPECT_EQ(RunChild(Shell("kill -TERM $$")).exit_status, 128 + 15); }

TEST(ChildProcess, SaysWhatCouldNotBeStarted) {
  EXPECT_EQ(RunChild({.command = {"no-such-program-here"}}).start_error, ENOENT);
}

TEST(ChildProcess, ReadsAllOfLargeOutput) {
  EXPECT_EQ(RunChild(Shell("head -c 3000000 /dev/zero")).standard_output.size(), 3000000U);
}

TEST(ChildProcess, StopsAProgramThatPrintsTooMuch) {
  ChildOptions options = Shell("exec yes");
  options.max_output_bytes = 1 << 20;
  const ChildResult result = RunChild(options);
  EXPECT_TRUE(result.too_much_output);
  EXPECT_LT(result.standard_output.size(), size_t{2} << 20);
}

TEST(ChildProcess, DoesNotWaitForWhatTheProgramLeavesRunning) {
  const ChildResult result = RunChild(Shell("sleep 100 & echo $!"));
  EXPECT_EQ(result.exit_status, 0);
  const int left_running = std::stoi(result.standard_output);
  EXPECT_EQ(kill(left_running, SIGKILL), 0);  // it was still there
}

}  // namespace
}  // namespace fleetmark::command
