// Makes each call of a local operator of a plan or a specification once.
//
// Layers call the same operators with the same attributes on tensors of the same shapes; calls that
// agree in all of that share one function, its derivatives and what is known of their memory.
#ifndef PLANPROOF_FRONTEND_PLAN_LOCAL_CALLS_H_
#define PLANPROOF_FRONTEND_PLAN_LOCAL_CALLS_H_

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/plan/adjustable_call.h"
#include "frontend/plan/operator_call.h"
#include "frontend/plan/plan.pb.h"
#include "frontend/plan/relation.h"
#include "sdfg/operator_library.h"
#include "sdfg/shared_functions.h"

namespace planproof::plan {

struct LocalCall {
  std::string op;
  std::vector<sdfg::IndexFunction> variants;  // one per coordinate of `special` (row-major), or one
  AxisList special;                           // on whose coordinates attributes depend, ascending
  AxisList output_axes;
  sdfg::FunctionPointer function;  // of all coordinates together, in the graph
  std::vector<std::pair<std::string, std::string>> attributes;  // for reports
  std::shared_ptr<const sdfg::AdjustableOperator> adjustable;   // or null
  sdfg::Operator::Memory memory;
};

struct LocalDerivative {
  sdfg::FunctionPointer function;
  bool may_be_view = false;
};

// One per graph and library.
class LocalCalls {
 public:
  LocalCalls(const sdfg::OperatorLibrary& library, RoundedLiterals literals, sdfg::Graph* graph);

  // The call of `op` on tensors of these local shapes and element types, which vary over these
  // axes. `coordinates` says what names in attributes mean; null where there are none. Errors are
  // those of Instantiate, and ResourceExhausted if attributes depend on too many coordinates.
  absl::StatusOr<std::shared_ptr<const LocalCall>> Of(const Operator& op,
                                                      const std::vector<sdfg::Shape>& shapes,
                                                      const std::vector<sdfg::DType>& dtypes,
                                                      const std::vector<AxisList>& input_axes,
                                                      const ProgramCoordinates* coordinates);

  // Its derivative (sdfg/differentiate.h) where the operands, gradients included, vary over these
  // axes, and the results over `output_axes`.
  absl::StatusOr<const LocalDerivative*> DerivativeOf(const std::shared_ptr<const LocalCall>& call,
                                                      const std::vector<int>& wrt,
                                                      const std::vector<int>& output_gradients,
                                                      const std::vector<AxisList>& operand_axes,
                                                      const AxisList& output_axes);

 private:
  absl::StatusOr<std::shared_ptr<const LocalCall>> Make(const Operator& op, CallSite site,
                                                        const ProgramCoordinates* coordinates);

  const sdfg::OperatorLibrary& library_;
  const RoundedLiterals literals_;
  sdfg::Graph& graph_;
  AdjustableCalls adjustable_;
  std::unordered_map<std::string, std::shared_ptr<const LocalCall>> calls_;
  // Keys name calls by address; a call that is a key's is kept here.
  struct Derived {
    std::shared_ptr<const LocalCall> call;
    LocalDerivative derivative;
  };
  std::unordered_map<std::string, Derived> derivatives_;
};

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_LOCAL_CALLS_H_
