#include "lineage/rounds/piece_functions.h"

namespace planproof::lineage::rounds {

using sdfg::DType;
using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;
using sdfg::Shape;
using sdfg::VarId;

namespace {

absl::StatusOr<IndexFunction> Finish(IndexFunctionBuilder* builder) {
  IndexFunction function;
  if (absl::Status status = builder->Finish(&function); !status.ok()) return status;
  return function;
}

std::vector<ExprId> Indices(IndexFunctionBuilder* builder, int output) {
  std::vector<ExprId> indices;
  for (const VarId var : std::vector<VarId>(builder->OutputDims(output)))
    indices.push_back(builder->Index(var));
  return indices;
}

Shape Without(Shape shape, std::ptrdiff_t dim) {
  shape.erase(shape.begin() + dim);
  return shape;
}

}  // namespace

absl::StatusOr<IndexFunction> MoveDimension(const Shape& shape, DType dtype, std::ptrdiff_t from,
                                            std::ptrdiff_t to) {
  IndexFunctionBuilder builder("pieces");
  const int x = builder.AddInput("x", shape, dtype);
  Shape moved = Without(shape, from);
  moved.insert(moved.begin() + to, shape[from]);
  const int y = builder.AddOutput("y", moved, dtype);
  std::vector<ExprId> at = Indices(&builder, y);
  const ExprId index = at[to];
  at.erase(at.begin() + to);
  at.insert(at.begin() + from, index);
  builder.SetBody(y, sdfg::IsInteger(dtype) ? builder.IntElement(x, at) : builder.Element(x, at));
  return Finish(&builder);
}

absl::StatusOr<IndexFunction> AddBroadcast(const Shape& shape, DType dtype, size_t without) {
  IndexFunctionBuilder builder("add");
  const auto dim = static_cast<std::ptrdiff_t>(without);
  const int x = builder.AddInput("x", shape, dtype);
  const int z = builder.AddInput("z", Without(shape, dim), dtype);
  const int y = builder.AddOutput("y", shape, dtype);
  const std::vector<ExprId> at = Indices(&builder, y);
  std::vector<ExprId> fewer = at;
  fewer.erase(fewer.begin() + dim);
  builder.SetBody(y, builder.Binary(Op::kAdd, builder.Element(x, at), builder.Element(z, fewer)));
  return Finish(&builder);
}

absl::StatusOr<IndexFunction> RescaledSum(const Shape& terms, const Shape& scales, DType dtype,
                                          size_t axes, const std::vector<int>& dims) {
  IndexFunctionBuilder builder("rescaled_sum");
  const auto pieces = static_cast<std::ptrdiff_t>(axes);
  const int b = builder.AddInput("terms", terms, dtype);
  const int m = builder.AddInput("scales", scales, dtype);
  const int last = builder.AddInput("last", Without(scales, pieces), dtype);
  const int y = builder.AddOutput("y", Without(terms, pieces), dtype);
  const std::vector<ExprId> own = Indices(&builder, y);
  const VarId piece = builder.AddVar("p", terms[axes]);
  std::vector<ExprId> of_term = own;
  of_term.insert(of_term.begin() + pieces, builder.Index(piece));
  std::vector<ExprId> of_last(own.begin(), own.begin() + pieces);
  for (const int dim : dims) {
    of_last.push_back(dim < 0 ? builder.Int(0) : own[axes + static_cast<size_t>(dim)]);
  }
  std::vector<ExprId> of_scale = of_last;
  of_scale.insert(of_scale.begin() + pieces, builder.Index(piece));
  const ExprId change = builder.Binary(Op::kAdd, builder.Element(m, of_scale),
                                       builder.Unary(Op::kNeg, builder.Element(last, of_last)));
  const ExprId term =
      builder.Binary(Op::kMul, builder.Element(b, of_term), builder.Unary(Op::kExp, change));
  builder.SetBody(y, builder.Reduce(Op::kSum, piece, term));
  return Finish(&builder);
}

absl::StatusOr<IndexFunction> ScaledByPiece(const Shape& x, const Shape& scales, DType dtype,
                                            size_t axes, const std::vector<int>& dims) {
  IndexFunctionBuilder builder("scaled");
  const auto pieces = static_cast<std::ptrdiff_t>(axes);
  const int value = builder.AddInput("x", x, dtype);
  const int m = builder.AddInput("scales", scales, dtype);
  const int last = builder.AddInput("last", Without(scales, pieces), dtype);
  Shape shape = x;
  shape.insert(shape.begin() + pieces, scales[axes]);
  const int y = builder.AddOutput("y", shape, dtype);
  const std::vector<ExprId> own = Indices(&builder, y);
  std::vector<ExprId> of_x = own;
  of_x.erase(of_x.begin() + pieces);
  std::vector<ExprId> of_scale(own.begin(), own.begin() + pieces + 1);
  for (const int dim : dims) {
    of_scale.push_back(dim < 0 ? builder.Int(0) : own[axes + 1 + static_cast<size_t>(dim)]);
  }
  std::vector<ExprId> of_last = of_scale;
  of_last.erase(of_last.begin() + pieces);
  const ExprId change = builder.Binary(Op::kAdd, builder.Element(m, of_scale),
                                       builder.Unary(Op::kNeg, builder.Element(last, of_last)));
  builder.SetBody(
      y, builder.Binary(Op::kMul, builder.Element(value, of_x), builder.Unary(Op::kExp, change)));
  return Finish(&builder);
}

}  // namespace planproof::lineage::rounds
