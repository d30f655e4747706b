// Rounding, and functions that are not made of exponentials and roots.
#include "frontend/torch/aten_uninterpreted.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_operators.h"
#include "sdfg/native_operators_data_index.h"
#include "sdfg/reinterpreted_bits.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// The shape to which all are broadcast; nothing if they do not fit.
std::optional<sdfg::Shape> CommonShape(const GraphWriter& writer,
                                       const std::vector<Argument>& operands) {
  sdfg::Shape common;
  for (const Argument& operand : operands) {
    if (operand.tensor == sdfg::kNone) continue;
    const sdfg::Shape& shape = writer.tensor(operand.tensor).shape;
    if (shape.size() > common.size())
      common.insert(common.begin(), shape.size() - common.size(), 1);
    for (size_t k = 0; k < shape.size(); ++k) {
      int64_t& extent = common[common.size() - shape.size() + k];
      if (extent != shape[k] && extent != 1 && shape[k] != 1) return std::nullopt;
      if (extent == 1) extent = shape[k];
    }
  }
  return common;
}

// An uninterpreted function, and what is assumed of it beside that it is one; empty: nothing.
struct NamedFunction {
  std::string name;
  std::string assumption;
};

// f of the operands, broadcast, in a type of real numbers or of integers.
absl::StatusOr<Argument> Emit(AtenCall* call, const NamedFunction& f,
                              const std::vector<Argument>& operands, sdfg::DType dtype) {
  GraphWriter& writer = call->writer();
  const std::optional<sdfg::Shape> shape = CommonShape(writer, operands);
  if (!shape) return call->NotDeclared(absl::StrCat(f.name, " of these operands"));
  std::vector<sdfg::TensorId> inputs;
  std::string key = absl::StrCat(f.name, " ", sdfg::DTypeName(dtype));
  for (const Argument& operand : operands) {
    if (operand.literal) {
      absl::StrAppend(&key, " ", operand.literal->ToString());
      continue;
    }
    inputs.push_back(operand.tensor);
    const sdfg::Tensor& tensor = writer.tensor(operand.tensor);
    absl::StrAppend(&key, " ", sdfg::DTypeName(tensor.dtype), "[", absl::StrJoin(tensor.shape, ","),
                    "]");
  }
  if (inputs.empty()) return call->NotDeclared(absl::StrCat(f.name, " of a constant"));
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    sdfg::IndexFunctionBuilder builder(f.name);
    for (const sdfg::TensorId input : inputs) {
      builder.AddInput("x", writer.tensor(input).shape, writer.tensor(input).dtype);
    }
    const int output = builder.AddOutput("y", *shape, dtype);
    std::vector<sdfg::ExprId> arguments;
    int input = 0;
    for (const Argument& operand : operands) {
      if (operand.literal) {
        arguments.push_back(builder.Real(*operand.literal));
        continue;
      }
      const sdfg::Shape& own = writer.tensor(operand.tensor).shape;
      std::vector<sdfg::ExprId> at;
      for (size_t k = 0; k < own.size(); ++k) {
        const sdfg::VarId var = builder.OutputDims(output)[shape->size() - own.size() + k];
        at.push_back(own[k] == 1 ? builder.Int(0) : builder.Index(var));
      }
      arguments.push_back(sdfg::ReadNumber(&builder, input++, at));
    }
    builder.SetBody(output, builder.Opaque(f.name, sdfg::IsInteger(dtype), -1, arguments));
    if (!f.assumption.empty()) builder.AddAssumption(f.assumption);
    return sdfg::Finish(&builder);
  };
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId y, writer.Emit(f.name, key, make, inputs));
  return Argument::Of(y);
}

// x rounded towards 0, from what rounds down.
absl::StatusOr<Argument> TruncationOf(AtenCall* call, const Argument& x, sdfg::DType dtype) {
  PLAN_ASSIGN_OR_RETURN(const Argument below, FloorOf(call, x, dtype));
  PLAN_ASSIGN_OR_RETURN(const Argument opposite, call->One("neg", {x}));
  PLAN_ASSIGN_OR_RETURN(Argument above, FloorOf(call, opposite, dtype));
  PLAN_ASSIGN_OR_RETURN(above, call->One("neg", {above}));
  PLAN_ASSIGN_OR_RETURN(const Argument negative, call->One("lt", {x, Argument::Number(0)}));
  return call->One("where", {negative, above, below});
}

absl::StatusOr<Argument> CeilingOf(AtenCall* call, const Argument& x, sdfg::DType dtype) {
  PLAN_ASSIGN_OR_RETURN(const Argument opposite, call->One("neg", {x}));
  PLAN_ASSIGN_OR_RETURN(const Argument below, FloorOf(call, opposite, dtype));
  return call->One("neg", {below});
}

// The operand as a tensor, and the type of the result; integers are rounded already.
absl::StatusOr<Argument> ToBeRounded(AtenCall* call, bool* rounded) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call->TensorOf("self"));
  *rounded = !sdfg::IsFloating(call->writer().tensor(x).dtype);
  return Argument::Of(x);
}

using Rounding = absl::StatusOr<Argument> (*)(AtenCall* call, const Argument& x, sdfg::DType dtype);

void AddRounding(AtenTable* table, const char* name, Rounding rounding) {
  table->Add(name, kAnyForm, "self", [rounding](AtenCall& call) -> absl::Status {
    bool rounded = false;
    PLAN_ASSIGN_OR_RETURN(Argument x, ToBeRounded(&call, &rounded));
    if (!rounded) {
      PLAN_ASSIGN_OR_RETURN(x, rounding(&call, x, call.target(0).dtype));
    }
    call.Return(std::move(x));
    return absl::OkStatus();
  });
}

absl::StatusOr<Argument> FractionOf(AtenCall* call, const Argument& x, sdfg::DType dtype) {
  PLAN_ASSIGN_OR_RETURN(const Argument whole, TruncationOf(call, x, dtype));
  return call->One("sub", {x, whole});
}

// To the nearest whole number, of two to the even one; with decimals another function.
absl::Status Round(AtenCall& call) {
  bool rounded = false;
  PLAN_ASSIGN_OR_RETURN(Argument x, ToBeRounded(&call, &rounded));
  PLAN_ASSIGN_OR_RETURN(const int64_t decimals, call.Integer("decimals", 0));
  if (rounded && decimals < 0) return call.NotDeclared("rounding of integers to decimals");
  if (!rounded) {
    PLAN_ASSIGN_OR_RETURN(x, Uninterpreted(&call, absl::StrCat("round(decimals=", decimals, ")"),
                                           {x}, call.target(0).dtype));
  }
  call.Return(std::move(x));
  return absl::OkStatus();
}

// x - y trunc(x / y) of real numbers.
absl::Status RemainderTowardsZero(AtenCall& call) {
  const sdfg::DType dtype = call.target(0).dtype;
  if (!sdfg::IsFloating(dtype)) return call.NotDeclared("a remainder of integers towards 0");
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument y, call.Operand("other"));
  PLAN_ASSIGN_OR_RETURN(Argument whole, RoundedQuotient(&call, x, y, dtype, true));
  PLAN_ASSIGN_OR_RETURN(whole, call.One("mul", {whole, y}));
  PLAN_ASSIGN_OR_RETURN(Argument rest, call.One("sub", {x, whole}));
  call.Return(std::move(rest));
  return absl::OkStatus();
}

// The bits of the elements, read as numbers of another type.
absl::Status BitsAnew(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId self, call.TensorOf("self"));
  const sdfg::Reinterpretation bits = {call.writer().tensor(self).dtype, call.target(0).dtype};
  if (bits.of == bits.as) {
    call.Return(Argument::Of(self));
    return absl::OkStatus();
  }
  if (!sdfg::HasMeaning(bits)) {
    return call.NotDeclared(absl::StrCat("reading the bits of ", sdfg::DTypeName(bits.of), " as ",
                                         sdfg::DTypeName(bits.as)));
  }
  const NamedFunction f = {sdfg::FunctionName(bits),
                           "bits that are read as another type are those of exact numbers, a zero "
                           "among them without sign"};
  PLAN_ASSIGN_OR_RETURN(Argument read, Emit(&call, f, {Argument::Of(self)}, bits.as));
  call.Return(std::move(read));
  return absl::OkStatus();
}

void AddUninterpretedOf(AtenTable* table, const char* name, const char* forms,
                        const char* parameters, const std::vector<std::string>& operands) {
  const std::string function = name;
  table->Add(name, forms, parameters, [function, operands](AtenCall& call) -> absl::Status {
    std::vector<Argument> arguments;
    for (const std::string& operand : operands) {
      PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId tensor, call.TensorOf(operand));
      arguments.push_back(Argument::Of(tensor));
    }
    PLAN_ASSIGN_OR_RETURN(Argument y,
                          Uninterpreted(&call, function, arguments, call.target(0).dtype));
    call.Return(std::move(y));
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<Argument> Uninterpreted(AtenCall* call, const std::string& function,
                                       const std::vector<Argument>& operands, sdfg::DType dtype) {
  if (!sdfg::IsFloating(dtype)) {
    return call->NotDeclared(absl::StrCat(function, " of these operands"));
  }
  return Emit(call, {function, ""}, operands, dtype);
}

absl::StatusOr<Argument> FloorOf(AtenCall* call, const Argument& x, sdfg::DType dtype) {
  if (!x.literal) return Uninterpreted(call, "floor", {x}, dtype);
  const std::optional<KnownNumber> truncated = InType(x.number(), sdfg::DType::kInt64);
  if (!truncated || x.error > 0) return call->NotDeclared("a rounded number rounded down");
  const bool above = *x.literal < truncated->value;
  return Argument::Number(above ? truncated->value - solver::Rational(1) : truncated->value);
}

absl::StatusOr<Argument> RoundedQuotient(AtenCall* call, const Argument& x, const Argument& y,
                                         sdfg::DType dtype, bool towards_zero) {
  if (x.tensor == sdfg::kNone && y.tensor == sdfg::kNone) {
    return call->NotDeclared("a rounded quotient of constants");
  }
  PLAN_ASSIGN_OR_RETURN(const Argument quotient, call->One("div", {x, y}));
  return towards_zero ? TruncationOf(call, quotient, dtype) : FloorOf(call, quotient, dtype);
}

void AddUninterpreted(AtenTable* table) {
  AddRounding(table, "floor", FloorOf);
  AddRounding(table, "ceil", CeilingOf);
  AddRounding(table, "trunc", TruncationOf);
  AddRounding(table, "frac", FractionOf);
  table->Add("view_copy", "dtype dtype_out", "self -dtype", BitsAnew);
  table->Add("round", "default _.default out decimals _.decimals decimals_out", "self decimals",
             Round);
  table->Add("fmod", "Tensor Scalar _.Tensor _.Scalar Tensor_out Scalar_out", "self other",
             RemainderTowardsZero);
  for (const char* name : {"asin", "acos", "atan", "lgamma", "sinc"}) {
    AddUninterpretedOf(table, name, kAnyForm, "self", {"self"});
  }
  AddUninterpretedOf(table, "atan2", kAnyForm, "self other", {"self", "other"});
}

}  // namespace planproof::frontend::torch
