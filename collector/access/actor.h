// Who did something, in the messages that ask for it: what is known of the caller stands for what they say.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_COLLECTOR_ACCESS_ACTOR_H_
#define FLEETMARK_COLLECTOR_ACCESS_ACTOR_H_

#include <string>

namespace google::protobuf {
class Message;
}

namespace fleetmark::collector {

// Sets the texts `by`, `asked_by` and `author` of the message, and of a single message in it, to `person`.
// Does nothing for an empty one, who is not known.
void SetActor(const std::string& person, google::protobuf::Message* message);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACCESS_ACTOR_H_
