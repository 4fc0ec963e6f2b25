#include "collector/ingest/registration.h"

#include <string>

#include "absl/strings/str_cat.h"

#include "common/base/ulid.h"

namespace fleetmark::collector {
namespace {

v1::Event NewEvent(const v1::Hello& hello, v1::Event::Kind kind, absl::Time now) {
  v1::Event event;
  event.set_event_id(NewUlid(now));
  event.set_time_unix_ns(absl::ToUnixNanos(now));
  event.set_node(hello.node().name());
  event.set_kind(kind);
  event.set_author("collector");
  return event;
}

}  // namespace

Registration Register(const std::optional<v1::Node>& known, const v1::Hello& hello, absl::Time now) {
  Registration out;
  v1::Node& node = out.node;
  *node.mutable_identity() = hello.node();
  node.set_first_seen_unix_ns(known.has_value() && known->first_seen_unix_ns() != 0
                                  ? known->first_seen_unix_ns()
                                  : absl::ToUnixNanos(now));
  node.set_last_seen_unix_ns(absl::ToUnixNanos(now));
  node.set_agent_version(hello.agent_version());
  node.set_epoch(hello.epoch());
  *node.mutable_facts() = hello.facts();
  node.set_facts_digest(hello.facts_digest());
  *node.mutable_plugins() = hello.plugins();
  *node.mutable_benchmarks() = hello.benchmarks();
  node.set_clock_offset_seconds(absl::ToDoubleSeconds(absl::FromUnixNanos(hello.time_unix_ns()) - now));
  node.set_boot_id(hello.boot_id());

  const bool booted = known.has_value() && !known->boot_id().empty() && known->boot_id() != hello.boot_id();
  if (booted) {
    v1::Event event = NewEvent(hello, v1::Event::KIND_BOOTED, now);
    event.set_old_value(known->boot_id());
    event.set_new_value(hello.boot_id());
    event.set_message("the machine has booted");
    out.events.push_back(event);
  }
  if (!known.has_value() || booted || known->agent_version() != hello.agent_version() ||
      known->epoch() != hello.epoch()) {
    v1::Event event = NewEvent(hello, v1::Event::KIND_AGENT_STARTED, now);
    event.set_subject("agent_version");
    if (known.has_value()) event.set_old_value(known->agent_version());
    event.set_new_value(hello.agent_version());
    event.set_message(absl::StrCat("agent ", hello.agent_version(), " has started"));
    out.events.push_back(event);
  }
  return out;
}

}  // namespace fleetmark::collector
