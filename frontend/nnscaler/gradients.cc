// Gradients of parameters: the sum over microbatches on a device, then weight reducers' sums over
// copies and devices. The order of execution decides which microbatches a reducer sees.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/nnscaler/parallel_builder.h"
#include "sdfg/collectives.h"

namespace planproof::frontend::nnscaler {

using sdfg::kNone;

namespace {

// y = factor * x.
absl::StatusOr<sdfg::IndexFunction> ScaleFunction(const sdfg::Shape& shape, sdfg::DType dtype,
                                                  int64_t factor) {
  sdfg::IndexFunctionBuilder builder("scale");
  const int input = builder.AddInput("x", shape, dtype);
  const int output = builder.AddOutput("y", shape, dtype);
  std::vector<sdfg::ExprId> indices;
  for (sdfg::VarId var : builder.OutputDims(output)) indices.push_back(builder.Index(var));
  builder.SetBody(output, builder.Binary(sdfg::Op::kMul, builder.Real(solver::Rational(factor)),
                                         builder.Element(input, indices)));
  sdfg::IndexFunction function;
  absl::Status status = builder.Finish(&function);
  if (!status.ok()) return status;
  return function;
}

// y = sum of x over the coordinates `first` to `first + count - 1` of dimension `dim`, dropped in
// y.
absl::StatusOr<sdfg::IndexFunction> SumRangeFunction(const sdfg::Shape& shape, sdfg::DType dtype,
                                                     int dim, int64_t first, int64_t count) {
  sdfg::IndexFunctionBuilder builder("sum_microbatches");
  const int input = builder.AddInput("x", shape, dtype);
  sdfg::Shape result = shape;
  result.erase(result.begin() + dim);
  const int output = builder.AddOutput("y", result, dtype);
  std::vector<sdfg::ExprId> indices;
  for (sdfg::VarId var : builder.OutputDims(output)) indices.push_back(builder.Index(var));
  const sdfg::VarId over = builder.AddVar("m", count);
  indices.insert(indices.begin() + dim, builder.IntAdd(builder.Index(over), builder.Int(first)));
  builder.SetBody(output, builder.Reduce(sdfg::Op::kSum, over, builder.Element(input, indices)));
  sdfg::IndexFunction function;
  absl::Status status = builder.Finish(&function);
  if (!status.ok()) return status;
  return function;
}

std::string ShapeKey(const sdfg::Tensor& tensor) {
  return absl::StrCat(absl::StrJoin(tensor.shape, ","), " ", static_cast<int>(tensor.dtype));
}

}  // namespace

absl::StatusOr<ParallelBuilder::TensorId> ParallelBuilder::Plain(const std::string& name,
                                                                 Function function, bool lifted,
                                                                 std::vector<TensorId> inputs,
                                                                 sdfg::Tensor output,
                                                                 const Node* node) {
  output.producer = kNone;
  output.role = sdfg::TensorRole::kIntermediate;
  sdfg::Operator op;
  op.name = name;
  op.function = std::move(function);
  op.lifted = lifted;
  op.inputs = std::move(inputs);
  op.devices = {output.device};
  op.label =
      node == nullptr ? absl::StrCat("gradient ", output.name) : absl::StrCat("cell ", node->id);
  const TensorId tensor = AddTensor(std::move(output), {});
  op.outputs = {tensor};
  graph().AddOperator(std::move(op));
  return tensor;
}

absl::StatusOr<ParallelBuilder::TensorId> ParallelBuilder::Scaled(TensorId tensor, int64_t factor,
                                                                  const std::string& label) {
  if (factor == 1) return tensor;
  const sdfg::Tensor t = graph().tensors[tensor];
  const sdfg::Shape local = LocalShape(tensor);
  absl::StatusOr<Function> function =
      functions_.Other(absl::StrCat("scale ", ShapeKey(t), " ", factor),
                       [&] { return ScaleFunction(local, t.dtype, factor); });
  if (!function.ok()) return function.status();
  return Plain(label, *function, true, {tensor}, t, nullptr);
}

absl::StatusOr<ParallelBuilder::TensorId> ParallelBuilder::OverMicrobatches(
    TensorId tensor, const std::vector<int>& microbatches) {
  const sdfg::Tensor t = graph().tensors[tensor];
  if (!schedule_.uniform) return tensor;
  const auto axis = std::find(t.axes.begin(), t.axes.end(), 1);
  if (axis == t.axes.end()) {
    return Scaled(tensor, static_cast<int64_t>(microbatches.size()), "accumulate microbatches");
  }
  const int dim = static_cast<int>(axis - t.axes.begin());
  sdfg::Tensor summed = t;
  summed.shape.erase(summed.shape.begin() + dim);
  summed.axes.erase(summed.axes.begin() + dim);
  // Runs of consecutive microbatches; all of them is the usual case.
  std::vector<int> sorted = microbatches;
  std::sort(sorted.begin(), sorted.end());
  std::vector<TensorId> runs;
  for (size_t i = 0; i < sorted.size();) {
    size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    const int64_t first = sorted[i], count = static_cast<int64_t>(end - i);
    const bool all = count == t.shape[dim];
    absl::StatusOr<Function> function = functions_.Other(
        absl::StrCat("microbatches ", ShapeKey(t), " ", dim, " ", first, " ", count),
        [&]() -> absl::StatusOr<sdfg::IndexFunction> {
          if (all) return sdfg::AxisReduce(t.shape, t.dtype, dim, sdfg::ReduceKind::kSum);
          return SumRangeFunction(t.shape, t.dtype, dim, first, count);
        });
    if (!function.ok()) return function.status();
    absl::StatusOr<TensorId> run =
        Plain("accumulate microbatches", *function, false, {tensor}, summed, nullptr);
    if (!run.ok()) return run;
    runs.push_back(*run);
    i = end;
  }
  if (runs.size() == 1) return runs[0];
  absl::StatusOr<Function> add =
      functions_.Add(LocalShape(runs[0]), summed.dtype, static_cast<int>(runs.size()));
  if (!add.ok()) return add.status();
  return Plain("accumulate", *add, true, runs, summed, nullptr);
}

absl::StatusOr<ParallelBuilder::TensorId> ParallelBuilder::OverCopies(TensorId tensor,
                                                                      const Node& reducer) {
  const sdfg::Tensor t = graph().tensors[tensor];
  if (std::find(t.axes.begin(), t.axes.end(), 0) == t.axes.end()) {
    return Scaled(tensor, plan_.copies, "reducer over copies");
  }
  absl::StatusOr<Function> function = functions_.Other(absl::StrCat("copies ", ShapeKey(t)), [&] {
    return sdfg::AxisReduce(t.shape, t.dtype, 0, sdfg::ReduceKind::kSum);
  });
  if (!function.ok()) return function.status();
  sdfg::Tensor summed = t;
  summed.shape.erase(summed.shape.begin());
  summed.axes.erase(summed.axes.begin());
  return Plain("reducer over copies", *function, false, {tensor}, summed, &reducer);
}

// The gradient as it stands on the device: what the last reducer left and what was added since.
absl::StatusOr<ParallelBuilder::TensorId> ParallelBuilder::SumOf(Accumulator& accumulator,
                                                                 int device, int sub) {
  std::vector<TensorId> terms;
  if (accumulator.reduced != kNone) terms.push_back(accumulator.reduced);
  for (const auto& [tensor, microbatches] : accumulator.pending) {
    absl::StatusOr<TensorId> term = OverMicrobatches(tensor, microbatches);
    if (!term.ok()) return term;
    terms.push_back(*term);
  }
  if (terms.empty()) return kNone;
  if (terms.size() == 1) return terms[0];
  sdfg::Tensor total = graph().tensors[terms[0]];
  const sdfg::Shape local = LocalShape(terms[0]);
  total.axes.clear();
  for (TensorId term : terms) {
    if (LocalShape(term) != local) {
      return absl::InvalidArgumentError(absl::StrCat("gradients of ", plan_.TensorName(sub),
                                                     " on device ", device, " differ in shape"));
    }
    if (!graph().tensors[term].axes.empty()) total.axes = graph().tensors[term].axes;
  }
  total.shape.clear();
  for (sdfg::AxisId axis : total.axes) total.shape.push_back(graph().axes[axis].extent);
  total.shape.insert(total.shape.end(), local.begin(), local.end());
  absl::StatusOr<Function> add = functions_.Add(local, total.dtype, static_cast<int>(terms.size()));
  if (!add.ok()) return add.status();
  return Plain("accumulate", *add, true, terms, total, nullptr);
}

absl::Status ParallelBuilder::Reduce(const Communication& communication) {
  const Node& node = plan_.nodes[communication.arrivals[0].node];
  for (const NodeOperand& operand : node.inputs) {
    if (operand.tensor == kNoIndex) continue;
    const SubTensor& piece = plan_.subs[operand.tensor];
    const int gradient = plan_.fulls[piece.full].gradient;
    if (!plan_.fulls[piece.full].is_attribute || gradient == kNoIndex) {
      return absl::InvalidArgumentError(absl::StrCat(node.Label(), ": ",
                                                     plan_.TensorName(operand.tensor),
                                                     " is no parameter with a gradient"));
    }
    std::vector<TensorId> terms;
    for (int device : communication.participants) {
      Source(device, operand.tensor);  // the device holds the parameter
      absl::StatusOr<TensorId> local =
          SumOf(accumulators_[{device, {gradient, piece.index}}], device, operand.tensor);
      if (!local.ok()) return local.status();
      if (*local == kNone) continue;  // nothing yet: zero
      absl::StatusOr<TensorId> term = OverCopies(*local, node);
      if (!term.ok()) return term.status();
      terms.push_back(*term);
    }
    if (terms.empty()) continue;
    const sdfg::DType dtype = graph().tensors[terms[0]].dtype;
    const sdfg::Shape shape = LocalShape(terms[0]);
    const int count = static_cast<int>(terms.size());
    for (int device : communication.participants) {
      Accumulator& accumulator = accumulators_[{device, {gradient, piece.index}}];
      accumulator.pending.clear();
      accumulator.reduced = terms[0];
      if (count == 1 && graph().tensors[terms[0]].device == device) continue;
      absl::StatusOr<Function> function = functions_.Other(
          absl::StrCat("all_reduce ", ShapeKey(graph().tensors[terms[0]]), " ", count),
          [&] { return sdfg::AllReduce(shape, dtype, count, sdfg::ReduceKind::kSum); });
      if (!function.ok()) return function.status();
      sdfg::Tensor total = graph().tensors[terms[0]];
      total.device = device;
      absl::StatusOr<TensorId> sum =
          Plain("reducer over devices", *function, true, terms, total, &node);
      if (!sum.ok()) return sum.status();
      sdfg::Operator& reducer = graph().operators[graph().tensors[*sum].producer];
      reducer.kind = sdfg::OperatorKind::kAllReduce;
      reducer.group = communication.participants;
      accumulator.reduced = *sum;
    }
  }
  return absl::OkStatus();
}

absl::Status ParallelBuilder::RunGradients() {
  std::vector<int> arrived(schedule_.communications.size(), 0);
  for (const Event& event : schedule_.events) {
    const Node& node = plan_.nodes[event.node];
    if (node.kind == NodeKind::kReducer) {
      const Communication& communication = schedule_.communications[event.communication];
      if (++arrived[event.communication] < static_cast<int>(communication.participants.size()))
        continue;
      absl::Status status = Reduce(communication);
      if (!status.ok()) return status;
      continue;
    }
    if (node.kind == NodeKind::kAdapter && event.prim != static_cast<int>(node.prims.size()))
      continue;
    const int lane = schedule_.uniform ? 0 : event.microbatch;
    const auto writes = gradient_writes_.find({{event.device, event.node}, lane});
    if (writes == gradient_writes_.end()) continue;
    for (const GradientWrite& write : writes->second) {
      const SubTensor& piece = plan_.subs[write.sub];
      auto& pending = accumulators_[{event.device, {piece.full, piece.index}}].pending;
      auto same = std::find_if(pending.begin(), pending.end(),
                               [&](const auto& entry) { return entry.first == write.tensor; });
      if (same == pending.end()) same = pending.insert(pending.end(), {write.tensor, {}});
      same->second.push_back(event.microbatch);
    }
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::nnscaler
