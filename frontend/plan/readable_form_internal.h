// Writes the parts of the readable form: operators, relations, schedules.
#ifndef PLANPROOF_FRONTEND_PLAN_READABLE_FORM_INTERNAL_H_
#define PLANPROOF_FRONTEND_PLAN_READABLE_FORM_INTERNAL_H_

#include "frontend/plan/json_layout.h"
#include "frontend/plan/plan.pb.h"

namespace planproof::plan {

// Of an operator that is no loop.
JsonText OperatorText(const Operator& op);
// A bound of a loop: a number, or an expression.
JsonText BoundText(const std::string& bound);
JsonText RelationText(const Relation& relation);
// A list of names where no relation is stated.
JsonText NamedRelationsText(const google::protobuf::RepeatedPtrField<NamedRelation>& relations);
JsonText CoordinatesText(const google::protobuf::RepeatedPtrField<Coordinate>& coordinates);
// A list where each name is bound to itself.
JsonText BindingsText(const google::protobuf::RepeatedPtrField<Binding>& bindings);
JsonText ScheduleText(const google::protobuf::RepeatedPtrField<ScheduleItem>& schedule);
JsonText BuffersText(const google::protobuf::RepeatedPtrField<Buffer>& buffers);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_READABLE_FORM_INTERNAL_H_
