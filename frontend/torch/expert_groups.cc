#include "frontend/torch/expert_groups.h"

#include <numeric>
#include <utility>

#include "frontend/torch/strided.h"
#include "sdfg/row_order.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::kNone;
using sdfg::Op;

bool IsConstant(const sdfg::IndexFunction& function, int64_t value) {
  if (!function.inputs.empty() || function.outputs.size() != 1) return false;
  const sdfg::Node& body = function.nodes[function.outputs[0].body];
  return (body.op == Op::kIntConst && body.value == value) ||
         (body.op == Op::kReal && body.real == solver::Rational(value));
}

}  // namespace

sdfg::Operand ExpertGroups::OperandOf(TensorId tensor) const {
  sdfg::Operand operand;
  operand.shape = graph_->tensors[tensor].shape;
  operand.dtype = graph_->tensors[tensor].dtype;
  return operand;
}

Function ExpertGroups::Known(const std::string& name, const std::vector<sdfg::Operand>& operands,
                             const sdfg::Attributes& attributes) const {
  absl::StatusOr<sdfg::IndexFunction> function =
      operators_->Instantiate(name, operands, attributes);
  return function.ok() ? graph_->Intern(*std::move(function)) : nullptr;
}

const sdfg::Operator* ExpertGroups::ProducerOf(TensorId tensor) const {
  const sdfg::OperatorId producer = graph_->tensors[tensor].producer;
  if (producer == kNone) return nullptr;
  const sdfg::Operator& op = graph_->operators[producer];
  return op.kind == sdfg::OperatorKind::kCompute ? &op : nullptr;
}

bool ExpertGroups::IsAscendingSort(const sdfg::Operator& op) const {
  if (op.kind != sdfg::OperatorKind::kCompute || op.inputs.size() != 1 || op.outputs.size() != 2 ||
      graph_->tensors[op.inputs[0]].shape.size() != 1 || op.outputs[0] == kNone ||
      op.outputs[1] == kNone) {
    return false;
  }
  for (const bool stable : {false, true}) {
    const sdfg::Attributes attributes = {
        {"dim", int64_t{0}}, {"descending", false}, {"stable", stable}};
    if (op.function == Known("sort", {OperandOf(op.inputs[0])}, attributes)) return true;
  }
  return false;
}

bool ExpertGroups::IsPutOnce(const sdfg::Operator& op) const {
  return op.kind == sdfg::OperatorKind::kCompute && op.inputs.size() == 2 &&
         graph_->tensors[op.inputs[0]].shape.size() == 1 &&
         op.function ==
             Known("aten_put_once", {OperandOf(op.inputs[0]), OperandOf(op.inputs[1])}, {});
}

bool ExpertGroups::AddsRows(const sdfg::Operator& op) const {
  if (op.kind != sdfg::OperatorKind::kCompute || op.inputs.size() != 3 || op.outputs.size() != 1 ||
      op.outputs[0] == kNone || graph_->tensors[op.inputs[1]].shape.size() != 1) {
    return false;
  }
  std::vector<sdfg::Operand> operands;
  for (TensorId input : op.inputs) operands.push_back(OperandOf(input));
  return op.function == Known("index_add", operands, {{"dim", int64_t{0}}});
}

bool ExpertGroups::SelectsByMask(const sdfg::Operator& op) const {
  if (op.kind != sdfg::OperatorKind::kCompute || op.inputs.size() != 2 || op.outputs.size() != 1 ||
      op.outputs[0] == kNone || graph_->tensors[op.outputs[0]].shape.size() != 1) {
    return false;
  }
  const sdfg::Attributes size = {{"size", graph_->tensors[op.outputs[0]].shape[0]}};
  return op.function ==
         Known("aten_masked_select", {OperandOf(op.inputs[0]), OperandOf(op.inputs[1])}, size);
}

bool ExpertGroups::ScattersByMask(const sdfg::Operator& op) const {
  if (op.kind != sdfg::OperatorKind::kCompute || op.inputs.size() != 3 || op.outputs.size() != 1 ||
      op.outputs[0] == kNone) {
    return false;
  }
  std::vector<sdfg::Operand> operands;
  for (TensorId input : op.inputs) operands.push_back(OperandOf(input));
  return op.function == Known("aten_masked_scatter", operands, {});
}

ExpertGroups::TensorId ExpertGroups::WithoutCopies(TensorId tensor) const {
  for (;;) {
    const sdfg::Operator* op = ProducerOf(tensor);
    if (op == nullptr || op->outputs.size() != 1) return tensor;
    const std::optional<size_t> copied = sdfg::CopiedOperand(*op->function);
    if (!copied) return tensor;
    tensor = op->inputs[*copied];
  }
}

ExpertGroups::TensorId ExpertGroups::WithoutShape(TensorId tensor) const {
  for (;;) {
    tensor = WithoutCopies(tensor);
    const sdfg::Operator* op = ProducerOf(tensor);
    if (op == nullptr || op->inputs.size() != 1) return tensor;
    const sdfg::Tensor& from = graph_->tensors[op->inputs[0]];
    const sdfg::Tensor& to = graph_->tensors[tensor];
    if (ElementsOf(from.shape) != ElementsOf(to.shape)) return tensor;
    absl::StatusOr<sdfg::IndexFunction> reshape =
        ReadFunction(Contiguous(0, from.shape), Contiguous(0, to.shape), from.dtype);
    if (!reshape.ok() || op->function != graph_->Intern(*std::move(reshape))) return tensor;
    tensor = op->inputs[0];
  }
}

ExpertGroups::TensorId ExpertGroups::WithoutTruth(TensorId tensor) const {
  for (;;) {
    tensor = WithoutCopies(tensor);
    const sdfg::Operator* op = ProducerOf(tensor);
    if (op == nullptr || op->inputs.size() != 1) return tensor;
    const sdfg::DType from = graph_->tensors[op->inputs[0]].dtype;
    const sdfg::DType to = graph_->tensors[tensor].dtype;
    if (from != sdfg::DType::kBool && to != sdfg::DType::kBool) return tensor;
    const sdfg::Attributes attributes = {{"dtype", std::string(sdfg::DTypeName(to))}};
    if (op->function != Known("to", {OperandOf(op->inputs[0])}, attributes)) return tensor;
    tensor = op->inputs[0];
  }
}

int64_t ExpertGroups::OptionsOf(TensorId indices) const {
  const sdfg::Operator* op = ProducerOf(indices);
  if (op == nullptr || op->inputs.size() != 1 || op->outputs.size() != 2 ||
      op->outputs[1] != indices) {
    return 0;
  }
  const sdfg::Shape& scores = graph_->tensors[op->inputs[0]].shape;
  const sdfg::Shape& chosen = graph_->tensors[indices].shape;
  if (scores.empty()) return 0;
  const auto last = static_cast<int64_t>(scores.size()) - 1;
  for (const bool largest : {true, false}) {
    for (const bool sorted : {true, false}) {
      const sdfg::Attributes attributes = {
          {"k", chosen.back()}, {"dim", last}, {"largest", largest}, {"sorted", sorted}};
      if (op->function == Known("topk", {OperandOf(op->inputs[0])}, attributes)) {
        return scores.back();
      }
    }
  }
  return 0;
}

// A bin for each of the whole numbers 0 to groups - 1: bin b holds what lies from
// b (groups - 1) / groups, more than b - 1, to less than (b + 1) (groups - 1) / groups, at most
// b + 1, the last one also groups - 1 itself.
ExpertGroups::TensorId ExpertGroups::CountedByHistogram(TensorId counts, const sdfg::Operator& op,
                                                        int64_t groups) const {
  if (op.inputs.size() != 1 || groups < 2) return kNone;
  const sdfg::Operand x = OperandOf(op.inputs[0]);
  const sdfg::Attributes bins = {
      {"bins", groups}, {"min", solver::Rational(0)}, {"max", solver::Rational(groups - 1)}};
  const bool histogram = op.function == Known("aten_histc", {x}, bins);
  const bool each = op.function == Known("aten_bincount", {x}, {{"size", groups}});
  return (histogram || each) && op.outputs[0] == counts ? op.inputs[0] : kNone;
}

ExpertGroups::TensorId ExpertGroups::CountedByMap(const sdfg::Operator& op, int64_t groups) const {
  if (op.inputs.size() != 1) return kNone;
  const TensorId map = op.inputs[0];
  const sdfg::Shape& shape = graph_->tensors[map].shape;
  if (shape.size() < 2 || shape.back() != groups) return kNone;
  std::vector<int64_t> others(shape.size() - 1);
  std::iota(others.begin(), others.end(), int64_t{0});
  if (op.function !=
      Known("sum", {OperandOf(map)}, {{"dim", std::move(others)}, {"keepdim", false}})) {
    return kNone;
  }
  const sdfg::Operator* scatter = ProducerOf(WithoutTruth(map));
  if (scatter == nullptr || scatter->inputs.size() != 2) return kNone;
  const sdfg::Operator* zeros = ProducerOf(WithoutTruth(scatter->inputs[0]));
  if (zeros == nullptr || !IsConstant(*zeros->function, 0)) return kNone;
  sdfg::Operand one;
  one.kind = sdfg::Operand::Kind::kLiteral;
  one.literal = 1;
  const TensorId choices = scatter->inputs[1];
  const auto last = static_cast<int64_t>(shape.size()) - 1;
  const bool marks =
      scatter->function ==
      Known("scatter", {OperandOf(scatter->inputs[0]), OperandOf(choices), one}, {{"dim", last}});
  // The choices of one row differ, so that it is marked as often as it has choices.
  const int64_t options = OptionsOf(choices);
  return marks && options > 0 && options <= groups ? choices : kNone;
}

ExpertGroups::TensorId ExpertGroups::CountedBy(TensorId counts, int64_t groups) const {
  counts = WithoutCopies(counts);
  const sdfg::Operator* op = ProducerOf(counts);
  if (op == nullptr || op->outputs.size() != 1) return kNone;
  const TensorId numbers = CountedByHistogram(counts, *op, groups);
  return numbers != kNone ? numbers : CountedByMap(*op, groups);
}

Function ExpertGroups::ByNumbers(const sdfg::Operator& op, TensorId numbers) const {
  if (op.kind != sdfg::OperatorKind::kCompute || op.inputs.size() != 3) return nullptr;
  const sdfg::Operand x = OperandOf(op.inputs[0]), w = OperandOf(op.inputs[1]);
  const sdfg::Operand ends = OperandOf(op.inputs[2]), of_rows = OperandOf(numbers);
  if (ends.shape.size() != 1 || of_rows.shape.size() != 1) return nullptr;
  const int64_t groups = ends.shape[0];
  Function by_numbers;
  int64_t rows = 0;
  if (op.function == Known("aten_grouped_mm_rows", {x, w, ends}, {})) {
    by_numbers = Known("aten_mm_by_row", {x, w, of_rows}, {});
    rows = x.shape[0];
  } else if (op.function == Known("aten_grouped_mm_columns", {x, w, ends}, {})) {
    by_numbers = Known("aten_mm_by_column", {x, w, of_rows}, {});
    rows = w.shape[1];
  } else if (op.function == Known("aten_grouped_mm_inner", {x, w, ends}, {})) {
    by_numbers = Known("aten_mm_of_each_group", {x, w, of_rows}, {{"groups", groups}});
    rows = x.shape[1];
  }
  if (by_numbers == nullptr || rows != of_rows.shape[0]) return nullptr;
  // Groups end at the sums of the counts, the last one included.
  const TensorId sums = WithoutCopies(op.inputs[2]);
  const sdfg::Operator* cumsum = ProducerOf(sums);
  if (cumsum == nullptr || cumsum->inputs.size() != 1 || cumsum->outputs.size() != 1 ||
      cumsum->function != Known("cumsum", {OperandOf(cumsum->inputs[0])}, {{"dim", int64_t{0}}})) {
    return nullptr;
  }
  const TensorId counted = CountedBy(cumsum->inputs[0], groups);
  if (counted == kNone) return nullptr;
  const TensorId root = WithoutShape(numbers);
  const int64_t options = OptionsOf(root);
  if (root != WithoutShape(counted) || options == 0 || options > groups) return nullptr;
  return by_numbers;
}

}  // namespace planproof::frontend::torch
