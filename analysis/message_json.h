// Protocol messages as JSON for reports: fields that are set, under their own
// names, 64-bit numbers as numbers (protobuf's own JSON makes strings of them).
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_MESSAGE_JSON_H_
#define HEAPTAPE_ANALYSIS_MESSAGE_JSON_H_

#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>

namespace heaptape {

// REQUIRES: the message has numbers, strings and messages of such alone.
nlohmann::ordered_json MessageJson(const google::protobuf::Message& message);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_MESSAGE_JSON_H_
