#include "frontend/nnscaler/parallel_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::frontend::nnscaler {

using sdfg::kNone;

namespace {

// Devices times tensors times lanes.
constexpr int64_t kMaxCells = int64_t{1} << 29;

}  // namespace

ParallelBuilder::ParallelBuilder(const Plan& plan, const Plan& logical_plan, LogicalGraph& logical,
                                 const Alignment& alignment, const Schedule& schedule,
                                 const ReaderOptions& options,
                                 const sdfg::OperatorLibrary& operators,
                                 lineage::ProblemBuilder* problem)
    : plan_(plan),
      logical_plan_(logical_plan),
      logical_(logical),
      alignment_(alignment),
      schedule_(schedule),
      options_(options),
      problem_(problem),
      functions_(operators, &problem->parallel),
      differentiated_(ReadByDifferentiated(plan)) {}

absl::Status ParallelBuilder::Run() {
  const int lanes = schedule_.uniform ? 1 : schedule_.microbatches;
  if (int64_t{lanes} * Devices() > kMaxCells / static_cast<int64_t>(plan_.subs.size() + 1)) {
    return absl::ResourceExhaustedError(absl::StrCat(Devices(), " devices, ", plan_.subs.size(),
                                                     " tensors and ", lanes,
                                                     " different microbatches are too many"));
  }
  MakeAxes();
  lane_events_.resize(lanes);
  for (const Event& event : schedule_.events) {
    if (event.microbatch < lanes) lane_events_[event.microbatch].push_back(event);
  }
  arrived_.assign(schedule_.communications.size(), 0);
  FindIncomplete();
  for (int lane = 0; lane < lanes; ++lane) {
    absl::Status status = RunLane(lane);
    if (status.ok()) status = RequireLosses(lane);
    if (!status.ok()) return status;
  }
  absl::Status status = RunGradients();
  if (status.ok()) status = RelateInputs();
  if (status.ok()) status = RequireGradients();
  return status;
}

absl::Status ParallelBuilder::RelateInputs() {
  for (size_t t = 0; t < graph().tensors.size(); ++t) {
    const sdfg::Tensor& tensor = graph().tensors[t];
    if (tensor.producer != kNone) continue;
    const TensorId id = static_cast<TensorId>(t);
    absl::Status related = problem_->RelateInput(id, problem_->LineageOf(id),
                                                 {absl::StrCat("device ", tensor.device)});
    if (!related.ok()) return related;
  }
  return absl::OkStatus();
}

void ParallelBuilder::MakeAxes() {
  graph().axes.push_back({"copy", plan_.copies, sdfg::AxisKind::kCopy});
  graph().axis_device_stride.push_back(Devices());
  lane_axes_ = {0};
  if (schedule_.uniform) {
    graph().axes.push_back({"microbatch", schedule_.microbatches, sdfg::AxisKind::kMicrobatch});
    graph().axis_device_stride.push_back(0);
    lane_axes_.push_back(1);
  }
}

absl::Status ParallelBuilder::RunLane(int microbatch) {
  lane_ = microbatch;
  value_.assign(Devices(), std::vector<TensorId>(plan_.subs.size(), kNone));
  adapter_local_.assign(Devices(), {});
  forwards_.clear();
  forward_ids_.clear();
  loss_.assign(Devices(), {kNone, kNoIndex});
  CountWrites(microbatch);
  for (const Event& event : lane_events_[microbatch]) {
    absl::Status status = RunNode(event);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ParallelBuilder::RunNode(const Event& event) {
  switch (plan_.nodes[event.node].kind) {
    case NodeKind::kData:
      return RunData(event);
    case NodeKind::kForward:
      return RunForward(event);
    case NodeKind::kBackward:
      return RunBackward(event);
    case NodeKind::kAdapter:
      return RunAdapterStep(event);
    case NodeKind::kReducer:
      return absl::OkStatus();  // sums over microbatches: gradients.cc
  }
  return absl::OkStatus();
}

ParallelBuilder::TensorId ParallelBuilder::Find(int device, int sub) {
  const TensorId value = value_[device][sub];
  return value != kNone ? value : Source(device, sub);
}

absl::StatusOr<ParallelBuilder::TensorId> ParallelBuilder::Read(const Event& event, int sub) {
  const TensorId found = Find(event.device, sub);
  if (found != kNone) return found;
  const Node& node = plan_.nodes[event.node];
  if (IsParameterGradient(sub)) {
    return absl::UnimplementedError(absl::StrCat("the parameter gradient ", plan_.TensorName(sub),
                                                 " is read by ", node.Label(),
                                                 "; only weight reducers may read those"));
  }
  std::string elsewhere;
  for (int d = 0; d < Devices(); ++d) {
    if (value_[d][sub] == kNone) continue;
    absl::StrAppend(&elsewhere, elsewhere.empty() ? "; it is held by device " : ", ", d);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(elsewhere.empty() ? "dangling tensor: " : "tensor used where it is not held: ",
                   plan_.TensorName(sub), " is read by ", node.Label(), " on device ", event.device,
                   ", nothing made it there before", elsewhere));
}

absl::Status ParallelBuilder::Write(const Event& event, int sub, TensorId tensor) {
  const Node& node = plan_.nodes[event.node];
  if (IsParameterGradient(sub)) {
    gradient_writes_[{{event.device, event.node}, lane_}].push_back({sub, tensor});
    return absl::OkStatus();
  }
  const FullTensor& full = plan_.FullOf(sub);
  TensorId& value = value_[event.device][sub];
  --writes_left_[event.device][sub];
  if (value == kNone && sources_.count({event.device, sub}) == 0) {
    value = tensor;
  } else if (!full.is_gradient || value == kNone) {
    const sdfg::OperatorId first = value == kNone ? kNone : graph().tensors[value].producer;
    return absl::InvalidArgumentError(absl::StrCat(
        "two producers: ", plan_.TensorName(sub), " on device ", event.device, " is made by ",
        first == kNone ? "the data or the model" : graph().Describe(first), " and again by ",
        node.Label(), "; single assignment is violated"));
  } else {
    absl::StatusOr<Function> add =
        functions_.Add(LocalShape(tensor), graph().tensors[tensor].dtype, 2);
    if (!add.ok()) return add.status();
    sdfg::Operator op;
    op.name = "accumulate";
    op.function = *std::move(add);
    op.inputs = {value, tensor};
    op.label = absl::StrCat("gradient ", plan_.TensorName(sub));
    std::vector<TensorId> total;
    absl::Status status = Emit(std::move(op), event, {sub}, &total);
    if (!status.ok()) return status;
    value_[event.device][sub] = total[0];
  }
  if (IsLoss(plan_.subs[sub].full)) loss_[event.device] = {value_[event.device][sub], sub};
  return absl::OkStatus();
}

absl::Status ParallelBuilder::Emit(sdfg::Operator op, const Event& event,
                                   const std::vector<int>& subs, std::vector<TensorId>* outputs) {
  const Node& node = plan_.nodes[event.node];
  std::vector<sdfg::AxisId> axes;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const sdfg::Tensor& input = graph().tensors[op.inputs[i]];
    std::vector<sdfg::AxisId> merged;
    std::set_union(axes.begin(), axes.end(), input.axes.begin(), input.axes.end(),
                   std::back_inserter(merged));
    axes = std::move(merged);
    if (LocalShape(op.inputs[i]) != op.function->inputs[i].shape) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shape mismatch at ", op.name, " (", node.Label(), ") on device ", event.device,
          ": input ", i, ", ", input.name, ", is ", ShapeText(LocalShape(op.inputs[i])),
          ", expected ", ShapeText(op.function->inputs[i].shape)));
    }
  }
  op.devices = {event.device};
  if (op.label.empty()) op.label = absl::StrCat("cell ", node.id);
  for (size_t o = 0; o < subs.size(); ++o) {
    const SubTensor& sub = plan_.subs[subs[o]];
    const sdfg::Shape declared = RealShape(sub.shape(), sub.dtype);
    const sdfg::Shape computed = op.function->outputs[o].shape(op.function->vars);
    if (declared != computed) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape mismatch at ", op.name, " (", node.Label(), ") on device ",
                       event.device, ": output ", plan_.TensorName(subs[o]), " is ",
                       ShapeText(declared), ", the operator gives ", ShapeText(computed)));
    }
    outputs->push_back(AddPiece(event.device, subs[o], axes, sdfg::TensorRole::kIntermediate,
                                IsWhole(event, subs[o], op.name == "accumulate")));
  }
  op.outputs = *outputs;
  graph().AddOperator(std::move(op));
  return absl::OkStatus();
}

bool ParallelBuilder::IsWhole(const Event& event, int sub, bool accumulated) const {
  const Node& node = plan_.nodes[event.node];
  if (incomplete_[event.device][sub]) return false;
  // Within a backward adapter a forward tensor stands for its gradient (prims.h).
  if (node.kind == NodeKind::kAdapter && !node.forward && !plan_.FullOf(sub).is_gradient) {
    return false;
  }
  if (!plan_.FullOf(sub).is_gradient || IsParameterGradient(sub)) return true;
  if (node.kind == NodeKind::kAdapter && !accumulated) {
    for (const NodeOperand& input : node.inputs) {
      if (input.tensor != kNoIndex && incomplete_[event.device][input.tensor]) return false;
    }
    for (const NodeOperand& output : node.outputs) {
      if (writes_[event.device][output.tensor] > 1 || incomplete_[event.device][output.tensor]) {
        return false;
      }
    }
    return true;
  }
  return accumulated ? writes_left_[event.device][sub] == 0 : writes_[event.device][sub] <= 1;
}

absl::Status ParallelBuilder::RunData(const Event& event) {
  for (const NodeOperand& output : plan_.nodes[event.node].outputs) {
    const TensorId tensor =
        AddPiece(event.device, output.tensor, lane_axes_, sdfg::TensorRole::kInput, true);
    absl::Status status = Write(event, output.tensor, tensor);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ParallelBuilder::RunForward(const Event& event) {
  const Node& node = plan_.nodes[event.node];
  absl::StatusOr<Function> function = functions_.Forward(plan_, node);
  if (!function.ok()) {
    return absl::Status(function.status().code(),
                        absl::StrCat("device ", event.device, ": ", function.status().message()));
  }
  sdfg::Operator op;
  op.name = node.name;
  op.function = *function;
  op.source = node.source;
  for (const NodeOperand& input : node.inputs) {
    if (input.tensor == kNoIndex) continue;
    absl::StatusOr<TensorId> tensor = Read(event, input.tensor);
    if (!tensor.ok()) return tensor.status();
    op.inputs.push_back(*tensor);
  }
  std::vector<int> subs;
  for (const NodeOperand& output : node.outputs) subs.push_back(output.tensor);
  forwards_[{event.device, event.node}] = {*function, op.inputs, event.node};
  forward_ids_[{event.device, node.id}] = event.node;
  std::vector<TensorId> outputs;
  absl::Status status = Emit(std::move(op), event, subs, &outputs);
  for (size_t o = 0; o < subs.size() && status.ok(); ++o)
    status = Write(event, subs[o], outputs[o]);
  return status;
}

absl::Status ParallelBuilder::RunBackward(const Event& event) {
  const Node& node = plan_.nodes[event.node];
  auto record = forwards_.find({event.device, node.mirror});
  if (record == forwards_.end()) {
    const auto by_id = forward_ids_.find({event.device, plan_.nodes[node.mirror].id});
    if (by_id != forward_ids_.end()) record = forwards_.find({event.device, by_id->second});
  }
  if (record == forwards_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("backward cell ", node.id, " runs on device ", event.device,
                     " before or without its forward operator ", plan_.nodes[node.mirror].Label()));
  }
  const Node& forward = plan_.nodes[record->second.node];
  absl::StatusOr<BackwardOperands> match = MatchBackward(node, forward);
  if (!match.ok()) return match.status();
  sdfg::Operator op;
  op.name = forward.name + ".backward";
  op.source = forward.source;
  op.inputs = record->second.inputs;
  std::vector<int> wrt, gradients, subs;
  for (const BackwardOperands::Gradient& gradient : match->outputs) {
    wrt.push_back(gradient.position);
    subs.push_back(node.outputs[gradient.operand].tensor);
  }
  for (const BackwardOperands::Gradient& gradient : match->inputs) {
    const int sub = node.inputs[gradient.operand].tensor;
    if (sub == kNoIndex || Find(event.device, sub) == kNone) {
      const int full = plan_.subs[forward.outputs[gradient.position].tensor].full;
      if (forward.name == "multiref" && !differentiated_[full]) continue;  // counts as zero
      if (sub == kNoIndex) {
        return absl::InvalidArgumentError(
            absl::StrCat("dangling tensor: an input of ", node.Label(), " is None"));
      }
    }
    absl::StatusOr<TensorId> tensor = Read(event, sub);
    if (!tensor.ok()) return tensor.status();
    gradients.push_back(gradient.position);
    op.inputs.push_back(*tensor);
  }
  absl::StatusOr<Function> function = functions_.Backward(record->second.function, wrt, gradients);
  if (!function.ok()) {
    return absl::Status(function.status().code(), absl::StrCat("backward of ", forward.Label(),
                                                               ": ", function.status().message()));
  }
  op.function = *std::move(function);
  std::vector<TensorId> outputs;
  absl::Status status = Emit(std::move(op), event, subs, &outputs);
  for (size_t o = 0; o < subs.size() && status.ok(); ++o)
    status = Write(event, subs[o], outputs[o]);
  return status;
}

}  // namespace planproof::frontend::nnscaler
