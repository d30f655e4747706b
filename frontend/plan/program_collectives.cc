// Collectives of a program: over an axis of its own group, and between programs.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/plan/collective_keys.h"
#include "frontend/plan/program_builder.h"
#include "frontend/plan/remedies.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {

using sdfg::AxisId;
using sdfg::TensorId;

namespace {

sdfg::ReduceKind KindOf(const Operator& op) {
  const std::string& reduce = op.collective().reduce();
  if (reduce == "max") return sdfg::ReduceKind::kMax;
  if (reduce == "min") return sdfg::ReduceKind::kMin;
  if (reduce == "avg") return sdfg::ReduceKind::kAvg;
  return sdfg::ReduceKind::kSum;
}

absl::StatusOr<int> LocalDim(int dim, size_t rank) {
  const int wrapped = dim < 0 ? dim + static_cast<int>(rank) : dim;
  if (wrapped >= 0 && wrapped < static_cast<int>(rank)) return wrapped;
  return absl::InvalidArgumentError(
      absl::StrCat("dimension ", dim, " of a tensor of rank ", rank, " does not exist"));
}

std::vector<std::pair<std::string, std::string>> Texts(const Operator& op) {
  std::vector<std::pair<std::string, std::string>> texts = AttributeTexts(op);
  const Collective& collective = op.collective();
  if (collective.over_size() > 0) texts.emplace_back("over", absl::StrJoin(collective.over(), ","));
  if (collective.dim() != 0) texts.emplace_back("dim", absl::StrCat(collective.dim()));
  if (!collective.reduce().empty()) texts.emplace_back("reduce", collective.reduce());
  return texts;
}

// The rank from which each rank receives, or -1.
absl::StatusOr<std::vector<int64_t>> SourcesOf(const Collective& collective, int64_t extent) {
  std::vector<int64_t> source(extent, -1);
  if (collective.has_shift()) {
    const int64_t shift = collective.shift() % extent;
    for (int64_t r = 0; r < extent; ++r) source[(r + shift + extent) % extent] = r;
  }
  for (const Pair& pair : collective.pairs()) {
    if (pair.from() < 0 || pair.from() >= extent || pair.to() < 0 || pair.to() >= extent) {
      return absl::InvalidArgumentError(
          absl::StrCat("pair [", pair.from(), ", ", pair.to(), "] of ", extent, " ranks"));
    }
    if (source[pair.to()] != -1) {
      return absl::InvalidArgumentError(absl::StrCat("rank ", pair.to(), " receives twice"));
    }
    source[pair.to()] = pair.from();
  }
  if (!collective.has_shift() && collective.pairs_size() == 0) {
    return absl::InvalidArgumentError(
        "needs \"shift\", as in \"shift\": 1, or \"pairs\", as in \"pairs\": [[0, 1]]");
  }
  return source;
}

// What the collective gives over dimension `axis_dim` of the tensor, whose coordinates stand first.
// `result` names the result.
absl::StatusOr<sdfg::IndexFunction> AxisFunction(const Operator& op, const sdfg::Tensor& tensor,
                                                 int axis_dim, const std::string& result) {
  const Collective& collective = op.collective();
  const std::string& name = op.op();
  const int64_t extent = tensor.shape[axis_dim];
  const auto whole_dim = [&](int dim) -> absl::StatusOr<int> {
    PLAN_ASSIGN_OR_RETURN(int local, LocalDim(dim, tensor.local_rank()));
    return local + static_cast<int>(tensor.axes.size());
  };
  if (name == "all_reduce" || name == "accumulate") {
    return sdfg::AxisReduce(tensor.shape, tensor.dtype, axis_dim, KindOf(op));
  }
  if (name == "broadcast" || name == "reduce") {
    if (collective.root() < 0 || collective.root() >= extent) {
      return absl::InvalidArgumentError(
          absl::StrCat("root ", collective.root(), " of ", extent, " ranks"));
    }
    if (name == "reduce") {
      return sdfg::ReduceToRoot(tensor.shape, tensor.dtype, axis_dim, collective.root(), result);
    }
    return sdfg::SelectCoordinate(tensor.shape, tensor.dtype, axis_dim, collective.root());
  }
  if (name == "all_gather") {
    PLAN_ASSIGN_OR_RETURN(int dim, whole_dim(collective.dim()));
    int64_t gathered = 0;
    if (__builtin_mul_overflow(tensor.shape[dim], extent, &gathered)) {
      return absl::ResourceExhaustedError(absl::StrCat("dimension ", collective.dim(), " gathers ",
                                                       extent, " times ", tensor.shape[dim],
                                                       " indices; at most 2^60 are supported"));
    }
    return sdfg::GatherDrop(tensor.shape, tensor.dtype, axis_dim, dim);
  }
  if (name == "reduce_scatter" || name == "chunk") {
    PLAN_ASSIGN_OR_RETURN(int dim, whole_dim(collective.dim()));
    if (tensor.shape[dim] % extent != 0) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", collective.dim(), " of extent ",
                                                     tensor.shape[dim], " does not divide into ",
                                                     extent, " chunks"));
    }
    return name == "chunk"
               ? sdfg::AxisChunk(tensor.shape, tensor.dtype, axis_dim, dim)
               : sdfg::AxisReduceScatter(tensor.shape, tensor.dtype, axis_dim, dim, KindOf(op));
  }
  if (name == "all_to_all") {
    PLAN_ASSIGN_OR_RETURN(int split, whole_dim(collective.split_dim()));
    PLAN_ASSIGN_OR_RETURN(int concat, whole_dim(collective.concat_dim()));
    if (tensor.shape[split] % extent != 0) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", collective.split_dim(),
                                                     " of extent ", tensor.shape[split],
                                                     " does not divide into ", extent, " chunks"));
    }
    return sdfg::AxisAllToAll(tensor.shape, tensor.dtype, axis_dim, split, concat);
  }
  if (name == "permute") {
    PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> source, SourcesOf(collective, extent));
    return sdfg::AxisPermute(tensor.shape, tensor.dtype, axis_dim, source);
  }
  return absl::InternalError("no such collective");
}

// What participant `own` of a collective between programs gets of tensors of these shapes.
absl::StatusOr<sdfg::IndexFunction> GroupFunction(const Operator& op,
                                                  const std::vector<sdfg::Shape>& shapes,
                                                  sdfg::DType dtype, int own) {
  const Collective& collective = op.collective();
  const int size = static_cast<int>(shapes.size());
  const size_t rank = shapes[0].size();
  if (op.op() == "move") return sdfg::Copy(shapes[0], dtype);
  if (op.op() == "all_reduce") return sdfg::AllReduce(shapes[0], dtype, size, KindOf(op));
  if (op.op() == "all_gather") {
    PLAN_ASSIGN_OR_RETURN(const int dim, LocalDim(collective.dim(), rank));
    return sdfg::AllGather(shapes, dtype, dim);
  }
  if (op.op() == "reduce_scatter") {
    PLAN_ASSIGN_OR_RETURN(const int dim, LocalDim(collective.dim(), rank));
    return sdfg::ReduceScatter(shapes[0], dtype, size, own, dim, KindOf(op));
  }
  if (op.op() == "all_to_all") {
    PLAN_ASSIGN_OR_RETURN(const int split, LocalDim(collective.split_dim(), rank));
    PLAN_ASSIGN_OR_RETURN(const int concat, LocalDim(collective.concat_dim(), rank));
    return sdfg::AllToAll(shapes[0], dtype, size, own, split, concat);
  }
  return absl::InvalidArgumentError(absl::StrCat(op.op(),
                                                 " between programs is not known; all_reduce, "
                                                 "all_gather, reduce_scatter, all_to_all and move "
                                                 "are"));
}

}  // namespace

bool PlanBuilder::IsCollective(const Operator& op) {
  static const char* const kAlways[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                        "accumulate", "move",       "broadcast",      "reduce"};
  for (const char* name : kAlways) {
    if (op.op() == name) return true;
  }
  return (op.op() == "permute" || op.op() == "chunk") && op.collective().over_size() > 0;
}

absl::StatusOr<TensorId> PlanBuilder::SpreadOver(ProgramState* state, TensorId input, AxisId axis) {
  const sdfg::Tensor& tensor = problem_.parallel.tensors[input];
  const auto at = std::lower_bound(tensor.axes.begin(), tensor.axes.end(), axis);
  if (at != tensor.axes.end() && *at == axis) return input;
  const int position = static_cast<int>(at - tensor.axes.begin());
  const int64_t extent = problem_.parallel.axes[axis].extent;
  PLAN_ASSIGN_OR_RETURN(
      sdfg::FunctionPointer spread,
      functions_.Get(KeyOf("spread", tensor).Number(position).Number(extent).Take(),
                     [&] { return sdfg::Spread(tensor.shape, tensor.dtype, position, extent); }));
  AxisList axes = tensor.axes;
  axes.insert(axes.begin() + position, axis);
  const std::string name =
      tensor.name.substr(tensor.name.find(':') + 1) + "@" + problem_.parallel.axes[axis].name;
  const sdfg::SourceLocation source = tensor.source;
  const TensorId id = AddOperator(*state, "replicate", name, std::move(spread), false, axes,
                                  {input}, {name}, source, {}, {})[0];
  problem_.parallel.operators.back().kind = sdfg::OperatorKind::kReplicate;
  problem_.parallel.operators.back().memory.view = true;
  return id;
}

absl::StatusOr<Definitions> PlanBuilder::BuildCollective(ProgramState* state, const Operator& op,
                                                         const Position& position) {
  if (op.attributes_size() > 0) {
    return At(position, absl::StrCat(op.op(), " has no attribute \"", op.attributes(0).name(),
                                     "\"; the keys of a collective stand beside \"op\""));
  }
  bool remote = op.op() == "move" || op.inputs_size() > 1;
  for (const Operand& operand : op.inputs()) {
    if (operand.kind_case() != Operand::kTensor) {
      return At(position, absl::StrCat(op.op(), " reads tensors, no literals"));
    }
    const size_t colon = operand.tensor().find(':');
    remote = remote || (state->scope.count(operand.tensor()) == 0 && colon != std::string::npos &&
                        by_name_.count(operand.tensor().substr(0, colon)) > 0);
  }
  if (op.inputs_size() == 0 || op.outputs_size() != 1) {
    return At(position, absl::StrCat(op.op(), " has one output and at least one input"));
  }
  if (remote && op.collective().over_size() > 0) {
    return At(position,
              absl::StrCat(op.op(), " reads tensors of other programs and has no \"over\"; ",
                           op.op() == "move" ? "leave it out"
                                             : "what runs over an axis is another operator"));
  }
  if (op.op() == "move" && op.inputs(0).tensor().find(':') == std::string::npos) {
    return At(position,
              absl::StrCat("move receives another program's tensor: \"PROGRAM:",
                           op.inputs(0).tensor(), "\"", Known("programs", NamesOf(by_name_))));
  }
  if (remote) return BuildGroup(state, op, position);
  absl::StatusOr<TensorId> input = Lookup(state, op.inputs(0).tensor(), false);
  if (!input.ok()) {
    return At(position, absl::StrCat(op.op(), ": ", std::string(input.status().message())));
  }
  std::vector<AxisId> over;
  std::vector<std::string> names(op.collective().over().begin(), op.collective().over().end());
  if (names.empty() && op.op() == "accumulate") names.push_back("microbatch");
  // It communicates nothing, so that no rank waits for another: exceptions rely on that.
  if (op.op() == "accumulate" && names != std::vector<std::string>{"microbatch"}) {
    return At(position,
              "accumulate adds up microbatches; over an axis of the mesh it is all_reduce");
  }
  if (names.empty()) {
    return At(position, absl::StrCat(op.op(),
                                     ": say over which axis (\"over\": \"tp\"), or list "
                                     "the tensors of other programs"));
  }
  for (const std::string& name : names) {
    const AxisId axis = state->coordinates.Find(name);
    if (axis == sdfg::kNone) {
      return At(position, state->coordinates.NotInTheMesh(name));
    }
    if (state->coordinates.fixed[axis].has_value()) {
      return At(position, absl::StrCat("axis ", name, " is fixed in program \"", state->name,
                                       "\"; list the participants: \"in\": [\"program:tensor\", "
                                       "...]"));
    }
    if (std::find(over.begin(), over.end(), axis) != over.end()) {
      return At(position, absl::StrCat("axis ", name, " stands twice"));
    }
    over.push_back(axis);
  }
  const bool single = op.op() == "all_to_all" || op.op() == "permute" || op.op() == "broadcast" ||
                      op.op() == "reduce";
  if (single && over.size() != 1) {
    return At(position, absl::StrCat(op.op(), " runs over one axis"));
  }
  // Outermost axis first cuts as nested shards do; a gather undoes that from the inside.
  if (op.op() == "all_gather") std::reverse(over.begin(), over.end());
  TensorId id = *input;
  for (AxisId axis : over) {
    absl::StatusOr<TensorId> next = OverAxis(state, op, position, id, axis);
    if (!next.ok()) {
      return At(position, absl::StrCat(op.op(), ": "), next.status());
    }
    id = *next;
  }
  problem_.parallel.tensors[id].name = FullName(*state, op.outputs(0));
  return Definitions{{op.outputs(0), id}};
}

absl::StatusOr<TensorId> PlanBuilder::OverAxis(ProgramState* state, const Operator& op,
                                               const Position& position, TensorId input,
                                               AxisId axis) {
  if (op.op() == "reduce") {
    // Off the root every rank is left with something of its own.
    for (size_t other = 0; other < problem_.parallel.axes.size(); ++other) {
      if (problem_.parallel.axes[other].kind == sdfg::AxisKind::kMicrobatch ||
          state->coordinates.fixed[other].has_value()) {
        continue;
      }
      PLAN_ASSIGN_OR_RETURN(input, SpreadOver(state, input, static_cast<AxisId>(other)));
    }
  }
  PLAN_ASSIGN_OR_RETURN(const TensorId x, SpreadOver(state, input, axis));
  const sdfg::Tensor tensor = problem_.parallel.tensors[x];
  const int64_t extent = problem_.parallel.axes[axis].extent;
  const std::string& name = op.op();
  const auto leading = static_cast<int>(tensor.axes.size());
  const int axis_dim = static_cast<int>(std::find(tensor.axes.begin(), tensor.axes.end(), axis) -
                                        tensor.axes.begin());
  // Temporary names of exceptions occur more than once.
  const std::string unspecified =
      absl::StrCat(FullName(*state, op.outputs(0)), " #", problem_.parallel.operators.size());
  sdfg::FunctionKey key = KeyOf(name, tensor);
  key.Text(op.collective().SerializeAsString()).Number(leading).Number(axis_dim);
  if (name == "reduce") key.Text(unspecified);
  PLAN_ASSIGN_OR_RETURN(sdfg::FunctionPointer function, functions_.Get(key.Take(), [&] {
    return AxisFunction(op, tensor, axis_dim, unspecified);
  }));
  AxisList axes = tensor.axes;
  if (name == "all_reduce" || name == "accumulate" || name == "broadcast" || name == "all_gather") {
    axes.erase(axes.begin() + axis_dim);
  }
  std::vector<sdfg::Device> devices;
  const int64_t stride = problem_.parallel.axis_device_stride[axis];
  for (int64_t r = 0; r < std::min<int64_t>(extent, 65536) && stride > 0; ++r) {
    devices.push_back(state->device + static_cast<sdfg::Device>(r * stride));
  }
  const TensorId result =
      AddOperator(*state, name, NameOf(op), std::move(function), false, axes, {x},
                  {absl::StrCat(op.outputs(0), "@", problem_.parallel.axes[axis].name)},
                  SourceOf(op, position), Texts(op), std::move(devices))[0];
  sdfg::Operator& added = problem_.parallel.operators.back();
  added.kind = *sdfg::CommunicationFromName(name);
  added.memory.view = added.kind == sdfg::OperatorKind::kChunk;
  return result;
}

std::pair<const ProgramState*, std::string> PlanBuilder::OwnerOf(const ProgramState* state,
                                                                 const std::string& name) const {
  const size_t colon = name.find(':');
  if (state->scope.count(name) > 0 || colon == std::string::npos) return {state, name};
  return {by_name_.at(name.substr(0, colon)), name.substr(colon + 1)};
}

bool PlanBuilder::SameFixedAxes(const ProgramState& a, const ProgramState& b) {
  return std::equal(a.coordinates.fixed.begin(), a.coordinates.fixed.end(),
                    b.coordinates.fixed.begin(), b.coordinates.fixed.end(),
                    [](const auto& x, const auto& y) { return x.has_value() == y.has_value(); });
}

absl::StatusOr<Definitions> PlanBuilder::BuildGroup(ProgramState* state, const Operator& op,
                                                    const Position& position) {
  std::vector<TensorId> inputs;
  std::vector<sdfg::Shape> shapes;
  std::vector<sdfg::Device> devices;
  int own = -1;
  GroupCollective exchange{{}, ExchangeText(op)};
  for (int i = 0; i < op.inputs_size(); ++i) {
    const std::string& name = op.inputs(i).tensor();
    absl::StatusOr<TensorId> input = Lookup(state, name, true);
    if (!input.ok()) {
      return At(position, absl::StrCat(op.op(), ": ", std::string(input.status().message())));
    }
    const auto [owner, local] = OwnerOf(state, name);
    if (owner == state) {
      if (own >= 0 && op.op() != "move") {
        return At(position, absl::StrCat("program \"", state->name, "\" takes part twice"));
      }
      own = i;
    }
    if (op.op() != "move" && !SameFixedAxes(*owner, *state)) {
      return At(position, absl::StrCat("the ranks of \"", owner->name, "\" and \"", state->name,
                                       "\" vary over different axes, so that some would have no ",
                                       "partner in ", op.op()));
    }
    exchange.operands.emplace_back(owner->index, local);
    inputs.push_back(*input);
    shapes.push_back(Local(*input));
    devices.push_back(owner->device);
  }
  for (TensorId input : inputs) {
    if (problem_.parallel.tensors[input].dtype != problem_.parallel.tensors[inputs[0]].dtype) {
      return At(position, absl::StrCat(op.op(), ": participants differ in element type"));
    }
  }
  const sdfg::DType dtype = problem_.parallel.tensors[inputs[0]].dtype;
  const int size = static_cast<int>(inputs.size());
  const Collective& collective = op.collective();
  const bool concatenates = op.op() == "all_gather";
  for (int i = 1; i < size; ++i) {
    bool same = shapes[i].size() == shapes[0].size();
    for (size_t d = 0; same && d < shapes[i].size(); ++d) {
      const int gathered = collective.dim() < 0
                               ? collective.dim() + static_cast<int>(shapes[i].size())
                               : collective.dim();
      same = shapes[i][d] == shapes[0][d] || (concatenates && static_cast<int>(d) == gathered);
    }
    if (!same) {
      return At(position, absl::StrCat("shape mismatch: ", op.op(), " of ", op.inputs(0).tensor(),
                                       ShapeText(shapes[0]), " and ", op.inputs(i).tensor(),
                                       ShapeText(shapes[i])));
    }
  }
  if (op.op() == "move" && size != 1) return At(position, "move reads one tensor");
  if (op.op() != "move" && own < 0) {
    return At(position, absl::StrCat("program \"", state->name, "\" is no participant of its own ",
                                     op.op(), "; its tensor must be in the list"));
  }
  if (op.op() == "move") devices.push_back(state->device);
  sdfg::FunctionKey key("between programs");
  key.Text(op.op()).Text(collective.SerializeAsString()).Number(size).Number(own);
  for (const sdfg::Shape& shape : shapes) key.List(shape);
  key.Number(static_cast<int64_t>(dtype));
  absl::StatusOr<sdfg::FunctionPointer> function =
      functions_.Get(key.Take(), [&] { return GroupFunction(op, shapes, dtype, own); });
  if (!function.ok()) return At(position, function.status());
  if (op.op() != "move") state->group_collectives.push_back(std::move(exchange));
  const TensorId id =
      AddOperator(*state, op.op(), NameOf(op), *std::move(function), true, UnionOfAxes(inputs),
                  inputs, {op.outputs(0)}, SourceOf(op, position), Texts(op), devices)[0];
  problem_.parallel.operators.back().kind = *sdfg::CommunicationFromName(op.op());
  if (!op.channel().empty()) problem_.schedule.channels[id] = op.channel();
  return Definitions{{op.outputs(0), id}};
}

}  // namespace planproof::plan
