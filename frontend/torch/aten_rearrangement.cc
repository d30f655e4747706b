// Operators that join, cut, mask or select elements.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_operators.h"
#include "frontend/torch/strided_parts.h"
#include "sdfg/native_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

absl::StatusOr<int64_t> Dimension(AtenCall* call, int64_t rank) {
  PLAN_ASSIGN_OR_RETURN(int64_t dim, call->Integer("dim", 0));
  return dim < 0 ? dim + rank : dim;
}

absl::Status Concatenate(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> tensors, call.Tensors("tensors"));
  PLAN_ASSIGN_OR_RETURN(const int64_t dim,
                        Dimension(&call, static_cast<int64_t>(call.target(0).shape.size())));
  std::vector<Argument> parts;
  for (sdfg::TensorId tensor : tensors) {
    const sdfg::Shape& shape = call.writer().tensor(tensor).shape;
    if (shape == sdfg::Shape{0}) continue;  // PyTorch skips it whatever the others' rank
    parts.push_back(Argument::Of(tensor));
  }
  if (parts.size() == 1) {
    call.Return(parts[0]);
    return absl::OkStatus();
  }
  PLAN_ASSIGN_OR_RETURN(Argument joined, call.One("concat", parts, {{"dim", dim}}));
  call.Return(std::move(joined));
  return absl::OkStatus();
}

absl::Status Stack(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> tensors, call.Tensors("tensors"));
  PLAN_ASSIGN_OR_RETURN(const int64_t dim,
                        Dimension(&call, static_cast<int64_t>(call.target(0).shape.size())));
  std::vector<Argument> parts;
  for (sdfg::TensorId tensor : tensors) parts.push_back(Argument::Of(tensor));
  PLAN_ASSIGN_OR_RETURN(Argument joined, call.One("stack", parts, {{"dim", dim}}));
  call.Return(std::move(joined));
  return absl::OkStatus();
}

// A tensor of one number with a part of it put in: padding, the derivative of a slice. The operand
// is broadcast to the part, as a copy does.
absl::Status PutInto(AtenCall& call, const char* what, const solver::Rational& number,
                     const Strided& part, const sdfg::Shape& whole) {
  const Tensor& target = call.target(0);
  if (target.shape != whole) {
    return absl::InvalidArgumentError(absl::StrCat(
        call.writer().Place(), ": the result has the shape [", absl::StrJoin(target.shape, ","),
        "], by the arguments it is [", absl::StrJoin(whole, ","), "]; record again"));
  }
  const sdfg::DType dtype = target.dtype;
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId gradient, call.TensorOf(what));
  PLAN_ASSIGN_OR_RETURN(gradient, call.Converted(gradient, dtype));
  PLAN_ASSIGN_OR_RETURN(gradient, call.Broadcast(gradient, part.shape));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId zeros, call.writer().Fill(whole, dtype, number));
  if (part.empty()) {
    call.Return(Argument::Of(zeros));
    return absl::OkStatus();
  }
  const Strided source = Contiguous(0, whole);
  const std::string key =
      absl::StrCat("put ", sdfg::DTypeName(dtype), absl::StrJoin(whole, ","), " ", part.offset, " ",
                   absl::StrJoin(part.shape, ","), " ", absl::StrJoin(part.strides, ","));
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::TensorId put,
      call.writer().Emit("put", key, [&] { return UpdateFunction(source, part, dtype); },
                         {zeros, gradient}));
  call.Return(Argument::Of(put));
  return absl::OkStatus();
}

absl::Status SliceBackward(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::Shape whole, call.Integers("input_sizes"));
  const Strided source = Contiguous(0, whole);
  PLAN_ASSIGN_OR_RETURN(const int64_t dim, call.Integer("dim", 0));
  PLAN_ASSIGN_OR_RETURN(const int64_t start, call.Integer("start", 0));
  PLAN_ASSIGN_OR_RETURN(const int64_t end,
                        call.Integer("end", std::numeric_limits<int64_t>::max()));
  PLAN_ASSIGN_OR_RETURN(const int64_t step, call.Integer("step", 1));
  const std::optional<Strided> part = Sliced(source, dim, start, end, step);
  if (!part) return call.NotDeclared("this slice");
  return PutInto(call, "grad_output", 0, *part, whole);
}

absl::Status SelectBackward(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::Shape whole, call.Integers("input_sizes"));
  PLAN_ASSIGN_OR_RETURN(const int64_t dim, call.Integer("dim", 0));
  PLAN_ASSIGN_OR_RETURN(const int64_t index, call.Integer("index", std::nullopt));
  const std::optional<Strided> part = Selected(Contiguous(0, whole), dim, index);
  if (!part) return call.NotDeclared("this selection");
  return PutInto(call, "grad_output", 0, *part, whole);
}

// Padding of negative width cuts. What pads and cuts at once is refused.
absl::Status Cut(AtenCall& call, const std::vector<int64_t>& pad, const solver::Rational& value) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId self, call.TensorOf("self"));
  const sdfg::Shape whole = call.writer().tensor(self).shape;
  const Strided source = Contiguous(0, whole);
  Strided part = source;
  if (pad.size() % 2 != 0 || pad.size() / 2 > whole.size()) return call.NotDeclared("this padding");
  for (size_t k = 0; k < pad.size() / 2; ++k) {
    const size_t dim = whole.size() - 1 - k;
    if (pad[2 * k] > 0 || pad[2 * k + 1] > 0) {
      return call.NotDeclared(absl::StrCat("padding by ", value.ToString(), " that also cuts"));
    }
    part.shape[dim] += pad[2 * k] + pad[2 * k + 1];
    if (part.shape[dim] < 0) return call.NotDeclared("this padding");
    part.offset -= pad[2 * k] * part.strides[dim];
  }
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId left, call.writer().View(self, source, part));
  call.Return(Argument::Of(left));
  return absl::OkStatus();
}

// `pad` has pairs (before, after) for the last dimension, the one before it, ...
absl::Status Pad(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> pad, call.Integers("pad"));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational value,
                        call.RealIn(call.Described("self").dtype, "value", 0));
  if (std::any_of(pad.begin(), pad.end(), [](int64_t extent) { return extent < 0; })) {
    return Cut(call, pad, value);
  }
  sdfg::Shape whole = call.Described("self").shape;
  Strided part{0, whole, {}};
  if (pad.size() % 2 != 0 || pad.size() / 2 > whole.size()) return call.NotDeclared("this padding");
  std::vector<int64_t> before(whole.size());
  for (size_t k = 0; k < pad.size() / 2; ++k) {
    before[whole.size() - 1 - k] = pad[2 * k];
    whole[whole.size() - 1 - k] += pad[2 * k] + pad[2 * k + 1];
  }
  part.strides = Contiguous(0, whole).strides;
  for (size_t d = 0; d < whole.size(); ++d) part.offset += before[d] * part.strides[d];
  return PutInto(call, "self", value, part, whole);
}

// Elements move up by `shifts`, and around. Without dimensions, those of the tensor as one row.
absl::Status Roll(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId tensor, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> shifts, call.Integers("shifts"));
  PLAN_ASSIGN_OR_RETURN(std::vector<int64_t> dims, call.Integers("dims"));
  const sdfg::Shape whole = call.Described("self").shape;
  const auto rank = static_cast<int64_t>(whole.size());
  const bool one_row = dims.empty();
  if (one_row) {
    PLAN_ASSIGN_OR_RETURN(tensor, call.writer().Reshape(tensor, {ElementsOf(whole)}));
    dims = {0};
  }
  if (shifts.size() != dims.size()) return call.NotDeclared("another number of shifts");
  Argument rolled = Argument::Of(tensor);
  for (size_t k = 0; k < dims.size(); ++k) {
    const int64_t dim = dims[k] < 0 ? dims[k] + rank : dims[k];
    if (!one_row && (dim < 0 || dim >= rank)) return call.NotDeclared("this dimension");
    const int64_t extent = one_row ? ElementsOf(whole) : whole[dim];
    if (extent == 0) continue;
    const int64_t shift = (shifts[k] % extent + extent) % extent;
    if (shift == 0) continue;
    PLAN_ASSIGN_OR_RETURN(Argument last,
                          call.One("slice", {rolled}, {{"dim", dim}, {"start", extent - shift}}));
    PLAN_ASSIGN_OR_RETURN(
        Argument first, call.One("slice", {rolled},
                                 {{"dim", dim}, {"start", int64_t{0}}, {"stop", extent - shift}}));
    PLAN_ASSIGN_OR_RETURN(rolled, call.One("concat", {last, first}, {{"dim", dim}}));
  }
  if (one_row) {
    PLAN_ASSIGN_OR_RETURN(rolled.tensor, call.writer().Reshape(rolled.tensor, whole));
  }
  call.Return(std::move(rolled));
  return absl::OkStatus();
}

// The diagonal of two dimensions is the last one of the gradient.
absl::Status DiagonalBackward(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::Shape whole, call.Integers("input_sizes"));
  PLAN_ASSIGN_OR_RETURN(const int64_t above, call.Integer("offset", 0));
  PLAN_ASSIGN_OR_RETURN(const int64_t given1, call.Integer("dim1", 0));
  PLAN_ASSIGN_OR_RETURN(const int64_t given2, call.Integer("dim2", 1));
  const std::optional<int64_t> dim1 = DimensionOf(given1, whole.size());
  const std::optional<int64_t> dim2 = DimensionOf(given2, whole.size());
  if (!dim1 || !dim2 || *dim1 == *dim2) return call.NotDeclared("this diagonal");
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId g, call.TensorOf("grad_output"));
  const sdfg::Tensor gradient = call.writer().tensor(g);
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    sdfg::IndexFunctionBuilder b("diagonal_backward");
    b.AddInput("g", gradient.shape, gradient.dtype);
    const int output = b.AddOutput("y", whole, gradient.dtype);
    std::vector<sdfg::ExprId> read;
    for (size_t d = 0; d < whole.size(); ++d) {
      if (static_cast<int64_t>(d) == *dim1 || static_cast<int64_t>(d) == *dim2) continue;
      read.push_back(b.Index(b.OutputDims(output)[d]));
    }
    const sdfg::ExprId row = b.Index(b.OutputDims(output)[*dim1]);
    const sdfg::ExprId column = b.Index(b.OutputDims(output)[*dim2]);
    read.push_back(above >= 0 ? row : column);
    const sdfg::ExprId there = b.Binary(sdfg::Op::kIntEq, column, b.IntAdd(row, b.Int(above)));
    b.SetBody(output, b.Select(there, b.Element(0, read), b.Real(0)));
    return sdfg::Finish(&b);
  };
  const std::string key =
      absl::StrCat("diagonal_backward ", sdfg::DTypeName(gradient.dtype), "[",
                   absl::StrJoin(gradient.shape, ","), "] [", absl::StrJoin(whole, ","), "] ",
                   above, " ", *dim1, " ", *dim2);
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId put,
                        call.writer().Emit("diagonal_backward", key, make, {g}));
  call.Return(Argument::Of(put));
  return absl::OkStatus();
}

// `self`, whose last three dimensions are split into `split`, with these in another order; then in
// the target's shape.
absl::Status ReturnShuffled(AtenCall* call, const sdfg::Shape& split,
                            const std::vector<size_t>& order) {
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId x, call->TensorOf("self"));
  const sdfg::Shape& shape = call->writer().tensor(x).shape;
  sdfg::Shape whole(shape.begin(), shape.end() - 3);
  const size_t rows = whole.size();
  whole.insert(whole.end(), split.begin(), split.end());
  if (ElementsOf(whole) != ElementsOf(shape)) return call->NotDeclared("this factor");
  const Strided source = Contiguous(0, whole);
  Strided view = source;
  for (size_t k = 0; k < order.size(); ++k) {
    view.shape[rows + k] = source.shape[rows + order[k]];
    view.strides[rows + k] = source.strides[rows + order[k]];
  }
  PLAN_ASSIGN_OR_RETURN(x, call->writer().Reshape(x, whole));
  PLAN_ASSIGN_OR_RETURN(x, call->writer().View(x, source, view));
  PLAN_ASSIGN_OR_RETURN(x, call->writer().Reshape(x, call->target(0).shape));
  call->Return(Argument::Of(x));
  return absl::OkStatus();
}

// Channels become pixels of a larger picture, or the other way round.
absl::Status PixelShuffle(AtenCall& call, bool back) {
  PLAN_ASSIGN_OR_RETURN(const int64_t factor,
                        call.Integer(back ? "downscale_factor" : "upscale_factor", std::nullopt));
  const sdfg::Shape& shape = call.Described("self").shape;
  const sdfg::Shape& out = call.target(0).shape;
  if (shape.size() < 3 || out.size() != shape.size() || factor < 1) {
    return call.NotDeclared("this picture");
  }
  const size_t at = shape.size() - 3;
  if (ElementsOf(out) != ElementsOf(shape) ||
      (back ? out[at] != shape[at] * factor * factor : shape[at] != out[at] * factor * factor)) {
    return call.NotDeclared("this factor");
  }
  if (back) {
    return ReturnShuffled(&call, {shape[at], out[at + 1], factor, out[at + 2], factor},
                          {0, 2, 4, 1, 3});
  }
  return ReturnShuffled(&call, {out[at], factor, factor, shape[at + 1], shape[at + 2]},
                        {0, 3, 1, 4, 2});
}

}  // namespace

void AddRearrangement(AtenTable* table) {
  table->Add("cat", kNew, "tensors dim", Concatenate);
  table->Add("stack", kNew, "tensors dim", Stack);
  table->Add("constant_pad_nd", kNew, "self pad value", Pad);
  table->Add("pad", "default", "self pad mode value", [](AtenCall& call) -> absl::Status {
    const Value& mode = call["mode"];
    const bool constant = mode.kind == Value::Kind::kNone || mode.text == "constant";
    return constant ? Pad(call) : call.NotDeclared("padding that repeats elements");
  });
  table->Declared("flip", kNew, "self *dims", "flip");
  table->Declared("repeat", kNew, "self *repeats", "repeat");
  table->Add("roll", kNew, "self shifts dims", Roll);
  table->Declared("tril", kAnyForm, "self *diagonal", "aten_tril");
  table->Declared("triu", kAnyForm, "self *diagonal", "aten_triu");
  table->Add("slice_backward", kNew, "grad_output input_sizes dim start end step", SliceBackward);
  table->Add("select_backward", kNew, "grad_output input_sizes dim index", SelectBackward);
  table->Add("diagonal_backward", kNew, "grad_output input_sizes offset dim1 dim2",
             DiagonalBackward);
  table->Add("pixel_shuffle", kNew, "self upscale_factor",
             [](AtenCall& call) { return PixelShuffle(call, false); });
  table->Add("pixel_unshuffle", kNew, "self downscale_factor",
             [](AtenCall& call) { return PixelShuffle(call, true); });
}

}  // namespace planproof::frontend::torch
