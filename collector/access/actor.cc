#include "collector/access/actor.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

namespace fleetmark::collector {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void Set(const std::string& person, bool within, Message* message) {
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message->GetDescriptor()->field(i);
    if (field->is_repeated()) continue;
    const std::string& name = field->name();
    if (field->type() == FieldDescriptor::TYPE_STRING &&
        (name == "by" || name == "asked_by" || name == "author")) {
      reflection.SetString(message, field, person);
    } else if (within && field->type() == FieldDescriptor::TYPE_MESSAGE &&
               reflection.HasField(*message, field)) {
      Set(person, false, reflection.MutableMessage(message, field));
    }
  }
}

}  // namespace

void SetActor(const std::string& person, Message* message) {
  if (!person.empty()) Set(person, true, message);
}

}  // namespace fleetmark::collector
