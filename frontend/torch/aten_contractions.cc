// Matrix products and attention.
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// beta self + alpha (x y).
absl::Status AddProduct(AtenCall& call, const char* product, const char* x, const char* y) {
  PLAN_ASSIGN_OR_RETURN(const Argument left, call.Operand(x));
  PLAN_ASSIGN_OR_RETURN(const Argument right, call.Operand(y));
  const sdfg::DType dtype = call.Described("self").dtype;
  PLAN_ASSIGN_OR_RETURN(const solver::Rational alpha, call.RealIn(dtype, "alpha", 1));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational beta, call.RealIn(dtype, "beta", 1));
  PLAN_ASSIGN_OR_RETURN(Argument sum, call.One(product, {left, right}));
  if (beta.IsZero()) {  // what `self` holds does not count, even if it is no number
    if (!alpha.IsOne()) {
      PLAN_ASSIGN_OR_RETURN(sum, call.One("mul", {sum, Argument::Number(alpha)}));
    }
    call.Return(std::move(sum));
    return absl::OkStatus();
  }
  PLAN_ASSIGN_OR_RETURN(Argument self, call.Operand("self"));
  if (!beta.IsOne()) {
    PLAN_ASSIGN_OR_RETURN(self, call.One("mul", {self, Argument::Number(beta)}));
  }
  PLAN_ASSIGN_OR_RETURN(sum, call.One("add", {self, sum}, {{"alpha", alpha}}));
  call.Return(std::move(sum));
  return absl::OkStatus();
}

// The mask of attention, as large as the scores.
absl::StatusOr<Argument> Mask(AtenCall* call) {
  if (!call->Has("attn_mask")) return Argument{};
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId mask, call->TensorOf("attn_mask"));
  const Tensor& described = call->Described("attn_mask");
  if (described.dtype == sdfg::DType::kBool) return call->NotDeclared("a mask of truth values");
  sdfg::Shape scores = call->Described("query").shape;
  if (scores.size() != 4) return call->NotDeclared("attention of other than four dimensions");
  scores[3] = call->Described("key").shape[2];
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId expanded, call->Broadcast(mask, scores));
  return Argument::Of(expanded);
}

absl::StatusOr<sdfg::Attributes> AttentionAttributes(AtenCall* call) {
  PLAN_ASSIGN_OR_RETURN(const solver::Rational dropout, call->Real("dropout_p", 0));
  if (!dropout.IsZero()) return call->NotDeclared("dropout within attention");
  PLAN_ASSIGN_OR_RETURN(const bool causal, call->Boolean("is_causal", false));
  solver::Rational scale;
  if (call->Has("scale")) {
    PLAN_ASSIGN_OR_RETURN(scale, call->Real("scale", 1));
  } else {
    const int64_t depth = call->Described("query").shape.back();
    scale = solver::Rational::FromDouble(1 / std::sqrt(static_cast<double>(depth)));
  }
  return sdfg::Attributes{{"causal", causal}, {"scale", scale}};
}

absl::Status Attention(AtenCall& call) {
  std::vector<Argument> arguments;
  for (const char* name : {"query", "key", "value"}) {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId tensor, call.TensorOf(name));
    arguments.push_back(Argument::Of(tensor));
  }
  PLAN_ASSIGN_OR_RETURN(arguments.emplace_back(), Mask(&call));
  PLAN_ASSIGN_OR_RETURN(const sdfg::Attributes attributes, AttentionAttributes(&call));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> out,
                        call.Apply("aten_attention", arguments, attributes));
  call.Return(Argument::Of(out[0]));
  call.Return(Argument::Of(out[1]));
  return absl::OkStatus();
}

absl::Status AttentionBackward(AtenCall& call) {
  std::vector<Argument> arguments;
  for (const char* name : {"grad_out", "query", "key", "value", "out", "logsumexp"}) {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId tensor, call.TensorOf(name));
    arguments.push_back(Argument::Of(tensor));
  }
  PLAN_ASSIGN_OR_RETURN(arguments.emplace_back(), Mask(&call));
  PLAN_ASSIGN_OR_RETURN(const sdfg::Attributes attributes, AttentionAttributes(&call));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> out,
                        call.Apply("aten_attention_backward", arguments, attributes));
  for (sdfg::TensorId tensor : out) call.Return(Argument::Of(tensor));
  return absl::OkStatus();
}

}  // namespace

void AddContractions(AtenTable* table) {
  table->Declared("mm", kNew, "self mat2", "aten_mm");
  table->Declared("bmm", kNew, "self mat2", "aten_bmm");
  table->Declared("dot", kNew, "self tensor", "aten_dot");
  table->Declared("mv", kNew, "self vec", "aten_mv");
  table->Add("addmm", kAnyForm, "-self mat1 mat2 beta alpha",
             [](AtenCall& call) { return AddProduct(call, "aten_mm", "mat1", "mat2"); });
  table->Add("baddbmm", kAnyForm, "-self batch1 batch2 beta alpha",
             [](AtenCall& call) { return AddProduct(call, "aten_bmm", "batch1", "batch2"); });
  table->Add("_scaled_dot_product_flash_attention_for_cpu", "default",
             "query key value dropout_p is_causal attn_mask scale", Attention);
  table->Add("_scaled_dot_product_flash_attention_for_cpu_backward", "default",
             "grad_out query key value out logsumexp dropout_p is_causal attn_mask scale",
             AttentionBackward);
}

}  // namespace planproof::frontend::torch
