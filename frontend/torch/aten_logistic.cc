// The logarithm of the logistic function, forward and backward.
#include <utility>
#include <vector>

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

}  // namespace

void AddLogistic(AtenTable* table) {
  table->Add("log_sigmoid_forward", "default", "self", Forward);
  table->Add("log_sigmoid_backward", "default", "grad_output self buffer", Backward);
}

}  // namespace planproof::frontend::torch
