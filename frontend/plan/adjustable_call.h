// Remembers the local operators of a plan or a specification so that they can be built again with
// another attribute.
#ifndef PLANPROOF_FRONTEND_PLAN_ADJUSTABLE_CALL_H_
#define PLANPROOF_FRONTEND_PLAN_ADJUSTABLE_CALL_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/plan/operator_call.h"
#include "frontend/plan/plan.pb.h"
#include "sdfg/adjustable_operator.h"
#include "sdfg/coordinate_functions.h"
#include "sdfg/operator_library.h"

namespace planproof::plan {

using sdfg::AxisList;

// What an operator's function is made from besides what the file says of it.
struct CallSite {
  std::vector<sdfg::Shape> shapes;  // of the tensor operands
  std::vector<sdfg::DType> dtypes;
  // What names in attributes mean: axes that the program fixes, and those on whose coordinates the
  // attributes depend, ascending.
  std::vector<std::pair<std::string, int64_t>> fixed;
  std::vector<std::pair<std::string, sdfg::AxisId>> varying;
  AxisList special;
  std::vector<AxisList> input_axes;
  AxisList output_axes;
};

// One per graph. Calls that agree in everything but names share one object.
class AdjustableCalls {
 public:
  AdjustableCalls(const sdfg::OperatorLibrary& library, RoundedLiterals literals);
  ~AdjustableCalls();

  // Null if the operator has no attribute that is a number. `axes` are those of the graph.
  std::shared_ptr<const sdfg::AdjustableOperator> Of(const Operator& op, CallSite site,
                                                     const std::vector<sdfg::Axis>& axes);

 private:
  struct Shared;
  class Call;
  std::shared_ptr<Shared> shared_;
  std::map<std::string, std::shared_ptr<const Call>> calls_;
};

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_ADJUSTABLE_CALL_H_
