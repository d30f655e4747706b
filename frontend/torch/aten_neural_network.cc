// Normalizations, embeddings and losses, forward and backward.
#include <utility>

#include "frontend/torch/aten_operators.h"
#include "sdfg/graph.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

absl::StatusOr<std::vector<Argument>> Operands(AtenCall* call,
                                               const std::vector<std::string>& names) {
  std::vector<Argument> operands;
  for (const std::string& name : names) {
    if (!call->Has(name)) {
      operands.push_back({});
      continue;
    }
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId tensor, call->TensorOf(name));
    operands.push_back(Argument::Of(tensor));
  }
  return operands;
}

absl::Status OneDimension(AtenCall* call) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, call->Integers("normalized_shape"));
  if (shape.size() != 1) return call->NotDeclared("normalization over several dimensions");
  return absl::OkStatus();
}

// Which of the gradients are asked for: the others are not returned.
void ReturnMasked(AtenCall* call, const std::vector<sdfg::TensorId>& out) {
  const std::vector<Value>& mask = (*call)["output_mask"].list;
  for (size_t i = 0; i < out.size(); ++i) {
    if (i < mask.size() && !mask[i].boolean) continue;
    call->Return(Argument::Of(out[i]));
  }
}

absl::Status Norm(AtenCall& call, const char* declared, const std::vector<std::string>& operands) {
  PLAN_RETURN_IF_ERROR(OneDimension(&call));
  PLAN_ASSIGN_OR_RETURN(const std::vector<Argument> arguments, Operands(&call, operands));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational eps, call.Real("eps", solver::Rational(1, 100000)));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> out,
                        call.Apply(declared, arguments, {{"eps", eps}}));
  for (sdfg::TensorId tensor : out) call.Return(Argument::Of(tensor));
  return absl::OkStatus();
}

absl::Status NormBackward(AtenCall& call, const char* declared,
                          const std::vector<std::string>& operands) {
  PLAN_RETURN_IF_ERROR(OneDimension(&call));
  PLAN_ASSIGN_OR_RETURN(const std::vector<Argument> arguments, Operands(&call, operands));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> out, call.Apply(declared, arguments));
  ReturnMasked(&call, out);
  return absl::OkStatus();
}

absl::Status Embedding(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(std::vector<Argument> arguments, Operands(&call, {"indices", "weight"}));
  PLAN_ASSIGN_OR_RETURN(Argument rows, call.One("embedding", arguments));
  call.Return(std::move(rows));
  return absl::OkStatus();
}

absl::Status EmbeddingBackward(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const bool scaled, call.Boolean("scale_grad_by_freq", false));
  if (scaled) return call.NotDeclared("scaling by frequency");
  PLAN_ASSIGN_OR_RETURN(std::vector<Argument> arguments,
                        Operands(&call, {"grad_output", "indices"}));
  PLAN_ASSIGN_OR_RETURN(const int64_t rows, call.Integer("num_weights", std::nullopt));
  PLAN_ASSIGN_OR_RETURN(const int64_t padding, call.Integer("padding_idx", -1));
  PLAN_ASSIGN_OR_RETURN(Argument gradient,
                        call.One("aten_embedding_dense_backward", arguments,
                                 {{"num_weights", rows}, {"padding_idx", padding}}));
  call.Return(std::move(gradient));
  return absl::OkStatus();
}

absl::StatusOr<sdfg::Attributes> LossAttributes(AtenCall* call) {
  if (call->Has("weight")) return call->NotDeclared("weights of classes");
  if (call->Described("self").shape.size() != 2) return call->NotDeclared("a loss of one row");
  PLAN_ASSIGN_OR_RETURN(const int64_t reduction, call->Integer("reduction", 1));
  PLAN_ASSIGN_OR_RETURN(const int64_t ignored, call->Integer("ignore_index", -100));
  return sdfg::Attributes{{"reduction", reduction}, {"ignore_index", ignored}};
}

absl::Status NllLoss(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::Attributes attributes, LossAttributes(&call));
  PLAN_ASSIGN_OR_RETURN(const std::vector<Argument> arguments, Operands(&call, {"self", "target"}));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> out,
                        call.Apply("aten_nll_loss_forward", arguments, attributes));
  call.Return(Argument::Of(out[0]));
  call.Return(Argument::Of(out[1]));
  return absl::OkStatus();
}

// A scalar as a tensor with one element.
absl::StatusOr<Argument> AsRow(AtenCall* call, Argument x) {
  if (x.tensor == sdfg::kNone) return x;
  if (!call->writer().tensor(x.tensor).shape.empty()) return x;
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId row, call->writer().Reshape(x.tensor, {1}));
  return Argument::Of(row);
}

absl::Status NllLossBackward(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::Attributes attributes, LossAttributes(&call));
  PLAN_ASSIGN_OR_RETURN(std::vector<Argument> arguments,
                        Operands(&call, {"grad_output", "self", "target", "total_weight"}));
  for (size_t i : {size_t{0}, size_t{3}}) {
    PLAN_ASSIGN_OR_RETURN(arguments[i], AsRow(&call, arguments[i]));
  }
  PLAN_ASSIGN_OR_RETURN(Argument gradient,
                        call.One("aten_nll_loss_backward", arguments, attributes));
  call.Return(std::move(gradient));
  return absl::OkStatus();
}

// ATen converts the factor of a mean to the type of the elements, which makes 0 of it in whole
// numbers.
absl::Status OnlyRealNumbers(AtenCall* call) {
  if (sdfg::IsFloating(call->target(0).dtype)) return absl::OkStatus();
  return call->NotDeclared("a loss of whole numbers");
}

// 1: mean, 2: sum, 0: no reduction.
absl::Status MseLoss(AtenCall& call) {
  PLAN_RETURN_IF_ERROR(OnlyRealNumbers(&call));
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("target"));
  PLAN_ASSIGN_OR_RETURN(const int64_t reduction, call.Integer("reduction", 1));
  PLAN_ASSIGN_OR_RETURN(Argument loss, call.One("sub", {x, y}));
  PLAN_ASSIGN_OR_RETURN(loss, call.One("square", {loss}));
  if (reduction != 0) {
    const size_t rank = call.writer().tensor(loss.tensor).shape.size();
    PLAN_ASSIGN_OR_RETURN(
        loss, call.One(reduction == 1 ? "mean" : "sum", {loss}, {{"dim", Dimensions({}, rank)}}));
  }
  call.Return(std::move(loss));
  return absl::OkStatus();
}

absl::Status MseLossBackward(AtenCall& call) {
  PLAN_RETURN_IF_ERROR(OnlyRealNumbers(&call));
  PLAN_ASSIGN_OR_RETURN(const Argument g, call.Operand("grad_output"));
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("target"));
  PLAN_ASSIGN_OR_RETURN(const int64_t reduction, call.Integer("reduction", 1));
  // The mean is one over the elements of `self`, as ATen has it, also where the others are more.
  solver::Rational scale = 2;
  if (reduction == 1 && call.IsTensor("self")) {
    const int64_t elements = ElementsOf(call.Described("self").shape);
    if (elements != 0) scale = scale / solver::Rational(elements);
  }
  PLAN_ASSIGN_OR_RETURN(Argument gradient,
                        call.One("aten_mse_loss_backward", {g, x, y}, {{"scale", scale}}));
  call.Return(std::move(gradient));
  return absl::OkStatus();
}

}  // namespace

void AddNeuralNetwork(AtenTable* table) {
  table->Add("native_layer_norm", kNew, "input normalized_shape weight bias eps",
             [](AtenCall& call) {
               return Norm(call, "aten_native_layer_norm", {"input", "weight", "bias"});
             });
  table->Add("native_layer_norm_backward", "default",
             "grad_out input normalized_shape mean rstd weight -bias output_mask",
             [](AtenCall& call) {
               return NormBackward(call, "aten_native_layer_norm_backward",
                                   {"grad_out", "input", "mean", "rstd", "weight"});
             });
  table->Add("embedding", kNew, "weight indices padding_idx scale_grad_by_freq sparse", Embedding);
  table->Add("embedding_dense_backward", kNew,
             "grad_output indices num_weights padding_idx scale_grad_by_freq", EmbeddingBackward);
  table->Add("nll_loss_forward", "default output", "self target weight reduction ignore_index",
             NllLoss);
  table->Add("nll_loss_backward", "default grad_input",
             "grad_output self target weight reduction ignore_index total_weight", NllLossBackward);
  table->Add("mse_loss", kNew, "self target reduction", MseLoss);
  table->Add("mse_loss_backward", "default grad_input", "grad_output self target reduction",
             MseLossBackward);
}

}  // namespace planproof::frontend::torch
