// Is a person logged in? From utmp(5).
//
// Thread-safety: all methods, any thread. Systems that keep no utmp have nobody logged in.
#ifndef FLEETMARK_AGENT_GATE_USERS_SOURCE_H_
#define FLEETMARK_AGENT_GATE_USERS_SOURCE_H_

#include <string>
#include <string_view>
#include <utility>

#include "agent/gate/gate_source.h"

namespace fleetmark::agent {

class UsersSource final : public GateSource {
 public:
  struct Options {
    bool enabled = false;
    std::string utmp = "/run/utmp";
    std::string root;  // before /proc
  };

  explicit UsersSource(Options options) : options_(std::move(options)) {}

  std::string_view name() const override { return "users"; }
  GateAnswer BeforeRun(const GateQuery& query) override;
  GateAnswer DuringRun(const GateQuery& query, pid_t run) override { return (void)run, BeforeRun(query); }

 private:
  const Options options_;
};

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_GATE_USERS_SOURCE_H_
