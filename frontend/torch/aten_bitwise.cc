// Operators on the bits of integers, which are those of logic where elements are truth values.
//
// Integers are two's complements. The bits from a to b of x are (x div 2^a) mod 2^(b - a), rounded
// down, also of negative numbers: so `and` with a known number is a sum over its runs of ones. Of
// two tensors the bits are added up one by one.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_operators.h"
#include "sdfg/native_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::ExprId;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;

enum class Bitwise : uint8_t { kAnd, kOr, kXor };

// Bits besides the sign: ids and counts fit into 32 bits.
constexpr int kBits = 31;

sdfg::DType TypeOf(AtenCall* call, const Argument& argument) {
  return argument.tensor == sdfg::kNone ? argument.type
                                        : call->writer().tensor(argument.tensor).dtype;
}

// x and mask, for a mask that is not negative.
ExprId AndMask(IndexFunctionBuilder* builder, ExprId x, int64_t mask) {
  ExprId sum = builder->Int(0);
  for (int low = 0; low < 62;) {
    if ((mask >> low & 1) == 0) {
      ++low;
      continue;
    }
    int high = low;
    while (mask >> high & 1) ++high;
    const ExprId shifted = low == 0 ? x : builder->IntDiv(x, int64_t{1} << low);
    const ExprId run = builder->IntMod(shifted, int64_t{1} << (high - low));
    sum = builder->IntAdd(sum, builder->IntScale(int64_t{1} << low, run));
    low = high;
  }
  return sum;
}

ExprId IsOne(IndexFunctionBuilder* builder, ExprId x, int bit) {
  const ExprId shifted = bit == 0 ? x : builder->IntDiv(x, int64_t{1} << bit);
  return builder->Binary(Op::kIntEq, builder->IntMod(shifted, 2), builder->Int(1));
}

// x and y, of 32 bits: the last one counts negative.
ExprId And(IndexFunctionBuilder* builder, ExprId x, ExprId y) {
  ExprId sum = builder->Int(0);
  for (int bit = 0; bit <= kBits; ++bit) {
    const ExprId both =
        bit < kBits ? builder->Binary(Op::kAnd, IsOne(builder, x, bit), IsOne(builder, y, bit))
                    : builder->Binary(Op::kAnd, builder->Binary(Op::kIntLess, x, builder->Int(0)),
                                      builder->Binary(Op::kIntLess, y, builder->Int(0)));
    const int64_t weight = bit < kBits ? int64_t{1} << bit : -(int64_t{1} << kBits);
    sum = builder->IntAdd(sum, builder->Select(both, builder->Int(weight), builder->Int(0)));
  }
  return sum;
}

// x or y is x + y less what they have in common, which `xor` has in neither.
ExprId FromAnd(IndexFunctionBuilder* builder, Bitwise op, ExprId x, ExprId y, ExprId both) {
  if (op == Bitwise::kAnd) return both;
  return builder->IntAdd(builder->IntAdd(x, y),
                         builder->IntScale(op == Bitwise::kOr ? -1 : -2, both));
}

int64_t Of(Bitwise op, int64_t x, int64_t y) {
  return op == Bitwise::kAnd ? (x & y) : op == Bitwise::kOr ? (x | y) : (x ^ y);
}

// The operands are integers of the type of the result; one of them is a tensor.
absl::StatusOr<Argument> OfWholeNumbers(AtenCall* call, Bitwise op, Argument x, Argument y) {
  if (x.tensor == sdfg::kNone) std::swap(x, y);
  const sdfg::DType dtype = call->target(0).dtype;
  int64_t mask = 0;
  if (y.literal && (!y.literal->ToInt64(&mask) || mask < 0 || mask >= int64_t{1} << 62)) {
    return call->NotDeclared("the bits of this number");
  }
  GraphWriter& writer = call->writer();
  sdfg::Shape shape = writer.tensor(x.tensor).shape;
  std::vector<sdfg::TensorId> inputs = {x.tensor};
  if (!y.literal) {
    shape = call->target(0).shape;
    PLAN_ASSIGN_OR_RETURN(inputs[0], call->Broadcast(x.tensor, shape));
    PLAN_ASSIGN_OR_RETURN(inputs.emplace_back(), call->Broadcast(y.tensor, shape));
  }
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    IndexFunctionBuilder builder("bitwise");
    for (size_t i = 0; i < inputs.size(); ++i) builder.AddInput("x", shape, dtype);
    const int output = builder.AddOutput("y", shape, dtype);
    std::vector<ExprId> index;
    for (sdfg::VarId var : builder.OutputDims(output)) index.push_back(builder.Index(var));
    const ExprId left = builder.IntElement(0, index);
    if (inputs.size() == 1) {
      builder.SetBody(
          output, FromAnd(&builder, op, left, builder.Int(mask), AndMask(&builder, left, mask)));
    } else {
      const ExprId right = builder.IntElement(1, index);
      builder.SetBody(output, FromAnd(&builder, op, left, right, And(&builder, left, right)));
      builder.AddAssumption(
          "integers of two tensors that are combined bit by bit fit into 32 bits");
    }
    return sdfg::Finish(&builder);
  };
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::TensorId result,
      writer.Emit("bitwise",
                  absl::StrCat("bitwise ", static_cast<int>(op), " ", inputs.size(), " ", mask, " ",
                               sdfg::DTypeName(dtype), "[", absl::StrJoin(shape, ","), "]"),
                  make, inputs));
  return Argument::Of(result);
}

// The type in which is computed is that of the result; a truth value beside an integer is 0 or 1.
absl::Status TwoOperands(AtenCall& call, Bitwise op) {
  PLAN_ASSIGN_OR_RETURN(Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(Argument y, call.Operand("other"));
  const sdfg::DType dtype = call.target(0).dtype;
  if (sdfg::IsFloating(dtype)) return call.NotDeclared("bits as a real number");
  for (const Argument* operand : {&x, &y}) {
    const sdfg::DType type = TypeOf(&call, *operand);
    if (type == sdfg::DType::kBool || (sdfg::IsInteger(type) && dtype != sdfg::DType::kBool)) {
      continue;
    }
    return call.NotDeclared("bits of this type");
  }
  PLAN_ASSIGN_OR_RETURN(x, call.InType(x, dtype));
  PLAN_ASSIGN_OR_RETURN(y, call.InType(y, dtype));
  int64_t left = 0, right = 0;
  if (x.literal && y.literal && x.literal->ToInt64(&left) && y.literal->ToInt64(&right)) {
    call.Return(Argument::Number(KnownNumber{Of(op, left, right), dtype, 0}));
    return absl::OkStatus();
  }
  Argument result;
  if (dtype == sdfg::DType::kBool) {
    if (x.literal) std::swap(x, y);
    const char* const logical = op == Bitwise::kAnd  ? "aten_logical_and"
                                : op == Bitwise::kOr ? "aten_logical_or"
                                                     : "ne";
    PLAN_ASSIGN_OR_RETURN(result, call.One(logical, {x, y}));
  } else {
    PLAN_ASSIGN_OR_RETURN(result, OfWholeNumbers(&call, op, x, y));
  }
  call.Return(std::move(result));
  return absl::OkStatus();
}

// -1 - x; of a type without signs 2^8 - 1 - x.
absl::Status Not(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  const sdfg::DType dtype = TypeOf(&call, x);
  if (dtype == sdfg::DType::kBool) {
    PLAN_ASSIGN_OR_RETURN(Argument result, call.One("aten_logical_not", {x}));
    call.Return(std::move(result));
    return absl::OkStatus();
  }
  if (!sdfg::IsInteger(dtype) || dtype != call.target(0).dtype) {
    return call.NotDeclared("bits of this type");
  }
  const int64_t ones = dtype == sdfg::DType::kUInt8 ? 255 : -1;
  int64_t number = 0;
  if (x.literal && x.literal->ToInt64(&number)) {
    call.Return(Argument::Number(KnownNumber{ones - number, dtype, 0}));
    return absl::OkStatus();
  }
  const sdfg::Shape shape = call.writer().tensor(x.tensor).shape;
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    IndexFunctionBuilder builder("bitwise");
    builder.AddInput("x", shape, dtype);
    const int output = builder.AddOutput("y", shape, dtype);
    std::vector<ExprId> index;
    for (sdfg::VarId var : builder.OutputDims(output)) index.push_back(builder.Index(var));
    const ExprId negated = builder.IntScale(-1, builder.IntElement(0, index));
    builder.SetBody(output, builder.IntAdd(builder.Int(ones), negated));
    return sdfg::Finish(&builder);
  };
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId result,
                        call.writer().Emit("bitwise",
                                           absl::StrCat("bitwise not ", sdfg::DTypeName(dtype), "[",
                                                        absl::StrJoin(shape, ","), "]"),
                                           make, {x.tensor}));
  call.Return(Argument::Of(result));
  return absl::OkStatus();
}

}  // namespace

void AddBitwise(AtenTable* table) {
  const char* const forms = "Tensor Scalar _.Tensor _.Scalar Tensor_out Scalar_out";
  const char* const operators = "Tensor Scalar";
  const auto both = [](AtenCall& call) { return TwoOperands(call, Bitwise::kAnd); };
  const auto either = [](AtenCall& call) { return TwoOperands(call, Bitwise::kOr); };
  const auto one = [](AtenCall& call) { return TwoOperands(call, Bitwise::kXor); };
  table->Add("bitwise_and", forms, "self other", both);
  table->Add("__and__", operators, "self other", both);
  table->Add("bitwise_or", forms, "self other", either);
  table->Add("__or__", operators, "self other", either);
  table->Add("bitwise_xor", forms, "self other", one);
  table->Add("__xor__", operators, "self other", one);
  table->Add("bitwise_not", kAnyForm, "self", Not);
}

}  // namespace planproof::frontend::torch
