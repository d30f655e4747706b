// Normalizations and embeddings, forward and backward.
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

// Which of the gradients are asked for: the others are not returned.
void ReturnMasked(AtenCall* call, const std::vector<sdfg::TensorId>& out) {
  const std::vector<Value>& mask = (*call)["output_mask"].list;
  for (size_t i = 0; i < out.size(); ++i) {
    if (i < mask.size() && !mask[i].boolean) continue;
    call->Return(Argument::Of(out[i]));
  }
}

// How many dimensions are normalized together, and how many elements these have.
struct Normalized {
  size_t rank = 1;
  int64_t elements = 1;
};

absl::StatusOr<Normalized> ReadNormalized(AtenCall* call) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, call->Integers("normalized_shape"));
  Normalized normalized{shape.size(), 1};
  for (const int64_t extent : shape) normalized.elements *= extent;
  if (shape.empty()) return call->NotDeclared("normalization over no dimension");
  return normalized;
}

// The operands with the last `rank` dimensions, which are normalized together, as one.
absl::StatusOr<std::vector<Argument>> AsRows(AtenCall* call, const Normalized& normalized,
                                             std::vector<Argument> operands) {
  if (normalized.rank == 1) return operands;
  for (Argument& operand : operands) {
    if (operand.tensor == sdfg::kNone) continue;
    sdfg::Shape shape = call->writer().tensor(operand.tensor).shape;
    if (shape.size() < normalized.rank) return call->NotDeclared("normalization of this shape");
    int64_t elements = 1;
    for (size_t k = 0; k < normalized.rank; ++k) {
      elements *= shape.back();
      shape.pop_back();
    }
    shape.push_back(elements);
    PLAN_ASSIGN_OR_RETURN(operand.tensor, call->writer().Reshape(operand.tensor, shape));
  }
  return operands;
}

absl::StatusOr<Argument> InShapeOf(AtenCall* call, sdfg::TensorId tensor, size_t target) {
  const sdfg::Shape& shape = call->target(target).shape;
  const sdfg::Shape& made = call->writer().tensor(tensor).shape;
  if (shape == made || ElementsOf(shape) != ElementsOf(made)) return Argument::Of(tensor);
  PLAN_ASSIGN_OR_RETURN(tensor, call->writer().Reshape(tensor, shape));
  return Argument::Of(tensor);
}

absl::Status Norm(AtenCall& call, const char* declared, const std::vector<std::string>& operands) {
  PLAN_ASSIGN_OR_RETURN(const Normalized normalized, ReadNormalized(&call));
  PLAN_ASSIGN_OR_RETURN(std::vector<Argument> arguments, Operands(&call, operands));
  PLAN_ASSIGN_OR_RETURN(arguments, AsRows(&call, normalized, std::move(arguments)));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational eps, call.Real("eps", solver::Rational(1, 100000)));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> out,
                        call.Apply(declared, arguments, {{"eps", eps}}));
  for (size_t i = 0; i < out.size() && i < call.targets().size(); ++i) {
    PLAN_ASSIGN_OR_RETURN(Argument result, normalized.rank == 1
                                               ? absl::StatusOr<Argument>(Argument::Of(out[i]))
                                               : InShapeOf(&call, out[i], i));
    call.Return(std::move(result));
  }
  return absl::OkStatus();
}

absl::Status NormBackward(AtenCall& call, const char* declared,
                          const std::vector<std::string>& operands) {
  PLAN_ASSIGN_OR_RETURN(const Normalized normalized, ReadNormalized(&call));
  PLAN_ASSIGN_OR_RETURN(std::vector<Argument> arguments, Operands(&call, operands));
  PLAN_ASSIGN_OR_RETURN(arguments, AsRows(&call, normalized, std::move(arguments)));
  PLAN_ASSIGN_OR_RETURN(std::vector<sdfg::TensorId> out, call.Apply(declared, arguments));
  if (normalized.rank > 1) {
    const sdfg::Shape& x = call.Described("input").shape;
    const sdfg::Shape weight(x.end() - static_cast<std::ptrdiff_t>(normalized.rank), x.end());
    for (size_t i = 0; i < out.size(); ++i) {
      PLAN_ASSIGN_OR_RETURN(out[i], call.writer().Reshape(out[i], i == 0 ? x : weight));
    }
  }
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
  PLAN_ASSIGN_OR_RETURN(std::vector<Argument> arguments,
                        Operands(&call, {"grad_output", "indices"}));
  PLAN_ASSIGN_OR_RETURN(const int64_t rows, call.Integer("num_weights", std::nullopt));
  PLAN_ASSIGN_OR_RETURN(const int64_t padding, call.Integer("padding_idx", -1));
  PLAN_ASSIGN_OR_RETURN(
      Argument gradient,
      call.One(scaled ? "aten_embedding_backward_by_frequency" : "aten_embedding_dense_backward",
               arguments, {{"num_weights", rows}, {"padding_idx", padding}}));
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
  // What padding_idx and scale_grad_by_freq say is about the derivative, which is another operator.
  table->Add("embedding", kNew, "weight indices -padding_idx -scale_grad_by_freq -sparse",
             Embedding);
  table->Add("embedding_dense_backward", kNew,
             "grad_output indices num_weights padding_idx scale_grad_by_freq", EmbeddingBackward);
}

}  // namespace planproof::frontend::torch
