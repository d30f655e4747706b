// Operators that put tensors together: concat, stack, pad.
#include <cstdint>
#include <string>
#include <utility>

#include "sdfg/declaration_instantiate.h"
#include "sdfg/declaration_shapes.h"
#include "sdfg/limit.h"
#include "sdfg/native_operators.h"

namespace planproof::sdfg {
namespace {

// All operands are tensors of the same rank (and shape, except along `dim` if it is not negative).
absl::Status SameShapes(const NativeCall& call, int dim) {
  for (size_t k = 0; k < call.operands.size(); ++k) {
    absl::StatusOr<Shape> shape = call.TensorShape(k, "x" + std::to_string(k));
    if (!shape.ok()) return shape.status();
    const Shape& first = call.operands[0].shape;
    if (shape->size() != first.size()) {
      return call.Error("operand x" + std::to_string(k) + " has shape " + ShapeText(*shape) +
                        ", but operand x0 has shape " + ShapeText(first));
    }
    for (size_t d = 0; d < first.size(); ++d) {
      if ((*shape)[d] == first[d] || static_cast<int>(d) == dim) continue;
      return call.Error("operand x" + std::to_string(k) + " has extent " +
                        std::to_string((*shape)[d]) + " in dimension " + std::to_string(d) +
                        ", but operand x0 has extent " + std::to_string(first[d]));
    }
  }
  return absl::OkStatus();
}

// Inputs for all operands. Integer and real tensors do not mix.
absl::Status AddInputs(const NativeCall& call, IndexFunctionBuilder* builder) {
  for (size_t k = 0; k < call.operands.size(); ++k) {
    if (IsInteger(call.operands[k].dtype) != IsInteger(call.operands[0].dtype)) {
      return call.Error("operand x" + std::to_string(k) + " has type " +
                        DTypeName(call.operands[k].dtype) + ", but operand x0 has type " +
                        DTypeName(call.operands[0].dtype));
    }
    builder->AddInput("x" + std::to_string(k), call.operands[k].shape, call.operands[k].dtype);
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Dimension(const NativeCall& call, size_t rank) {
  absl::StatusOr<std::vector<int>> numbers =
      DimensionNumbers(call.name, "dim", AttributeValue(call.Int("dim")), static_cast<int>(rank));
  if (!numbers.ok()) return numbers.status();
  return numbers->front();
}

absl::StatusOr<IndexFunction> Concat(const NativeCall& call) {
  absl::StatusOr<Shape> first = call.TensorShape(0, "x0");
  if (!first.ok()) return first.status();
  absl::StatusOr<int> dim = Dimension(call, first->size());
  if (!dim.ok()) return dim.status();
  absl::Status status = SameShapes(call, *dim);
  if (!status.ok()) return status;
  IndexFunctionBuilder builder(call.name);
  status = AddInputs(call, &builder);
  if (!status.ok()) return status;
  Shape out = *first;
  out[*dim] = 0;
  for (const Operand& operand : call.operands) {
    if (__builtin_add_overflow(out[*dim], operand.shape[*dim], &out[*dim])) {
      return BeyondLimit("extents along dimension " + std::to_string(*dim), "their sum", "2^60");
    }
  }
  int output = builder.AddOutput("y", out, PromotedType(call.operands));
  std::vector<ExprId> indices;
  for (VarId var : builder.OutputDims(output)) indices.push_back(builder.Index(var));
  // From the last operand to the first: i < end_0 ? x0[i] : i < end_1 ? x1[i - end_0] : ...
  ExprId position = indices[*dim];
  ExprId body = kNoExpr;
  int64_t start = out[*dim];
  for (size_t k = call.operands.size(); k-- > 0;) {
    int64_t extent = call.operands[k].shape[*dim];
    int64_t end = start;
    start -= extent;
    if (extent == 0 && (body != kNoExpr || k > 0)) continue;
    indices[*dim] = builder.IntAdd(position, builder.Int(-start));
    ExprId element = ReadElement(&builder, static_cast<int>(k), indices);
    body = body == kNoExpr
               ? element
               : builder.Select(builder.Binary(Op::kIntLess, position, builder.Int(end)), element,
                                body);
  }
  builder.SetBody(output, body);
  return Finish(&builder);
}

absl::StatusOr<IndexFunction> Stack(const NativeCall& call) {
  absl::StatusOr<Shape> first = call.TensorShape(0, "x0");
  if (!first.ok()) return first.status();
  absl::StatusOr<int> dim = Dimension(call, first->size() + 1);
  if (!dim.ok()) return dim.status();
  absl::Status status = SameShapes(call, -1);
  if (!status.ok()) return status;
  IndexFunctionBuilder builder(call.name);
  status = AddInputs(call, &builder);
  if (!status.ok()) return status;
  Shape out = *first;
  out.insert(out.begin() + *dim, static_cast<int64_t>(call.operands.size()));
  int output = builder.AddOutput("y", out, PromotedType(call.operands));
  std::vector<ExprId> indices;
  for (VarId var : builder.OutputDims(output)) indices.push_back(builder.Index(var));
  ExprId position = indices[*dim];
  indices.erase(indices.begin() + *dim);
  ExprId body = kNoExpr;
  for (size_t k = call.operands.size(); k-- > 0;) {
    ExprId element = ReadElement(&builder, static_cast<int>(k), indices);
    body = body == kNoExpr ? element
                           : builder.Select(builder.Binary(Op::kIntEq, position, builder.Int(k)),
                                            element, body);
  }
  builder.SetBody(output, body);
  return Finish(&builder);
}

// pad = (before, after) of the last dimension, then of the one before it, ...; negative ones crop.
absl::StatusOr<IndexFunction> Pad(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  std::vector<int64_t> pad = call.Ints("pad");
  if (pad.size() % 2 != 0 || pad.size() / 2 > shape->size()) {
    return call.Error("attribute pad is " + ShapeText(pad) +
                      "; expected a pair per dimension, the " + "last dimension first");
  }
  if (IsInteger(call.operands[0].dtype)) return call.Error("operand x is a tensor of integers");
  IndexFunctionBuilder builder(call.name);
  builder.AddInput("x", *shape, call.operands[0].dtype);
  Shape out = *shape;
  Shape before(out.size(), 0);
  for (size_t k = 0; k < pad.size() / 2; ++k) {
    size_t dim = shape->size() - 1 - k;
    before[dim] = pad[2 * k];
    if (__builtin_add_overflow(out[dim], pad[2 * k], &out[dim]) ||
        __builtin_add_overflow(out[dim], pad[2 * k + 1], &out[dim]) || out[dim] < 0) {
      return call.Error("attribute pad is " + ShapeText(pad) + "; the result would be negative");
    }
  }
  int output = builder.AddOutput("y", out, call.operands[0].dtype);
  std::vector<ExprId> indices;
  ExprId inside = kNoExpr;
  auto require = [&](ExprId condition) {
    inside = inside == kNoExpr ? condition : builder.Binary(Op::kAnd, inside, condition);
  };
  std::vector<VarId> vars = builder.OutputDims(output);
  for (size_t d = 0; d < out.size(); ++d) {
    ExprId index = builder.IntAdd(builder.Index(vars[d]), builder.Int(-before[d]));
    if (before[d] > 0) require(builder.Binary(Op::kIntLessEq, builder.Int(0), index));
    if (out[d] - before[d] > (*shape)[d]) {
      require(builder.Binary(Op::kIntLess, index, builder.Int((*shape)[d])));
    }
    indices.push_back(index);
  }
  ExprId body = builder.Element(0, indices);
  if (inside != kNoExpr) {
    solver::Rational value = call.IsNone("value") ? solver::Rational(0) : call.Real("value");
    body = builder.Select(inside, body, builder.Real(value));
  }
  builder.SetBody(output, body);
  return Finish(&builder);
}

}  // namespace

void AddJoinOperators(std::vector<NativeOperator>* operators) {
  for (const char* name : {"concat", "cat"}) {
    operators->push_back({name, std::string(name) + "(x0, x1, ...) {dim = 0}",
                          "Tensors one after another along a dimension. Source: torch.cat.", 1,
                          4096, ParseAttributes("dim = 0"), Concat});
  }
  operators->push_back({"stack", "stack(x0, x1, ...) {dim = 0}",
                        "Tensors of one shape along a new dimension. Source: torch.stack.", 1, 4096,
                        ParseAttributes("dim = 0"), Stack});
  operators->push_back(
      {"pad", "pad(x) {pad: ints, only mode = \"constant\", value: real = none}",
       "Margins filled with a number, 0 if none is given: pairs (before, after), the last "
       "dimension "
       "first. Source: "
       "torch.nn.functional.pad.",
       1, 1,
       ParseAttributes("pad: ints, "
                       "only mode in (\"constant\", \"reflect\", \"replicate\", \"circular\") = "
                       "\"constant\", value: real = none"),
       Pad});
}

}  // namespace planproof::sdfg
