#include "frontend/torch/python_numbers.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/python_functions.h"
#include "frontend/torch/rounded_number.h"
#include "sdfg/native_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

using solver::Rational;

// As Python has it, which computes in doubles. Nothing where that is no finite number.
std::optional<Rational> FoldedNumber(const std::string& operation, double x, double y) {
  const double value = operation == "add"   ? x + y
                       : operation == "sub" ? x - y
                       : operation == "mul" ? x * y
                       : operation == "div" ? x / y
                       : operation == "pow" ? std::pow(x, y)
                                            : -x;
  if (!std::isfinite(value)) return std::nullopt;
  return Rational::FromDouble(value);
}

// Functions that are folded: whatever else a library computes is not known to the last bit.
std::optional<Rational> FoldedCall(const std::string& function,
                                   const std::vector<Argument>& operands) {
  static constexpr const char* kFolded[] = {"int", "floor",    "ceil", "round",
                                            "abs", "floordiv", "mod"};
  if (std::find(std::begin(kFolded), std::end(kFolded), function) == std::end(kFolded))
    return std::nullopt;
  std::vector<double> numbers;
  for (const Argument& operand : operands) numbers.push_back(operand.literal->ToDouble());
  const std::optional<PythonNumber> number = PythonFunction(function, numbers);
  if (!number) return std::nullopt;
  return Rational::FromDouble(number->value);
}

absl::StatusOr<Argument> PowerOf(GraphWriter* writer, const Argument& base,
                                 const Argument& exponent) {
  if (exponent.literal) {
    PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> out,
                          writer->Apply("pow", {base, MeantExponent(writer, *exponent.literal)}));
    return Argument::Of(out[0]);
  }
  if (!base.literal) {
    return absl::UnimplementedError(
        absl::StrCat(writer->Place(),
                     ": a power of two numbers that come from tensors has no declared meaning"));
  }
  const sdfg::Shape shape = writer->tensor(exponent.tensor).shape;
  const sdfg::DType dtype = writer->tensor(exponent.tensor).dtype;
  if (base.literal->Sign() <= 0) {
    return absl::UnimplementedError(absl::StrCat(
        writer->Place(), ": a power of a number that is not positive has no declared meaning"));
  }
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    sdfg::IndexFunctionBuilder builder("pow");
    const int input = builder.AddInput("exponent", shape, dtype);
    const int output =
        builder.AddOutput("y", shape, sdfg::IsInteger(dtype) ? sdfg::DType::kFloat32 : dtype);
    std::vector<sdfg::ExprId> index;
    for (sdfg::VarId var : builder.OutputDims(output)) index.push_back(builder.Index(var));
    const sdfg::ExprId element =
        sdfg::IsInteger(dtype)
            ? builder.Unary(sdfg::Op::kPosition, builder.IntElement(input, index))
            : builder.Element(input, index);
    const sdfg::ExprId log = builder.Unary(sdfg::Op::kLog, builder.Real(*base.literal));
    builder.SetBody(output,
                    builder.Unary(sdfg::Op::kExp, builder.Binary(sdfg::Op::kMul, element, log)));
    sdfg::IndexFunction function;
    PLAN_RETURN_IF_ERROR(builder.Finish(&function));
    return function;
  };
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::TensorId power,
      writer->Emit("pow",
                   absl::StrCat("power of ", base.literal->ToString(), " ", sdfg::DTypeName(dtype),
                                "[", absl::StrJoin(shape, ","), "]"),
                   make, {exponent.tensor}));
  return Argument::Of(power);
}

// Whether Python has these numbers, to the last bit.
bool AreExact(const std::vector<Argument>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](const Argument& number) {
    return number.error == 0 && HoldsExactly(sdfg::DType::kFloat64, *number.literal);
  });
}

}  // namespace

Argument MeantExponent(GraphWriter* writer, const Rational& exponent) {
  std::optional<Rational> meant = QuotientOf(exponent);
  if (!meant) meant = DecimalOf(exponent);
  if (!meant) meant = DecimalLessOneOf(exponent);
  return meant ? writer->Meant(exponent, *meant) : Argument::Number(exponent);
}

absl::StatusOr<Argument> ComputeNumber(GraphWriter* writer, const std::string& operation,
                                       const std::vector<Argument>& operands) {
  bool known = true;
  for (const Argument& operand : operands) known = known && operand.literal.has_value();
  if (known) {
    const double x = operands[0].literal->ToDouble();
    const double y = operands.size() > 1 ? operands[1].literal->ToDouble() : 0;
    if (std::optional<Rational> folded = FoldedNumber(operation, x, y); folded) {
      // What lay by an error beside its operands may lie anywhere.
      const double error = AreExact(operands) ? 0 : std::numeric_limits<double>::infinity();
      return Argument::Number(KnownNumber{*std::move(folded), sdfg::DType::kUnknown, error});
    }
    return absl::InvalidArgumentError(
        absl::StrCat(writer->Place(), ": a number that Python computed is not finite"));
  }
  if (operation == "pow") return PowerOf(writer, operands[0], operands[1]);
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> out, writer->Apply(operation, operands));
  return Argument::Of(out[0]);
}

absl::StatusOr<Argument> CallOnNumbers(GraphWriter* writer, const std::string& function,
                                       const std::vector<Argument>& operands) {
  std::vector<sdfg::TensorId> inputs;
  std::string key = absl::StrCat("call of ", function);
  sdfg::DType type = sdfg::DType::kFloat32;
  for (const Argument& operand : operands) {
    if (operand.literal) {
      absl::StrAppend(&key, " ", operand.literal->ToString());
      continue;
    }
    inputs.push_back(operand.tensor);
    const sdfg::Tensor& tensor = writer->tensor(operand.tensor);
    if (!tensor.shape.empty()) {
      PLAN_ASSIGN_OR_RETURN(inputs.back(), writer->Reshape(operand.tensor, {}));
    }
    absl::StrAppend(&key, " ", sdfg::DTypeName(tensor.dtype));
    if (!sdfg::IsInteger(tensor.dtype)) type = tensor.dtype;
  }
  if (inputs.empty()) {
    std::optional<Rational> folded = FoldedCall(function, operands);
    // Of a number that is rounded, rounding may decide what the function gives.
    if (folded && AreExact(operands)) return Argument::Number(*std::move(folded));
    return absl::UnimplementedError(absl::StrCat(writer->Place(), ": the number that ", function,
                                                 "() gives of a constant is not known"));
  }
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    sdfg::IndexFunctionBuilder builder("call");
    std::vector<sdfg::ExprId> arguments;
    int32_t input = 0;
    for (const Argument& operand : operands) {
      if (operand.literal) {
        arguments.push_back(builder.Real(*operand.literal));
        continue;
      }
      const sdfg::DType dtype = writer->tensor(inputs[input]).dtype;
      builder.AddInput(absl::StrCat("x", input), sdfg::Shape(), dtype);
      arguments.push_back(sdfg::IsInteger(dtype)
                              ? builder.Unary(sdfg::Op::kPosition, builder.IntElement(input, {}))
                              : builder.Element(input, {}));
      ++input;
    }
    const int output = builder.AddOutput("y", sdfg::Shape(), type);
    builder.SetBody(output,
                    builder.Opaque(absl::StrCat("python_", function), false, -1, arguments));
    return sdfg::Finish(&builder);
  };
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId result, writer->Emit(function, key, make, inputs));
  return Argument::Of(result);
}

}  // namespace planproof::frontend::torch
