// Operators that select or permute dimensions and ranges.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "sdfg/declaration_shapes.h"
#include "sdfg/native_operators.h"

namespace planproof::sdfg {
namespace {

// One input, one or more outputs, each element of an output being an element of the input.
class Movement {
 public:
  Movement(const NativeCall& call, const Shape& shape)
      : builder_(call.name), dtype_(call.operands[0].dtype) {
    builder_.AddInput("x", shape, dtype_);
  }

  // Indices of the next output, whose shape this is.
  std::vector<ExprId> AddOutput(const Shape& shape) {
    std::string name = outputs_ == 0 ? "y" : "y" + std::to_string(outputs_);
    int output = builder_.AddOutput(name, shape, dtype_);
    ++outputs_;
    std::vector<ExprId> indices;
    for (VarId var : builder_.OutputDims(output)) indices.push_back(builder_.Index(var));
    return indices;
  }
  void Read(const std::vector<ExprId>& indices) {
    builder_.SetBody(outputs_ - 1, ReadElement(&builder_, 0, indices));
  }
  IndexFunctionBuilder& builder() { return builder_; }

  absl::StatusOr<IndexFunction> Finish() {
    IndexFunction function;
    absl::Status status = builder_.Finish(&function);
    if (!status.ok()) return status;
    return function;
  }

 private:
  IndexFunctionBuilder builder_;
  DType dtype_;
  int outputs_ = 0;
};

absl::StatusOr<int> OneDimension(const NativeCall& call, const std::string& attribute, int rank) {
  absl::StatusOr<std::vector<int>> numbers =
      DimensionNumbers(call.name, attribute, call.attributes.at(attribute), rank);
  if (!numbers.ok()) return numbers.status();
  if (numbers->size() != 1) return call.Error("attribute " + attribute + " must be one dimension");
  return numbers->front();
}

// y[.., i, ..] = x[.., source[..], ..] with `order[k]` the input dimension of output dimension k.
absl::StatusOr<IndexFunction> Permuted(const NativeCall& call, const Shape& shape,
                                       const std::vector<int>& order) {
  Movement movement(call, shape);
  Shape out;
  for (int dim : order) out.push_back(shape[dim]);
  std::vector<ExprId> indices = movement.AddOutput(out);
  std::vector<ExprId> source(shape.size());
  for (size_t k = 0; k < order.size(); ++k) source[order[k]] = indices[k];
  movement.Read(source);
  return movement.Finish();
}

absl::StatusOr<IndexFunction> Transpose(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  int rank = static_cast<int>(shape->size());
  absl::StatusOr<int> a = OneDimension(call, "dim0", rank);
  absl::StatusOr<int> b = OneDimension(call, "dim1", rank);
  if (!a.ok()) return a.status();
  if (!b.ok()) return b.status();
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[*a], order[*b]);
  return Permuted(call, *shape, order);
}

absl::StatusOr<IndexFunction> TransposeMatrix(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  if (shape->size() > 2) return call.Error("expected at most 2 dimensions");
  return Permuted(call, *shape, shape->size() == 2 ? std::vector<int>{1, 0} : std::vector<int>{0});
}

absl::StatusOr<IndexFunction> Permute(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  int rank = static_cast<int>(shape->size());
  const std::vector<int64_t> dims = call.Ints("dims");
  absl::StatusOr<std::vector<int>> each =
      DimensionNumbers(call.name, "dims", call.attributes.at("dims"), rank);
  if (!each.ok()) return each.status();
  if (static_cast<int>(dims.size()) != rank) {
    return call.Error("attribute dims is " + AttributeText(call.attributes.at("dims")) +
                      "; expected a permutation of the " + std::to_string(rank) + " dimensions");
  }
  std::vector<int> order;
  for (int64_t dim : dims) order.push_back(static_cast<int>(dim < 0 ? dim + rank : dim));
  return Permuted(call, *shape, order);
}

// Elements start, start + step, ... below stop of dimension dim, as Python's slices count.
absl::StatusOr<IndexFunction> SliceRange(const NativeCall& call, const Shape& shape, int dim,
                                         int64_t start, int64_t stop, int64_t step) {
  int64_t extent = shape[dim];
  if (step < 1) return call.Error("step is " + std::to_string(step) + "; expected at least 1");
  if (start < 0) start += extent;
  if (stop < 0) stop += extent;
  start = std::clamp<int64_t>(start, 0, extent);
  stop = std::clamp<int64_t>(stop, start, extent);
  Shape out = shape;
  out[dim] = (stop - start) / step + ((stop - start) % step != 0);
  Movement movement(call, shape);
  std::vector<ExprId> indices = movement.AddOutput(out);
  IndexFunctionBuilder& builder = movement.builder();
  indices[dim] = builder.IntAdd(builder.IntScale(step, indices[dim]), builder.Int(start));
  movement.Read(indices);
  return movement.Finish();
}

absl::StatusOr<IndexFunction> Slice(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  absl::StatusOr<int> dim = OneDimension(call, "dim", static_cast<int>(shape->size()));
  if (!dim.ok()) return dim.status();
  int64_t stop = call.IsNone("stop") ? INT64_MAX : call.Int("stop");
  return SliceRange(call, *shape, *dim, call.Int("start"), stop, call.Int("step"));
}

absl::StatusOr<IndexFunction> Narrow(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  absl::StatusOr<int> dim = OneDimension(call, "dim", static_cast<int>(shape->size()));
  if (!dim.ok()) return dim.status();
  int64_t start = call.Int("start");
  int64_t length = call.Int("length");
  int64_t extent = (*shape)[*dim];
  if (start < 0) start += extent;  // from the end
  if (start < 0 || length < 0 || start > extent || length > extent - start) {
    return call.Error("range of " + std::to_string(length) + " from " + std::to_string(start) +
                      " exceeds extent " + std::to_string(extent));
  }
  return SliceRange(call, *shape, *dim, start, start + length, 1);
}

absl::StatusOr<IndexFunction> Select(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  absl::StatusOr<int> dim = OneDimension(call, "dim", static_cast<int>(shape->size()));
  if (!dim.ok()) return dim.status();
  int64_t index = call.Int("index");
  int64_t extent = (*shape)[*dim];
  if (index < -extent || index >= extent) {
    return call.Error("index " + std::to_string(index) + " is outside of extent " +
                      std::to_string(extent));
  }
  Shape out = *shape;
  out.erase(out.begin() + *dim);
  Movement movement(call, *shape);
  std::vector<ExprId> indices = movement.AddOutput(out);
  indices.insert(indices.begin() + *dim,
                 movement.builder().Int(index < 0 ? index + extent : index));
  movement.Read(indices);
  return movement.Finish();
}

absl::StatusOr<IndexFunction> Flip(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  absl::StatusOr<std::vector<int>> dims = DimensionNumbers(
      call.name, "dims", call.attributes.at("dims"), static_cast<int>(shape->size()));
  if (!dims.ok()) return dims.status();
  Movement movement(call, *shape);
  std::vector<ExprId> indices = movement.AddOutput(*shape);
  IndexFunctionBuilder& builder = movement.builder();
  for (int dim : *dims) {
    indices[dim] =
        builder.IntAdd(builder.IntScale(-1, indices[dim]), builder.Int((*shape)[dim] - 1));
  }
  movement.Read(indices);
  return movement.Finish();
}

// Outputs that cover dimension `dim` in order, with these extents.
absl::StatusOr<IndexFunction> Pieces(const NativeCall& call, const Shape& shape, int dim,
                                     const std::vector<int64_t>& extents) {
  if (extents.size() > 4096) return call.Error("more than 4096 pieces");
  Movement movement(call, shape);
  int64_t start = 0;
  for (int64_t extent : extents) {
    Shape out = shape;
    out[dim] = extent;
    std::vector<ExprId> indices = movement.AddOutput(out);
    indices[dim] = movement.builder().IntAdd(indices[dim], movement.builder().Int(start));
    movement.Read(indices);
    start += extent;
  }
  return movement.Finish();
}

// Pieces of `size` elements; the last may be shorter.
std::vector<int64_t> EqualPieces(int64_t extent, int64_t size) {
  std::vector<int64_t> extents;
  for (int64_t start = 0; start < extent && extents.size() <= 4096; start += size) {
    extents.push_back(std::min(size, extent - start));
  }
  if (extents.empty()) extents.push_back(0);
  return extents;
}

absl::StatusOr<IndexFunction> Chunk(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  absl::StatusOr<int> dim = OneDimension(call, "dim", static_cast<int>(shape->size()));
  if (!dim.ok()) return dim.status();
  int64_t chunks = call.Int("chunks");
  if (chunks < 1)
    return call.Error("chunks is " + std::to_string(chunks) + "; expected at least 1");
  int64_t extent = (*shape)[*dim];
  int64_t size = std::max<int64_t>(extent / chunks + (extent % chunks != 0), 1);
  return Pieces(call, *shape, *dim, EqualPieces(extent, size));
}

absl::StatusOr<IndexFunction> Split(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  absl::StatusOr<int> dim = OneDimension(call, "dim", static_cast<int>(shape->size()));
  if (!dim.ok()) return dim.status();
  int64_t extent = (*shape)[*dim];
  const AttributeValue& value = call.attributes.at("split_size_or_sections");
  if (const int64_t* size = std::get_if<int64_t>(&value)) {
    if (*size < 1) return call.Error("the size of a piece is " + std::to_string(*size));
    return Pieces(call, *shape, *dim, EqualPieces(extent, *size));
  }
  const std::vector<int64_t> sections = call.Ints("split_size_or_sections");
  int64_t total = 0;
  for (int64_t section : sections) {
    if (section < 0 || __builtin_add_overflow(total, section, &total)) {
      return call.Error("a section is negative");
    }
  }
  if (total != extent) {
    return call.Error("the sections have " + std::to_string(total) + " elements, but dimension " +
                      std::to_string(*dim) + " of operand x has extent " + std::to_string(extent));
  }
  return Pieces(call, *shape, *dim, sections);
}

absl::StatusOr<IndexFunction> MultiRef(const NativeCall& call) {
  absl::StatusOr<Shape> shape = call.TensorShape(0, "x");
  if (!shape.ok()) return shape.status();
  int64_t times = call.Int("times");
  if (times < 1 || times > 4096) {
    return call.Error("times is " + std::to_string(times) + "; expected 1 to 4096");
  }
  Movement movement(call, *shape);
  for (int64_t k = 0; k < times; ++k) movement.Read(movement.AddOutput(*shape));
  return movement.Finish();
}

}  // namespace

void AddMovementOperators(std::vector<NativeOperator>* operators) {
  auto add = [&](const std::string& name, const std::string& signature,
                 const std::string& documentation, const std::string& attributes,
                 absl::StatusOr<IndexFunction> (*instantiate)(const NativeCall&)) {
    operators->push_back(
        {name, signature, documentation, 1, 1, ParseAttributes(attributes), instantiate});
  };
  add("transpose", "transpose(x) {dim0: int, dim1: int}",
      "Two dimensions exchanged. Source: torch.transpose.", "dim0: int, dim1: int", Transpose);
  add("t", "t(x[m, n]) -> y[n, m] = x[m, n]", "A matrix transposed. Source: torch.t.", "",
      TransposeMatrix);
  add("permute", "permute(x) {dims: ints}",
      "Dimension k of the result is dimension dims[k] of x. Source: torch.permute.", "dims: ints",
      Permute);
  add("slice", "slice(x) {dim = 0, start = 0, stop: int = none, step = 1}",
      "Elements start, start + step, ... below stop of one dimension, counted as in Python.",
      "dim = 0, start = 0, stop: int = none, step = 1", Slice);
  add("narrow", "narrow(x) {dim: int, start: int, length: int}",
      "A range of one dimension. Source: torch.narrow.", "dim: int, start: int, length: int",
      Narrow);
  add("select", "select(x) {dim: int, index: int}",
      "One element of a dimension, which is dropped. Source: torch.select.", "dim: int, index: int",
      Select);
  add("flip", "flip(x) {dims: ints}", "Dimensions in reverse order. Source: torch.flip.",
      "dims: ints", Flip);
  add("chunk", "chunk(x) {chunks: int, dim = 0} -> y, y1, ...",
      "At most `chunks` pieces of equal size, the last maybe shorter. Source: torch.chunk.",
      "chunks: int, dim = 0", Chunk);
  add("split", "split(x) {split_size_or_sections: int or ints, dim = 0} -> y, y1, ...",
      "Pieces of the given size or sizes. Source: torch.split.",
      "split_size_or_sections: int or ints, dim = 0", Split);
  add("multiref", "multiref(x) {times: int} -> y, y1, ...",
      "Copies for several consumers; the gradients of the copies add up. Source: "
      "nnscaler.runtime.function.multiref.",
      "times: int", MultiRef);
}

}  // namespace planproof::sdfg
