// Converts index functions to protobuf messages and back.
#ifndef PLANPROOF_FRONTEND_PLAN_INDEX_FUNCTION_PROTO_H_
#define PLANPROOF_FRONTEND_PLAN_INDEX_FUNCTION_PROTO_H_

#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"
#include "sdfg/index_function.h"

namespace planproof::plan {

void FunctionToProto(const sdfg::IndexFunction& function, RawFunction* out);
// The element type of a name in the raw form; empty: not known. InvalidArgument for another name.
absl::StatusOr<sdfg::DType> DTypeFromField(const std::string& name);
// Checks the function (sorts, scopes, ranks): InvalidArgument if it is not well-formed.
absl::StatusOr<sdfg::IndexFunction> FunctionFromProto(const RawFunction& raw);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_INDEX_FUNCTION_PROTO_H_
