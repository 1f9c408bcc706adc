#include "analysis/message_json.h"

#include <google/protobuf/descriptor.h>

#include <vector>

namespace heaptape {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::ordered_json;

// The field's value, or element `i` of a repeated one.
ordered_json ValueJson(const Message& message, const FieldDescriptor* field, int i) {
  const Reflection& get = *message.GetReflection();
  const bool repeated = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return repeated ? get.GetRepeatedInt32(message, field, i) : get.GetInt32(message, field);
    case FieldDescriptor::CPPTYPE_INT64:
      return repeated ? get.GetRepeatedInt64(message, field, i) : get.GetInt64(message, field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return repeated ? get.GetRepeatedUInt32(message, field, i) : get.GetUInt32(message, field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return repeated ? get.GetRepeatedUInt64(message, field, i) : get.GetUInt64(message, field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return repeated ? get.GetRepeatedBool(message, field, i) : get.GetBool(message, field);
    case FieldDescriptor::CPPTYPE_STRING:
      return repeated ? get.GetRepeatedString(message, field, i) : get.GetString(message, field);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageJson(repeated ? get.GetRepeatedMessage(message, field, i) : get.GetMessage(message, field));
    default:
      return nullptr;
  }
}

}  // namespace

ordered_json MessageJson(const Message& message) {
  ordered_json json = ordered_json::object();
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (!field->is_repeated()) {
      json[field->name()] = ValueJson(message, field, 0);
      continue;
    }
    ordered_json values = ordered_json::array();
    const int size = message.GetReflection()->FieldSize(message, field);
    for (int i = 0; i < size; ++i) values.push_back(ValueJson(message, field, i));
    json[field->name()] = std::move(values);
  }
  return json;
}

}  // namespace heaptape
