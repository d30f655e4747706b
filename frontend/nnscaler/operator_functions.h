// Makes the index functions of a plan's operators, once for equal operators.
#ifndef PLANPROOF_FRONTEND_NNSCALER_OPERATOR_FUNCTIONS_H_
#define PLANPROOF_FRONTEND_NNSCALER_OPERATOR_FUNCTIONS_H_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "frontend/nnscaler/plan_objects.h"
#include "sdfg/graph.h"
#include "sdfg/operator_library.h"

namespace planproof::frontend::nnscaler {

using Function = std::shared_ptr<const sdfg::IndexFunction>;

// A complex tensor is a real one with a trailing dimension of 2 (real, imaginary part).
bool IsComplex(sdfg::DType dtype);
sdfg::DType RealDType(sdfg::DType dtype);
sdfg::Shape RealShape(const sdfg::Shape& shape, sdfg::DType dtype);
std::string ShapeText(const sdfg::Shape& shape);

class FunctionCache {
 public:
  FunctionCache(const sdfg::OperatorLibrary& library, sdfg::Graph* graph)
      : library_(library), graph_(graph) {}

  // The forward operator at the operands' shapes; its inputs are the node's tensor operands. Output
  // shapes are checked against the node's.
  absl::StatusOr<Function> Forward(const Plan& plan, const Node& node);
  // Gradient of a forward function; see sdfg::Differentiate.
  absl::StatusOr<Function> Backward(const Function& forward, const std::vector<int>& wrt,
                                    const std::vector<int>& output_gradients);
  // Any function, by a key that determines it.
  absl::StatusOr<Function> Other(const std::string& key,
                                 const std::function<absl::StatusOr<sdfg::IndexFunction>()>& make);
  // y = sum of `count` equal-shaped inputs, without communication.
  absl::StatusOr<Function> Add(const sdfg::Shape& shape, sdfg::DType dtype, int count);

  const std::set<std::string>& assumptions() const { return assumptions_; }

 private:
  absl::StatusOr<sdfg::IndexFunction> MakeForward(const Plan& plan, const Node& node);

  const sdfg::OperatorLibrary& library_;
  sdfg::Graph* graph_;
  absl::flat_hash_map<std::string, Function> functions_;
  std::set<std::string> assumptions_;
};

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_OPERATOR_FUNCTIONS_H_
