// Ranges of several dimensions, with strides, or from starts that are data.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sdfg/declaration_shapes.h"
#include "sdfg/native_operators_data_index.h"
#include "sdfg/native_operators_windows.h"

namespace planproof::sdfg {
namespace {

absl::StatusOr<IndexFunction> StridedSlice(const NativeCall& call) {
  const absl::StatusOr<Shape> x = call.TensorShape(0, "x");
  if (!x.ok()) return x.status();
  const std::vector<int64_t> starts = call.Ints("start_indices");
  const std::vector<int64_t> limits = call.Ints("limit_indices");
  const std::vector<int64_t> strides =
      call.IsNone("strides") ? std::vector<int64_t>(x->size(), 1) : call.Ints("strides");
  if (starts.size() != x->size() || limits.size() != x->size() || strides.size() != x->size()) {
    return call.Error(absl::StrCat("expected ", x->size(), " starts, limits and strides"));
  }
  Shape out;
  for (size_t d = 0; d < x->size(); ++d) {
    if (starts[d] < 0 || starts[d] > limits[d] || limits[d] > (*x)[d]) {
      return call.Error(absl::StrCat("range ", starts[d], " to ", limits[d], " of dimension ", d,
                                     " is not within its extent ", (*x)[d]));
    }
    const int64_t extent = limits[d] - starts[d];
    out.push_back(extent / strides[d] + (extent % strides[d] != 0));
  }
  IndexFunctionBuilder builder(call.name);
  builder.AddInput("x", *x, call.operands[0].dtype);
  const int output = builder.AddOutput("y", out, call.operands[0].dtype);
  std::vector<ExprId> at;
  for (size_t d = 0; d < x->size(); ++d) {
    const ExprId index = builder.Index(builder.OutputDims(output)[d]);
    at.push_back(builder.IntAdd(builder.IntScale(strides[d], index), builder.Int(starts[d])));
  }
  builder.SetBody(output, ReadElement(&builder, 0, at));
  return Finish(&builder);
}

struct BlockStart {
  ExprId index = kNoExpr;
  bool data = false;  // not known before the program runs
};

// Where a block of extents `sizes` begins in a tensor of extents `shape`: what operands `first`,
// ... say, moved so that the block is within the tensor.
absl::StatusOr<std::vector<BlockStart>> Starts(const NativeCall& call, size_t first,
                                               const Shape& shape, const Shape& sizes,
                                               IndexFunctionBuilder* builder) {
  if (call.operands.size() != first + shape.size()) {
    return call.Error(absl::StrCat(call.operands.size() - first, " starts; expected ", shape.size(),
                                   ", one for each dimension"));
  }
  std::vector<BlockStart> starts;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Operand& operand = call.operands[first + d];
    const int64_t last = shape[d] - sizes[d];
    if (operand.kind == Operand::Kind::kLiteral) {
      int64_t value = 0;
      if (!operand.literal.ToInt64(&value)) return call.Error("a start is no integer");
      if (value < 0 && call.Bool("allow_negative_indices")) value += shape[d];
      starts.push_back({builder->Int(std::clamp<int64_t>(value, 0, last)), false});
      continue;
    }
    const absl::StatusOr<Shape> one = call.TensorShape(first + d, "start");
    if (!one.ok()) return one.status();
    if (!one->empty() && *one != Shape{1}) {
      return call.Error("a start has shape " + ShapeText(*one) + "; expected one element");
    }
    const absl::Status status = AddIndexInput(call, first + d, builder);
    if (!status.ok()) return status;
    const int input = static_cast<int>(builder->function().inputs.size()) - 1;
    ExprId start = builder->IntElement(input, std::vector<ExprId>(one->size(), builder->Int(0)));
    if (sizes[d] == shape[d]) {
      starts.push_back({builder->Int(0), false});
      continue;
    }
    if (call.Bool("allow_negative_indices")) start = CountedFromTheEnd(builder, shape[d], start);
    starts.push_back({IndexWithin(builder, OutOfRange::kClipped, last + 1, start), true});
  }
  return starts;
}

absl::StatusOr<IndexFunction> DynamicSlice(const NativeCall& call) {
  const absl::StatusOr<Shape> x = call.TensorShape(0, "x");
  if (!x.ok()) return x.status();
  const std::vector<int64_t> sizes = call.Ints("slice_sizes");
  if (sizes.size() != x->size()) {
    return call.Error(absl::StrCat("expected ", x->size(), " slice_sizes"));
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] > (*x)[d]) {
      return call.Error(absl::StrCat("slice_sizes ", sizes[d], " is beyond extent ", (*x)[d],
                                     " of dimension ", d));
    }
  }
  IndexFunctionBuilder builder(call.name);
  builder.AddInput("x", *x, call.operands[0].dtype);
  const auto starts = Starts(call, 1, *x, sizes, &builder);
  if (!starts.ok()) return starts.status();
  const int output = builder.AddOutput("y", sizes, call.operands[0].dtype);
  // Where the start is data, as a gather: a sum with one summand that is not 0.
  std::vector<ExprId> at;
  std::vector<VarId> summed;
  ExprId here = kNoExpr;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const ExprId index =
        builder.IntAdd((*starts)[d].index, builder.Index(builder.OutputDims(output)[d]));
    at.push_back(index);
    if (!(*starts)[d].data) continue;
    summed.push_back(builder.AddVar("v" + std::to_string(d), (*x)[d]));
    at.back() = builder.Index(summed.back());
    here = Both(&builder, here, builder.Binary(Op::kIntEq, index, at.back()));
  }
  if (summed.empty()) {
    builder.SetBody(output, ReadElement(&builder, 0, at));
    return Finish(&builder);
  }
  ExprId body =
      builder.Binary(Op::kMul, builder.Unary(Op::kIndicator, here), ReadNumber(&builder, 0, at));
  for (; !summed.empty(); summed.pop_back()) {
    body = builder.Reduce(Op::kSum, summed.back(), body);
  }
  builder.SetBody(output, AsBody(&builder, call.operands[0].dtype, body));
  return Finish(&builder);
}

absl::StatusOr<IndexFunction> DynamicUpdateSlice(const NativeCall& call) {
  const absl::StatusOr<Shape> x = call.TensorShape(0, "x");
  if (!x.ok()) return x.status();
  const absl::StatusOr<Shape> update = call.TensorShape(1, "update");
  if (!update.ok()) return update.status();
  if (update->size() != x->size()) {
    return call.Error("operands x and update must have the same number of dimensions");
  }
  for (size_t d = 0; d < x->size(); ++d) {
    if ((*update)[d] > (*x)[d]) {
      return call.Error(absl::StrCat("operand update has extent ", (*update)[d], " in dimension ",
                                     d, "; expected at most ", (*x)[d]));
    }
    if ((*update)[d] < 1) return NotCovered(call, "an update without elements");
  }
  if (call.operands[0].dtype != call.operands[1].dtype) {
    return call.Error(std::string("operands x and update are of types ") +
                      DTypeName(call.operands[0].dtype) + " and " +
                      DTypeName(call.operands[1].dtype));
  }
  IndexFunctionBuilder builder(call.name);
  builder.AddInput("x", *x, call.operands[0].dtype);
  builder.AddInput("update", *update, call.operands[1].dtype);
  const auto starts = Starts(call, 2, *x, *update, &builder);
  if (!starts.ok()) return starts.status();
  const int output = builder.AddOutput("y", *x, call.operands[0].dtype);
  std::vector<ExprId> y;
  std::vector<ExprId> at;
  ExprId inside = kNoExpr;
  for (size_t d = 0; d < x->size(); ++d) {
    y.push_back(builder.Index(builder.OutputDims(output)[d]));
    at.push_back(builder.IntSub(y[d], (*starts)[d].index));
    if ((*update)[d] == (*x)[d]) continue;
    inside = Both(&builder, inside, IsWithin(&builder, (*update)[d], at[d]));
  }
  ExprId body = ReadElement(&builder, 1, at);
  if (inside != kNoExpr) body = builder.Select(inside, body, ReadElement(&builder, 0, y));
  builder.SetBody(output, body);
  return Finish(&builder);
}

}  // namespace

void AddRangeOperators(std::vector<NativeOperator>* operators) {
  const std::string strided =
      "start_indices: ints in [0, inf), limit_indices: ints in [0, inf), strides: ints in [1, inf) "
      "= none";
  operators->push_back({"strided_slice", "strided_slice(x) {" + strided + "}",
                        "Elements start, start + stride, ... below limit of every dimension. "
                        "Source: jax.lax.slice.",
                        1, 1, ParseAttributes(strided), StridedSlice});
  const std::string negative =
      " Starts are numbers or tensors of one integer; negative ones count from the end if "
      "allow_negative_indices, as in JAX's functions (in its primitives they do not); then they "
      "are moved until the block is within x.";
  const std::string slice = "slice_sizes: ints in [1, inf), allow_negative_indices = true";
  operators->push_back(
      {"dynamic_slice", "dynamic_slice(x, start0, start1, ...) {" + slice + "}",
       "A block of x from starts that are data." + negative + " Source: jax.lax.dynamic_slice.", 1,
       33, ParseAttributes(slice), DynamicSlice});
  const std::string update = "allow_negative_indices = true";
  operators->push_back({"dynamic_update_slice",
                        "dynamic_update_slice(x, update, start0, start1, ...) {" + update + "}",
                        "x with a block replaced, from starts that are data." + negative +
                            " Source: jax.lax.dynamic_update_slice.",
                        2, 34, ParseAttributes(update), DynamicUpdateSlice});
}

}  // namespace planproof::sdfg
