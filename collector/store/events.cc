#include "collector/store/events.h"

#include <optional>
#include <string_view>

#include "collector/store/keys.h"
#include "collector/store/listing.h"
#include "collector/store/values.h"
#include "common/base/status.h"

namespace fleetmark::collector {
namespace {

absl::StatusOr<std::optional<v1::Event>> ParseEvent(std::string_view value) {
  v1::Event event;
  FM_RETURN_IF_ERROR(DecodeMessage(value, &event));
  return event;
}

}  // namespace

absl::Status PutEvent(const v1::Event& event, WriteSet* writes) {
  const std::optional<UlidBytes> id = UlidFromText(event.event_id());
  if (!id.has_value()) return absl::InvalidArgumentError("event_id must be a ULID of 26 characters");
  const TimeKey key{event.time_unix_ns(), *id};
  writes->Put(Family::kEvents, EncodeTimeKey(key), EncodeMessage(event));
  if (!event.node().empty()) {
    writes->Put(Family::kEventsByNode, EncodeNodeTimeKey(event.node(), key), EncodeBytes(""));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<v1::Event>> ListEvents(const Database& db, const v1::ListEventsRequest& filter,
                                                  const Page& page, std::string* next_token) {
  if (filter.node().empty()) {
    return ListPage<v1::Event>(db, Family::kEvents, NewestFirst("", filter.range()), page, next_token,
                               [](std::string_view, std::string_view value) { return ParseEvent(value); });
  }
  const std::string prefix = NodePrefix(filter.node());
  return ListPage<v1::Event>(
      db, Family::kEventsByNode, NewestFirst(prefix, filter.range()), page, next_token,
      [&](std::string_view key, std::string_view) -> absl::StatusOr<std::optional<v1::Event>> {
        FM_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                            db.Get(Family::kEvents, key.substr(prefix.size())));
        if (!value.has_value()) return absl::DataLossError("an event is in an index but not stored");
        return ParseEvent(*value);
      });
}

}  // namespace fleetmark::collector
