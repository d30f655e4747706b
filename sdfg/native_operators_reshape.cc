// Operators that give the same elements another shape: view, flatten, squeeze, expand, repeat.
#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "sdfg/declaration_shapes.h"
#include "sdfg/index_digits.h"
#include "sdfg/limit.h"
#include "sdfg/native_operators.h"
#include "solver/rational.h"

namespace planproof::sdfg {
namespace {

// Indices of the input's elements for a view, by groups of dimensions with equal products: a
// dimension that the view does not touch keeps its variable, a split or merged one reads only its
// own digits.
class View {
 public:
  View(IndexFunctionBuilder* builder, Shape in, Shape out, std::vector<ExprId> out_indices)
      : builder_(builder),
        in_(std::move(in)),
        out_(std::move(out)),
        out_indices_(std::move(out_indices)) {}

  // Empty beside an error: a group of dimensions that are merged or split has too many indices.
  std::vector<ExprId> InputIndices(absl::Status* status) {
    size_t i = 0;
    size_t o = 0;
    while (i < in_.size() && o < out_.size()) {
      if (in_[i] == out_[o]) {
        result_.push_back(out_indices_[o]);
        ++i;
        ++o;
        continue;
      }
      size_t i_end = i + 1;
      size_t o_end = o + 1;
      int64_t in_product = in_[i];
      int64_t out_product = out_[o];
      while (in_product != out_product) {
        const bool longer = in_product < out_product;
        int64_t* product = longer ? &in_product : &out_product;
        const int64_t extent = longer ? in_[i_end++] : out_[o_end++];
        if (__builtin_mul_overflow(*product, extent, product)) {
          *status = BeyondLimit("indices of dimensions that a view merges or splits",
                                ShapeText(in_) + " as " + ShapeText(out_), "2^63");
          return {};
        }
      }
      Group(i, i_end, o, o_end, in_product);
      i = i_end;
      o = o_end;
    }
    while (i++ < in_.size()) result_.push_back(builder_->Int(0));  // extents 1
    return std::move(result_);
  }

 private:
  // Products of the extents from each dimension to the end of the group; all of them, sorted from
  // large to small, if each divides the next larger one; else empty.
  std::vector<int64_t> CommonStrides(size_t i, size_t i_end, size_t o, size_t o_end) const {
    std::set<int64_t> strides = {1};
    int64_t stride = 1;
    for (size_t k = i_end; k-- > i;) strides.insert(stride *= in_[k]);
    stride = 1;
    for (size_t k = o_end; k-- > o;) strides.insert(stride *= out_[k]);
    std::vector<int64_t> sorted(strides.rbegin(), strides.rend());
    for (size_t k = 0; k + 1 < sorted.size(); ++k) {
      if (sorted[k] % sorted[k + 1] != 0) return {};
    }
    return sorted;
  }

  void Group(size_t i, size_t i_end, size_t o, size_t o_end, int64_t product) {
    std::vector<int64_t> strides = CommonStrides(i, i_end, o, o_end);
    std::vector<ExprId> out_indices(out_indices_.begin() + o, out_indices_.begin() + o_end);
    std::vector<int64_t> out_sizes(out_.begin() + o, out_.begin() + o_end);
    std::vector<int64_t> in_sizes(in_.begin() + i, in_.begin() + i_end);
    if (strides.empty()) {  // (2, 3) from (3, 2): digits of the flattened index
      ExprId flat = JoinDigits(builder_, out_indices, out_sizes);
      std::vector<ExprId> digits = SplitDigits(builder_, flat, in_sizes);
      result_.insert(result_.end(), digits.begin(), digits.end());
      return;
    }
    std::vector<ExprId> digits;  // one per pair of neighbouring strides
    std::vector<int64_t> sizes;
    int64_t above = product;
    for (size_t k = 0; k < out_sizes.size(); ++k) {
      int64_t below = above / out_sizes[k];
      std::vector<int64_t> parts = Steps(strides, above, below);
      std::vector<ExprId> part_digits = SplitDigits(builder_, out_indices[k], parts);
      digits.insert(digits.end(), part_digits.begin(), part_digits.end());
      sizes.insert(sizes.end(), parts.begin(), parts.end());
      above = below;
    }
    size_t next = 0;
    above = product;
    for (int64_t size : in_sizes) {
      int64_t below = above / size;
      size_t count = Steps(strides, above, below).size();
      result_.push_back(JoinDigits(builder_, {digits.begin() + next, digits.begin() + next + count},
                                   {sizes.begin() + next, sizes.begin() + next + count}));
      next += count;
      above = below;
    }
  }

  // Quotients of neighbouring strides between `above` and `below`.
  static std::vector<int64_t> Steps(const std::vector<int64_t>& strides, int64_t above,
                                    int64_t below) {
    std::vector<int64_t> steps;
    for (size_t k = 0; k + 1 < strides.size(); ++k) {
      if (strides[k] <= above && strides[k + 1] >= below) {
        steps.push_back(strides[k] / strides[k + 1]);
      }
    }
    return steps;
  }

  IndexFunctionBuilder* builder_;
  Shape in_;
  Shape out_;
  std::vector<ExprId> out_indices_;
  std::vector<ExprId> result_;
};

// Exact: a tensor may have more elements than 64 bits count.
solver::Rational Product(const Shape& shape) {
  solver::Rational product(1);
  for (int64_t extent : shape) product = product * solver::Rational(extent);
  return product;
}

absl::StatusOr<IndexFunction> Reshaped(const NativeCall& call, const Shape& in, const Shape& out) {
  if (Product(in).IsZero() && in != out) {
    return call.Error("a tensor without elements can only keep its shape " + ShapeText(in));
  }
  IndexFunctionBuilder builder(call.name);
  builder.AddInput("x", in, call.operands[0].dtype);
  int output = builder.AddOutput("y", out, call.operands[0].dtype);
  std::vector<ExprId> indices;
  for (VarId var : builder.OutputDims(output)) indices.push_back(builder.Index(var));
  absl::Status limit;
  std::vector<ExprId> source = View(&builder, in, out, indices).InputIndices(&limit);
  if (!limit.ok()) return limit;
  builder.SetBody(output, ReadElement(&builder, 0, source));
  return Finish(&builder);
}

absl::StatusOr<IndexFunction> ViewAs(const NativeCall& call) {
  absl::StatusOr<Shape> in = call.TensorShape(0, "x");
  if (!in.ok()) return in.status();
  std::string attribute = call.attributes.count("size") ? "size" : "shape";
  Shape out = call.Ints(attribute);
  solver::Rational known(1);
  int unknown = -1;
  for (size_t k = 0; k < out.size(); ++k) {
    if (out[k] == -1 && unknown < 0) {
      unknown = static_cast<int>(k);
    } else if (out[k] < 0) {
      return call.Error("attribute " + attribute + " is " + ShapeText(out) +
                        "; expected extents, at most one of them -1");
    } else {
      known = known * solver::Rational(out[k]);
    }
  }
  const solver::Rational total = Product(*in);
  if (unknown >= 0) {
    if (known.IsZero() || !(total / known).IsInteger()) {
      return call.Error("operand x of shape " + ShapeText(*in) + " has " + total.ToString() +
                        " elements, no multiple of " + known.ToString());
    }
    if (!(total / known).ToInt64(&out[unknown])) {
      return BeyondLimit("extent of a view of " + ShapeText(*in), (total / known).ToString(),
                         "2^60");
    }
  } else if (!(known == total)) {
    return call.Error("operand x of shape " + ShapeText(*in) + " has " + total.ToString() +
                      " elements, but shape " + ShapeText(out) + " has " + known.ToString());
  }
  return Reshaped(call, *in, out);
}

absl::StatusOr<int> Dimension(const NativeCall& call, const std::string& attribute, int rank) {
  absl::StatusOr<std::vector<int>> numbers =
      DimensionNumbers(call.name, attribute, AttributeValue(call.Int(attribute)), rank);
  if (!numbers.ok()) return numbers.status();
  return numbers->front();
}

absl::StatusOr<IndexFunction> Flatten(const NativeCall& call) {
  absl::StatusOr<Shape> in = call.TensorShape(0, "x");
  if (!in.ok()) return in.status();
  if (in->empty()) return Reshaped(call, *in, {1});
  absl::StatusOr<int> start = Dimension(call, "start_dim", static_cast<int>(in->size()));
  absl::StatusOr<int> end = Dimension(call, "end_dim", static_cast<int>(in->size()));
  if (!start.ok()) return start.status();
  if (!end.ok()) return end.status();
  if (*end < *start) return call.Error("end_dim lies before start_dim");
  Shape out(in->begin(), in->begin() + *start);
  const solver::Rational merged = Product({in->begin() + *start, in->begin() + *end + 1});
  if (!merged.ToInt64(&out.emplace_back())) {
    return BeyondLimit("extent of a flattened " + ShapeText(*in), merged.ToString(), "2^60");
  }
  out.insert(out.end(), in->begin() + *end + 1, in->end());
  return Reshaped(call, *in, out);
}

absl::StatusOr<IndexFunction> Squeeze(const NativeCall& call) {
  absl::StatusOr<Shape> in = call.TensorShape(0, "x");
  if (!in.ok()) return in.status();
  absl::StatusOr<std::vector<int>> dims =
      DimensionNumbers(call.name, "dim", call.attributes.at("dim"), static_cast<int>(in->size()));
  if (!dims.ok()) return dims.status();
  Shape out;
  std::vector<bool> dropped(in->size(), false);
  for (int dim : *dims) dropped[dim] = (*in)[dim] == 1;
  IndexFunctionBuilder builder(call.name);
  builder.AddInput("x", *in, call.operands[0].dtype);
  for (size_t k = 0; k < in->size(); ++k) {
    if (!dropped[k]) out.push_back((*in)[k]);
  }
  int output = builder.AddOutput("y", out, call.operands[0].dtype);
  std::vector<ExprId> source;
  size_t next = 0;
  std::vector<VarId> vars = builder.OutputDims(output);
  for (size_t k = 0; k < in->size(); ++k) {
    source.push_back(dropped[k] ? builder.Int(0) : builder.Index(vars[next++]));
  }
  builder.SetBody(output, ReadElement(&builder, 0, source));
  return Finish(&builder);
}

absl::StatusOr<IndexFunction> Unsqueeze(const NativeCall& call) {
  absl::StatusOr<Shape> in = call.TensorShape(0, "x");
  if (!in.ok()) return in.status();
  absl::StatusOr<int> dim = Dimension(call, "dim", static_cast<int>(in->size()) + 1);
  if (!dim.ok()) return dim.status();
  Shape out = *in;
  out.insert(out.begin() + *dim, 1);
  IndexFunctionBuilder builder(call.name);
  builder.AddInput("x", *in, call.operands[0].dtype);
  int output = builder.AddOutput("y", out, call.operands[0].dtype);
  std::vector<ExprId> source;
  for (VarId var : builder.OutputDims(output)) source.push_back(builder.Index(var));
  source.erase(source.begin() + *dim);
  builder.SetBody(output, ReadElement(&builder, 0, source));
  return Finish(&builder);
}

// Output dimension k reads input dimension k - (new leading dimensions) at 0 if that has extent 1
// and is stretched, at the remainder if it is repeated.
absl::StatusOr<IndexFunction> Repeated(const NativeCall& call, const Shape& in, const Shape& out) {
  IndexFunctionBuilder builder(call.name);
  builder.AddInput("x", in, call.operands[0].dtype);
  int output = builder.AddOutput("y", out, call.operands[0].dtype);
  std::vector<VarId> vars = builder.OutputDims(output);
  size_t lead = out.size() - in.size();
  std::vector<ExprId> source;
  for (size_t k = 0; k < in.size(); ++k) {
    ExprId index = builder.Index(vars[lead + k]);
    if (in[k] != out[lead + k]) index = in[k] <= 1 ? builder.Int(0) : builder.IntMod(index, in[k]);
    source.push_back(index);
  }
  builder.SetBody(output, ReadElement(&builder, 0, source));
  return Finish(&builder);
}

absl::StatusOr<IndexFunction> Expand(const NativeCall& call) {
  absl::StatusOr<Shape> in = call.TensorShape(0, "x");
  if (!in.ok()) return in.status();
  Shape out = call.Ints("size");
  if (out.size() < in->size() || out.size() > 32) {
    return call.Error("operand x has shape " + ShapeText(*in) + "; expected at most " +
                      std::to_string(out.size()) + " dimensions");
  }
  size_t lead = out.size() - in->size();
  for (size_t k = 0; k < out.size(); ++k) {
    if (out[k] == -1 && k >= lead) out[k] = (*in)[k - lead];
    bool fits = out[k] >= 0 && (k < lead || (*in)[k - lead] == out[k] || (*in)[k - lead] == 1);
    if (!fits) {
      return call.Error("operand x of shape " + ShapeText(*in) + " cannot be expanded to " +
                        ShapeText(call.Ints("size")));
    }
  }
  return Repeated(call, *in, out);
}

absl::StatusOr<IndexFunction> Repeat(const NativeCall& call) {
  absl::StatusOr<Shape> in = call.TensorShape(0, "x");
  if (!in.ok()) return in.status();
  Shape out = call.Ints("repeats");
  if (out.size() < in->size() || out.size() > 32) {
    return call.Error("repeats has " + std::to_string(out.size()) + " numbers; expected at least " +
                      std::to_string(in->size()));
  }
  size_t lead = out.size() - in->size();
  for (size_t k = 0; k < out.size(); ++k) {
    int64_t extent = k < lead ? 1 : (*in)[k - lead];
    if (out[k] < 0) {
      return call.Error("repeats is " + ShapeText(call.Ints("repeats")) +
                        "; expected numbers of at least 0");
    }
    if (__builtin_mul_overflow(out[k], extent, &out[k])) {
      return BeyondLimit("repeats", ShapeText(call.Ints("repeats")), "2^60 indices");
    }
  }
  return Repeated(call, *in, out);
}

absl::StatusOr<IndexFunction> RepeatInterleave(const NativeCall& call) {
  absl::StatusOr<Shape> in = call.TensorShape(0, "x");
  if (!in.ok()) return in.status();
  absl::StatusOr<int> dim = Dimension(call, "dim", static_cast<int>(in->size()));
  if (!dim.ok()) return dim.status();
  int64_t repeats = call.Int("repeats");
  Shape out = *in;
  if (repeats < 1) {
    return call.Error("repeats is " + std::to_string(repeats) + "; expected at least 1");
  }
  if (__builtin_mul_overflow(out[*dim], repeats, &out[*dim])) {
    return BeyondLimit("repeats", repeats, "2^60 indices");
  }
  IndexFunctionBuilder builder(call.name);
  builder.AddInput("x", *in, call.operands[0].dtype);
  int output = builder.AddOutput("y", out, call.operands[0].dtype);
  std::vector<ExprId> source;
  for (VarId var : builder.OutputDims(output)) source.push_back(builder.Index(var));
  source[*dim] = builder.IntDiv(source[*dim], repeats);
  builder.SetBody(output, ReadElement(&builder, 0, source));
  return Finish(&builder);
}

}  // namespace

void AddReshapeOperators(std::vector<NativeOperator>* operators) {
  auto add = [&](const std::string& name, const std::string& signature,
                 const std::string& documentation, const std::string& attributes,
                 absl::StatusOr<IndexFunction> (*instantiate)(const NativeCall&)) {
    operators->push_back(
        {name, signature, documentation, 1, 1, ParseAttributes(attributes), instantiate});
  };
  add("view", "view(x) {size: ints}",
      "The elements in row-major order in another shape; one extent may be -1. Source: "
      "torch.Tensor.view.",
      "size: ints", ViewAs);
  add("reshape", "reshape(x) {shape: ints}", "As view. Source: torch.reshape.", "shape: ints",
      ViewAs);
  add("flatten", "flatten(x) {start_dim = 0, end_dim = -1}",
      "Dimensions start_dim to end_dim merged into one. Source: torch.flatten.",
      "start_dim = 0, end_dim = -1", Flatten);
  add("squeeze", "squeeze(x) {dim: ints = none}",
      "Dimensions of extent 1 dropped: those named, or all. Source: torch.squeeze.",
      "dim: ints = none", Squeeze);
  add("unsqueeze", "unsqueeze(x) {dim: int}",
      "A new dimension of extent 1 at position dim. Source: torch.unsqueeze.", "dim: int",
      Unsqueeze);
  add("expand", "expand(x) {size: ints}",
      "Dimensions of extent 1 stretched, new ones in front; -1 keeps an extent. Source: "
      "torch.Tensor.expand.",
      "size: ints", Expand);
  add("repeat", "repeat(x) {repeats: ints}",
      "The tensor laid out several times per dimension. Source: torch.Tensor.repeat.",
      "repeats: ints", Repeat);
  add("repeat_interleave", "repeat_interleave(x) {repeats: int, dim: int}",
      "Each element of a dimension several times in a row, as for grouped keys and values. Source: "
      "torch.repeat_interleave.",
      "repeats: int, dim: int", RepeatInterleave);
}

}  // namespace planproof::sdfg
