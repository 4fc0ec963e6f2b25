#include "agent/gate/users_source.h"

#include <unistd.h>
#include <utmp.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "gtest/gtest.h"

#include "tests/unit/agent/gate/files.h"

namespace fleetmark::agent {
namespace {

std::string Utmp(const std::string& user, int pid) {
  utmp entry = {};
  entry.ut_type = USER_PROCESS;
  entry.ut_pid = pid;
  snprintf(entry.ut_line, sizeof entry.ut_line, "pts/3");
  memcpy(entry.ut_user, user.data(), std::min(user.size(), sizeof entry.ut_user));
  return std::string(reinterpret_cast<const char*>(&entry), sizeof entry);
}

TEST(UsersSource, ASessionWhoseProcessLivesIsBusy) {
  Files files;
  constexpr int kNobody = 1 << 22;  // above the largest process identifier
  UsersSource source({.enabled = true, .utmp = files.Path("/utmp")});
  files.Write("/utmp", Utmp("gone", kNobody));
  EXPECT_TRUE(source.BeforeRun({}).free());
  // The name may fill its field.
  const std::string longest(UT_NAMESIZE, 'u');
  files.Write("/utmp", Utmp("gone", kNobody) + Utmp(longest, getpid()) + "cut");
  const GateAnswer answer = source.DuringRun({}, 1);
  EXPECT_EQ(answer.state, GateAnswer::State::kBusy);
  EXPECT_EQ(answer.reason, "user " + longest + " is logged in (pts/3)");
  EXPECT_TRUE(UsersSource({.utmp = files.Path("/utmp")}).BeforeRun({}).free()) << "it is off by default";
}

TEST(UsersSource, FileThatIsNotThere) {
  EXPECT_TRUE(UsersSource({.enabled = true, .utmp = "/no/such"}).BeforeRun({}).free());
  EXPECT_TRUE(UsersSource({}).BeforeRun({}).free());
}

}  // namespace
}  // namespace fleetmark::agent
