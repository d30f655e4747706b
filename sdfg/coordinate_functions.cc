#include "sdfg/coordinate_functions.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "sdfg/narrow_types.h"
#include "sdfg/status_macros.h"

namespace planproof::sdfg {
namespace {

absl::StatusOr<IndexFunction> Finish(IndexFunctionBuilder* builder) {
  IndexFunction function;
  PLAN_RETURN_IF_ERROR(builder->Finish(&function));
  return function;
}

// The element of input `input` at `indices`, of the sort that its dtype asks for.
ExprId Read(IndexFunctionBuilder* builder, DType dtype, int input,
            const std::vector<ExprId>& indices) {
  return IsInteger(dtype) ? builder->IntElement(input, indices) : builder->Element(input, indices);
}

std::vector<ExprId> OutputIndices(IndexFunctionBuilder* builder, int output) {
  std::vector<ExprId> indices;
  for (VarId var : std::vector<VarId>(builder->OutputDims(output))) {
    indices.push_back(builder->Index(var));
  }
  return indices;
}

}  // namespace

absl::StatusOr<IndexFunction> Spread(const Shape& shape, DType dtype, int position,
                                     int64_t extent) {
  IndexFunctionBuilder builder("replicate");
  const int x = builder.AddInput("x", shape, dtype);
  Shape out = shape;
  out.insert(out.begin() + position, extent);
  const int y = builder.AddOutput("y", out, dtype);
  std::vector<ExprId> indices = OutputIndices(&builder, y);
  indices.erase(indices.begin() + position);
  builder.SetBody(y, Read(&builder, dtype, x, indices));
  return Finish(&builder);
}

absl::StatusOr<IndexFunction> SelectCoordinate(const Shape& shape, DType dtype, int axis_dim,
                                               int64_t value) {
  IndexFunctionBuilder builder("instance");
  const int x = builder.AddInput("x", shape, dtype);
  Shape out = shape;
  out.erase(out.begin() + axis_dim);
  const int y = builder.AddOutput("y", out, dtype);
  std::vector<ExprId> indices = OutputIndices(&builder, y);
  indices.insert(indices.begin() + axis_dim, builder.Int(value));
  builder.SetBody(y, Read(&builder, dtype, x, indices));
  return Finish(&builder);
}

absl::StatusOr<IndexFunction> GatherDrop(const Shape& shape, DType dtype, int axis_dim, int dim) {
  const int64_t local = shape[dim];
  if (local == 0) return absl::InvalidArgumentError("all_gather along a dimension of extent 0");
  IndexFunctionBuilder builder("all_gather");
  const int x = builder.AddInput("x", shape, dtype);
  Shape out = shape;
  out[dim] *= shape[axis_dim];
  out.erase(out.begin() + axis_dim);
  const int y = builder.AddOutput("y", out, dtype);
  std::vector<ExprId> indices = OutputIndices(&builder, y);
  const ExprId whole = indices[dim - 1];
  indices[dim - 1] = builder.IntMod(whole, local);
  indices.insert(indices.begin() + axis_dim, builder.IntDiv(whole, local));
  builder.SetBody(y, Read(&builder, dtype, x, indices));
  return Finish(&builder);
}

absl::StatusOr<IndexFunction> ReduceToRoot(const Shape& shape, DType dtype, int axis_dim,
                                           int64_t root, const std::string& result) {
  if (IsNarrow(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a sum in ", DTypeName(dtype), " is not the sum of the numbers"));
  }
  IndexFunctionBuilder builder("reduce");
  const int x = builder.AddInput("x", shape, dtype);
  const int y = builder.AddOutput("y", shape, dtype);
  std::vector<ExprId> indices = OutputIndices(&builder, y);
  const ExprId at_root = builder.Binary(Op::kIntEq, indices[axis_dim], builder.Int(root));
  const ExprId unspecified =
      builder.Opaque(absl::StrCat("unspecified(", result, " off the root)"), false, -1, indices);
  const VarId rank = builder.AddVar("r", shape[axis_dim]);
  indices[axis_dim] = builder.Index(rank);
  const ExprId sum = builder.Reduce(Op::kSum, rank, builder.Element(x, indices));
  builder.SetBody(y, builder.Select(at_root, sum, unspecified));
  return Finish(&builder);
}

absl::StatusOr<IndexFunction> AddAll(const Shape& shape, DType dtype, int count) {
  IndexFunctionBuilder builder("add");
  for (int i = 0; i < count; ++i) builder.AddInput(absl::StrCat("x", i), shape, dtype);
  const int y = builder.AddOutput("y", shape, dtype);
  const std::vector<ExprId> indices = OutputIndices(&builder, y);
  ExprId sum = builder.Element(0, indices);
  for (int i = 1; i < count; ++i) {
    sum = builder.Binary(Op::kAdd, sum, builder.Element(i, indices));
  }
  builder.SetBody(y, sum);
  return Finish(&builder);
}

absl::StatusOr<IndexFunction> SelectInBox(const std::vector<Axis>& axes,
                                          const AxisList& variant_axes,
                                          const AxisList& regular_axes, const AxisList& output_axes,
                                          const CoordinateBox& box, const Shape& local,
                                          DType dtype) {
  IndexFunctionBuilder builder("exception");
  const auto whole = [&](const AxisList& list) {
    Shape shape;
    for (AxisId axis : list) shape.push_back(axes[axis].extent);
    shape.insert(shape.end(), local.begin(), local.end());
    return shape;
  };
  const int variant = builder.AddInput("variant", whole(variant_axes), dtype);
  const int regular = builder.AddInput("regular", whole(regular_axes), dtype);
  const int y = builder.AddOutput("y", whole(output_axes), dtype);
  const std::vector<ExprId> indices = OutputIndices(&builder, y);
  const auto coordinate = [&](AxisId axis) {
    const auto at = std::find(output_axes.begin(), output_axes.end(), axis);
    return indices[at - output_axes.begin()];
  };
  const auto operand = [&](int input, const AxisList& list) {
    std::vector<ExprId> at;
    for (AxisId axis : list) at.push_back(coordinate(axis));
    at.insert(at.end(), indices.begin() + output_axes.size(), indices.end());
    return Read(&builder, dtype, input, at);
  };
  ExprId inside = kNoExpr;
  for (const auto& [axis, values] : box) {
    ExprId any = kNoExpr;
    for (int64_t value : values) {
      const ExprId equal = builder.Binary(Op::kIntEq, coordinate(axis), builder.Int(value));
      any = any == kNoExpr ? equal : builder.Binary(Op::kOr, any, equal);
    }
    inside = inside == kNoExpr ? any : builder.Binary(Op::kAnd, inside, any);
  }
  if (inside == kNoExpr) return absl::InvalidArgumentError("the box is empty");
  builder.SetBody(
      y, builder.Select(inside, operand(variant, variant_axes), operand(regular, regular_axes)));
  return Finish(&builder);
}

}  // namespace planproof::sdfg
