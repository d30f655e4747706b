// Which tokens go to which experts, and what the experts compute of them: orders, counts, products
// by groups.
//
// Orders are uninterpreted functions of the row that is ordered: the same scores are routed alike,
// and nothing is assumed of it (sdfg/native_operators_order.cc). Counts and products by groups are
// exact: a sum over the experts of what lies between its offsets.
#include <utility>

#include "frontend/torch/aten_integers.h"
#include "frontend/torch/aten_operators.h"
#include "frontend/torch/aten_rows.h"
#include "frontend/torch/aten_uninterpreted.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// argmax and argmin; without a dimension, of all elements in a row.
absl::Status Extreme(AtenCall& call, const char* declared) {
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId x, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(int64_t dim, call.Integer("dim", 0));
  PLAN_ASSIGN_OR_RETURN(const bool keepdim, call.Boolean("keepdim", false));
  if (!call.Has("dim")) {
    PLAN_ASSIGN_OR_RETURN(x, call.writer().Reshape(x, {ElementsOf(call.writer().tensor(x).shape)}));
  }
  PLAN_ASSIGN_OR_RETURN(x, AsRow(&call, x));
  PLAN_ASSIGN_OR_RETURN(Argument where,
                        call.One(declared, {Argument::Of(x)},
                                 {{"dim", dim}, {"keepdim", keepdim && call.Has("dim")}}));
  if (keepdim && !call.Has("dim")) {  // all dimensions are kept
    const sdfg::Shape ones(call.Described("self").shape.size(), 1);
    PLAN_ASSIGN_OR_RETURN(where.tensor, call.writer().Reshape(where.tensor, ones));
  }
  PLAN_ASSIGN_OR_RETURN(where, AsResult(&call, std::move(where), 0));
  call.Return(std::move(where));
  return absl::OkStatus();
}

absl::Status Histogram(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const int64_t bins, call.Integer("bins", 100));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational least, call.Real("min", 0));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational most, call.Real("max", 0));
  if (!(least < most)) return call.NotDeclared("a histogram from the least to the largest element");
  PLAN_ASSIGN_OR_RETURN(Argument counts, call.One("aten_histc", {Argument::Of(x)},
                                                  {{"bins", bins}, {"min", least}, {"max", most}}));
  call.Return(std::move(counts));
  return absl::OkStatus();
}

absl::Status Counts(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const int64_t least, call.Integer("minlength", 0));
  const int64_t size = call.target(0).shape.empty() ? 0 : call.target(0).shape[0];
  // A longer result says which number is the largest.
  if (size != least) return call.NotDeclared("counts of more numbers than minlength");
  std::vector<Argument> operands = {Argument::Of(x)};
  if (call.Has("weights")) {
    PLAN_ASSIGN_OR_RETURN(operands.emplace_back(), call.Operand("weights"));
  }
  PLAN_ASSIGN_OR_RETURN(Argument counts,
                        call.One(operands.size() == 1 ? "aten_bincount" : "aten_bincount_weighted",
                                 operands, {{"size", size}}));
  call.Return(std::move(counts));
  return absl::OkStatus();
}

absl::Status GroupedProduct(AtenCall& call) {
  if (call.Has("bias")) return call.NotDeclared("a product by groups with a bias");
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId w, call.TensorOf("mat2"));
  const bool left = call.writer().tensor(x).shape.size() == 3;
  const bool right = call.writer().tensor(w).shape.size() == 3;
  std::vector<Argument> operands = {Argument::Of(x), Argument::Of(w)};
  if (!left || !right) {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId offsets, call.TensorOf("offs"));
    operands.push_back(Argument::Of(offsets));
  }
  const char* declared = left && right ? "aten_bmm"
                         : left        ? "aten_grouped_mm_columns"
                         : right       ? "aten_grouped_mm_rows"
                                       : "aten_grouped_mm_inner";
  PLAN_ASSIGN_OR_RETURN(Argument product, call.One(declared, operands));
  call.Return(std::move(product));
  return absl::OkStatus();
}

// x - y floor(x / y), or the quotient rounded down, of real numbers.
absl::Status RealDivision(AtenCall& call, const Argument& x, const Argument& y, bool remains) {
  const sdfg::DType dtype = call.target(0).dtype;
  PLAN_ASSIGN_OR_RETURN(Argument whole, RoundedQuotient(&call, x, y, dtype, false));
  if (remains) {
    PLAN_ASSIGN_OR_RETURN(whole, call.One("mul", {whole, y}));
    PLAN_ASSIGN_OR_RETURN(whole, call.One("sub", {x, whole}));
  }
  call.Return(std::move(whole));
  return absl::OkStatus();
}

// floor_divide and remainder, of integers by a positive integer.
absl::Status WholeDivision(AtenCall& call, bool remains) {
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument divisor, call.Operand("other"));
  if (sdfg::IsFloating(call.target(0).dtype)) return RealDivision(call, x, divisor, remains);
  int64_t number = 0;
  if (x.tensor == sdfg::kNone || !divisor.literal || !divisor.literal->ToInt64(&number) ||
      number < 1 || !sdfg::IsInteger(call.writer().tensor(x.tensor).dtype) ||
      !HoldsExactly(call.writer().tensor(x.tensor).dtype, number) || divisor.error > 0) {
    return call.NotDeclared("division that rounds, but of integers by a positive integer,");
  }
  PLAN_ASSIGN_OR_RETURN(Argument quotient, Divided(&call, x.tensor, number, remains));
  call.Return(std::move(quotient));
  return absl::OkStatus();
}

absl::Status RepeatInterleave(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId repeats, call.TensorOf("repeats"));
  const sdfg::Shape& shape = call.target(0).shape;
  if (shape.size() != 1) return call.NotDeclared("repetition along a dimension");
  PLAN_ASSIGN_OR_RETURN(Argument numbers, call.One("aten_repeat_interleave",
                                                   {Argument::Of(repeats)}, {{"size", shape[0]}}));
  call.Return(std::move(numbers));
  return absl::OkStatus();
}

}  // namespace

void AddRouting(AtenTable* table) {
  table->Declared("topk", "default values", "self *k *dim *largest *sorted", "topk");
  table->Declared("sort", "default stable values values_stable", "self *dim *descending *stable",
                  "sort");
  table->Declared("argsort", "default stable", "self *dim *descending *stable", "argsort");
  table->Add("argmax", kNew, "self dim keepdim",
             [](AtenCall& call) { return Extreme(call, "argmax"); });
  table->Add("argmin", kNew, "self dim keepdim",
             [](AtenCall& call) { return Extreme(call, "argmin"); });
  table->Add("histc", kNew, "self bins min max", Histogram);
  table->Add("bincount", kNew, "self weights minlength", Counts);
  table->Add("_grouped_mm", "default", "self mat2 offs bias out_dtype", GroupedProduct);
  table->Add("floor_divide", "default Scalar _.Tensor _.Scalar out Scalar_out", "self other",
             [](AtenCall& call) { return WholeDivision(call, false); });
  table->Add("remainder", "Tensor Scalar _.Tensor _.Scalar Tensor_out Scalar_out", "self other",
             [](AtenCall& call) { return WholeDivision(call, true); });
  table->Add("repeat_interleave", "Tensor Tensor_out", "repeats -output_size", RepeatInterleave);
}

}  // namespace planproof::frontend::torch
