#include "frontend/torch/sorted_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "frontend/torch/expert_groups.h"
#include "sdfg/graph_check.h"
#include "sdfg/row_order.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::RowOperand;
using sdfg::TensorId;
using Kind = RowOperand::Kind;

// Numbers x that are sorted: sorted[j] = x[p(j)].
struct Sort {
  TensorId numbers = kNone;  // x
  TensorId sorted = kNone;
  TensorId order = kNone;  // p
  int64_t rows = 0;
};

// What a tensor has to do with the order p of a sort.
struct Place {
  Kind kind = Kind::kOther;
  size_t sort = 0;  // kRows, kInverse
  size_t dim = 0;   // kRows
  // kRows: the rows in their own order. Of what the sort itself gives, that is another tensor;
  // every other operator gives it in place of what it gave.
  TensorId own = kNone;
  std::optional<sdfg::IndexRange> range;  // of integers
};

class OwnOrder {
 public:
  OwnOrder(const sdfg::OperatorLibrary& operators, const std::vector<bool>& kept,
           sdfg::Graph* graph)
      : groups_(&operators, graph), kept_(kept), graph_(*graph) {}

  absl::Status Run() {
    std::vector<OperatorId> order;
    if (absl::Status status = sdfg::TopologicalOrder(graph_, &order); !status.ok()) return status;
    places_.resize(graph_.tensors.size());
    added_before_.resize(graph_.operators.size());
    for (OperatorId id : order) {
      visited_ = id;
      Visit(id);
      AddRanges(graph_.operators[id]);
    }
    PutAddedInPlace();
    return absl::OkStatus();
  }

 private:
  void Visit(OperatorId id) {
    const sdfg::Operator op = graph_.operators[id];
    if (groups_.IsAscendingSort(op)) {
      Plain(id);
      if (places_[op.inputs[0]].kind != Kind::kRows) AddSort(graph_.operators[id]);
      return;
    }
    for (size_t sort : SortsOf(op)) {
      if (TakeInOwnOrder(id, sort) || TakeInverse(id, sort) || TakeCopyOfInverse(id, sort)) return;
    }
    Plain(id);
  }

  void AddOperator(sdfg::Operator op) {
    added_before_[visited_].push_back(graph_.AddOperator(std::move(op)));
  }

  // Operators that were added stand before the first one that needs them.
  void PutAddedInPlace() {
    std::vector<sdfg::Operator> operators;
    const auto add = [&](OperatorId id) {
      for (TensorId output : graph_.operators[id].outputs) {
        if (output != kNone) {
          graph_.tensors[output].producer = static_cast<OperatorId>(operators.size());
        }
      }
      operators.push_back(std::move(graph_.operators[id]));
    };
    for (size_t id = 0; id < added_before_.size(); ++id) {
      for (OperatorId added : added_before_[id]) add(added);
      add(static_cast<OperatorId>(id));
    }
    graph_.operators = std::move(operators);
  }

  bool IsKept(TensorId tensor) const {
    return tensor < static_cast<TensorId>(kept_.size()) && kept_[tensor];
  }

  // Those in whose order some operand is.
  std::set<size_t> SortsOf(const sdfg::Operator& op) const {
    std::set<size_t> sorts;
    if (op.kind != sdfg::OperatorKind::kCompute || !op.lifted) return sorts;
    if (std::count(op.inputs.begin(), op.inputs.end(), kNone) != 0) return sorts;
    if (std::count(op.outputs.begin(), op.outputs.end(), kNone) != 0) return sorts;
    for (TensorId input : op.inputs) {
      if (places_[input].kind == Kind::kRows || places_[input].kind == Kind::kInverse) {
        sorts.insert(places_[input].sort);
      }
    }
    return sorts;
  }

  void AddSort(const sdfg::Operator& op) {
    const TensorId numbers = op.inputs[0], sorted = op.outputs[0], order = op.outputs[1];
    const int64_t rows = graph_.tensors[numbers].shape[0];
    sdfg::IndexFunctionBuilder builder("arange");
    const int output = builder.AddOutput("y", sdfg::Shape{rows}, graph_.tensors[order].dtype);
    builder.SetBody(output, builder.Index(builder.OutputDims(output)[0]));
    sdfg::IndexFunction function;
    if (!builder.Finish(&function).ok()) return;
    sdfg::Tensor positions = graph_.tensors[order];
    positions.producer = kNone;
    sdfg::Operator count;
    count.name = function.operator_name;
    count.source = op.source;
    count.label = op.label;
    count.devices = op.devices;
    count.function = graph_.Intern(std::move(function));
    count.outputs = {AddTensor(std::move(positions))};
    const TensorId own = count.outputs[0];
    const size_t sort = sorts_.size();
    sorts_.push_back({numbers, sorted, order, rows});
    places_[sorted] = {Kind::kRows, sort, 0, numbers, places_[numbers].range};
    places_[order] = {Kind::kRows, sort, 0, own, sdfg::IndexRange{0, rows - 1}};
    places_[own].range = sdfg::IndexRange{0, rows - 1};
    AddOperator(std::move(count));
  }

  TensorId AddTensor(sdfg::Tensor tensor) {
    const TensorId added = graph_.AddTensor(std::move(tensor));
    places_.resize(graph_.tensors.size());
    return added;
  }

  bool IsUniform(TensorId tensor) const {
    const OperatorId producer = graph_.tensors[tensor].producer;
    if (producer == kNone || !graph_.operators[producer].inputs.empty()) return false;
    const sdfg::IndexFunction& function = *graph_.operators[producer].function;
    const sdfg::Op body = function.nodes[function.outputs[0].body].op;
    return function.outputs.size() == 1 && (body == sdfg::Op::kReal || body == sdfg::Op::kIntConst);
  }

  // What the operands have to do with one sort.
  std::vector<RowOperand> OperandsOf(const std::vector<TensorId>& inputs, size_t sort) const {
    std::vector<RowOperand> operands;
    for (TensorId input : inputs) {
      const Place& place = places_[input];
      const bool of_sort = place.kind == Kind::kOther || place.sort == sort;
      operands.push_back({of_sort ? place.kind : Kind::kOther, place.dim, place.range});
      if (operands.back().kind == Kind::kOther && IsUniform(input)) {
        operands.back().kind = Kind::kUniform;
      }
    }
    return operands;
  }

  // The operator gives its rows in their own order from now on, if it does the same to each of
  // them.
  bool TakeInOwnOrder(OperatorId id, size_t sort) {
    sdfg::Operator op = graph_.operators[id];
    // In products by groups, which group a row belongs to.
    if (op.inputs.size() == 3 && places_[op.inputs[2]].kind == Kind::kOther) {
      if (Function product = groups_.ByNumbers(op, sorts_[sort].numbers); product != nullptr) {
        op.name = product->operator_name;
        op.function = std::move(product);
        op.inputs[2] = sorts_[sort].sorted;
      }
    }
    const std::vector<RowOperand> operands = OperandsOf(op.inputs, sort);
    std::optional<sdfg::InOwnOrder> own =
        sdfg::TakeInOwnOrder(*op.function, operands, sorts_[sort].rows);
    if (!own) return false;
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (own->dims[o] && IsKept(op.outputs[o])) return false;
    }
    originals_.emplace(id, graph_.operators[id]);
    order_of_.push_back(id);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      op.inputs[i] =
          operands[i].kind == Kind::kRows ? places_[op.inputs[i]].own : PlainOf(op.inputs[i]);
    }
    op.function = graph_.Intern(std::move(own->function));
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (!own->dims[o]) continue;
      places_[op.outputs[o]] = {Kind::kRows, sort, *own->dims[o], op.outputs[o], std::nullopt};
    }
    graph_.operators[id] = std::move(op);
    return true;
  }

  // Element i is i.
  bool AreNumbered(TensorId tensor) const {
    for (;;) {
      const OperatorId producer = graph_.tensors[tensor].producer;
      if (producer == kNone || graph_.tensors[tensor].shape.size() != 1) return false;
      const sdfg::Operator& op = graph_.operators[producer];
      if (op.kind != sdfg::OperatorKind::kCompute || op.outputs.size() != 1) return false;
      const sdfg::FunctionOutput& output = op.function->outputs[0];
      const sdfg::Node& body = op.function->nodes[output.body];
      if (body.op == sdfg::Op::kIndex) return body.var == output.dims[0];
      const std::optional<size_t> copied = sdfg::CopiedOperand(*op.function);
      if (!copied) return false;
      tensor = op.inputs[*copied];
    }
  }

  // y[p(j)] = j: every element is written once, since p is a bijection, and that is no premise.
  bool TakeInverse(OperatorId id, size_t sort) {
    sdfg::Operator op = graph_.operators[id];
    if (!groups_.IsPutOnce(op)) return false;
    const Place& index = places_[op.inputs[0]];
    if (index.kind != Kind::kRows || index.sort != sort || !AreNumbered(index.own) ||
        places_[op.inputs[1]].kind != Kind::kOther || !AreNumbered(op.inputs[1]) ||
        graph_.tensors[op.inputs[0]].dtype != graph_.tensors[sorts_[sort].order].dtype) {
      return false;
    }
    sdfg::IndexFunction function = *op.function;
    function.premises.clear();
    op.function = graph_.Intern(std::move(function));
    op.inputs[0] = sorts_[sort].order;  // which the index is
    places_[op.outputs[0]] = {Kind::kInverse, sort, 0, kNone,
                              sdfg::IndexRange{0, sorts_[sort].rows - 1}};
    graph_.operators[id] = std::move(op);
    return true;
  }

  bool TakeCopyOfInverse(OperatorId id, size_t sort) {
    const sdfg::Operator op = graph_.operators[id];
    if (op.outputs.size() != 1) return false;
    const std::vector<RowOperand> operands = OperandsOf(op.inputs, sort);
    std::optional<sdfg::IndexFunction> within = sdfg::WithinRanges(*op.function, operands);
    if (!within) return false;
    const std::optional<size_t> copied = sdfg::CopiedOperand(*within);
    if (!copied || operands[*copied].kind != Kind::kInverse) return false;
    Plain(id);
    graph_.operators[id].function = graph_.Intern(*std::move(within));
    places_[op.outputs[0]] = {Kind::kInverse, sort, 0, kNone, operands[*copied].range};
    return true;
  }

  // The operator stays as it was.
  void Plain(OperatorId id) {
    std::vector<TensorId> inputs = graph_.operators[id].inputs;
    for (TensorId& input : inputs) input = PlainOf(input);
    graph_.operators[id].inputs = std::move(inputs);
  }

  // Whether the tensor is now in another order than it was.
  bool IsTakenInOwnOrder(TensorId tensor) const {
    return tensor != kNone && places_[tensor].kind == Kind::kRows && places_[tensor].own == tensor;
  }

  // The tensor as it was: what made it, once more.
  TensorId PlainOf(TensorId tensor) {
    if (!IsTakenInOwnOrder(tensor) || plain_.count(tensor) != 0) return PlainIfMade(tensor);
    std::set<OperatorId> needed;  // in the order in which they were taken
    std::vector<TensorId> pending = {tensor};
    while (!pending.empty()) {
      const TensorId next = pending.back();
      pending.pop_back();
      if (!IsTakenInOwnOrder(next) || plain_.count(next) != 0) continue;
      const OperatorId producer = graph_.tensors[next].producer;
      if (!needed.insert(producer).second) continue;
      const sdfg::Operator& original = originals_.at(producer);
      pending.insert(pending.end(), original.inputs.begin(), original.inputs.end());
    }
    for (OperatorId id : order_of_) {
      if (needed.count(id) != 0) CopyOriginal(id);
    }
    return PlainIfMade(tensor);
  }

  TensorId PlainIfMade(TensorId tensor) const {
    const auto found = plain_.find(tensor);
    return found == plain_.end() ? tensor : found->second;
  }

  void CopyOriginal(OperatorId id) {
    sdfg::Operator copy = originals_.at(id);
    for (TensorId& input : copy.inputs) input = PlainIfMade(input);
    for (TensorId& output : copy.outputs) {
      sdfg::Tensor tensor = graph_.tensors[output];
      tensor.producer = kNone;
      const TensorId added = AddTensor(std::move(tensor));
      plain_[output] = added;
      places_[added].range = places_[output].range;
      output = added;
    }
    AddOperator(std::move(copy));
  }

  // What is known of integers that the operator gives.
  void AddRanges(const sdfg::Operator& op) {
    if (op.kind != sdfg::OperatorKind::kCompute) return;
    if (std::count(op.inputs.begin(), op.inputs.end(), kNone) != 0) return;
    std::vector<RowOperand> operands;
    for (TensorId input : op.inputs) operands.push_back({Kind::kOther, 0, places_[input].range});
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      const TensorId output = op.outputs[o];
      if (output == kNone || places_[output].range ||
          !sdfg::IsInteger(graph_.tensors[output].dtype)) {
        continue;
      }
      places_[output].range = sdfg::RangeOfOutput(*op.function, o, operands);
    }
  }

  const ExpertGroups groups_;
  const std::vector<bool>& kept_;
  sdfg::Graph& graph_;
  std::vector<Place> places_;  // by tensor
  std::vector<Sort> sorts_;
  std::map<OperatorId, sdfg::Operator> originals_;  // of those that were taken in own order
  std::vector<OperatorId> order_of_;                // these, in the order in which they were
  std::map<TensorId, TensorId> plain_;
  OperatorId visited_ = kNone;
  std::vector<std::vector<OperatorId>> added_before_;  // by operator
};

}  // namespace

absl::Status TakeSortedRowsInTheirOwnOrder(const sdfg::OperatorLibrary& operators,
                                           const std::vector<bool>& kept, sdfg::Graph* graph) {
  return OwnOrder(operators, kept, graph).Run();
}

}  // namespace planproof::frontend::torch
