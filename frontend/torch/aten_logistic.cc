// The logarithm of the logistic function, and softplus, forward and backward.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torch/aten_derivative.h"
#include "frontend/torch/aten_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

absl::Status Forward(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(Argument y, call.One("aten_log_sigmoid", {x}));
  call.Return(std::move(y));
  if (call.targets().size() < 2) return absl::OkStatus();
  const Tensor& kept = call.target(1);
  if (ElementsOf(kept.shape) == 0) {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId nothing,
                          call.writer().Fill(kept.shape, kept.dtype, 0));
    call.Return(Argument::Of(nothing));
    return absl::OkStatus();
  }
  PLAN_ASSIGN_OR_RETURN(Argument buffer, call.One("aten_log_sigmoid_buffer", {x}));
  call.Return(std::move(buffer));
  return absl::OkStatus();
}

// Whether the tensor is exp(-|x|), element by element: what the forward operator kept of `x`.
bool IsBufferOf(const sdfg::Graph& graph, sdfg::TensorId buffer, sdfg::TensorId x) {
  using sdfg::Op;
  const sdfg::OperatorId producer = graph.tensors[buffer].producer;
  if (producer == sdfg::kNone) return false;
  const sdfg::Operator& op = graph.operators[producer];
  const sdfg::IndexFunction& f = *op.function;
  if (op.inputs != std::vector<sdfg::TensorId>{x} || f.outputs.size() != 1) return false;
  sdfg::ExprId at = f.outputs[0].body;
  for (const Op expected : {Op::kExp, Op::kNeg, Op::kAbs}) {
    if (f.nodes[at].op != expected) return false;
    at = f.nodes[at].args[0];
  }
  const sdfg::Node& element = f.nodes[at];
  if (element.op != Op::kElement || element.args.size() != f.outputs[0].dims.size()) return false;
  for (size_t d = 0; d < element.args.size(); ++d) {
    const sdfg::Node& index = f.nodes[element.args[d]];
    if (index.op != Op::kIndex || index.var != f.outputs[0].dims[d]) return false;
  }
  return true;
}

absl::Status Backward(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument g, call.Operand("grad_output"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call.TensorOf("self"));
  // On accelerators PyTorch keeps no buffer: an empty tensor.
  bool of_x = ElementsOf(call.Described("buffer").shape) == 0;
  sdfg::TensorId buffer = sdfg::kNone;
  if (!of_x) {
    PLAN_ASSIGN_OR_RETURN(buffer, call.TensorOf("buffer"));
    of_x = IsBufferOf(call.writer().graph(), buffer, x);
  }
  PLAN_ASSIGN_OR_RETURN(
      Argument z,
      of_x ? call.One("aten_log_sigmoid_backward", {g, Argument::Of(x)})
           : call.One("aten_log_sigmoid_backward_of", {g, Argument::Of(x), Argument::Of(buffer)}));
  return ReturnGradient(&call, std::move(z), "self");
}

// From this threshold on PyTorch's softplus is taken for log(1 + exp(x)): the two are exp(-20) /
// beta apart at most, and its documentation says that it is x there for stability alone.
constexpr int kSmoothFrom = 20;

absl::Status Softplus(AtenCall& call, const std::vector<std::string>& operands,
                      const std::string& name) {
  std::vector<Argument> arguments;
  for (const std::string& each : operands) {
    PLAN_ASSIGN_OR_RETURN(Argument operand, call.Operand(each));
    arguments.push_back(std::move(operand));
  }
  PLAN_ASSIGN_OR_RETURN(const solver::Rational beta, call.Real("beta", 1));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational threshold, call.Real("threshold", kSmoothFrom));
  const bool smooth = (threshold - kSmoothFrom).Sign() >= 0;
  sdfg::Attributes attributes = {{"beta", beta}};
  if (smooth) {
    call.writer().Assume(
        "softplus is log(1 + exp(x)) above its threshold, too, where PyTorch gives x, less than "
        "2.1e-9 / beta away");
  } else {
    attributes["threshold"] = threshold;
  }
  PLAN_ASSIGN_OR_RETURN(Argument y, call.One(absl::StrCat("aten_", smooth ? "smooth_" : "", name),
                                             arguments, attributes));
  call.Return(std::move(y));
  return absl::OkStatus();
}

}  // namespace

void AddLogistic(AtenTable* table) {
  table->Add("log_sigmoid_forward", "default", "self", Forward);
  table->Add("log_sigmoid_backward", "default", "grad_output self buffer", Backward);
  table->Add("softplus", kNew, "self beta threshold",
             [](AtenCall& call) { return Softplus(call, {"self"}, "softplus"); });
  table->Add("softplus_backward", "default grad_input", "grad_output self beta threshold",
             [](AtenCall& call) {
               return Softplus(call, {"grad_output", "self"}, "softplus_backward");
             });
}

}  // namespace planproof::frontend::torch
