// Elements at indices that are data. An element is read as the sum over the dimension in which one
// summand is not 0, so that parts of the dimension add up.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sdfg/declaration_shapes.h"
#include "sdfg/native_operators_data_index.h"
#include "sdfg/native_operators_windows.h"

namespace planproof::sdfg {

OutOfRange OutOfRangeOf(const std::string& mode) {
  if (mode == "clip") return OutOfRange::kClipped;
  if (mode == "fill" || mode == "drop") return OutOfRange::kDropped;
  return mode == "wrap" ? OutOfRange::kWrapped : OutOfRange::kPromised;
}

ExprId IndexWithin(IndexFunctionBuilder* builder, OutOfRange mode, int64_t extent, ExprId index) {
  if (mode == OutOfRange::kWrapped) return builder->IntMod(index, extent);
  if (mode != OutOfRange::kClipped) return index;
  const ExprId last = builder->Int(extent - 1);
  const ExprId above = builder->Binary(Op::kIntLess, last, index);
  const ExprId below = builder->Binary(Op::kIntLess, index, builder->Int(0));
  return builder->Select(below, builder->Int(0), builder->Select(above, last, index));
}

ExprId CountedFromTheEnd(IndexFunctionBuilder* builder, int64_t extent, ExprId index) {
  const ExprId below = builder->Binary(Op::kIntLess, index, builder->Int(0));
  return builder->Select(below, builder->IntAdd(index, builder->Int(extent)), index);
}

ExprId IsWithin(IndexFunctionBuilder* builder, int64_t extent, ExprId index) {
  return builder->Binary(Op::kAnd, builder->Binary(Op::kIntLessEq, builder->Int(0), index),
                         builder->Binary(Op::kIntLess, index, builder->Int(extent)));
}

absl::Status AddIndexInput(const NativeCall& call, size_t number, IndexFunctionBuilder* builder) {
  const absl::StatusOr<Shape> shape = call.TensorShape(number, "index");
  if (!shape.ok()) return shape.status();
  const DType dtype = call.operands[number].dtype;
  if (dtype != DType::kUnknown && !IsInteger(dtype)) {
    return call.Error(std::string("operand index is of type ") + DTypeName(dtype) +
                      "; expected integers");
  }
  builder->AddInput("index", *shape, dtype == DType::kUnknown ? DType::kInt64 : dtype);
  return absl::OkStatus();
}

absl::StatusOr<size_t> NamedDimension(const NativeCall& call, const std::string& attribute,
                                      size_t rank) {
  const absl::StatusOr<std::vector<int>> numbers =
      DimensionNumbers(call.name, attribute, call.attributes.at(attribute), static_cast<int>(rank));
  if (!numbers.ok()) return numbers.status();
  if (numbers->size() != 1) return call.Error("attribute " + attribute + " must be one dimension");
  return static_cast<size_t>(numbers->front());
}

ExprId ReadNumber(IndexFunctionBuilder* builder, int input, const std::vector<ExprId>& indices) {
  const ExprId element = ReadElement(builder, input, indices);
  if (!IsInteger(builder->function().inputs[input].dtype)) return element;
  return builder->Unary(Op::kPosition, element);
}

ExprId AsBody(IndexFunctionBuilder* builder, DType dtype, ExprId number) {
  return IsInteger(dtype) ? builder->Unary(Op::kWhole, number) : number;
}

namespace {

constexpr char kWithin[] = "an index lies within its dimension";

// A gather along one dimension of operand 0 by operand 1.
class Gather {
 public:
  explicit Gather(const NativeCall& call) : call_(call), builder_(call.name) {}

  absl::Status Start(const std::string& dim_attribute) {
    const absl::StatusOr<Shape> x = call_.TensorShape(0, "x");
    if (!x.ok()) return x.status();
    const absl::StatusOr<size_t> dim = NamedDimension(call_, dim_attribute, x->size());
    if (!dim.ok()) return dim.status();
    x_ = *x;
    dim_ = *dim;
    if (x_[dim_] < 1) return NotCovered(call_, "reads of a dimension of extent 0");
    builder_.AddInput("x", x_, call_.operands[0].dtype);
    const absl::Status status = AddIndexInput(call_, 1, &builder_);
    if (!status.ok()) return status;
    index_ = call_.operands[1].shape;
    return absl::OkStatus();
  }

  // The result's indices; its shape is this.
  const std::vector<ExprId>& AddOutput(const Shape& shape) {
    output_ = builder_.AddOutput("y", shape, call_.operands[0].dtype);
    for (VarId var : builder_.OutputDims(output_)) y_.push_back(builder_.Index(var));
    return y_;
  }

  ExprId IndexAt(const std::vector<ExprId>& at) { return builder_.IntElement(1, at); }

  // The result is the element of x at `at`, of which entry dim is `index`.
  absl::StatusOr<IndexFunction> Read(std::vector<ExprId> at, ExprId index, OutOfRange mode) {
    const int64_t extent = x_[dim_];
    const DType dtype = call_.operands[0].dtype;
    const ExprId within = IsWithin(&builder_, extent, index);
    const ExprId place = IndexWithin(&builder_, mode, extent, index);
    const VarId var = builder_.AddVar("v", extent);
    at[dim_] = builder_.Index(var);
    const ExprId here =
        builder_.Unary(Op::kIndicator, builder_.Binary(Op::kIntEq, place, at[dim_]));
    ExprId body = builder_.Reduce(Op::kSum, var,
                                  builder_.Binary(Op::kMul, here, ReadNumber(&builder_, 0, at)));
    bool promised = mode == OutOfRange::kPromised;
    if (mode == OutOfRange::kDropped) {
      if (call_.IsNone("fill_value")) {
        promised = true;  // not a number, or the type's least: outside of what is proved
      } else if (const solver::Rational fill = call_.Real("fill_value"); !fill.IsZero()) {
        if (IsInteger(dtype) && !fill.IsInteger()) {
          return call_.Error("fill_value is no integer, but operand x holds integers");
        }
        body = builder_.Select(within, body, builder_.Real(fill));
      }
    }
    builder_.SetBody(output_, AsBody(&builder_, dtype, body));
    if (promised) builder_.AddPremise(output_, within, kWithin);
    return Finish(&builder_);
  }

  IndexFunctionBuilder* builder() { return &builder_; }
  const Shape& x() const { return x_; }
  const Shape& index() const { return index_; }
  size_t dim() const { return dim_; }

 private:
  const NativeCall& call_;
  IndexFunctionBuilder builder_;
  Shape x_;
  Shape index_;
  size_t dim_ = 0;
  int output_ = 0;
  std::vector<ExprId> y_;
};

absl::StatusOr<IndexFunction> TorchGather(const NativeCall& call) {
  Gather gather(call);
  const absl::Status status = gather.Start("dim");
  if (!status.ok()) return status;
  const Shape& index = gather.index();
  if (index.size() != gather.x().size()) {
    return call.Error("operands x and index must have the same number of dimensions");
  }
  for (size_t d = 0; d < index.size(); ++d) {
    if (d != gather.dim() && index[d] > gather.x()[d]) {
      return call.Error(absl::StrCat("operand index has extent ", index[d], " in dimension ", d,
                                     "; expected at most ", gather.x()[d]));
    }
  }
  const std::vector<ExprId>& y = gather.AddOutput(index);
  return gather.Read(y, gather.IndexAt(y), OutOfRange::kPromised);
}

absl::StatusOr<IndexFunction> TakeAlongAxis(const NativeCall& call) {
  Gather gather(call);
  const absl::Status status = gather.Start("axis");
  if (!status.ok()) return status;
  const Shape& index = gather.index();
  const Shape& x = gather.x();
  if (index.size() != x.size()) {
    return call.Error("operands x and index must have the same number of dimensions");
  }
  Shape out = index;
  for (size_t d = 0; d < x.size(); ++d) {
    if (d == gather.dim()) continue;
    if (index[d] != x[d] && index[d] != 1 && x[d] != 1) {
      return call.Error(absl::StrCat("operands x and index have extents ", x[d], " and ", index[d],
                                     " in dimension ", d, "; expected equal ones, or 1"));
    }
    out[d] = x[d] == 1 ? index[d] : x[d];
  }
  const std::vector<ExprId>& y = gather.AddOutput(out);
  std::vector<ExprId> at = y;
  std::vector<ExprId> index_at = y;
  for (size_t d = 0; d < x.size(); ++d) {
    if (d == gather.dim()) continue;
    if (x[d] == 1) at[d] = gather.builder()->Int(0);
    if (index[d] == 1) index_at[d] = gather.builder()->Int(0);
  }
  const OutOfRange mode = OutOfRangeOf(call.Text("mode"));
  ExprId place = gather.IndexAt(index_at);
  const bool wraps = call.IsNone("wrap_negative_indices") ? mode != OutOfRange::kPromised
                                                          : call.Bool("wrap_negative_indices");
  if (wraps) place = CountedFromTheEnd(gather.builder(), x[gather.dim()], place);
  return gather.Read(at, place, mode);
}

// The dimension is replaced by those of the index.
absl::StatusOr<IndexFunction> Take(const NativeCall& call, bool torch) {
  Gather gather(call);
  const absl::Status status = gather.Start(torch ? "dim" : "axis");
  if (!status.ok()) return status;
  const Shape& index = gather.index();
  if (torch && index.size() != 1) return call.Error("expected an operand index of one dimension");
  Shape out = gather.x();
  out.erase(out.begin() + gather.dim());
  out.insert(out.begin() + gather.dim(), index.begin(), index.end());
  const std::vector<ExprId>& y = gather.AddOutput(out);
  std::vector<ExprId> at = y;
  const auto first = at.begin() + gather.dim();
  const auto end = first + index.size();
  ExprId place = gather.IndexAt({first, end});
  at.insert(at.erase(first, end), place);
  const OutOfRange mode = torch ? OutOfRange::kPromised : OutOfRangeOf(call.Text("mode"));
  if (mode == OutOfRange::kDropped) {
    place = CountedFromTheEnd(gather.builder(), gather.x()[gather.dim()], place);
  }
  return gather.Read(at, place, mode);
}

}  // namespace

void AddGatherOperators(std::vector<NativeOperator>* operators) {
  const auto add = [&](const char* name, const std::string& attributes, const char* documentation,
                       std::function<absl::StatusOr<IndexFunction>(const NativeCall&)> build) {
    operators->push_back({name, std::string(name) + "(x, index) {" + attributes + "}",
                          documentation, 2, 2, ParseAttributes(attributes), std::move(build)});
  };
  add("gather", "dim: int, ignore sparse_grad = false",
      "y[i, j, k] = x[i, index[i, j, k], k] for dim = 1. Source: torch.gather.", TorchGather);
  add("index_select", "dim: int",
      "y[i, j, k] = x[i, index[j], k] for dim = 1. Source: torch.index_select.",
      [](const NativeCall& call) { return Take(call, true); });
  add("take",
      "axis: int, mode in (\"fill\", \"clip\", \"wrap\") = \"fill\", fill_value: real = none",
      "y[i, j.., k] = x[i, index[j..], k] for axis = 1. Out of range: \"fill\" gives fill_value, "
      "and negative indices count from the end; \"clip\" reads at the nearest index; \"wrap\" "
      "counts modulo the extent. Without a fill_value, indices out of range are excluded. Source: "
      "jax.numpy.take with an axis.",
      [](const NativeCall& call) { return Take(call, false); });
  add("take_along_axis",
      "axis: int = -1, mode in (\"fill\", \"clip\", \"promise_in_bounds\") = \"fill\", fill_value: "
      "real = none, wrap_negative_indices: bool = none",
      "y[i, j, k] = x[i, index[i, j, k], k] for axis = 1; other dimensions are broadcast. Out of "
      "range: \"fill\" gives fill_value, \"clip\" reads at the nearest index; in both, negative "
      "indices count from the end. Without a fill_value, indices out of range are excluded. "
      "Source: jax.numpy.take_along_axis.",
      TakeAlongAxis);
}

}  // namespace planproof::sdfg
