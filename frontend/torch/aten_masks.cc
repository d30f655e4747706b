// Elements at which a mask is true, in their order: nonzero, masked_select, masked_scatter.
//
// How many these are is the shape of the result, which the trace has: a premise says that it is
// that number. Element k is the one before which the mask is true k times.
#include "frontend/torch/aten_masks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_operators.h"
#include "sdfg/native_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// To which both are broadcast.
absl::StatusOr<sdfg::Shape> Common(AtenCall* call, const sdfg::Shape& x, const sdfg::Shape& y) {
  sdfg::Shape shape = x.size() < y.size() ? y : x;
  const sdfg::Shape& other = x.size() < y.size() ? x : y;
  for (size_t k = 0; k < other.size(); ++k) {
    int64_t& extent = shape[shape.size() - other.size() + k];
    if (extent == 1) extent = other[k];
    if (other[k] != 1 && other[k] != extent) return call->NotDeclared("a mask that does not fit");
  }
  return shape;
}

// Broadcast to the shape, in one dimension.
absl::StatusOr<Argument> Row(AtenCall* call, sdfg::TensorId tensor, const sdfg::Shape& shape) {
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId row, call->Broadcast(tensor, shape));
  PLAN_ASSIGN_OR_RETURN(row, call->writer().Reshape(row, {ElementsOf(shape)}));
  return Argument::Of(row);
}

// The indices of elements whose numbers in row-major order these are: one row for each.
absl::StatusOr<Argument> IndicesFrom(AtenCall* call, sdfg::TensorId numbers,
                                     const sdfg::Shape& shape) {
  const int64_t count = call->writer().tensor(numbers).shape[0];
  const auto rank = static_cast<int64_t>(shape.size());
  const std::vector<int64_t> strides = Contiguous(0, shape).strides;
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    sdfg::IndexFunctionBuilder builder("nonzero");
    builder.AddInput("x", {count}, sdfg::DType::kInt64);
    const int output = builder.AddOutput("y", sdfg::Shape{count, rank}, sdfg::DType::kInt64);
    const sdfg::ExprId row = builder.Index(builder.OutputDims(output)[0]);
    const sdfg::ExprId column = builder.Index(builder.OutputDims(output)[1]);
    const sdfg::ExprId number = builder.IntElement(0, {row});
    sdfg::ExprId body = sdfg::kNoExpr;
    for (int64_t d = rank; d-- > 0;) {
      sdfg::ExprId digit = builder.IntDiv(number, std::max<int64_t>(strides[d], 1));
      if (d > 0) digit = builder.IntMod(digit, shape[d]);
      body = body == sdfg::kNoExpr
                 ? digit
                 : builder.Select(builder.Binary(sdfg::Op::kIntEq, column, builder.Int(d)), digit,
                                  body);
    }
    builder.SetBody(output, body);
    return sdfg::Finish(&builder);
  };
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::TensorId indices,
      call->writer().Emit("nonzero",
                          absl::StrCat("indices ", count, " ", absl::StrJoin(shape, ",")), make,
                          {numbers}));
  return Argument::Of(indices);
}

absl::Status Nonzero(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId mask, call.TensorOf("self"));
  const sdfg::Shape shape = call.writer().tensor(mask).shape;
  const sdfg::Shape& result = call.target(0).shape;
  if (shape.empty() || result.size() != 2 || ElementsOf(shape) == 0) {
    return call.NotDeclared("such a mask");
  }
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId places, PlacesOf(&call, mask, result[0]));
  PLAN_ASSIGN_OR_RETURN(Argument indices, IndicesFrom(&call, places, shape));
  call.Return(std::move(indices));
  return absl::OkStatus();
}

absl::Status MaskedSelect(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId mask, call.TensorOf("mask"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::Shape shape, Common(&call, call.writer().tensor(x).shape,
                                                        call.writer().tensor(mask).shape));
  PLAN_ASSIGN_OR_RETURN(const Argument row, Row(&call, x, shape));
  PLAN_ASSIGN_OR_RETURN(const Argument chosen, Row(&call, mask, shape));
  PLAN_ASSIGN_OR_RETURN(Argument selected, call.One("aten_masked_select", {row, chosen},
                                                    {{"size", call.target(0).shape[0]}}));
  call.Return(std::move(selected));
  return absl::OkStatus();
}

absl::Status MaskedScatter(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId mask, call.TensorOf("mask"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId source, call.TensorOf("source"));
  const sdfg::Shape shape = call.target(0).shape;
  const sdfg::Shape given = call.writer().tensor(source).shape;
  PLAN_ASSIGN_OR_RETURN(const Argument row, Row(&call, x, shape));
  PLAN_ASSIGN_OR_RETURN(const Argument chosen, Row(&call, mask, shape));
  PLAN_ASSIGN_OR_RETURN(const Argument elements, Row(&call, source, given));
  PLAN_ASSIGN_OR_RETURN(Argument result, call.One("aten_masked_scatter", {row, chosen, elements}));
  PLAN_ASSIGN_OR_RETURN(result.tensor, call.writer().Reshape(result.tensor, shape));
  call.Return(std::move(result));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<sdfg::TensorId> PlacesOf(AtenCall* call, sdfg::TensorId mask, int64_t count) {
  PLAN_ASSIGN_OR_RETURN(const Argument row, Row(call, mask, call->writer().tensor(mask).shape));
  PLAN_ASSIGN_OR_RETURN(const Argument places, call->One("aten_nonzero", {row}, {{"size", count}}));
  return places.tensor;
}

void AddMasks(AtenTable* table) {
  table->Add("nonzero", kNew, "self", Nonzero);
  table->Add("masked_select", kNew, "self mask", MaskedSelect);
  table->Add("masked_scatter", kAnyForm, "self mask source", MaskedScatter);
}

}  // namespace planproof::frontend::torch
