#include "sdfg/collectives.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "sdfg/limit.h"
#include "sdfg/narrow_types.h"
#include "sdfg/whole_numbers.h"

namespace planproof::sdfg {
namespace {

using solver::Rational;

// A function under construction that has one output and moves or reduces elements of one type.
class Assembly {
 public:
  Assembly(std::string name, DType dtype)
      : builder_(std::move(name)), dtype_(dtype), integer_(IsInteger(dtype)) {}

  IndexFunctionBuilder& builder() { return builder_; }

  int AddInput(int number, const Shape& shape) {
    return builder_.AddInput(number < 0 ? std::string("x") : absl::StrCat("x", number), shape,
                             dtype_);
  }
  // Indices of the output's elements.
  std::vector<ExprId> AddOutput(const Shape& shape) {
    output_ = builder_.AddOutput("y", shape, dtype_);
    std::vector<ExprId> indices;
    for (VarId var : builder_.OutputDims(output_)) indices.push_back(builder_.Index(var));
    return indices;
  }

  ExprId Read(int input, const std::vector<ExprId>& indices) {
    return integer_ ? builder_.IntElement(input, indices) : builder_.Element(input, indices);
  }
  ExprId Zero() { return integer_ ? builder_.Int(0) : builder_.Real(0); }
  ExprId Shift(ExprId index, int64_t by) { return builder_.IntAdd(index, builder_.Int(by)); }

  // The reduction of the given terms, at least one.
  absl::StatusOr<ExprId> Reduce(const std::vector<ExprId>& terms, ReduceKind kind) {
    if (absl::Status status = CheckSum(kind); !status.ok()) return status;
    if (integer_ && kind == ReduceKind::kAvg) return NoAverage();
    if (integer_ && kind == ReduceKind::kSum && terms.size() > 1) {
      builder_.AddAssumption(kNoOverflow);
    }
    ExprId result = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) result = Combine(result, terms[i], kind);
    if (kind == ReduceKind::kAvg) result = Scale(result, static_cast<int64_t>(terms.size()));
    return result;
  }

  // The reduction over index `axis` (of `extent` values) of x read at `indices`.
  absl::StatusOr<ExprId> ReduceAxis(int input, std::vector<ExprId> indices, int axis,
                                    int64_t extent, ReduceKind kind) {
    if (absl::Status status = CheckSum(kind); !status.ok()) return status;
    if (integer_ && kind == ReduceKind::kAvg) return NoAverage();
    const VarId var = builder_.AddVar("r", extent);
    indices[axis] = builder_.Index(var);
    ExprId body = Read(input, indices);
    if (integer_) body = builder_.Unary(Op::kPosition, body);
    switch (kind) {
      case ReduceKind::kMax:
        return OfType(builder_.Reduce(Op::kReduceMax, var, body));
      case ReduceKind::kMin:
        return OfType(builder_.Reduce(Op::kReduceMin, var, body));
      case ReduceKind::kSum:
        if (integer_) builder_.AddAssumption(kNoOverflow);
        return OfType(builder_.Reduce(Op::kSum, var, body));
      case ReduceKind::kAvg:
        return Scale(builder_.Reduce(Op::kSum, var, body), extent);
    }
    return absl::InvalidArgumentError("unknown reduction");
  }

  // pieces[p] where offsets[p] <= index < offsets[p + 1], as a balanced tree of selects.
  ExprId Piecewise(ExprId index, const std::vector<int64_t>& offsets,
                   const std::vector<ExprId>& pieces, size_t first, size_t last) {
    if (last - first == 1) return pieces[first];
    const size_t middle = first + (last - first) / 2;  // depth is logarithmic
    const ExprId left = Piecewise(index, offsets, pieces, first, middle);
    const ExprId right = Piecewise(index, offsets, pieces, middle, last);
    const ExprId below = builder_.Binary(Op::kIntLess, index, builder_.Int(offsets[middle]));
    return builder_.Select(below, left, right);
  }

  absl::StatusOr<IndexFunction> Finish(ExprId body) {
    builder_.SetBody(output_, body);
    IndexFunction result;
    if (absl::Status status = builder_.Finish(&result); !status.ok()) return status;
    return result;
  }

 private:
  absl::Status CheckSum(ReduceKind kind) const {
    if (!IsNarrow(dtype_) || kind == ReduceKind::kMax || kind == ReduceKind::kMin) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("a sum in ", DTypeName(dtype_), " is not the sum of the numbers; ",
                     "convert them first, e.g. with \"long\" or \"float\""));
  }
  ExprId Combine(ExprId a, ExprId b, ReduceKind kind) {
    const bool sum = kind == ReduceKind::kSum || kind == ReduceKind::kAvg;
    if (!integer_) {
      return builder_.Binary(sum ? Op::kAdd : (kind == ReduceKind::kMax ? Op::kMax : Op::kMin), a,
                             b);
    }
    if (sum) return builder_.IntAdd(a, b);
    return OfType(builder_.Binary(kind == ReduceKind::kMax ? Op::kMax : Op::kMin,
                                  builder_.Unary(Op::kPosition, a),
                                  builder_.Unary(Op::kPosition, b)));
  }
  // A value that is a whole number as one of the function's type.
  ExprId OfType(ExprId value) { return integer_ ? builder_.Unary(Op::kWhole, value) : value; }
  static absl::Status NoAverage() {
    return absl::InvalidArgumentError("the average of integers is not an integer");
  }
  ExprId Scale(ExprId value, int64_t count) {
    return builder_.Binary(Op::kMul, builder_.Real(Rational(1, count)), value);
  }

  IndexFunctionBuilder builder_;
  DType dtype_;
  bool integer_;
  int output_ = 0;
};

absl::Status CheckGroup(const char* name, int size, int position) {
  if (size < 1 || position < 0 || position >= size) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": position ", position, " in a group of ", size));
  }
  return absl::OkStatus();
}

absl::Status CheckDim(const char* name, const Shape& shape, int dim) {
  if (dim < 0 || dim >= static_cast<int>(shape.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": dimension ", dim, " of a tensor of rank ", shape.size()));
  }
  return absl::OkStatus();
}

absl::Status CheckDivisible(const char* name, const Shape& shape, int dim, int64_t parts) {
  if (absl::Status status = CheckDim(name, shape, dim); !status.ok()) return status;
  if (shape[dim] % parts != 0) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": extent ", shape[dim], " of dimension ",
                                                   dim, " is not a multiple of ", parts));
  }
  return absl::OkStatus();
}

absl::Status CheckAxis(const char* name, const Shape& shape, int axis_dim) {
  if (absl::Status status = CheckDim(name, shape, axis_dim); !status.ok()) return status;
  if (shape[axis_dim] < 1) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": axis of extent ", shape[axis_dim]));
  }
  return absl::OkStatus();
}

absl::Status CheckLocalDim(const char* name, const Shape& shape, int axis_dim, int dim) {
  if (absl::Status status = CheckAxis(name, shape, axis_dim); !status.ok()) return status;
  if (absl::Status status = CheckDim(name, shape, dim); !status.ok()) return status;
  if (dim <= axis_dim) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": dimension ", dim, " is not behind the axis ", axis_dim));
  }
  return absl::OkStatus();
}

// Concatenation along `dim` of reads of x0, x1, ... whose pieces have the given shapes; `locate`
// turns the index within a piece into the index to read.
template <typename Locate>
absl::StatusOr<IndexFunction> Concatenate(Assembly* assembly, const std::vector<Shape>& locals,
                                          const std::vector<Shape>& pieces, int dim,
                                          Locate locate) {
  Shape result = pieces[0];
  result[dim] = 0;
  std::vector<int64_t> offsets;
  for (size_t p = 0; p < pieces.size(); ++p) {
    Shape expected = pieces[0];
    expected[dim] = pieces[p].size() > static_cast<size_t>(dim) ? pieces[p][dim] : 0;
    if (pieces[p] != expected) {
      return absl::InvalidArgumentError(absl::StrCat("concatenation along dimension ", dim,
                                                     ": input ", p,
                                                     " differs from input 0 in another dimension"));
    }
    offsets.push_back(result[dim]);
    if (__builtin_add_overflow(result[dim], pieces[p][dim], &result[dim])) {
      return absl::InvalidArgumentError("concatenation: extent out of range");
    }
  }
  const std::vector<ExprId> indices = assembly->AddOutput(result);
  std::vector<int64_t> starts;
  std::vector<ExprId> reads;
  for (size_t p = 0; p < pieces.size(); ++p) {
    const int input = assembly->AddInput(static_cast<int>(p), locals[p]);
    if (pieces[p][dim] == 0 && pieces.size() > 1) continue;  // nothing of it
    std::vector<ExprId> at = indices;
    at[dim] = assembly->Shift(at[dim], -offsets[p]);
    starts.push_back(offsets[p]);
    reads.push_back(assembly->Read(input, locate(std::move(at))));
  }
  if (reads.empty()) return assembly->Finish(assembly->Zero());  // the result has no elements
  return assembly->Finish(assembly->Piecewise(indices[dim], starts, reads, 0, reads.size()));
}

}  // namespace

absl::StatusOr<IndexFunction> AllReduce(const Shape& local, DType dtype, int size,
                                        ReduceKind kind) {
  if (absl::Status status = CheckGroup("all_reduce", size, 0); !status.ok()) return status;
  Assembly assembly("all_reduce", dtype);
  const std::vector<ExprId> indices = assembly.AddOutput(local);
  std::vector<ExprId> terms;
  for (int i = 0; i < size; ++i)
    terms.push_back(assembly.Read(assembly.AddInput(i, local), indices));
  const absl::StatusOr<ExprId> body = assembly.Reduce(terms, kind);
  if (!body.ok()) return body.status();
  return assembly.Finish(*body);
}

absl::StatusOr<IndexFunction> AllGather(const std::vector<Shape>& locals, DType dtype, int dim) {
  if (locals.empty()) return absl::InvalidArgumentError("all_gather: no participants");
  if (absl::Status status = CheckDim("all_gather", locals[0], dim); !status.ok()) return status;
  Assembly assembly("all_gather", dtype);
  return Concatenate(&assembly, locals, locals, dim, [](std::vector<ExprId> at) { return at; });
}

absl::StatusOr<IndexFunction> ReduceScatter(const Shape& local, DType dtype, int size, int position,
                                            int dim, ReduceKind kind) {
  absl::Status status = CheckGroup("reduce_scatter", size, position);
  if (status.ok()) status = CheckDivisible("reduce_scatter", local, dim, size);
  if (!status.ok()) return status;
  Assembly assembly("reduce_scatter", dtype);
  Shape result = local;
  result[dim] /= size;
  std::vector<ExprId> indices = assembly.AddOutput(result);
  indices[dim] = assembly.Shift(indices[dim], position * result[dim]);
  std::vector<ExprId> terms;
  for (int i = 0; i < size; ++i)
    terms.push_back(assembly.Read(assembly.AddInput(i, local), indices));
  const absl::StatusOr<ExprId> body = assembly.Reduce(terms, kind);
  if (!body.ok()) return body.status();
  return assembly.Finish(*body);
}

absl::StatusOr<IndexFunction> AllToAll(const Shape& local, DType dtype, int size, int position,
                                       int split_dim, int concat_dim) {
  absl::Status status = CheckGroup("all_to_all", size, position);
  if (status.ok()) status = CheckDivisible("all_to_all", local, split_dim, size);
  if (status.ok()) status = CheckDim("all_to_all", local, concat_dim);
  if (!status.ok()) return status;
  Assembly assembly("all_to_all", dtype);
  Shape piece = local;
  piece[split_dim] /= size;
  const int64_t start = position * piece[split_dim];
  return Concatenate(&assembly, std::vector<Shape>(size, local), std::vector<Shape>(size, piece),
                     concat_dim, [&](std::vector<ExprId> at) {
                       at[split_dim] = assembly.Shift(at[split_dim], start);
                       return at;
                     });
}

absl::StatusOr<IndexFunction> Chunk(const Shape& local, DType dtype, int size, int position,
                                    int dim) {
  absl::Status status = CheckGroup("chunk", size, position);
  if (status.ok()) status = CheckDivisible("chunk", local, dim, size);
  if (!status.ok()) return status;
  Assembly assembly("chunk", dtype);
  Shape result = local;
  result[dim] /= size;
  const int input = assembly.AddInput(-1, local);
  std::vector<ExprId> indices = assembly.AddOutput(result);
  indices[dim] = assembly.Shift(indices[dim], position * result[dim]);
  return assembly.Finish(assembly.Read(input, indices));
}

absl::StatusOr<IndexFunction> Copy(const Shape& local, DType dtype) {
  Assembly assembly("copy", dtype);
  const int input = assembly.AddInput(-1, local);
  const std::vector<ExprId> indices = assembly.AddOutput(local);
  return assembly.Finish(assembly.Read(input, indices));
}

absl::StatusOr<IndexFunction> AxisAllReduce(const Shape& shape, DType dtype, int axis_dim,
                                            ReduceKind kind) {
  absl::Status status = CheckAxis("all_reduce", shape, axis_dim);
  if (!status.ok()) return status;
  Assembly assembly("all_reduce", dtype);
  const int input = assembly.AddInput(-1, shape);
  const std::vector<ExprId> indices = assembly.AddOutput(shape);
  const absl::StatusOr<ExprId> body =
      assembly.ReduceAxis(input, indices, axis_dim, shape[axis_dim], kind);
  if (!body.ok()) return body.status();
  return assembly.Finish(*body);
}

absl::StatusOr<IndexFunction> AxisReduce(const Shape& shape, DType dtype, int axis_dim,
                                         ReduceKind kind) {
  absl::Status status = CheckAxis("reduce", shape, axis_dim);
  if (!status.ok()) return status;
  Assembly assembly("reduce", dtype);
  const int input = assembly.AddInput(-1, shape);
  Shape result = shape;
  result.erase(result.begin() + axis_dim);
  std::vector<ExprId> indices = assembly.AddOutput(result);
  indices.insert(indices.begin() + axis_dim, kNoExpr);  // replaced by the index reduced over
  const absl::StatusOr<ExprId> body =
      assembly.ReduceAxis(input, indices, axis_dim, shape[axis_dim], kind);
  if (!body.ok()) return body.status();
  return assembly.Finish(*body);
}

absl::StatusOr<IndexFunction> AxisAllGather(const Shape& shape, DType dtype, int axis_dim,
                                            int dim) {
  absl::Status status = CheckLocalDim("all_gather", shape, axis_dim, dim);
  if (!status.ok()) return status;
  if (shape[dim] < 1) return absl::InvalidArgumentError("all_gather: extent 0");
  Assembly assembly("all_gather", dtype);
  const int input = assembly.AddInput(-1, shape);
  Shape result = shape;
  if (__builtin_mul_overflow(result[dim], shape[axis_dim], &result[dim])) {
    return BeyondLimit("all_gather: ranks", shape[axis_dim], "2^60 indices in all");
  }
  std::vector<ExprId> indices = assembly.AddOutput(result);
  const ExprId position = indices[dim];
  indices[axis_dim] = assembly.builder().IntDiv(position, shape[dim]);
  indices[dim] = assembly.builder().IntMod(position, shape[dim]);
  return assembly.Finish(assembly.Read(input, indices));
}

absl::StatusOr<IndexFunction> AxisReduceScatter(const Shape& shape, DType dtype, int axis_dim,
                                                int dim, ReduceKind kind) {
  absl::Status status = CheckLocalDim("reduce_scatter", shape, axis_dim, dim);
  if (status.ok()) status = CheckDivisible("reduce_scatter", shape, dim, shape[axis_dim]);
  if (!status.ok()) return status;
  Assembly assembly("reduce_scatter", dtype);
  const int input = assembly.AddInput(-1, shape);
  Shape result = shape;
  result[dim] /= shape[axis_dim];
  std::vector<ExprId> indices = assembly.AddOutput(result);
  IndexFunctionBuilder& b = assembly.builder();
  indices[dim] = b.IntAdd(indices[dim], b.IntScale(result[dim], indices[axis_dim]));
  const absl::StatusOr<ExprId> body =
      assembly.ReduceAxis(input, indices, axis_dim, shape[axis_dim], kind);
  if (!body.ok()) return body.status();
  return assembly.Finish(*body);
}

absl::StatusOr<IndexFunction> AxisAllToAll(const Shape& shape, DType dtype, int axis_dim,
                                           int split_dim, int concat_dim) {
  absl::Status status = CheckLocalDim("all_to_all", shape, axis_dim, split_dim);
  if (status.ok()) status = CheckLocalDim("all_to_all", shape, axis_dim, concat_dim);
  if (status.ok()) status = CheckDivisible("all_to_all", shape, split_dim, shape[axis_dim]);
  if (!status.ok()) return status;
  Assembly assembly("all_to_all", dtype);
  const int input = assembly.AddInput(-1, shape);
  Shape result = shape;
  result[split_dim] /= shape[axis_dim];
  const int64_t chunk = result[split_dim];
  const int64_t piece = result[concat_dim];
  if (piece < 1) return absl::InvalidArgumentError("all_to_all: extent 0");
  if (__builtin_mul_overflow(piece, shape[axis_dim], &result[concat_dim])) {
    return absl::InvalidArgumentError("all_to_all: extent out of range");
  }
  std::vector<ExprId> indices = assembly.AddOutput(result);
  IndexFunctionBuilder& b = assembly.builder();
  const ExprId receiver = indices[axis_dim];
  const ExprId position = indices[concat_dim];
  indices[axis_dim] = b.IntDiv(position, piece);
  indices[concat_dim] = b.IntMod(position, piece);
  indices[split_dim] = b.IntAdd(indices[split_dim], b.IntScale(chunk, receiver));
  return assembly.Finish(assembly.Read(input, indices));
}

absl::StatusOr<IndexFunction> AxisChunk(const Shape& shape, DType dtype, int axis_dim, int dim) {
  absl::Status status = CheckLocalDim("chunk", shape, axis_dim, dim);
  if (status.ok()) status = CheckDivisible("chunk", shape, dim, shape[axis_dim]);
  if (!status.ok()) return status;
  Assembly assembly("chunk", dtype);
  const int input = assembly.AddInput(-1, shape);
  Shape result = shape;
  result[dim] /= shape[axis_dim];
  std::vector<ExprId> indices = assembly.AddOutput(result);
  IndexFunctionBuilder& b = assembly.builder();
  indices[dim] = b.IntAdd(indices[dim], b.IntScale(result[dim], indices[axis_dim]));
  return assembly.Finish(assembly.Read(input, indices));
}

absl::StatusOr<IndexFunction> AxisBroadcast(const Shape& shape, DType dtype, int axis_dim,
                                            int64_t root) {
  absl::Status status = CheckAxis("broadcast", shape, axis_dim);
  if (!status.ok()) return status;
  if (root < 0 || root >= shape[axis_dim]) {
    return absl::InvalidArgumentError(
        absl::StrCat("broadcast: root ", root, " of ", shape[axis_dim]));
  }
  Assembly assembly("broadcast", dtype);
  const int input = assembly.AddInput(-1, shape);
  std::vector<ExprId> indices = assembly.AddOutput(shape);
  indices[axis_dim] = assembly.builder().Int(root);
  return assembly.Finish(assembly.Read(input, indices));
}

absl::StatusOr<IndexFunction> AxisPermute(const Shape& shape, DType dtype, int axis_dim,
                                          const std::vector<int64_t>& source) {
  absl::Status status = CheckAxis("permute", shape, axis_dim);
  if (!status.ok()) return status;
  const int64_t extent = shape[axis_dim];
  if (static_cast<int64_t>(source.size()) != extent) {
    return absl::InvalidArgumentError(
        absl::StrCat("permute: ", source.size(), " sources for ", extent, " ranks"));
  }
  Assembly assembly("permute", dtype);
  const int input = assembly.AddInput(-1, shape);
  const std::vector<ExprId> indices = assembly.AddOutput(shape);
  // Ranks that read at the same distance, or nothing, share a piece.
  std::vector<int64_t> starts;
  std::vector<ExprId> pieces;
  for (int64_t rank = 0; rank < extent; ++rank) {
    if (source[rank] >= extent) {
      return absl::InvalidArgumentError(
          absl::StrCat("permute: rank ", rank, " reads rank ", source[rank], " of ", extent));
    }
    const bool continues =
        rank > 0 &&
        (source[rank] < 0 ? source[rank - 1] < 0
                          : source[rank - 1] >= 0 && source[rank] == source[rank - 1] + 1);
    if (continues) continue;
    starts.push_back(rank);
    if (source[rank] < 0) {
      pieces.push_back(assembly.Zero());
    } else {
      std::vector<ExprId> at = indices;
      at[axis_dim] = assembly.Shift(at[axis_dim], source[rank] - rank);
      pieces.push_back(assembly.Read(input, at));
    }
  }
  return assembly.Finish(assembly.Piecewise(indices[axis_dim], starts, pieces, 0, pieces.size()));
}

}  // namespace planproof::sdfg
