// Bytes of a message that are the same for equal messages. A plain serialisation has a map's entries in any
// order, so that equal messages may differ in it.
//
// Thread-safety: a function without state.
#ifndef FLEETMARK_COMMON_MODEL_MESSAGE_BYTES_H_
#define FLEETMARK_COMMON_MODEL_MESSAGE_BYTES_H_

#include <string>

namespace google::protobuf {
class MessageLite;
}

namespace fleetmark {

// Within one version of the program and the schema; not across them.
std::string DeterministicBytes(const google::protobuf::MessageLite& message);

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_MODEL_MESSAGE_BYTES_H_
