// Reads one record of TrainCheck's traces, of format 0.1.2 or 0.2.0.
#ifndef PLANPROOF_MONITOR_TRAINCHECK_RECORD_H_
#define PLANPROOF_MONITOR_TRAINCHECK_RECORD_H_

#include <cstdint>
#include <string_view>

#include "monitor/traincheck/json_cursor.h"

namespace planproof::monitor::traincheck {

enum class RecordType : uint8_t { kCall, kReturn, kException, kState, kOther };

// Views are into the line.
struct Record {
  RecordType type = RecordType::kOther;
  int64_t process = 0, thread = 0, step = 0;
  std::string_view stage = "init";
  std::string_view function, call;   // `call` is the same in a call and its return
  std::string_view variable, place;  // of a state; `place`: where it was recorded
  JsonValue object;                  // obj_id
  JsonValue arguments, keywords, objects,
      results;  // objects: tracked variables among the arguments
  JsonValue attributes;
};

// Members that the format does not have are skipped. False: `line` is no JSON object, or lacks type
// or process.
bool ReadRecord(std::string_view line, Record* record);

// What an attribute says that has a prefix of either version; the others are as in torch.
enum class TracerAttribute : uint8_t { kNone, kDataId, kGradientId };
TracerAttribute TracerAttributeOf(std::string_view name);

}  // namespace planproof::monitor::traincheck

#endif  // PLANPROOF_MONITOR_TRAINCHECK_RECORD_H_
