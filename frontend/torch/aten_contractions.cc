// Matrix products and attention.
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_integers.h"
#include "frontend/torch/aten_operators.h"
#include "sdfg/native_operators.h"
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

// The mask of attention, as large as the scores: what is added to these. Of truth values those are
// masked that are false.
absl::StatusOr<Argument> Mask(AtenCall* call, const char* name) {
  if (!call->Has(name)) return Argument{};
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId given, call->TensorOf(name));
  Argument mask = Argument::Of(given);
  if (call->Described(name).dtype == sdfg::DType::kBool) {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId masked, call->writer().MinusInfinity());
    PLAN_ASSIGN_OR_RETURN(mask, Chosen(call, mask, Argument::Number(0), Argument::Of(masked)));
  }
  sdfg::Shape scores = call->Described("query").shape;
  if (scores.size() != 4) return call->NotDeclared("attention of other than four dimensions");
  scores[3] = call->Described("key").shape[2];
  PLAN_ASSIGN_OR_RETURN(mask.tensor, call->Broadcast(mask.tensor, scores));
  return mask;
}

// What kernels differ in: names of parameters, and whether it is known which keys a query sees if
// there are more or fewer of them than queries and no key comes after its query.
struct AttentionNames {
  const char* mask = "attn_mask";
  const char* gradient = "grad_out";
  bool causal_by_first = true;
};

// The declared operator for these heads: several of the queries may share one of the keys.
struct AttentionKind {
  std::string suffix;
  sdfg::Attributes attributes;
};

absl::StatusOr<AttentionKind> ReadAttention(AtenCall* call, const AttentionNames& names) {
  PLAN_ASSIGN_OR_RETURN(const solver::Rational dropout, call->Real("dropout_p", 0));
  if (!dropout.IsZero()) {
    return call->NotDeclared(
        "dropout within attention, which draws random numbers (record with dropout 0),");
  }
  const sdfg::Shape& query = call->Described("query").shape;
  const sdfg::Shape& key = call->Described("key").shape;
  if (query.size() != 4 || key.size() != 4) {
    return call->NotDeclared("attention of other than four dimensions");
  }
  // The kernels read queries, and results backward, as if elements of a head lay one after the
  // other (seen with PyTorch 2.15 on CPUs), and its own dispatch sees to it.
  for (const char* name : {"query", "key", "value", "out", names.gradient}) {
    if (!call->IsTensor(name)) continue;
    const Tensor& operand = call->Described(name);
    if (!operand.shape.empty() && operand.shape.back() > 1 && operand.strides.back() != 1) {
      return call->NotDeclared("attention of heads whose elements do not lie one after the other");
    }
  }
  AttentionKind kind;
  PLAN_ASSIGN_OR_RETURN(const bool causal, call->Boolean("is_causal", false));
  if (causal && !names.causal_by_first && query[2] != key[2]) {
    return call->NotDeclared("causal attention of other keys than queries by this kernel");
  }
  kind.attributes["causal"] = causal;
  if (call->Has("scale")) {
    PLAN_ASSIGN_OR_RETURN(kind.attributes["scale"], call->Real("scale", 1));
  } else {
    kind.attributes["scale"] =
        solver::Rational::FromDouble(1 / std::sqrt(static_cast<double>(query.back())));
  }
  if (query[1] != key[1]) {
    kind.suffix = "_of_groups";
    kind.attributes["heads"] = key[1];
  }
  return kind;
}

// The logarithms of the sums in the target's shape: kernels may have longer rows, of which the rest
// is no number.
absl::StatusOr<Argument> WithLongerRows(AtenCall* call, sdfg::TensorId lse, const Tensor& target) {
  const sdfg::Shape own = call->writer().tensor(lse).shape;
  const sdfg::DType dtype = call->writer().tensor(lse).dtype;
  if (own == target.shape) return Argument::Of(lse);
  if (target.shape.size() != own.size() || target.shape.back() < own.back()) {
    return call->NotDeclared("logarithms of this shape");
  }
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    sdfg::IndexFunctionBuilder b("longer_rows");
    b.AddInput("x", own, dtype);
    const int output = b.AddOutput("y", target.shape, dtype);
    std::vector<sdfg::ExprId> at;
    for (const sdfg::VarId var : std::vector<sdfg::VarId>(b.OutputDims(output))) {
      at.push_back(b.Index(var));
    }
    const sdfg::ExprId there = b.Binary(sdfg::Op::kIntLess, at.back(), b.Int(own.back()));
    const sdfg::ExprId nothing = b.Binary(sdfg::Op::kDiv, b.Real(1), b.Real(0));
    b.SetBody(output, b.Select(there, b.Element(0, at), nothing));
    return sdfg::Finish(&b);
  };
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::TensorId longer,
      call->writer().Emit("longer_rows",
                          absl::StrCat("longer rows ", sdfg::DTypeName(dtype), "[",
                                       absl::StrJoin(own, ","), "] ", target.shape.back()),
                          make, {lse}));
  return Argument::Of(longer);
}

absl::Status Attention(AtenCall& call, const AttentionNames& names) {
  std::vector<Argument> arguments;
  for (const char* name : {"query", "key", "value"}) {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId tensor, call.TensorOf(name));
    arguments.push_back(Argument::Of(tensor));
  }
  PLAN_ASSIGN_OR_RETURN(arguments.emplace_back(), Mask(&call, names.mask));
  PLAN_ASSIGN_OR_RETURN(const AttentionKind kind, ReadAttention(&call, names));
  PLAN_ASSIGN_OR_RETURN(
      const std::vector<sdfg::TensorId> out,
      call.Apply(absl::StrCat("aten_attention", kind.suffix), arguments, kind.attributes));
  call.Return(Argument::Of(out[0]));
  // Without a derivative kernels leave out the logarithms.
  if (call.targets().size() > 1 && ElementsOf(call.target(1).shape) > 0) {
    PLAN_ASSIGN_OR_RETURN(Argument lse, WithLongerRows(&call, out[1], call.target(1)));
    call.Return(std::move(lse));
  }
  // States of generators, and lengths: as memory that nobody wrote.
  for (size_t i = call.targets().size() > 1 && ElementsOf(call.target(1).shape) == 0 ? 1 : 2;
       i < call.targets().size(); ++i) {
    call.Return({});
  }
  return absl::OkStatus();
}

absl::Status AttentionBackward(AtenCall& call, const AttentionNames& names) {
  std::vector<Argument> arguments;
  for (const char* name : {names.gradient, "query", "key", "value", "out", "logsumexp"}) {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId tensor, call.TensorOf(name));
    arguments.push_back(Argument::Of(tensor));
  }
  const int64_t queries =
      call.Described("query").shape.size() == 4 ? call.Described("query").shape[2] : -1;
  if (call.Described("logsumexp").shape.size() == 3 && queries >= 0 &&
      call.Described("logsumexp").shape[2] > queries) {
    PLAN_ASSIGN_OR_RETURN(
        arguments.back(),
        call.One("narrow", {arguments.back()},
                 {{"dim", int64_t{2}}, {"start", int64_t{0}}, {"length", queries}}));
  }
  PLAN_ASSIGN_OR_RETURN(arguments.emplace_back(), Mask(&call, names.mask));
  PLAN_ASSIGN_OR_RETURN(const AttentionKind kind, ReadAttention(&call, names));
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> out,
                        call.Apply(absl::StrCat("aten_attention", kind.suffix, "_backward"),
                                   arguments, kind.attributes));
  const std::vector<Value>& wanted = call["grad_input_mask"].list;
  if (wanted.size() == 4 && wanted[3].boolean) {
    return call.NotDeclared("the derivative by an attention mask");
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (i < wanted.size() && !wanted[i].boolean) continue;
    call.Return(Argument::Of(out[i]));
  }
  return absl::OkStatus();
}

void AddAttention(AtenTable* table) {
  const AttentionNames cpu;
  table->Add("_scaled_dot_product_flash_attention_for_cpu", "default",
             "query key value dropout_p is_causal attn_mask scale",
             [cpu](AtenCall& call) { return Attention(call, cpu); });
  table->Add("_scaled_dot_product_flash_attention_for_cpu_backward", "default",
             "grad_out query key value out logsumexp dropout_p is_causal attn_mask scale",
             [cpu](AtenCall& call) { return AttentionBackward(call, cpu); });
  const AttentionNames flash = {"attn_mask", "grad_out", false};
  const AttentionNames efficient = {"attn_bias", "grad_out_", true};
  const AttentionNames cudnn = {"attn_bias", "grad_out", false};
  table->Add("_scaled_dot_product_flash_attention", "default",
             "query key value dropout_p is_causal -return_debug_mask scale",
             [flash](AtenCall& call) { return Attention(call, flash); });
  table->Add("_scaled_dot_product_flash_attention_backward", "default",
             "grad_out query key value out logsumexp -cum_seq_q -cum_seq_k -max_q -max_k dropout_p "
             "is_causal -philox_seed -philox_offset scale",
             [flash](AtenCall& call) { return AttentionBackward(call, flash); });
  table->Add("_scaled_dot_product_efficient_attention", "default",
             "query key value attn_bias -compute_log_sumexp dropout_p is_causal scale",
             [efficient](AtenCall& call) { return Attention(call, efficient); });
  table->Add("_scaled_dot_product_efficient_attention_backward", "default",
             "grad_out_ query key value attn_bias out logsumexp -philox_seed -philox_offset "
             "dropout_p grad_input_mask is_causal scale",
             [efficient](AtenCall& call) { return AttentionBackward(call, efficient); });
  table->Add("_scaled_dot_product_cudnn_attention", "default",
             "query key value attn_bias -compute_log_sumexp dropout_p is_causal -return_debug_mask "
             "scale",
             [cudnn](AtenCall& call) { return Attention(call, cudnn); });
  table->Add("_scaled_dot_product_cudnn_attention_backward", "default",
             "grad_out query key value out logsumexp -philox_seed -philox_offset attn_bias "
             "-cum_seq_q -cum_seq_k -max_q -max_k dropout_p is_causal scale",
             [cudnn](AtenCall& call) { return AttentionBackward(call, cudnn); });
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
  AddAttention(table);
}

}  // namespace planproof::frontend::torch
