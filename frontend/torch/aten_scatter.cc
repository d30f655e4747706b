#include "frontend/torch/aten_scatter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_operators.h"
#include "frontend/torch/aten_rows.h"
#include "sdfg/native_operators_data_index.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// To which all are broadcast; NotDeclared if they do not fit.
absl::StatusOr<sdfg::Shape> CommonShape(AtenCall* call, const std::vector<sdfg::TensorId>& all) {
  sdfg::Shape common;
  for (sdfg::TensorId tensor : all) {
    const sdfg::Shape& shape = call->writer().tensor(tensor).shape;
    if (shape.size() > common.size())
      common.insert(common.begin(), shape.size() - common.size(), 1);
    for (size_t k = 0; k < shape.size(); ++k) {
      int64_t& extent = common[common.size() - shape.size() + k];
      if (extent == 1) extent = shape[k];
      if (shape[k] != 1 && shape[k] != extent) {
        return call->NotDeclared("indices whose shapes do not fit");
      }
    }
  }
  return common;
}

// Numbers in row-major order, in dimensions of these extents, of the elements that the indices
// name: in one dimension. Negative indices count from the end.
absl::StatusOr<sdfg::TensorId> NumbersOf(AtenCall* call, std::vector<sdfg::TensorId> indices,
                                         const sdfg::Shape& extents) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::Shape shape, CommonShape(call, indices));
  std::string key = absl::StrCat("numbers ", absl::StrJoin(extents, ","));
  for (sdfg::TensorId& index : indices) {
    PLAN_ASSIGN_OR_RETURN(index, call->Broadcast(index, shape));
    absl::StrAppend(&key, " ", sdfg::DTypeName(call->writer().tensor(index).dtype), "[",
                    absl::StrJoin(shape, ","), "]");
  }
  const std::vector<int64_t> strides = Contiguous(0, extents).strides;
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    sdfg::IndexFunctionBuilder builder("index_put");
    for (sdfg::TensorId index : indices) {
      builder.AddInput("index", shape, call->writer().tensor(index).dtype);
    }
    const int output = builder.AddOutput("y", shape, sdfg::DType::kInt64);
    std::vector<sdfg::ExprId> at;
    for (sdfg::VarId var : builder.OutputDims(output)) at.push_back(builder.Index(var));
    sdfg::ExprId number = builder.Int(0);
    for (size_t d = 0; d < extents.size(); ++d) {
      const sdfg::ExprId index = sdfg::CountedFromTheEnd(
          &builder, extents[d], builder.IntElement(static_cast<int>(d), at));
      number = builder.IntAdd(number, builder.IntScale(strides[d], index));
      builder.AddPremise(output, sdfg::IsWithin(&builder, extents[d], index),
                         "an index lies within its dimension");
    }
    builder.SetBody(output, number);
    return sdfg::Finish(&builder);
  };
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId numbers,
                        call->writer().Emit("index_put", key, make, indices));
  return call->writer().Reshape(numbers, {ElementsOf(shape)});
}

// Values for the elements of `index` along `dim` are numbers or tensors.
absl::Status Scatter(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId self, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId index, call.TensorOf("index"));
  PLAN_ASSIGN_OR_RETURN(const int64_t dim, call.Integer("dim", std::nullopt));
  PLAN_ASSIGN_OR_RETURN(self, AsRow(&call, self));
  PLAN_ASSIGN_OR_RETURN(index, AsRow(&call, index));
  Argument source;
  if (call.IsTensor("src")) {
    PLAN_ASSIGN_OR_RETURN(source.tensor, call.TensorOf("src"));
    PLAN_ASSIGN_OR_RETURN(source.tensor, AsRow(&call, source.tensor));
  } else {
    PLAN_ASSIGN_OR_RETURN(source, call.Operand(call.Has("value") ? "value" : "src"));
    if (source.literal) {
      PLAN_ASSIGN_OR_RETURN(source, call.InType(source, call.writer().tensor(self).dtype));
    }
  }
  if (call.writer().tensor(self).dtype == sdfg::DType::kBool) {  // as 0 and 1
    PLAN_ASSIGN_OR_RETURN(self, call.Converted(self, sdfg::DType::kInt64));
    PLAN_ASSIGN_OR_RETURN(source, call.InType(source, sdfg::DType::kInt64));
  }
  PLAN_ASSIGN_OR_RETURN(
      Argument result,
      call.One("scatter", {Argument::Of(self), Argument::Of(index), source}, {{"dim", dim}}));
  PLAN_ASSIGN_OR_RETURN(result, AsResult(&call, std::move(result), 0));
  call.Return(std::move(result));
  return absl::OkStatus();
}

absl::Status IndexAdd(AtenCall& call) {
  std::vector<Argument> operands;
  for (const char* name : {"self", "index", "source"}) {
    PLAN_ASSIGN_OR_RETURN(operands.emplace_back(), call.Operand(name));
  }
  PLAN_ASSIGN_OR_RETURN(const int64_t dim, call.Integer("dim", std::nullopt));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational alpha,
                        call.RealIn(call.Described("self").dtype, "alpha", 1));
  PLAN_ASSIGN_OR_RETURN(Argument sums,
                        call.One("index_add", operands, {{"dim", dim}, {"alpha", alpha}}));
  call.Return(std::move(sums));
  return absl::OkStatus();
}

// torchtitan's operator, along the first dimension.
absl::Status DeterministicScatterAdd(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId out, call.TensorOf("out"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId index, call.TensorOf("index"));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId source, call.TensorOf("src"));
  PLAN_ASSIGN_OR_RETURN(
      Argument result,
      call.One("scatter_add", {Argument::Of(out), Argument::Of(index), Argument::Of(source)},
               {{"dim", int64_t{0}}}));
  call.Return(std::move(result));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Argument> PutAt(AtenCall* call, sdfg::TensorId self,
                               const std::vector<sdfg::TensorId>& indices, bool accumulate) {
  GraphWriter& writer = call->writer();
  const sdfg::Shape shape = writer.tensor(self).shape;
  const auto rest = shape.begin() + static_cast<int64_t>(indices.size());
  const sdfg::Shape extents(shape.begin(), rest);
  PLAN_ASSIGN_OR_RETURN(sdfg::Shape replaced, CommonShape(call, indices));
  replaced.insert(replaced.end(), rest, shape.end());
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId numbers, NumbersOf(call, indices, extents));
  const int64_t count = writer.tensor(numbers).shape[0];
  sdfg::Shape rows(rest, shape.end()), value_rows = rows;
  rows.insert(rows.begin(), ElementsOf(extents));
  value_rows.insert(value_rows.begin(), count);
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId values, call->TensorOf("values"));
  PLAN_ASSIGN_OR_RETURN(values, call->Converted(values, writer.tensor(self).dtype));
  PLAN_ASSIGN_OR_RETURN(values, call->Broadcast(values, replaced));
  PLAN_ASSIGN_OR_RETURN(values, writer.Reshape(values, value_rows));
  const Argument at = Argument::Of(numbers), source = Argument::Of(values);
  PLAN_ASSIGN_OR_RETURN(const bool unwritten, call->IsUnwritten("self"));
  Argument result;
  if (!accumulate && unwritten && count == rows[0]) {
    PLAN_ASSIGN_OR_RETURN(result, call->One("aten_put_once", {at, source}));
  } else {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId before, writer.Reshape(self, rows));
    PLAN_ASSIGN_OR_RETURN(result,
                          call->One(accumulate ? "index_add" : "index_copy",
                                    {Argument::Of(before), at, source}, {{"dim", int64_t{0}}}));
  }
  PLAN_ASSIGN_OR_RETURN(result.tensor, writer.Reshape(result.tensor, shape));
  return result;
}

void AddScatter(AtenTable* table) {
  table->Add("scatter", "src value _.src _.value src_out value_out", "self dim index src value",
             Scatter);
  table->Declared("scatter_add", kAnyForm, "self *dim index src", "scatter_add");
  table->Add("torchtitan.deterministic_scatter_add", "default", "out index src",
             DeterministicScatterAdd);
  table->Add("index_add", kAnyForm, "self dim index source alpha", IndexAdd);
  table->Declared("index_copy", kAnyForm, "self *dim index source", "index_copy");
}

}  // namespace planproof::frontend::torch
