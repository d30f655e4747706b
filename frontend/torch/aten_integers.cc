#include "frontend/torch/aten_integers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sdfg/native_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

bool IsWide(sdfg::DType dtype) {
  return dtype == sdfg::DType::kInt64 || dtype == sdfg::DType::kInt32;
}

// The number, or the type of the tensor, is an integer.
bool IsWhole(const GraphWriter& writer, const Argument& argument, int64_t* number) {
  if (argument.literal) return argument.literal->ToInt64(number);
  return argument.tensor != sdfg::kNone && IsWide(writer.tensor(argument.tensor).dtype);
}

// Index of a tensor of this shape that is broadcast to the output.
std::vector<sdfg::ExprId> Broadcast(sdfg::IndexFunctionBuilder* builder, const sdfg::Shape& shape,
                                    const std::vector<sdfg::ExprId>& output) {
  std::vector<sdfg::ExprId> at;
  for (size_t k = 0; k < shape.size(); ++k) {
    at.push_back(shape[k] == 1 ? builder->Int(0) : output[output.size() - shape.size() + k]);
  }
  return at;
}

}  // namespace

// x op c of an integer tensor and an integer, in integers: so the number may depend on the rank in
// a folded plan, and is compared with indices. The operators are sums, comparisons and limits.
// Nothing if it is no such case.
absl::StatusOr<std::optional<Argument>> OfIntegers(AtenCall* call, const std::string& declared,
                                                   const Argument& x, const Argument& y,
                                                   const solver::Rational& alpha) {
  int64_t number = 0;
  if (x.tensor == sdfg::kNone || !y.literal || !(*y.literal * alpha).ToInt64(&number)) {
    return std::nullopt;
  }
  const sdfg::DType dtype = call->writer().tensor(x.tensor).dtype;
  const sdfg::Shape shape = call->writer().tensor(x.tensor).shape;
  const bool adds = declared == "add" || declared == "sub";
  const std::vector<std::string> comparisons = {"lt", "le", "gt", "ge", "eq", "ne"};
  const bool compares =
      std::find(comparisons.begin(), comparisons.end(), declared) != comparisons.end();
  const bool limits = declared == "maximum" || declared == "minimum";
  if (!IsWide(dtype) || !(adds || compares || limits)) return std::nullopt;
  if (!HoldsExactly(dtype, number)) {
    return call->NotDeclared(
        absl::StrCat("the number ", number, " beside ", sdfg::DTypeName(dtype)));
  }
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    using sdfg::Op;
    sdfg::IndexFunctionBuilder builder(declared);
    builder.AddInput("x", shape, dtype);
    const int output = builder.AddOutput("y", shape, compares ? sdfg::DType::kBool : dtype);
    std::vector<sdfg::ExprId> index;
    for (sdfg::VarId var : builder.OutputDims(output)) index.push_back(builder.Index(var));
    const sdfg::ExprId element = builder.IntElement(0, index);
    const sdfg::ExprId constant = builder.Int(declared == "sub" ? -number : number);
    if (adds) {
      builder.SetBody(output, builder.IntAdd(element, constant));
    } else if (limits) {
      const bool least = declared == "maximum";
      const sdfg::ExprId beyond = least ? builder.Binary(Op::kIntLess, element, constant)
                                        : builder.Binary(Op::kIntLess, constant, element);
      builder.SetBody(output, builder.Select(beyond, constant, element));
    } else {
      const bool turned = declared == "gt" || declared == "ge";
      const Op op = declared == "lt" || declared == "gt"   ? Op::kIntLess
                    : declared == "le" || declared == "ge" ? Op::kIntLessEq
                                                           : Op::kIntEq;
      sdfg::ExprId holds =
          turned ? builder.Binary(op, constant, element) : builder.Binary(op, element, constant);
      if (declared == "ne") holds = builder.Unary(Op::kNot, holds);
      builder.SetBody(output, builder.Unary(Op::kIndicator, holds));
    }
    return sdfg::Finish(&builder);
  };
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::TensorId result,
      call->writer().Emit(declared,
                          absl::StrCat("integer ", declared, " ", number, " ",
                                       sdfg::DTypeName(dtype), "[", absl::StrJoin(shape, ","), "]"),
                          make, {x.tensor}));
  return Argument::Of(result);
}

absl::StatusOr<Argument> Divided(AtenCall* call, sdfg::TensorId x, int64_t divisor, bool remains) {
  const sdfg::DType dtype = call->writer().tensor(x).dtype;
  const sdfg::Shape shape = call->writer().tensor(x).shape;
  const std::string name = remains ? "remainder" : "floor_divide";
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    sdfg::IndexFunctionBuilder builder(name);
    builder.AddInput("x", shape, dtype);
    const int output = builder.AddOutput("y", shape, dtype);
    std::vector<sdfg::ExprId> index;
    for (sdfg::VarId var : builder.OutputDims(output)) index.push_back(builder.Index(var));
    const sdfg::ExprId element = builder.IntElement(0, index);
    builder.SetBody(output,
                    remains ? builder.IntMod(element, divisor) : builder.IntDiv(element, divisor));
    return sdfg::Finish(&builder);
  };
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::TensorId result,
      call->writer().Emit(name,
                          absl::StrCat("integer ", name, " ", divisor, " ", sdfg::DTypeName(dtype),
                                       "[", absl::StrJoin(shape, ","), "]"),
                          make, {x}));
  return Argument::Of(result);
}

absl::StatusOr<Argument> Chosen(AtenCall* call, const Argument& condition, const Argument& x,
                                const Argument& y) {
  GraphWriter& writer = call->writer();
  int64_t numbers[2] = {0, 0};
  const bool whole = condition.tensor != sdfg::kNone && IsWhole(writer, x, &numbers[0]) &&
                     IsWhole(writer, y, &numbers[1]) &&
                     (x.tensor != sdfg::kNone || y.tensor != sdfg::kNone);
  if (!whole) return call->One("where", {condition, x, y});
  const sdfg::DType dtype = writer.tensor(x.tensor != sdfg::kNone ? x.tensor : y.tensor).dtype;
  std::vector<sdfg::TensorId> inputs = {condition.tensor};
  std::string key = absl::StrCat("choice ", sdfg::DTypeName(dtype));
  sdfg::Shape out;
  for (const Argument* argument : {&condition, &x, &y}) {
    if (argument->tensor == sdfg::kNone) {
      absl::StrAppend(&key, " ", argument->literal->ToString());
      continue;
    }
    if (argument != &condition) inputs.push_back(argument->tensor);
    const sdfg::Tensor& tensor = writer.tensor(argument->tensor);
    absl::StrAppend(&key, " ", sdfg::DTypeName(tensor.dtype), "[", absl::StrJoin(tensor.shape, ","),
                    "]");
    if (tensor.shape.size() > out.size()) {
      out.insert(out.begin(), tensor.shape.size() - out.size(), 1);
    }
    for (size_t k = 0; k < tensor.shape.size(); ++k) {
      int64_t& extent = out[out.size() - tensor.shape.size() + k];
      if (extent == 1) extent = tensor.shape[k];
      if (tensor.shape[k] != 1 && tensor.shape[k] != extent) {
        return call->NotDeclared("a choice of tensors whose shapes do not fit");
      }
    }
  }
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    sdfg::IndexFunctionBuilder builder("where");
    for (sdfg::TensorId input : inputs) {
      builder.AddInput("x", writer.tensor(input).shape, writer.tensor(input).dtype);
    }
    const int output = builder.AddOutput("y", out, dtype);
    std::vector<sdfg::ExprId> index;
    for (sdfg::VarId var : builder.OutputDims(output)) index.push_back(builder.Index(var));
    const sdfg::ExprId holds = builder.Unary(
        sdfg::Op::kNonzero,
        sdfg::ReadElement(&builder, 0, Broadcast(&builder, writer.tensor(inputs[0]).shape, index)));
    std::vector<sdfg::ExprId> branches;
    int input = 1;
    for (const auto& [argument, number] : {std::pair(&x, numbers[0]), std::pair(&y, numbers[1])}) {
      if (argument->tensor == sdfg::kNone) {
        branches.push_back(builder.Int(number));
        continue;
      }
      branches.push_back(builder.IntElement(
          input++, Broadcast(&builder, writer.tensor(argument->tensor).shape, index)));
    }
    builder.SetBody(output, builder.Select(holds, branches[0], branches[1]));
    return sdfg::Finish(&builder);
  };
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId chosen, writer.Emit("where", key, make, inputs));
  return Argument::Of(chosen);
}

}  // namespace planproof::frontend::torch
