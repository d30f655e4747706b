#include "frontend/torch/aten_arithmetic.h"

#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "frontend/torch/number_conversion.h"
#include "frontend/torch/python_numbers.h"
#include "frontend/torch/rounded_number.h"
#include "sdfg/element_type.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// One number that is known beforehand stays one: Adam's step counter.
std::optional<KnownNumber> Folded(const std::string& declared, const Argument& x, const Argument& y,
                                  const solver::Rational& alpha, sdfg::DType result) {
  if (!x.literal || !y.literal) return std::nullopt;
  KnownNumber second = y.number();
  if (!alpha.IsOne()) {
    const bool whole = alpha.IsInteger();
    const KnownNumber factor{alpha, whole ? second.type : sdfg::DType::kFloat64, 0};
    std::optional<KnownNumber> multiple = Computed(Arithmetic::kMultiply, factor, second, result);
    if (!multiple) return std::nullopt;
    second = *std::move(multiple);
  }
  if (declared == "add") return Computed(Arithmetic::kAdd, x.number(), second, result);
  if (declared == "sub") return Computed(Arithmetic::kSubtract, x.number(), second, result);
  if (declared == "mul") return Computed(Arithmetic::kMultiply, x.number(), second, result);
  if (declared == "div") return Computed(Arithmetic::kDivide, x.number(), second, result);
  return std::nullopt;
}

// A number that is a root to the nearest double, as that root: a tensor of one element.
absl::StatusOr<Argument> RootAsMeant(AtenCall* call, const Argument& number, sdfg::DType dtype) {
  const std::optional<int64_t> radicand = RadicandOf(*number.literal);
  if (!radicand) return number;
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId filled, call->writer().Fill({}, dtype, *radicand));
  call->writer().Assume(absl::StrFormat("the number %.17g stands for the root of %d",
                                        number.literal->ToDouble(), *radicand));
  return call->One("sqrt", {Argument::Of(filled)});
}

}  // namespace

absl::StatusOr<Argument> Binary(AtenCall* call, const std::string& declared, const Argument& x,
                                const Argument& y, const solver::Rational& alpha, size_t r) {
  if (r >= call->targets().size()) return call->NotDeclared("an operator without a result");
  const sdfg::DType result = call->target(r).dtype;
  const bool is_factor = declared == "mul" || declared == "div";
  const bool may_be_rounded = y.literal && sdfg::IsFloating(result);
  Argument right = y;
  if (may_be_rounded && declared == "pow") right = MeantExponent(&call->writer(), *y.literal);
  if (may_be_rounded && is_factor) {
    const std::optional<solver::Rational> quotient = QuotientOf(*y.literal);
    if (quotient) right = call->writer().Meant(*y.literal, *quotient);
  }
  if (auto folded = Folded(declared, x, right, alpha, result); folded) {
    return Argument::Number(*std::move(folded));
  }
  sdfg::Attributes attributes;
  if (!alpha.IsOne()) attributes["alpha"] = alpha;
  Argument left = x;
  if (left.literal && y.literal) {  // cannot be folded: as a tensor
    PLAN_ASSIGN_OR_RETURN(left, call->InType(left, result));
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId filled,
                          call->writer().Fill({}, result, *left.literal));
    left = Argument::Of(filled);
  }
  if (may_be_rounded && is_factor && left.tensor != sdfg::kNone) {
    PLAN_ASSIGN_OR_RETURN(right, RootAsMeant(call, right, result));
  }
  return call->One(declared, {left, right}, attributes);
}

}  // namespace planproof::frontend::torch
