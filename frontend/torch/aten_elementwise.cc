// Elementwise operators, and lists of them (foreach).
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/torch/aten_integers.h"
#include "frontend/torch/aten_operators.h"
#include "frontend/torch/rounded_number.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// One number that is known beforehand stays one: Adam's step counter.
std::optional<solver::Rational> Folded(const std::string& declared, const Argument& x,
                                       const Argument& y, const solver::Rational& alpha) {
  if (!x.literal || !y.literal) return std::nullopt;
  if (declared == "add") return *x.literal + alpha * *y.literal;
  if (declared == "sub") return *x.literal - alpha * *y.literal;
  if (declared == "mul") return *x.literal * *y.literal;
  if (declared == "div" && !y.literal->IsZero()) return *x.literal / *y.literal;
  return std::nullopt;
}

// A factor or divisor that is a root to the nearest double, as that root: a tensor of one element;
// one that is the inverse of a whole number, as that inverse.
absl::StatusOr<Argument> AsMeant(AtenCall* call, const Argument& number, sdfg::DType dtype) {
  if (!number.literal || sdfg::IsInteger(dtype)) return number;
  if (const std::optional<int64_t> denominator = DenominatorOf(*number.literal)) {
    call->writer().Assume(absl::StrCat("the number ",
                                       absl::StrFormat("%.17g", number.literal->ToDouble()),
                                       " stands for 1 / ", *denominator));
    return Argument::Number(solver::Rational(1, *denominator));
  }
  const std::optional<int64_t> radicand = RadicandOf(*number.literal);
  if (!radicand) return number;
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId filled, call->writer().Fill({}, dtype, *radicand));
  call->writer().Assume(absl::StrCat("the number ",
                                     absl::StrFormat("%.17g", number.literal->ToDouble()),
                                     " stands for the root of ", *radicand));
  return call->One("sqrt", {Argument::Of(filled)});
}

// x op y of two arguments; `alpha` multiplies the second of sums and differences.
absl::StatusOr<Argument> Binary(AtenCall* call, const std::string& declared, const Argument& x,
                                const Argument& y, const solver::Rational& alpha) {
  if (auto folded = Folded(declared, x, y, alpha); folded) {
    return Argument::Number(*std::move(folded));
  }
  sdfg::Attributes attributes;
  if (!alpha.IsOne()) attributes["alpha"] = alpha;
  Argument left = x;
  if (left.literal && y.literal) {  // cannot be folded: as a tensor
    PLAN_ASSIGN_OR_RETURN(
        const sdfg::TensorId filled,
        call->writer().Fill(call->target(0).shape, call->target(0).dtype, *left.literal));
    left = Argument::Of(filled);
  }
  Argument right = y;
  if (left.tensor != sdfg::kNone && (declared == "mul" || declared == "div")) {
    PLAN_ASSIGN_OR_RETURN(right, AsMeant(call, y, call->writer().tensor(left.tensor).dtype));
  }
  return call->One(declared, {left, right}, attributes);
}

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

void AddComparison(AtenTable* table, const Comparison& comparison) {
  table->Add(comparison.name, "self other", [comparison](AtenCall& call) -> absl::Status {
    const std::string op = comparison.name;
    PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
    const Value& other = call["other"];
    if (other.kind == Value::Kind::kInfinite && other.infinity >= 0 && x.tensor != sdfg::kNone) {
      if (other.infinity > 0) return OfRealNumber(call, x, comparison.below_infinity);
      call.Return(Argument::Number(op == "ne"));  // whatever is compared with what is no number
      return absl::OkStatus();
    }
    PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("other"));
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

void AddBinary(AtenTable* table, const char* name, const char* declared) {
  const std::string op = declared;
  table->Add(name, "self other alpha rounding_mode", [op](AtenCall& call) -> absl::Status {
    if (call.Has("rounding_mode")) return call.NotDeclared("division that rounds");
    PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
    PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("other"));
    PLAN_ASSIGN_OR_RETURN(const solver::Rational alpha, call.Real("alpha", 1));
    PLAN_ASSIGN_OR_RETURN(std::optional<Argument> result, OfIntegers(&call, op, x, y, alpha));
    if (!result) {
      PLAN_ASSIGN_OR_RETURN(result, Binary(&call, op, x, y, alpha));
    }
    call.Return(*std::move(result));
    return absl::OkStatus();
  });
}

absl::Status Where(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument condition, call.Operand("condition"));
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("other"));
  PLAN_ASSIGN_OR_RETURN(Argument chosen, Chosen(&call, condition, x, y));
  call.Return(std::move(chosen));
  return absl::OkStatus();
}

absl::Status MaskedFill(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument mask, call.Operand("mask"));
  PLAN_ASSIGN_OR_RETURN(const Argument value, call.Operand("value"));
  PLAN_ASSIGN_OR_RETURN(Argument filled, Chosen(&call, mask, value, x));
  call.Return(std::move(filled));
  return absl::OkStatus();
}

absl::Status Clamp(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(Argument x, call.Operand("self"));
  for (const auto& [bound, declared] :
       {std::make_pair("min", "maximum"), std::make_pair("max", "minimum")}) {
    if (!call.Has(bound)) continue;
    PLAN_ASSIGN_OR_RETURN(const Argument other, call.Operand(bound));
    if (x.literal && other.literal) {
      const bool less = *x.literal < *other.literal;
      if (less == (std::string_view(bound) == "min")) x = other;
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
  if (!exponent.literal) return call.NotDeclared("a power whose exponent is no constant");
  if (x.literal) return call.NotDeclared("a power of a constant");
  PLAN_ASSIGN_OR_RETURN(Argument y, call.One("pow", {x, exponent}));
  call.Return(std::move(y));
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

// `operands` are lists, of one length, or one for all. So is `factor`, the last operand, which is 1
// if it is left out; `alpha` is a number.
void AddForeachOf(AtenTable* table, const char* name, const char* parameters,
                  const std::vector<std::string>& operands, const std::string& declared,
                  const std::string& factor = "", const std::string& alpha_name = "") {
  table->Add(name, parameters, [=](AtenCall& call) -> absl::Status {
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
      }
      solver::Rational alpha = 1;
      if (!alpha_name.empty()) {
        PLAN_ASSIGN_OR_RETURN(alpha, call.Real(alpha_name, 1));
      }
      if (arguments.size() == 2) {
        PLAN_ASSIGN_OR_RETURN(Argument result,
                              Binary(&call, declared, arguments[0], arguments[1], alpha));
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

absl::Status ForeachNorm(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const solver::Rational order, call.Real("ord", 2));
  if (!(order == solver::Rational(2))) return call.NotDeclared("a norm other than the second");
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> tensors, call.Tensors("self"));
  for (sdfg::TensorId tensor : tensors) {
    PLAN_ASSIGN_OR_RETURN(const Argument squares, call.One("grad_norm", {Argument::Of(tensor)}));
    PLAN_ASSIGN_OR_RETURN(Argument norm, call.One("sqrt", {squares}));
    call.Return(std::move(norm));
  }
  return absl::OkStatus();
}

}  // namespace

void AddElementwise(AtenTable* table) {
  for (const char* name : {"add", "sub", "mul", "div"}) AddBinary(table, name, name);
  table->Add("rsub", "self other alpha", [](AtenCall& call) -> absl::Status {
    PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
    PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("other"));
    PLAN_ASSIGN_OR_RETURN(const solver::Rational alpha, call.Real("alpha", 1));
    PLAN_ASSIGN_OR_RETURN(Argument result, Binary(&call, "sub", y, x, alpha));
    call.Return(std::move(result));
    return absl::OkStatus();
  });
  for (const char* name : {"neg", "sqrt", "rsqrt", "reciprocal", "exp", "log", "sin", "cos", "erf",
                           "tanh", "sigmoid", "silu", "relu", "abs"}) {
    table->Declared(name, "self", name);
  }
  table->Declared("gelu", "self *approximate", "gelu");
  table->Declared("expm1", "self", "aten_expm1");
  table->Declared("log1p", "self", "aten_log1p");
  table->Declared("sign sgn", "self", "aten_sign");
  table->Declared("softplus", "self *beta *threshold", "aten_softplus");
  table->Declared("softplus_backward", "grad_output self *beta *threshold",
                  "aten_softplus_backward");
  table->Declared("maximum", "self other", "maximum");
  table->Declared("minimum", "self other", "minimum");
  for (const Comparison& comparison :
       {Comparison{"lt", true, false}, Comparison{"le", true, true}, Comparison{"gt", false, false},
        Comparison{"ge", false, true}, Comparison{"eq", false, true},
        Comparison{"ne", true, false}}) {
    AddComparison(table, comparison);
  }
  table->Declared("_conj_physical conj_physical", "self", "aten_conj_physical");
  table->Add("where", "condition self other", Where);
  table->Declared("logical_not bitwise_not", "self", "aten_logical_not");
  table->Declared("logical_and bitwise_and __and__", "self other", "aten_logical_and");
  table->Declared("logical_or bitwise_or __or__", "self other", "aten_logical_or");
  table->Declared("isnan isinf", "self", "aten_not_real");
  table->Add("masked_fill", "self mask value", MaskedFill);
  AddForeachOf(table, "addcmul", "self tensor1 tensor2 value", {"self", "tensor1", "tensor2"},
               "aten_addcmul", "value");
  AddForeachOf(table, "addcdiv", "self tensor1 tensor2 value", {"self", "tensor1", "tensor2"},
               "aten_addcdiv", "value");
  table->Declared("lerp", "self end weight", "aten_lerp");
  table->Declared("tanh_backward", "grad_output output", "aten_tanh_backward");
  table->Declared("sigmoid_backward", "grad_output output", "aten_sigmoid_backward");
  table->Declared("threshold_backward", "grad_output self *threshold", "aten_threshold_backward");
  table->Declared("silu_backward", "grad_output self", "aten_silu_backward");
  table->Declared("gelu_backward", "grad_output self *approximate", "aten_gelu_backward");
  table->Add("clamp", "self min max", Clamp);
  table->Add("clamp_min", "self min", Clamp);
  table->Add("clamp_max", "self max", Clamp);
  table->Add("pow", "self exponent", Power);
}

void AddForeach(AtenTable* table) {
  for (const char* name : {"add", "sub", "mul", "div"}) {
    AddForeachOf(table, absl::StrCat("_foreach_", name).c_str(), "self other alpha",
                 {"self", "other"}, name, "", "alpha");
  }
  AddForeachOf(table, "_foreach_lerp", "self tensors1 weight", {"self", "tensors1", "weight"},
               "aten_lerp");
  AddForeachOf(table, "_foreach_addcmul", "self tensor1 tensor2 value",
               {"self", "tensor1", "tensor2"}, "aten_addcmul", "value");
  AddForeachOf(table, "_foreach_addcdiv", "self tensor1 tensor2 value",
               {"self", "tensor1", "tensor2"}, "aten_addcdiv", "value");
  AddForeachOf(table, "_foreach_pow", "self exponent", {"self", "exponent"}, "pow");
  for (const char* name : {"sqrt", "neg", "reciprocal"}) {
    AddForeachOf(table, absl::StrCat("_foreach_", name).c_str(), "self", {"self"}, name);
  }
  table->Add("_foreach_norm", "self ord dtype", ForeachNorm);
  table->Add("_foreach_copy", "self src", [](AtenCall& call) -> absl::Status {
    PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> sources, call.Tensors("src"));
    for (sdfg::TensorId source : sources) call.Return(Argument::Of(source));
    return absl::OkStatus();
  });
  table->Add("_foreach_zero", "self", [](AtenCall& call) -> absl::Status {
    for (size_t i = 0; i < call["self"].list.size(); ++i) call.Return(Argument::Number(0));
    return absl::OkStatus();
  });
}

}  // namespace planproof::frontend::torch
