// Reads the parts of the JSON form that both roles share: operators and relations.
#ifndef PLANPROOF_FRONTEND_PLAN_JSON_FORM_INTERNAL_H_
#define PLANPROOF_FRONTEND_PLAN_JSON_FORM_INTERNAL_H_

#include "absl/status/status.h"
#include "frontend/plan/json_cursor.h"
#include "frontend/plan/plan.pb.h"

namespace planproof::plan {

absl::Status ReadOperator(const JsonCursor& json, const JsonValue& value, Operator* out);
absl::Status ReadRelation(const JsonCursor& json, const JsonValue& value, Relation* out);
// {"name": relation, ...}, or a list of names. These relations may say "on" which devices.
absl::Status ReadRequiredOutputs(const JsonCursor& json, const JsonValue& value,
                                 google::protobuf::RepeatedPtrField<RequiredOutput>* out);
// {"name": relation, ...}, or a list of names, which leaves the relations unset.
absl::Status ReadNamedRelations(const JsonCursor& json, const JsonValue& value,
                                google::protobuf::RepeatedPtrField<NamedRelation>* out);
// {"axis": 1, "axis": [0, 2]}.
absl::Status ReadCoordinates(const JsonCursor& json, const JsonValue& value,
                             google::protobuf::RepeatedPtrField<Coordinate>* out);
// {"key": "value"}; a list of names binds each to itself.
absl::Status ReadBindings(const JsonCursor& json, const JsonValue& value,
                          google::protobuf::RepeatedPtrField<Binding>* out);
// A list of steps and loops.
absl::Status ReadSchedule(const JsonCursor& json, const JsonValue& value,
                          google::protobuf::RepeatedPtrField<ScheduleItem>* out);
// {"tensor": "buffer", "tensor": {"name": "buffer", "slots": 4}}.
absl::Status ReadBuffers(const JsonCursor& json, const JsonValue& value,
                         google::protobuf::RepeatedPtrField<Buffer>* out);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_JSON_FORM_INTERNAL_H_
