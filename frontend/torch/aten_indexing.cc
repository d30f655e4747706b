// Elements at indices that are data: index, index_put, gather.
//
// As in sdfg/native_operators_gather.cc an element is read as the sum over the dimension in which
// one summand is not 0, so that parts of the dimension add up. An index tensor that is 0, 1, 2, ...
// by its definition is no data: it is the position itself.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_integers.h"
#include "frontend/torch/aten_masks.h"
#include "frontend/torch/aten_operators.h"
#include "frontend/torch/aten_rows.h"
#include "frontend/torch/aten_scatter.h"
#include "frontend/torch/strided_parts.h"
#include "sdfg/native_operators_data_index.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::ExprId;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;

// Whether the tensor of one dimension is 0, 1, 2, ... by its definition.
bool CountsUp(const sdfg::Graph& graph, sdfg::TensorId tensor) {
  const sdfg::OperatorId producer = graph.tensors[tensor].producer;
  if (producer == sdfg::kNone || graph.tensors[tensor].shape.size() != 1) return false;
  const sdfg::IndexFunction& function = *graph.operators[producer].function;
  if (!graph.operators[producer].inputs.empty() || function.outputs.size() != 1) return false;
  // start + step i of aten.arange; the builder may have dropped what adds nothing.
  int64_t constant = 0, step = 0;
  std::vector<std::pair<ExprId, int64_t>> pending = {{function.outputs[0].body, 1}};
  while (!pending.empty()) {
    const auto [id, scale] = pending.back();
    pending.pop_back();
    const sdfg::Node& node = function.nodes[id];
    switch (node.op) {
      case Op::kIntConst:
        constant += scale * node.value;
        break;
      case Op::kIndex:
        step += scale;
        break;
      case Op::kIntAdd:
        pending.emplace_back(node.args[0], scale);
        pending.emplace_back(node.args[1], scale);
        break;
      case Op::kIntScale:
        if (std::abs(node.value) > (int64_t{1} << 20)) return false;
        pending.emplace_back(node.args[0], scale * node.value);
        break;
      default:
        return false;
    }
  }
  return constant == 0 && step == 1;
}

// The indices of index and index_put: for each of the first dimensions of `self` a tensor of
// integers or nothing, and the shape to which the tensors are broadcast.
struct Indices {
  std::vector<std::optional<sdfg::TensorId>> tensors;  // per dimension of self
  std::vector<bool> position;  // counts up along the last dimension, as long as that is
  sdfg::Shape broadcast;
  size_t at = 0;  // where the broadcast dimensions stand in what is read
};

absl::StatusOr<Indices> IndicesOf(AtenCall* call, sdfg::TensorId self_tensor) {
  const size_t rank = call->writer().tensor(self_tensor).shape.size();
  Indices indices;
  indices.tensors.resize(rank);
  indices.position.resize(rank);
  const std::vector<Value>& list = (*call)["indices"].list;
  std::vector<size_t> dims;
  for (size_t d = 0; d < list.size(); ++d) {
    if (list[d].kind == Value::Kind::kNone) continue;
    PLAN_ASSIGN_OR_RETURN(const Argument argument, call->OperandOf(list[d]));
    if (argument.tensor == sdfg::kNone || d >= rank) return call->NotDeclared("such an index");
    const sdfg::Tensor& tensor = call->writer().tensor(argument.tensor);
    if (!sdfg::IsInteger(tensor.dtype)) return call->NotDeclared("an index by truth values");
    indices.tensors[d] = argument.tensor;
    dims.push_back(d);
    sdfg::Shape& shape = indices.broadcast;
    if (tensor.shape.size() > shape.size()) {
      shape.insert(shape.begin(), tensor.shape.size() - shape.size(), 1);
    }
    for (size_t k = 0; k < tensor.shape.size(); ++k) {
      int64_t& extent = shape[shape.size() - tensor.shape.size() + k];
      if (extent == 1)
        extent = tensor.shape[k];
      else if (tensor.shape[k] != 1 && tensor.shape[k] != extent) {
        return call->NotDeclared("indices whose shapes do not fit");
      }
    }
  }
  if (dims.empty()) return call->NotDeclared("an index of nothing");
  const bool adjacent = dims.back() - dims.front() + 1 == dims.size();
  indices.at = adjacent ? dims.front() : 0;
  const sdfg::Shape& self = call->writer().tensor(self_tensor).shape;
  for (size_t d : dims) {
    // One that is broadcast is the same number everywhere, and one that goes beyond the dimension
    // is no index.
    const sdfg::Shape& shape = call->writer().tensor(*indices.tensors[d]).shape;
    indices.position[d] = CountsUp(call->writer().graph(), *indices.tensors[d]) &&
                          shape[0] == indices.broadcast.back() && shape[0] <= self[d];
  }
  return indices;
}

std::string KeyOf(const sdfg::Graph& graph, const Indices& indices, sdfg::TensorId self) {
  std::string key = absl::StrCat(sdfg::DTypeName(graph.tensors[self].dtype), "[",
                                 absl::StrJoin(graph.tensors[self].shape, ","), "]");
  for (size_t d = 0; d < indices.tensors.size(); ++d) {
    if (!indices.tensors[d]) {
      key += " -";
      continue;
    }
    const sdfg::Tensor& tensor = graph.tensors[*indices.tensors[d]];
    absl::StrAppend(&key, " ", indices.position[d] ? "i" : "", sdfg::DTypeName(tensor.dtype), "[",
                    absl::StrJoin(tensor.shape, ","), "]");
  }
  return key;
}

// The element of index tensor `input` at a position of the broadcast dimensions.
ExprId IndexAt(IndexFunctionBuilder* builder, int input, const sdfg::Shape& shape,
               const std::vector<ExprId>& position) {
  std::vector<ExprId> at;
  for (size_t k = 0; k < shape.size(); ++k) {
    at.push_back(shape[k] == 1 ? builder->Int(0) : position[position.size() - shape.size() + k]);
  }
  return builder->IntElement(input, at);
}

// What is read through the indices: the place in `self` for each dimension, and the bound
// variables, innermost last, with the condition at which their values are the place.
struct Place {
  std::vector<ExprId> at;
  std::vector<sdfg::VarId> bound;
  ExprId here = sdfg::kNoExpr;
  ExprId within = sdfg::kNoExpr;
};

Place PlaceOf(IndexFunctionBuilder* builder, const Indices& indices, const sdfg::Graph& graph,
              const sdfg::Shape& self, const std::vector<ExprId>& position,
              const std::vector<ExprId>& rest) {
  Place place;
  int input = 1;
  size_t next = 0;
  const auto both = [&](ExprId a, ExprId b) {
    return a == sdfg::kNoExpr ? b : builder->Binary(Op::kAnd, a, b);
  };
  for (size_t d = 0; d < self.size(); ++d) {
    if (!indices.tensors[d]) {
      place.at.push_back(rest[next++]);
      continue;
    }
    const sdfg::Shape& shape = graph.tensors[*indices.tensors[d]].shape;
    if (indices.position[d]) {
      ++input;
      place.at.push_back(position.back());
      continue;
    }
    const ExprId index =
        sdfg::CountedFromTheEnd(builder, self[d], IndexAt(builder, input++, shape, position));
    place.bound.push_back(builder->AddVar(absl::StrCat("v", d), self[d]));
    place.at.push_back(builder->Index(place.bound.back()));
    place.here = both(place.here, builder->Binary(Op::kIntEq, index, place.at.back()));
    place.within = both(place.within, sdfg::IsWithin(builder, self[d], index));
  }
  return place;
}

constexpr char kWithin[] = "an index lies within its dimension";

// The mask by which index or index_put choose, if it is one.
absl::StatusOr<std::optional<sdfg::TensorId>> MaskOf(AtenCall* call) {
  const std::vector<Value>& list = (*call)["indices"].list;
  if (list.size() != 1 || list[0].kind != Value::Kind::kTensor) return std::nullopt;
  PLAN_ASSIGN_OR_RETURN(const Argument mask, call->OperandOf(list[0]));
  if (mask.tensor == sdfg::kNone ||
      call->writer().tensor(mask.tensor).dtype != sdfg::DType::kBool) {
    return std::nullopt;
  }
  return mask.tensor;
}

// `self` with the dimensions that the mask has made one.
absl::StatusOr<sdfg::Shape> MaskedRows(AtenCall* call, const sdfg::Shape& self,
                                       const sdfg::Shape& mask) {
  if (mask.empty() || mask.size() > self.size() ||
      !std::equal(mask.begin(), mask.end(), self.begin())) {
    return call->NotDeclared("a mask of another shape");
  }
  sdfg::Shape rows(self.begin() + static_cast<int64_t>(mask.size()), self.end());
  rows.insert(rows.begin(), ElementsOf(mask));
  return rows;
}

absl::Status IndexByMask(AtenCall& call, sdfg::TensorId self, sdfg::TensorId mask) {
  GraphWriter& writer = call.writer();
  PLAN_ASSIGN_OR_RETURN(const sdfg::Shape rows,
                        MaskedRows(&call, writer.tensor(self).shape, writer.tensor(mask).shape));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId places,
                        PlacesOf(&call, mask, call.target(0).shape[0]));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, writer.Reshape(self, rows));
  PLAN_ASSIGN_OR_RETURN(
      Argument read,
      call.One("index_select", {Argument::Of(x), Argument::Of(places)}, {{"dim", int64_t{0}}}));
  call.Return(std::move(read));
  return absl::OkStatus();
}

absl::Status Index(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId self, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const std::optional<sdfg::TensorId> mask, MaskOf(&call));
  if (mask) return IndexByMask(call, self, *mask);
  const sdfg::Shape shape = call.writer().tensor(self).shape;
  const sdfg::DType dtype = call.writer().tensor(self).dtype;
  PLAN_ASSIGN_OR_RETURN(const Indices indices, IndicesOf(&call, self));
  const sdfg::Graph& graph = call.writer().graph();
  std::vector<sdfg::TensorId> inputs = {self};
  for (const auto& tensor : indices.tensors) {
    if (tensor) inputs.push_back(*tensor);
  }
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    IndexFunctionBuilder builder("index");
    builder.AddInput("x", shape, dtype);
    for (size_t i = 1; i < inputs.size(); ++i) {
      builder.AddInput("index", graph.tensors[inputs[i]].shape, graph.tensors[inputs[i]].dtype);
    }
    sdfg::Shape out;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!indices.tensors[d]) out.push_back(shape[d]);
    }
    out.insert(out.begin() + static_cast<int64_t>(indices.at), indices.broadcast.begin(),
               indices.broadcast.end());
    const int output = builder.AddOutput("y", out, dtype);
    std::vector<ExprId> position, rest;
    for (size_t k = 0; k < out.size(); ++k) {
      const bool of_index = k >= indices.at && k < indices.at + indices.broadcast.size();
      (of_index ? position : rest).push_back(builder.Index(builder.OutputDims(output)[k]));
    }
    const Place place = PlaceOf(&builder, indices, graph, shape, position, rest);
    ExprId body = sdfg::ReadNumber(&builder, 0, place.at);
    if (place.here != sdfg::kNoExpr) {
      body = builder.Binary(Op::kMul, builder.Unary(Op::kIndicator, place.here), body);
      for (size_t v = place.bound.size(); v > 0; --v) {
        body = builder.Reduce(Op::kSum, place.bound[v - 1], body);
      }
      builder.AddPremise(output, place.within, kWithin);
    }
    builder.SetBody(output, sdfg::AsBody(&builder, dtype, body));
    return Finish(&builder);
  };
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::TensorId read,
      call.writer().Emit("index", absl::StrCat("index ", KeyOf(graph, indices, self)), make,
                         inputs));
  call.Return(Argument::Of(read));
  return absl::OkStatus();
}

// self where the mask is 0, elsewhere the one number of `values`.
absl::Status PutWhere(AtenCall& call, sdfg::TensorId self, sdfg::TensorId mask) {
  PLAN_ASSIGN_OR_RETURN(Argument value, call.Operand("values"));
  if (value.literal) {
    PLAN_ASSIGN_OR_RETURN(value, call.InType(value, call.writer().tensor(self).dtype));
  }
  Argument condition = Argument::Of(mask);
  const sdfg::Shape shape = call.writer().tensor(self).shape;
  if (!value.literal && ElementsOf(call.writer().tensor(value.tensor).shape) == 1) {
    // It may have more dimensions than what it is put into.
    PLAN_ASSIGN_OR_RETURN(value.tensor,
                          call.writer().Reshape(value.tensor, sdfg::Shape(shape.size(), 1)));
  }
  const sdfg::Shape leading = call.writer().tensor(mask).shape;
  if (leading.size() > shape.size() || !std::equal(leading.begin(), leading.end(), shape.begin())) {
    return call.NotDeclared("a mask of another shape");
  }
  sdfg::Shape padded = leading;
  padded.resize(shape.size(), 1);
  PLAN_ASSIGN_OR_RETURN(condition.tensor, call.writer().Reshape(mask, padded));
  PLAN_ASSIGN_OR_RETURN(Argument result, Chosen(&call, condition, value, Argument::Of(self)));
  call.Return(std::move(result));
  return absl::OkStatus();
}

// Whether what is put stands at the output's own index along one of the dimensions: an index tensor
// counts up there, so that no place is written twice.
bool HasPosition(const Indices& indices) {
  return indices.broadcast.size() == 1 &&
         std::count(indices.position.begin(), indices.position.end(), true) > 0;
}

// What is put at a place: the conditions under which something is, and where it stands in `values`.
struct Put {
  ExprId match = sdfg::kNoExpr;
  ExprId within = sdfg::kNoExpr;
  std::vector<ExprId> value_at;
};

Put PutTo(IndexFunctionBuilder* builder, const Indices& indices, const sdfg::Graph& graph,
          const sdfg::Shape& shape, const std::vector<ExprId>& at) {
  Put put;
  const auto both = [&](ExprId a, ExprId b) {
    return a == sdfg::kNoExpr ? b : builder->Binary(Op::kAnd, a, b);
  };
  ExprId position = sdfg::kNoExpr;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (indices.position[d]) position = at[d];
  }
  int input = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!indices.tensors[d]) {
      put.value_at.push_back(at[d]);
      continue;
    }
    const sdfg::Shape& index_shape = graph.tensors[*indices.tensors[d]].shape;
    if (indices.position[d]) {
      ++input;
      if (index_shape[0] < shape[d]) {  // only so many rows are written
        put.match =
            both(put.match, builder->Binary(Op::kIntLess, at[d], builder->Int(index_shape[0])));
      }
      if (position != at[d]) {
        put.match = both(put.match, builder->Binary(Op::kIntEq, position, at[d]));
      }
      continue;
    }
    const ExprId index = sdfg::CountedFromTheEnd(
        builder, shape[d], IndexAt(builder, input++, index_shape, {position}));
    put.match = both(put.match, builder->Binary(Op::kIntEq, index, at[d]));
    put.within = both(put.within, sdfg::IsWithin(builder, shape[d], index));
  }
  put.value_at.insert(put.value_at.begin() + static_cast<int64_t>(indices.at), position);
  return put;
}

// index_put where an index tensor counts up.
absl::StatusOr<Argument> PutInRows(AtenCall* call, sdfg::TensorId self, const Indices& indices,
                                   bool accumulate) {
  const sdfg::Graph& graph = call->writer().graph();
  const sdfg::Shape shape = graph.tensors[self].shape;
  const sdfg::DType dtype = graph.tensors[self].dtype;
  if (sdfg::IsInteger(dtype)) return call->NotDeclared("integers put at indices that are data");
  // `values` as large as what is replaced: broadcast dimensions, then the others, if these follow.
  sdfg::Shape out;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!indices.tensors[d]) out.push_back(shape[d]);
  }
  out.insert(out.begin() + static_cast<int64_t>(indices.at), indices.broadcast.begin(),
             indices.broadcast.end());
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId values, call->TensorOf("values"));
  if (graph.tensors[values].shape != out) return call->NotDeclared("values that are broadcast");
  std::vector<sdfg::TensorId> inputs = {self};
  for (const auto& tensor : indices.tensors) {
    if (tensor) inputs.push_back(*tensor);
  }
  inputs.push_back(values);
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    IndexFunctionBuilder builder("index_put");
    for (sdfg::TensorId input : inputs) {
      builder.AddInput("x", graph.tensors[input].shape, graph.tensors[input].dtype);
    }
    const int output = builder.AddOutput("y", shape, dtype);
    std::vector<ExprId> at;
    for (sdfg::VarId var : builder.OutputDims(output)) at.push_back(builder.Index(var));
    const Put put = PutTo(&builder, indices, graph, shape, at);
    const ExprId old = builder.Element(0, at);
    ExprId body = builder.Element(static_cast<int>(inputs.size() - 1), put.value_at);
    if (put.match != sdfg::kNoExpr) {
      body = builder.Select(put.match, body, accumulate ? builder.Real(0) : old);
    }
    builder.SetBody(output, accumulate ? builder.Binary(Op::kAdd, old, body) : body);
    if (put.within != sdfg::kNoExpr) builder.AddPremise(output, put.within, kWithin);
    return Finish(&builder);
  };
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId put,
                        call->writer().Emit("index_put",
                                            absl::StrCat("index_put ", accumulate ? "+ " : "",
                                                         KeyOf(graph, indices, self)),
                                            make, inputs));
  return Argument::Of(put);
}

// Values put, one after another, where a mask is true.
absl::Status PutByMask(AtenCall& call, sdfg::TensorId self, sdfg::TensorId mask, bool accumulate) {
  if (!accumulate &&
      (!call.IsTensor("values") || ElementsOf(call.Described("values").shape) == 1)) {
    return PutWhere(call, self, mask);
  }
  GraphWriter& writer = call.writer();
  const sdfg::Shape shape = writer.tensor(self).shape;
  PLAN_ASSIGN_OR_RETURN(const sdfg::Shape rows,
                        MaskedRows(&call, shape, writer.tensor(mask).shape));
  const sdfg::Shape& values = call.Described("values").shape;
  if (values.size() != rows.size() || values[0] == 1) {
    return call.NotDeclared("values put where a mask is true, if they may be broadcast");
  }
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId places, PlacesOf(&call, mask, values[0]));
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId before, writer.Reshape(self, rows));
  PLAN_ASSIGN_OR_RETURN(Argument result, PutAt(&call, before, {places}, accumulate));
  PLAN_ASSIGN_OR_RETURN(result.tensor, writer.Reshape(result.tensor, shape));
  call.Return(std::move(result));
  return absl::OkStatus();
}

absl::Status IndexPut(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId self, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const bool accumulate, call.Boolean("accumulate", false));
  PLAN_ASSIGN_OR_RETURN(const std::optional<sdfg::TensorId> mask, MaskOf(&call));
  if (mask) return PutByMask(call, self, *mask, accumulate);
  PLAN_ASSIGN_OR_RETURN(const Indices indices, IndicesOf(&call, self));
  Argument result;
  if (HasPosition(indices)) {
    PLAN_ASSIGN_OR_RETURN(result, PutInRows(&call, self, indices, accumulate));
  } else {
    std::vector<sdfg::TensorId> first;
    for (size_t d = 0; d < indices.tensors.size(); ++d) {
      if (!indices.tensors[d]) continue;
      if (first.size() != d) {
        return call.NotDeclared("values put at indices of other dimensions than the first");
      }
      first.push_back(*indices.tensors[d]);
    }
    PLAN_ASSIGN_OR_RETURN(result, PutAt(&call, self, first, accumulate));
  }
  call.Return(std::move(result));
  return absl::OkStatus();
}

// Elements of one dimension at an index: as large as the result, or of rows.
absl::Status ReadAlong(AtenCall& call, const char* declared) {
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId self, call.TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(sdfg::TensorId index, call.TensorOf("index"));
  PLAN_ASSIGN_OR_RETURN(const int64_t given, call.Integer("dim", std::nullopt));
  const std::optional<int64_t> dim = DimensionOf(given, call.writer().tensor(self).shape.size());
  if (!dim) return call.NotDeclared("this dimension");
  PLAN_ASSIGN_OR_RETURN(self, AsRow(&call, self));
  PLAN_ASSIGN_OR_RETURN(index, AsRow(&call, index));
  PLAN_ASSIGN_OR_RETURN(Argument read, call.One(declared, {Argument::Of(self), Argument::Of(index)},
                                                {{"dim", *dim}}));
  PLAN_ASSIGN_OR_RETURN(read, AsResult(&call, std::move(read), 0));
  call.Return(std::move(read));
  return absl::OkStatus();
}

}  // namespace

void AddIndexing(AtenTable* table) {
  table->Add("index", "Tensor", "self indices", Index);
  table->Add("index_put", kAnyForm, "self indices values accumulate", IndexPut);
  table->Add("_unsafe_index_put", "default", "self indices values accumulate", IndexPut);
  table->Add("gather", kNew, "self dim index sparse_grad",
             [](AtenCall& call) { return ReadAlong(call, "gather"); });
  table->Add("index_select", kNew, "self dim index",
             [](AtenCall& call) { return ReadAlong(call, "index_select"); });
}

}  // namespace planproof::frontend::torch
