#include "frontend/torch/communications.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/strided.h"
#include "sdfg/collectives.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::OperatorKind;
using sdfg::TensorId;

sdfg::ReduceKind ReduceKindOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kAverage:
      return sdfg::ReduceKind::kAvg;
    case Reduction::kMax:
      return sdfg::ReduceKind::kMax;
    case Reduction::kMin:
      return sdfg::ReduceKind::kMin;
    default:
      return sdfg::ReduceKind::kSum;
  }
}

OperatorKind KindOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return OperatorKind::kAllReduce;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather:
      return OperatorKind::kAllGather;
    case CollectiveKind::kReduceScatter:
      return OperatorKind::kReduceScatter;
    case CollectiveKind::kAllToAll:
      return OperatorKind::kAllToAll;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter:
      return OperatorKind::kBroadcast;
    case CollectiveKind::kReduce:
      return OperatorKind::kReduce;
    default:
      return OperatorKind::kMove;
  }
}

std::string ShapeText(const sdfg::Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ","), "]");
}

}  // namespace

void Communications::Issue(const Trace& trace, const Executed& executed, GraphWriter* writer,
                           std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
  const Collective& collective = *executed.collective;
  std::vector<Strided> layouts;
  for (const std::vector<TensorNumber>* tensors : {&collective.in, &collective.out}) {
    for (const TensorNumber number : *tensors) {
      const Tensor& tensor = trace.tensors[number];
      layouts.push_back({0, tensor.shape, tensor.strides});
    }
  }
  Participant part{trace.rank,         &collective,     std::move(inputs), std::move(outputs),
                   std::move(layouts), writer->Label(), writer->Place(),   writer->source()};
  const std::vector<int32_t>& group = trace.groups[collective.group];
  Channel channel;
  for (int32_t g = 0; g < collective.group; ++g) {
    if (trace.groups[g] == group) ++channel.number;
  }
  const bool sends = collective.kind == CollectiveKind::kSend;
  if (sends || collective.kind == CollectiveKind::kReceive) {
    channel.ranks = sends ? std::vector<int32_t>{trace.rank, collective.peer}
                          : std::vector<int32_t>{collective.peer, trace.rank};
    channel.point_to_point = true;
    channel.tag = collective.tag;
    channel.group = group;
  } else {
    channel.ranks = group;
  }
  const size_t exchange = Join(channel, std::move(part));
  // What is sent is buffered.
  const bool blocks = !collective.work && !sends;
  events_[trace.rank].push_back({exchange, blocks});
  if (collective.work && !sends) works_[{trace.rank, *collective.work}] = exchange;
}

size_t Communications::Join(const Channel& channel, Participant part) {
  std::vector<size_t>& exchanges = by_channel_[channel];
  const int32_t rank = part.rank;
  const bool receives = part.collective->kind == CollectiveKind::kReceive;
  const int32_t slot = channel.point_to_point ? (receives ? 1 : 0) : rank;
  size_t& position = joined_[{channel, slot}];
  if (position == exchanges.size()) {
    exchanges.push_back(exchanges_.size());
    exchanges_.push_back({channel, {}});
  }
  const size_t exchange = exchanges[position++];
  exchanges_[exchange].parts.emplace(slot, std::move(part));
  return exchange;
}

void Communications::Wait(int32_t rank, int64_t work) {
  const auto found = works_.find({rank, work});
  if (found != works_.end()) events_[rank].push_back({found->second, true});
}

// Lets all ranks run until they block; a send or the start of a collective does not.
absl::Status Communications::CheckOrder() const {
  std::vector<size_t> next(events_.size());
  std::vector<size_t> arrived(exchanges_.size());
  std::set<std::pair<size_t, size_t>> issued;  // rank and exchange
  bool moved = true;
  while (moved) {
    moved = false;
    for (size_t rank = 0; rank < events_.size(); ++rank) {
      for (; next[rank] < events_[rank].size(); ++next[rank], moved = true) {
        const Event& event = events_[rank][next[rank]];
        if (issued.emplace(rank, event.exchange).second) {
          ++arrived[event.exchange];
          moved = true;
        }
        if (event.blocks && arrived[event.exchange] < exchanges_[event.exchange].parts.size())
          break;
      }
    }
  }
  for (size_t rank = 0; rank < events_.size(); ++rank) {
    if (next[rank] == events_[rank].size()) continue;
    const Exchange& exchange = exchanges_[events_[rank][next[rank]].exchange];
    std::vector<std::string> places;
    for (const auto& [slot, part] : exchange.parts) places.push_back(part.place);
    return absl::InvalidArgumentError(
        absl::StrCat("wait cycle: rank ", rank, " waits for ever in the exchange of ",
                     absl::StrJoin(places, "; "), ": ranks issue collectives in different orders"));
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorId> Communications::Reshaped(const Participant& part, TensorId tensor,
                                                  const sdfg::Shape& shape) {
  const sdfg::Shape from = graph_->tensors[tensor].shape;
  if (from == shape) return tensor;
  sdfg::Tensor reshaped = graph_->tensors[tensor];
  reshaped.shape = shape;
  reshaped.producer = sdfg::kNone;
  reshaped.role = sdfg::TensorRole::kIntermediate;
  const TensorId result = graph_->AddTensor(std::move(reshaped));
  const sdfg::DType dtype = graph_->tensors[tensor].dtype;
  PLAN_RETURN_IF_ERROR(
      Result(part, OperatorKind::kCompute, {}, result, {tensor},
             absl::StrCat("reshape ", sdfg::DTypeName(dtype), ShapeText(from), ShapeText(shape)),
             [&] { return ReadFunction(Contiguous(0, from), Contiguous(0, shape), dtype); }));
  return result;
}

absl::Status Communications::Result(
    const Participant& part, OperatorKind kind, const std::vector<int32_t>& group, TensorId result,
    const std::vector<TensorId>& inputs, const std::string& key,
    const std::function<absl::StatusOr<sdfg::IndexFunction>()>& make) {
  absl::StatusOr<Function> function = functions_->Get(key, graph_, make);
  if (!function.ok()) {
    return absl::Status(function.status().code(),
                        absl::StrCat(part.place, ": ", function.status().message()));
  }
  sdfg::Operator op;
  op.name = kind == OperatorKind::kCompute ? "view" : CollectiveName(part.collective->kind);
  op.kind = kind;
  op.group.assign(group.begin(), group.end());
  op.inputs = inputs;
  op.source = part.source;
  op.label = part.label;
  // The model is on no device, and what one rank sends itself is a copy.
  if (graph_->tensors[result].device >= 0) {
    op.devices = {part.rank};
  } else {
    op.kind = OperatorKind::kCompute;
    op.group.clear();
  }
  op.function = *function;
  const sdfg::Shape computed = op.function->outputs[0].shape(op.function->vars);
  const sdfg::Tensor wanted = graph_->tensors[result];
  if (computed == wanted.shape) {
    op.outputs = {result};
    graph_->AddOperator(std::move(op));
    return absl::OkStatus();
  }
  if (ElementsOf(computed) != ElementsOf(wanted.shape)) {
    return absl::InvalidArgumentError(absl::StrCat(part.place, ": the result has the shape ",
                                                   ShapeText(wanted.shape),
                                                   ", the collective gives ", ShapeText(computed)));
  }
  sdfg::Tensor between = wanted;
  between.shape = computed;
  between.producer = sdfg::kNone;
  const TensorId whole = graph_->AddTensor(std::move(between));
  op.outputs = {whole};
  graph_->AddOperator(std::move(op));
  return Result(part, OperatorKind::kCompute, {}, result, {whole},
                absl::StrCat("reshape ", sdfg::DTypeName(wanted.dtype), ShapeText(computed),
                             ShapeText(wanted.shape)),
                [&] {
                  return ReadFunction(Contiguous(0, computed), Contiguous(0, wanted.shape),
                                      wanted.dtype);
                });
}

absl::Status Communications::AddAllToAll(const Exchange& exchange, const Participant& part) {
  const std::vector<int32_t>& group = exchange.channel.ranks;
  const auto position =
      static_cast<size_t>(std::find(group.begin(), group.end(), part.rank) - group.begin());
  // What each rank has for this one: rows [start, start + length) of its tensor.
  std::vector<TensorId> inputs;
  std::vector<std::pair<int64_t, int64_t>> rows;
  std::string key = "all_to_all";
  for (int32_t rank : group) {
    const Participant& from = exchange.parts.at(rank);
    const sdfg::Shape& shape = graph_->tensors[from.inputs[0]].shape;
    std::vector<int64_t> splits = from.collective->in_splits;
    if (splits.empty()) splits.assign(group.size(), shape[0] / static_cast<int64_t>(group.size()));
    inputs.push_back(from.inputs[0]);
    rows.emplace_back(std::accumulate(splits.begin(),
                                      splits.begin() + static_cast<int64_t>(position), int64_t{0}),
                      splits[position]);
    absl::StrAppend(&key, " ", ShapeText(shape), rows.back().first, "+", rows.back().second);
  }
  const sdfg::DType dtype = graph_->tensors[inputs[0]].dtype;
  absl::StrAppend(&key, sdfg::DTypeName(dtype));
  return Result(part, OperatorKind::kAllToAll, group, part.outputs[0], inputs, key,
                [&]() -> absl::StatusOr<sdfg::IndexFunction> {
                  sdfg::IndexFunctionBuilder builder("all_to_all");
                  sdfg::Shape result = graph_->tensors[inputs[0]].shape;
                  result[0] = 0;
                  for (const auto& [start, length] : rows) result[0] += length;
                  for (TensorId input : inputs) {
                    builder.AddInput("x", graph_->tensors[input].shape, dtype);
                  }
                  const int output = builder.AddOutput("y", result, dtype);
                  std::vector<sdfg::ExprId> index;
                  for (sdfg::VarId var : builder.OutputDims(output)) {
                    index.push_back(builder.Index(var));
                  }
                  const sdfg::ExprId row = index[0];
                  sdfg::ExprId body = sdfg::kNoExpr;
                  int64_t end = result[0];
                  for (size_t i = rows.size(); i > 0; --i) {
                    const auto [start, length] = rows[i - 1];
                    if (length == 0) continue;
                    end -= length;
                    index[0] = builder.IntAdd(row, builder.Int(start - end));
                    const auto input = static_cast<int>(i - 1);
                    const sdfg::ExprId part_body = sdfg::IsInteger(dtype)
                                                       ? builder.IntElement(input, index)
                                                       : builder.Element(input, index);
                    body = body == sdfg::kNoExpr
                               ? part_body
                               : builder.Select(builder.Binary(sdfg::Op::kIntLess, row,
                                                               builder.Int(end + length)),
                                                part_body, body);
                  }
                  if (body == sdfg::kNoExpr) body = builder.Real(0);
                  builder.SetBody(output, body);
                  sdfg::IndexFunction function;
                  PLAN_RETURN_IF_ERROR(builder.Finish(&function));
                  return function;
                });
}

absl::Status Communications::AddReduceScatter(const Exchange& exchange, const Participant& part,
                                              std::vector<TensorId> inputs) {
  const std::vector<int32_t>& group = exchange.channel.ranks;
  const auto size = static_cast<int>(group.size());
  const auto position =
      static_cast<int>(std::find(group.begin(), group.end(), part.rank) - group.begin());
  const sdfg::Shape shape = graph_->tensors[inputs[0]].shape;
  if (shape.empty() || shape[0] % size != 0) {  // elements are scattered, not rows
    for (TensorId& input : inputs) {
      PLAN_ASSIGN_OR_RETURN(input, Reshaped(part, input, {ElementsOf(shape)}));
    }
  }
  const sdfg::Tensor& x = graph_->tensors[inputs[0]];
  const sdfg::ReduceKind how = ReduceKindOf(part.collective->reduce);
  return Result(part, OperatorKind::kReduceScatter, group, part.outputs[0], inputs,
                absl::StrCat("reduce_scatter ", size, " ", position, " ", static_cast<int>(how),
                             " ", sdfg::DTypeName(x.dtype), ShapeText(x.shape)),
                [&] { return sdfg::ReduceScatter(x.shape, x.dtype, size, position, 0, how); });
}

absl::Status Communications::AddResults(const Exchange& exchange, const Participant& part) {
  const std::vector<int32_t>& group = exchange.channel.ranks;
  const auto size = static_cast<int>(group.size());
  const CollectiveKind kind = part.collective->kind;
  const auto of = [&](int32_t rank) -> const Participant& { return exchange.parts.at(rank); };
  const auto copy = [&](TensorId result, TensorId from) {
    const sdfg::Tensor& x = graph_->tensors[from];
    return Result(part, KindOf(kind), group, result, {from},
                  absl::StrCat("copy ", sdfg::DTypeName(x.dtype), ShapeText(x.shape)),
                  [&] { return sdfg::Copy(x.shape, x.dtype); });
  };
  const auto position =
      static_cast<size_t>(std::find(group.begin(), group.end(), part.rank) - group.begin());
  // The operand of each rank, the first or that for this one.
  const auto all = [&](size_t which) {
    std::vector<TensorId> inputs;
    for (int32_t rank : group) inputs.push_back(of(rank).inputs[which]);
    return inputs;
  };
  const auto reduce = [&](TensorId result, const std::vector<TensorId>& inputs) {
    const sdfg::Tensor& x = graph_->tensors[inputs[0]];
    const sdfg::ReduceKind how = ReduceKindOf(part.collective->reduce);
    return Result(part, KindOf(kind), group, result, inputs,
                  absl::StrCat("reduce ", size, " ", static_cast<int>(how), " ",
                               sdfg::DTypeName(x.dtype), ShapeText(x.shape)),
                  [&] { return sdfg::AllReduce(x.shape, x.dtype, size, how); });
  };
  switch (kind) {
    case CollectiveKind::kBarrier:
    case CollectiveKind::kSend:
      return absl::OkStatus();
    case CollectiveKind::kReceive:
      return copy(part.outputs[0], of(0).inputs[0]);
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
      return part.outputs.empty() ? absl::OkStatus() : reduce(part.outputs[0], all(0));
    case CollectiveKind::kReduceScatter:
      if (part.inputs.size() == group.size()) return reduce(part.outputs[0], all(position));
      return AddReduceScatter(exchange, part, all(0));
    case CollectiveKind::kAllGather: {
      if (part.outputs.size() == group.size()) {
        for (size_t i = 0; i < group.size(); ++i) {
          PLAN_RETURN_IF_ERROR(copy(part.outputs[i], of(group[i]).inputs[0]));
        }
        return absl::OkStatus();
      }
      std::vector<TensorId> inputs = all(0);
      std::vector<sdfg::Shape> shapes;
      std::string key = "all_gather";
      for (TensorId& input : inputs) {
        if (graph_->tensors[input].shape.empty()) {
          PLAN_ASSIGN_OR_RETURN(input, Reshaped(part, input, {1}));
        }
        shapes.push_back(graph_->tensors[input].shape);
        absl::StrAppend(&key, " ", ShapeText(shapes.back()));
      }
      const sdfg::DType dtype = graph_->tensors[inputs[0]].dtype;
      return Result(part, KindOf(kind), group, part.outputs[0], inputs,
                    absl::StrCat(key, sdfg::DTypeName(dtype)),
                    [&] { return sdfg::AllGather(shapes, dtype, 0); });
    }
    case CollectiveKind::kAllToAll:
      if (part.inputs.size() != group.size()) return AddAllToAll(exchange, part);
      for (size_t i = 0; i < group.size(); ++i) {
        PLAN_RETURN_IF_ERROR(copy(part.outputs[i], of(group[i]).inputs[position]));
      }
      return absl::OkStatus();
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter: {
      if (part.outputs.empty()) return absl::OkStatus();
      const size_t which = kind == CollectiveKind::kBroadcast ? 0 : position;
      return copy(part.outputs[0], of(part.collective->root).inputs[which]);
    }
    case CollectiveKind::kGather:
      for (size_t i = 0; i < part.outputs.size(); ++i) {
        PLAN_RETURN_IF_ERROR(copy(part.outputs[i], of(group[i]).inputs[0]));
      }
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status Communications::Add(const Exchange& exchange) {
  for (const auto& [slot, part] : exchange.parts) {
    PLAN_RETURN_IF_ERROR(AddResults(exchange, part));
  }
  return absl::OkStatus();
}

absl::Status Communications::Connect() {
  for (const Exchange& exchange : exchanges_) {
    PLAN_RETURN_IF_ERROR(CheckExchange(*graph_, exchange));
  }
  PLAN_RETURN_IF_ERROR(CheckOrder());
  for (const Exchange& exchange : exchanges_) PLAN_RETURN_IF_ERROR(Add(exchange));
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
