// Elementwise operators, and lists of them (foreach).
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torch/aten_arithmetic.h"
#include "frontend/torch/aten_integers.h"
#include "frontend/torch/aten_operators.h"
#include "frontend/torch/aten_uninterpreted.h"
#include "frontend/torch/known_elements.h"
#include "frontend/torch/python_numbers.h"
#include "sdfg/element_type.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// A comparison, what it says of a number and infinity, and of two that are equal.
struct Comparison {
  const char* name;
  bool below_infinity;
  bool of_equals;
};

// What holds, or does not, of a real number, and is not defined of what is none: infinity is not
// below infinity, and what is not a number is not equal to itself.
absl::Status OfRealNumber(AtenCall& call, const Argument& x, bool holds) {
  PLAN_ASSIGN_OR_RETURN(Argument result, call.One(holds ? "aten_real" : "aten_not_real", {x}));
  call.Return(std::move(result));
  return absl::OkStatus();
}

// A whole number is converted to the type of the integers beside which it stands, if it is wider:
// uint8 is compared with 255 where a program says -1.
absl::Status CheckFits(AtenCall* call, const Argument& x, const Argument& y) {
  const std::array<std::pair<const Argument*, const Argument*>, 2> pairs = {{{&x, &y}, {&y, &x}}};
  for (const auto& [number, other] : pairs) {
    const sdfg::DType dtype =
        other->tensor == sdfg::kNone ? other->type : call->writer().tensor(other->tensor).dtype;
    if (!number->literal || sdfg::IsFloating(number->type) || !sdfg::IsInteger(dtype)) continue;
    if (!number->literal->IsInteger() || HoldsExactly(dtype, *number->literal)) continue;
    return call->NotDeclared(absl::StrCat("the number ", number->literal->ToString(), " beside ",
                                          sdfg::DTypeName(dtype)));
  }
  return absl::OkStatus();
}

// Two numbers that are known, if rounding does not decide.
absl::Status CompareNumbers(AtenCall& call, const std::string& op, const Argument& x,
                            const Argument& y) {
  const std::optional<KnownNumber> difference =
      Computed(Arithmetic::kSubtract, x.number(), y.number(), sdfg::DType::kFloat64);
  const std::optional<KnownNumber> differs =
      difference ? InType(*difference, sdfg::DType::kBool) : std::nullopt;
  if (!differs) return call.NotDeclared("a comparison of numbers that rounding decides");
  const int sign = differs->value.IsZero() ? 0 : difference->value.Sign();
  const bool holds = op == "lt"   ? sign < 0
                     : op == "le" ? sign <= 0
                     : op == "gt" ? sign > 0
                     : op == "ge" ? sign >= 0
                     : op == "eq" ? sign == 0
                                  : sign != 0;
  call.Return(Argument::Number(KnownNumber{holds ? 1 : 0, sdfg::DType::kBool, 0}));
  return absl::OkStatus();
}

void AddComparison(AtenTable* table, const Comparison& comparison) {
  const char* const forms = "Tensor Scalar _.Tensor _.Scalar Tensor_out Scalar_out";
  table->Add(comparison.name, forms, "self other", [comparison](AtenCall& call) -> absl::Status {
    const std::string op = comparison.name;
    PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
    const Value& other = call["other"];
    if (other.kind == Value::Kind::kInfinite && other.infinity >= 0 && x.tensor != sdfg::kNone) {
      if (other.infinity > 0) return OfRealNumber(call, x, comparison.below_infinity);
      // Whatever is compared with what is no number.
      call.ReturnBroadcast(Argument::Number(op == "ne"));
      return absl::OkStatus();
    }
    PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("other"));
    PLAN_RETURN_IF_ERROR(CheckFits(&call, x, y));
    if (x.literal && y.literal) return CompareNumbers(call, op, x, y);
    if (x.tensor != sdfg::kNone && x.tensor == y.tensor) {
      return OfRealNumber(call, x, comparison.of_equals);
    }
    PLAN_ASSIGN_OR_RETURN(std::optional<Argument> result, OfIntegers(&call, op, x, y, 1));
    if (!result) {
      PLAN_ASSIGN_OR_RETURN(result, call.One(op, {x, y}));
    }
    call.Return(*std::move(result));
    return absl::OkStatus();
  });
}

// Down, or towards 0. Of integers only down, by a positive integer.
absl::Status RoundedDivision(AtenCall& call, const Argument& x, const Argument& y) {
  const bool down = call["rounding_mode"].text == "floor";
  const sdfg::DType dtype = call.target(0).dtype;
  if (sdfg::IsFloating(dtype)) {
    PLAN_ASSIGN_OR_RETURN(Argument quotient, RoundedQuotient(&call, x, y, dtype, !down));
    call.Return(std::move(quotient));
    return absl::OkStatus();
  }
  int64_t divisor = 0;
  const bool whole = x.tensor != sdfg::kNone && y.literal && y.literal->ToInt64(&divisor) &&
                     sdfg::IsInteger(call.writer().tensor(x.tensor).dtype) && y.error == 0;
  if (!down || !whole || divisor < 1 ||
      !HoldsExactly(call.writer().tensor(x.tensor).dtype, divisor)) {
    return call.NotDeclared("division that rounds, but of integers by a positive integer,");
  }
  PLAN_ASSIGN_OR_RETURN(Argument quotient, Divided(&call, x.tensor, divisor, false));
  call.Return(std::move(quotient));
  return absl::OkStatus();
}

constexpr char kBinary[] = "Tensor Scalar _.Tensor _.Scalar out Scalar_out";

// The factor of the second operand; one that is computed from tensors multiplies it.
absl::Status ReadAlpha(AtenCall* call, Argument* y, solver::Rational* alpha) {
  if (!call->Has("alpha")) return absl::OkStatus();
  PLAN_ASSIGN_OR_RETURN(const Argument factor, call->OperandOf((*call)["alpha"]));
  if (factor.literal) {
    *alpha = *factor.literal;
    return absl::OkStatus();
  }
  PLAN_ASSIGN_OR_RETURN(*y, call->One("mul", {*y, factor}));
  return absl::OkStatus();
}

void AddBinary(AtenTable* table, const char* name, const std::string& overloads,
               const char* parameters) {
  const std::string op = name;
  table->Add(name, overloads, parameters, [op](AtenCall& call) -> absl::Status {
    PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
    PLAN_ASSIGN_OR_RETURN(Argument y, call.Operand("other"));
    if (call.Has("rounding_mode")) return RoundedDivision(call, x, y);
    solver::Rational alpha = 1;
    PLAN_RETURN_IF_ERROR(ReadAlpha(&call, &y, &alpha));
    PLAN_ASSIGN_OR_RETURN(std::optional<Argument> result, OfIntegers(&call, op, x, y, alpha));
    if (!result) {
      PLAN_ASSIGN_OR_RETURN(result, Binary(&call, op, x, y, alpha));
    }
    call.Return(*std::move(result));
    return absl::OkStatus();
  });
}

// Real numbers are their own conjugates; the parts of complex ones are a last dimension.
absl::Status Conjugate(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(Argument x, call.Operand("self"));
  if (call.target(0).complex) {
    PLAN_ASSIGN_OR_RETURN(x, call.One("aten_conj_physical", {x}));
  }
  call.Return(std::move(x));
  return absl::OkStatus();
}

absl::Status Where(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument condition, call.Operand("condition"));
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("other"));
  PLAN_RETURN_IF_ERROR(CheckFits(&call, x, y));
  PLAN_ASSIGN_OR_RETURN(Argument chosen, Chosen(&call, condition, x, y));
  call.Return(std::move(chosen));
  return absl::OkStatus();
}

absl::Status MaskedFill(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument mask, call.Operand("mask"));
  PLAN_ASSIGN_OR_RETURN(Argument value, call.Operand("value"));
  // Infinity stays what it is among real numbers.
  const sdfg::DType dtype = call.Described("self").dtype;
  if (value.literal || !sdfg::IsFloating(dtype)) {
    PLAN_ASSIGN_OR_RETURN(value, call.InType(value, dtype));
  }
  PLAN_ASSIGN_OR_RETURN(Argument filled, Chosen(&call, mask, value, x));
  call.Return(std::move(filled));
  return absl::OkStatus();
}

absl::Status Clamp(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(Argument x, call.Operand("self"));
  for (const auto& [bound, declared] : {std::pair("min", "maximum"), std::pair("max", "minimum")}) {
    if (!call.Has(bound)) continue;
    PLAN_ASSIGN_OR_RETURN(const Argument other, call.Operand(bound));
    PLAN_RETURN_IF_ERROR(CheckFits(&call, x, other));
    if (x.literal && other.literal) {
      const double error = std::max(x.error, other.error);
      const bool less = *x.literal < *other.literal;
      if (less == (std::string_view(bound) == "min")) x = other;
      x.error = error;
      continue;
    }
    PLAN_ASSIGN_OR_RETURN(std::optional<Argument> whole, OfIntegers(&call, declared, x, other, 1));
    if (whole) {
      x = *std::move(whole);
    } else {
      PLAN_ASSIGN_OR_RETURN(x, call.One(declared, {x, other}));
    }
  }
  call.Return(std::move(x));
  return absl::OkStatus();
}

absl::Status Power(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument exponent, call.Operand("exponent"));
  if (x.literal && (exponent.literal || x.literal->Sign() <= 0)) {
    return call.NotDeclared("a power of a constant");
  }
  if (!exponent.literal) {
    if (!sdfg::IsFloating(call.target(0).dtype)) {
      return call.NotDeclared("a power of integers whose exponent is no constant");
    }
    const std::optional<solver::Rational> all = UniformElement(call.writer().graph(), x.tensor);
    if (!x.literal && all && all->Sign() < 0) {
      return call.NotDeclared("a power of a negative number whose exponent is no constant");
    }
    PLAN_ASSIGN_OR_RETURN(Argument power, call.One("aten_power", {x, exponent}));
    call.Return(std::move(power));
    return absl::OkStatus();
  }
  PLAN_ASSIGN_OR_RETURN(Argument y,
                        call.One("pow", {x, MeantExponent(&call.writer(), *exponent.literal)}));
  call.Return(std::move(y));
  return absl::OkStatus();
}

// The limit has the type of what is compared with it.
absl::Status ThresholdBackward(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument gradient, call.Operand("grad_output"));
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  // The threshold is converted to the type that both operands are promoted to.
  sdfg::DType type = call.Described("self").dtype;
  const sdfg::DType other = call.Described("grad_output").dtype;
  if (!sdfg::IsFloating(type) &&
      (sdfg::IsFloating(other) || sdfg::IntegerBits(other) > sdfg::IntegerBits(type))) {
    type = other;
  }
  PLAN_ASSIGN_OR_RETURN(const solver::Rational threshold, call.RealIn(type, "threshold", 0));
  PLAN_ASSIGN_OR_RETURN(Argument result, call.One("aten_threshold_backward", {gradient, x},
                                                  {{"threshold", threshold}}));
  call.Return(std::move(result));
  return absl::OkStatus();
}

// Of a list argument the element, of a single one itself.
absl::StatusOr<Argument> At(AtenCall* call, std::string_view name, size_t i) {
  const Value& value = (*call)[name];
  if (value.kind != Value::Kind::kList) return call->OperandOf(value);
  if (i >= value.list.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(call->writer().Place(), ": lists of different lengths"));
  }
  return call->OperandOf(value.list[i]);
}

// PyTorch converts the factor of a product of integers to their type.
absl::Status ConvertFactor(AtenCall* call, size_t r, Argument* factor) {
  if (r >= call->targets().size() || sdfg::IsFloating(call->target(r).dtype)) {
    return absl::OkStatus();
  }
  PLAN_ASSIGN_OR_RETURN(*factor, call->InType(*factor, call->target(r).dtype));
  return absl::OkStatus();
}

// `operands` are lists, of one length, or one for all. So is `factor`, the last operand, which is 1
// if it is left out; `alpha` is a number.
void AddForeachOf(AtenTable* table, const std::string& name, const char* overloads,
                  const char* parameters, const std::vector<std::string>& operands,
                  const std::string& declared, const std::string& factor = "",
                  const std::string& alpha_name = "") {
  table->Add(name, overloads, parameters, [=](AtenCall& call) -> absl::Status {
    const Value& first = call[operands[0]];
    const size_t count = first.kind == Value::Kind::kList ? first.list.size() : 1;
    for (size_t i = 0; i < count; ++i) {
      std::vector<Argument> arguments;
      for (const std::string& operand : operands) {
        PLAN_ASSIGN_OR_RETURN(arguments.emplace_back(), At(&call, operand, i));
      }
      if (!factor.empty()) {
        arguments.push_back(Argument::Number(1));
        if (call.Has(factor)) {
          PLAN_ASSIGN_OR_RETURN(arguments.back(), At(&call, factor, i));
        }
        PLAN_RETURN_IF_ERROR(ConvertFactor(&call, i, &arguments.back()));
      }
      solver::Rational alpha = 1;
      if (!alpha_name.empty()) {
        PLAN_ASSIGN_OR_RETURN(alpha, call.Real(alpha_name, 1));
      }
      if (arguments.size() == 2) {
        PLAN_ASSIGN_OR_RETURN(Argument result,
                              Binary(&call, declared, arguments[0], arguments[1], alpha, i));
        call.Return(std::move(result));
        PLAN_RETURN_IF_ERROR(call.StoreSoFar());
        continue;
      }
      PLAN_ASSIGN_OR_RETURN(Argument result, call.One(declared, arguments));
      call.Return(std::move(result));
      PLAN_RETURN_IF_ERROR(call.StoreSoFar());
    }
    return absl::OkStatus();
  });
}

}  // namespace

void AddElementwise(AtenTable* table) {
  for (const char* name : {"add", "sub"}) AddBinary(table, name, kBinary, "self other alpha");
  AddBinary(table, "mul", kBinary, "self other");
  AddBinary(table, "div",
            "Tensor Scalar _.Tensor _.Scalar out Scalar_out Tensor_mode Scalar_mode "
            "_.Tensor_mode _.Scalar_mode out_mode",
            "self other rounding_mode");
  table->Add("rsub", "Tensor Scalar Tensor_out Scalar_out", "self other alpha",
             [](AtenCall& call) -> absl::Status {
               PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
               PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("other"));
               PLAN_ASSIGN_OR_RETURN(const solver::Rational alpha, call.Real("alpha", 1));
               PLAN_ASSIGN_OR_RETURN(Argument result, Binary(&call, "sub", y, x, alpha));
               call.Return(std::move(result));
               return absl::OkStatus();
             });
  for (const char* name : {"neg", "sqrt", "rsqrt", "reciprocal", "exp", "log", "sin", "cos", "erf",
                           "tanh", "sigmoid", "silu", "relu", "abs"}) {
    table->Declared(name, kAnyForm, "self", name);
  }
  table->Declared("gelu", kAnyForm, "self *approximate", "gelu");
  table->Declared("expm1", kAnyForm, "self", "aten_expm1");
  table->Declared("log1p", kAnyForm, "self", "aten_log1p");
  table->Declared("sign sgn", kAnyForm, "self", "aten_sign");
  const char* const gradient = "default grad_input";
  table->Declared("maximum", kNew, "self other", "maximum");
  table->Declared("max", "other out", "self other", "maximum");
  table->Declared("minimum", kNew, "self other", "minimum");
  table->Declared("min", "other out", "self other", "minimum");
  for (const Comparison& comparison :
       {Comparison{"lt", true, false}, Comparison{"le", true, true}, Comparison{"gt", false, false},
        Comparison{"ge", false, true}, Comparison{"eq", false, true},
        Comparison{"ne", true, false}}) {
    AddComparison(table, comparison);
  }
  table->Add("_conj_physical", kNew, "self", Conjugate);
  table->Add("conj_physical", kAnyForm, "self", Conjugate);
  table->Add("where", "self ScalarOther ScalarSelf Scalar self_out", "condition self other", Where);
  table->Declared("logical_not", kAnyForm, "self", "aten_logical_not");
  table->Declared("logical_and", kAnyForm, "self other", "aten_logical_and");
  table->Declared("logical_or", kAnyForm, "self other", "aten_logical_or");
  table->Declared("isnan", kNew, "self", "aten_not_real");
  table->Declared("isinf", kNew, "self", "aten_infinite");
  table->Add("masked_fill", "Scalar Tensor _.Scalar _.Tensor Scalar_out Tensor_out",
             "self mask value", MaskedFill);
  AddForeachOf(table, "addcmul", kAnyForm, "self tensor1 tensor2 value",
               {"self", "tensor1", "tensor2"}, "aten_addcmul", "value");
  AddForeachOf(table, "addcdiv", kAnyForm, "self tensor1 tensor2 value",
               {"self", "tensor1", "tensor2"}, "aten_addcdiv", "value");
  table->Declared("lerp", "Scalar Tensor _.Scalar _.Tensor Scalar_out Tensor_out",
                  "self end weight", "aten_lerp");
  table->Declared("tanh_backward", gradient, "grad_output output", "aten_tanh_backward");
  table->Declared("sigmoid_backward", gradient, "grad_output output", "aten_sigmoid_backward");
  table->Add("threshold_backward", gradient, "grad_output self threshold", ThresholdBackward);
  table->Declared("silu_backward", gradient, "grad_output self", "aten_silu_backward");
  table->Declared("gelu_backward", gradient, "grad_output self *approximate", "aten_gelu_backward");
  const char* const limits = "default Tensor _.default _.Tensor out Tensor_out";
  table->Add("clamp", limits, "self min max", Clamp);
  table->Add("clamp_min", limits, "self min", Clamp);
  table->Add("clamp_max", limits, "self max", Clamp);
  table->Add("pow", "Tensor_Scalar Tensor_Tensor _.Scalar _.Tensor Tensor_Scalar_out",
             "self exponent", Power);
}

void AddForeach(AtenTable* table) {
  for (const char* name : {"add", "sub", "mul", "div"}) {
    const std::string foreach = absl::StrCat("_foreach_", name);
    const bool sums = std::string_view(name) == "add" || std::string_view(name) == "sub";
    AddForeachOf(table, foreach, "List _.List List_out", sums ? "self other alpha" : "self other",
                 {"self", "other"}, name, "", sums ? "alpha" : "");
    AddForeachOf(table, foreach, "Scalar _.Scalar Scalar_out", "self scalar", {"self", "scalar"},
                 name);
    AddForeachOf(table, foreach, "ScalarList _.ScalarList ScalarList_out", "self scalars",
                 {"self", "scalars"}, name);
    if (std::string_view(name) == "sub") continue;
    const bool adds = std::string_view(name) == "add";
    AddForeachOf(table, foreach, "Tensor _.Tensor Tensor_out",
                 adds ? "self other alpha" : "self other", {"self", "other"}, name, "",
                 adds ? "alpha" : "");
  }
  const char* const numbers = "Scalar _.Scalar Scalar_out ScalarList _.ScalarList ScalarList_out";
  AddForeachOf(table, "_foreach_lerp", numbers, "self tensors1 weight",
               {"self", "tensors1", "weight"}, "aten_lerp");
  AddForeachOf(table, "_foreach_lerp", "List _.List List_out", "self tensors1 weights",
               {"self", "tensors1", "weights"}, "aten_lerp");
  for (const char* name : {"addcmul", "addcdiv"}) {
    const std::string foreach = absl::StrCat("_foreach_", name);
    AddForeachOf(table, foreach, "Scalar _.Scalar Scalar_out", "self tensor1 tensor2 value",
                 {"self", "tensor1", "tensor2"}, absl::StrCat("aten_", name), "value");
    AddForeachOf(table, foreach, "ScalarList _.ScalarList ScalarList_out",
                 "self tensor1 tensor2 scalars", {"self", "tensor1", "tensor2"},
                 absl::StrCat("aten_", name), "scalars");
  }
  AddForeachOf(table, "_foreach_pow", numbers, "self exponent", {"self", "exponent"}, "pow");
  for (const char* name : {"sqrt", "neg", "reciprocal", "abs", "exp", "log", "rsqrt", "tanh",
                           "sigmoid", "sin", "cos", "erf"}) {
    AddForeachOf(table, absl::StrCat("_foreach_", name), kAnyForm, "self", {"self"}, name);
  }
  for (const char* name : {"sign", "expm1", "log1p"}) {
    AddForeachOf(table, absl::StrCat("_foreach_", name), kAnyForm, "self", {"self"},
                 absl::StrCat("aten_", name));
  }
  for (const auto& [name, declared] :
       {std::pair("clamp_min", "maximum"), std::pair("clamp_max", "minimum"),
        std::pair("maximum", "maximum"), std::pair("minimum", "minimum")}) {
    const std::string foreach = absl::StrCat("_foreach_", name);
    AddForeachOf(table, foreach, "Scalar _.Scalar Scalar_out", "self scalar", {"self", "scalar"},
                 declared);
    AddForeachOf(table, foreach, "ScalarList _.ScalarList ScalarList_out", "self scalars",
                 {"self", "scalars"}, declared);
    AddForeachOf(table, foreach, "List _.List List_out", "self other", {"self", "other"}, declared);
  }
  table->Add("_foreach_copy", kAnyForm, "-self src", [](AtenCall& call) -> absl::Status {
    PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> sources, call.Tensors("src"));
    for (sdfg::TensorId source : sources) call.ReturnBroadcast(Argument::Of(source));
    return absl::OkStatus();
  });
  table->Add("_foreach_zero", kAnyForm, "self", [](AtenCall& call) -> absl::Status {
    for (size_t i = 0; i < call["self"].list.size(); ++i) {
      call.ReturnBroadcast(Argument::Number(0));
    }
    return absl::OkStatus();
  });
}

}  // namespace planproof::frontend::torch
