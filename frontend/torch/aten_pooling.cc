// Pooling by maxima and means, forward and backward.
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_derivative.h"
#include "frontend/torch/aten_operators.h"
#include "sdfg/graph.h"
#include "sdfg/native_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// Windows over the last dimensions.
struct Windows {
  std::vector<int64_t> size, stride, padding, dilation;
  bool ceil = false;
};

absl::StatusOr<std::vector<int64_t>> OfEachDimension(AtenCall* call, const char* name,
                                                     const std::vector<int64_t>& otherwise) {
  PLAN_ASSIGN_OR_RETURN(std::vector<int64_t> numbers, call->Integers(name));
  if (numbers.empty()) return otherwise;
  if (numbers.size() == 1) numbers.resize(otherwise.size(), numbers[0]);
  if (numbers.size() != otherwise.size()) {
    return call->NotDeclared("windows of another number of dimensions");
  }
  return numbers;
}

absl::StatusOr<Windows> ReadWindows(AtenCall* call, size_t rank) {
  Windows windows;
  const std::vector<int64_t> ones(rank, 1), zeros(rank, 0);
  PLAN_ASSIGN_OR_RETURN(windows.size, OfEachDimension(call, "kernel_size", ones));
  PLAN_ASSIGN_OR_RETURN(windows.stride, OfEachDimension(call, "stride", windows.size));
  PLAN_ASSIGN_OR_RETURN(windows.padding, OfEachDimension(call, "padding", zeros));
  windows.dilation = ones;
  if (call->Has("dilation")) {
    PLAN_ASSIGN_OR_RETURN(windows.dilation, OfEachDimension(call, "dilation", ones));
  }
  PLAN_ASSIGN_OR_RETURN(windows.ceil, call->Boolean("ceil_mode", false));
  return windows;
}

// Where element `element` of window `output` stands along dimension number `d` of the windows, and
// whether that is within the input; kNoExpr: it always is.
struct WindowPlace {
  sdfg::ExprId index = sdfg::kNoExpr;
  sdfg::ExprId inside = sdfg::kNoExpr;
};
using WindowPlaceOf = std::function<WindowPlace(sdfg::IndexFunctionBuilder* builder, size_t d,
                                                sdfg::ExprId output, sdfg::ExprId element)>;

// The place of each window's largest element among those of its channel, row by row: the first of
// equal ones, as an uninterpreted function of the window (sdfg/native_operators_order.cc). Elements
// beside the input count as 0, and the others as their exponentials, which are in the same order
// and larger than 0.
absl::StatusOr<sdfg::IndexFunction> PlacesOfLargest(const sdfg::Tensor& x, const sdfg::Shape& out,
                                                    const std::vector<int64_t>& size,
                                                    const WindowPlaceOf& place_of) {
  using sdfg::ExprId;
  using sdfg::Op;
  sdfg::IndexFunctionBuilder b("max_pool_places");
  const int input = b.AddInput("x", x.shape, x.dtype);
  const int places = b.AddOutput("places", out, sdfg::DType::kInt64);
  std::vector<ExprId> at;
  for (const sdfg::VarId var : std::vector<sdfg::VarId>(b.OutputDims(places)))
    at.push_back(b.Index(var));
  const size_t rank = size.size();
  const size_t rows = at.size() - rank;
  // Element k of the window, counted row by row.
  const auto along = [&](size_t d, ExprId k) {
    int64_t below = 1;
    for (size_t later = d + 1; later < rank; ++later) below *= size[later];
    const ExprId step = b.IntMod(b.IntDiv(k, below), size[d]);
    return place_of(&b, d, at[rows + d], step);
  };
  int64_t elements = 1;
  for (const int64_t extent : size) elements *= extent;
  const sdfg::VarId var = b.AddVar("k", elements);
  std::vector<ExprId> element(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(rows));
  ExprId inside = sdfg::kNoExpr;
  for (size_t d = 0; d < rank; ++d) {
    const WindowPlace place = along(d, b.Index(var));
    element.push_back(place.index);
    if (place.inside == sdfg::kNoExpr) continue;
    inside = inside == sdfg::kNoExpr ? place.inside : b.Binary(Op::kAnd, inside, place.inside);
  }
  ExprId score = b.Element(input, element);
  if (inside != sdfg::kNoExpr) {
    score = b.Select(inside, b.Unary(Op::kExp, score), b.Real(0));
  }
  const ExprId chosen = b.Opaque("topk_index(k=1)", true, var, {score, b.Int(0)});
  ExprId position = along(0, chosen).index;
  for (size_t d = 1; d < rank; ++d) {
    position = b.IntAdd(b.IntScale(x.shape[rows + d], position), along(d, chosen).index);
  }
  b.SetBody(places, position);
  return sdfg::Finish(&b);
}

absl::Status ReturnPlaces(AtenCall* call, sdfg::TensorId x, const sdfg::Shape& out,
                          const std::vector<int64_t>& size, const std::string& key,
                          const WindowPlaceOf& place_of) {
  const sdfg::Tensor& tensor = call->writer().tensor(x);
  if (sdfg::IsInteger(tensor.dtype)) {
    call->Return({});  // not declared: as memory that nobody wrote
    return absl::OkStatus();
  }
  const std::string full = absl::StrCat(key, " ", sdfg::DTypeName(tensor.dtype), "[",
                                        absl::StrJoin(tensor.shape, ","), "]");
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::TensorId places,
      call->writer().Emit("max_pool_places", full,
                          [&] { return PlacesOfLargest(tensor, out, size, place_of); }, {x}));
  call->Return(Argument::Of(places));
  return absl::OkStatus();
}

absl::Status MaxPool(AtenCall& call, size_t rank) {
  PLAN_ASSIGN_OR_RETURN(const Windows windows, ReadWindows(&call, rank));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(Argument values,
                        call.One(absl::StrCat("max_pool", rank, "d"), {Argument::Of(x)},
                                 {{"kernel_size", windows.size},
                                  {"stride", windows.stride},
                                  {"padding", windows.padding},
                                  {"dilation", windows.dilation},
                                  {"ceil_mode", windows.ceil}}));
  const sdfg::Shape out = call.writer().tensor(values.tensor).shape;
  const sdfg::Shape in = call.writer().tensor(x).shape;
  call.Return(std::move(values));
  const size_t rows = in.size() - rank;
  const WindowPlaceOf place_of = [&](sdfg::IndexFunctionBuilder* b, size_t d, sdfg::ExprId output,
                                     sdfg::ExprId element) {
    using sdfg::Op;
    WindowPlace place;
    place.index = b->IntAdd(b->IntScale(windows.stride[d], output),
                            b->IntScale(windows.dilation[d], element));
    const int64_t last = windows.stride[d] * (out[rows + d] - 1) +
                         windows.dilation[d] * (windows.size[d] - 1) - windows.padding[d];
    if (windows.padding[d] == 0 && last < in[rows + d]) return place;
    place.index = b->IntSub(place.index, b->Int(windows.padding[d]));
    place.inside = b->Binary(Op::kAnd, b->Binary(Op::kIntLessEq, b->Int(0), place.index),
                             b->Binary(Op::kIntLess, place.index, b->Int(in[rows + d])));
    return place;
  };
  const std::string key =
      absl::StrCat("max_pool_places ", absl::StrJoin(windows.size, ","), " ",
                   absl::StrJoin(windows.stride, ","), " ", absl::StrJoin(windows.padding, ","),
                   " ", absl::StrJoin(windows.dilation, ","), " ", absl::StrJoin(out, ","));
  return ReturnPlaces(&call, x, out, windows.size, key, place_of);
}

// By the indices alone: which windows there are was said when these were computed.
absl::Status MaxPoolBackward(AtenCall& call, size_t rank) {
  PLAN_ASSIGN_OR_RETURN(const Argument g, call.Operand("grad_output"));
  PLAN_ASSIGN_OR_RETURN(const Argument indices, call.Operand("indices"));
  const sdfg::Shape& shape = call.Described("self").shape;
  if (shape.size() <= rank) return call.NotDeclared("a pooling without channels");
  sdfg::Attributes sizes = {{"height", shape[shape.size() - 2]},
                            {"width", shape[shape.size() - 1]}};
  if (rank == 3) sizes["depth"] = shape[shape.size() - 3];
  PLAN_ASSIGN_OR_RETURN(Argument dx, call.One(absl::StrCat("aten_max_pool", rank, "d_backward"),
                                              {g, indices}, sizes));
  return ReturnGradient(&call, std::move(dx), "self");
}

absl::Status WindowsMaxPoolBackward(AtenCall& call, size_t rank) {
  PLAN_RETURN_IF_ERROR(ReadWindows(&call, rank).status());
  return MaxPoolBackward(call, rank);
}

// Window i of n covers the elements from floor(i in / n) to before ceil((i + 1) in / n).
absl::Status AdaptiveMaxPool(AtenCall& call, size_t rank) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, call.Integers("output_size"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(Argument values, call.One(absl::StrCat("adaptive_max_pool", rank, "d"),
                                                  {Argument::Of(x)}, {{"output_size", sizes}}));
  const sdfg::Shape out = call.writer().tensor(values.tensor).shape;
  const sdfg::Shape in = call.writer().tensor(x).shape;
  call.Return(std::move(values));
  const size_t rows = in.size() - rank;
  std::vector<int64_t> size;
  for (size_t d = rows; d < in.size(); ++d) {
    int64_t most = 1;
    for (int64_t i = 0; i < out[d]; ++i) {
      const int64_t first = i * in[d] / out[d];
      most = std::max(most, ((i + 1) * in[d] + out[d] - 1) / out[d] - first);
    }
    size.push_back(most);
  }
  const WindowPlaceOf place_of = [&](sdfg::IndexFunctionBuilder* b, size_t d, sdfg::ExprId output,
                                     sdfg::ExprId element) {
    const int64_t from = in[rows + d], to = out[rows + d];
    WindowPlace place;
    place.index = b->IntAdd(b->IntDiv(b->IntScale(from, output), to), element);
    if (from % to == 0) return place;
    const sdfg::ExprId next = b->IntScale(from, b->IntAdd(output, b->Int(1)));
    place.inside =
        b->Binary(sdfg::Op::kIntLess, place.index, b->IntDiv(b->IntAdd(next, b->Int(to - 1)), to));
    return place;
  };
  const std::string key = absl::StrCat("adaptive_max_pool_places ", absl::StrJoin(out, ","));
  return ReturnPlaces(&call, x, out, size, key, place_of);
}

absl::StatusOr<sdfg::Attributes> ReadMeanPool(AtenCall* call, size_t rank) {
  PLAN_ASSIGN_OR_RETURN(const Windows windows, ReadWindows(call, rank));
  PLAN_ASSIGN_OR_RETURN(const bool padded, call->Boolean("count_include_pad", true));
  sdfg::Attributes attributes = {{"kernel_size", windows.size},
                                 {"stride", windows.stride},
                                 {"padding", windows.padding},
                                 {"ceil_mode", windows.ceil},
                                 {"count_include_pad", padded}};
  if (call->Has("divisor_override")) {
    PLAN_ASSIGN_OR_RETURN(attributes["divisor_override"],
                          call->Integer("divisor_override", std::nullopt));
  }
  return attributes;
}

absl::Status MeanPool(AtenCall& call, size_t rank) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::Attributes attributes, ReadMeanPool(&call, rank));
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(Argument y, call.One(absl::StrCat("avg_pool", rank, "d"), {x}, attributes));
  call.Return(std::move(y));
  return absl::OkStatus();
}

absl::Status ReturnGradient(AtenCall* call, const std::string& declared,
                            const sdfg::Attributes& attributes) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId g, call->TensorOf("grad_output"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call->TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId dx, GradientOf(call, declared, {x}, attributes, 0, g));
  call->Return(Argument::Of(dx));
  return absl::OkStatus();
}

absl::Status MeanPoolBackward(AtenCall& call, size_t rank) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::Attributes attributes, ReadMeanPool(&call, rank));
  return ReturnGradient(&call, absl::StrCat("avg_pool", rank, "d"), attributes);
}

absl::Status AdaptiveMeanPool(AtenCall& call, size_t rank) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, call.Integers("output_size"));
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(Argument y, call.One(absl::StrCat("adaptive_avg_pool", rank, "d"), {x},
                                             {{"output_size", sizes}}));
  call.Return(std::move(y));
  return absl::OkStatus();
}

absl::Status AdaptiveMeanPoolBackward(AtenCall& call, size_t rank) {
  const sdfg::Shape& shape = call.Described("grad_output").shape;
  if (shape.size() < rank) return call.NotDeclared("a pooling of fewer dimensions");
  const std::vector<int64_t> sizes(shape.end() - static_cast<std::ptrdiff_t>(rank), shape.end());
  return ReturnGradient(&call, absl::StrCat("adaptive_avg_pool", rank, "d"),
                        {{"output_size", sizes}});
}

}  // namespace

void AddPooling(AtenTable* table) {
  for (const size_t rank : {size_t{2}, size_t{3}}) {
    const auto with_rank = [rank](absl::Status (*run)(AtenCall&, size_t)) {
      return [rank, run](AtenCall& call) { return run(call, rank); };
    };
    const auto name = [rank](const char* before, const char* after) {
      return absl::StrCat(before, rank, "d", after);
    };
    table->Add(name("max_pool", "_with_indices"), "default",
               "self kernel_size stride padding dilation ceil_mode", with_rank(MaxPool));
    table->Add(name("max_pool", "_with_indices_backward"), "default",
               "grad_output self kernel_size stride padding dilation ceil_mode indices",
               with_rank(WindowsMaxPoolBackward));
    table->Add(name("adaptive_max_pool", ""), "default", "self output_size",
               with_rank(AdaptiveMaxPool));
    table->Add(name("adaptive_max_pool", "_backward"), "default", "grad_output self indices",
               with_rank(MaxPoolBackward));
    const char* const means =
        "self kernel_size stride padding ceil_mode count_include_pad divisor_override";
    table->Add(name("avg_pool", ""), "default", means, with_rank(MeanPool));
    table->Add(name("avg_pool", "_backward"), "default", std::string("grad_output ") + means,
               with_rank(MeanPoolBackward));
    table->Add(name("_adaptive_avg_pool", ""), "default", "self output_size",
               with_rank(AdaptiveMeanPool));
    table->Add(name("_adaptive_avg_pool", "_backward"), "default", "grad_output self",
               with_rank(AdaptiveMeanPoolBackward));
  }
}

}  // namespace planproof::frontend::torch
