#include "lineage/folding/fold_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

#include "lineage/folding/ranked_function.h"
#include "lineage/folding/ranked_lineage.h"

namespace planproof::lineage::folding {

using sdfg::IndexFunction;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::OperatorId;
using sdfg::Tensor;
using sdfg::TensorId;

FoldPlan::FoldPlan(const Problem& problem, const Groups& groups)
    : in_(problem),
      graph_(problem.parallel),
      groups_(groups),
      alignment_(Align(problem, groups)),
      class_of_(graph_.operators.size(), kNone) {
  for (int c = 0; c < Classes(); ++c) {
    plans_.push_back(PlanOf(alignment_.operators[c]));
    for (OperatorId member : alignment_.operators[c].members) class_of_[member] = c;
  }
  SeparateOwnTensors();
  BreakCycles();
}

// Ranks that hold different tensors of the model (experts) compute different things with them, in
// the same way: as one operator these would be related to nothing. They meet in a collective.
void FoldPlan::SeparateOwnTensors() {
  std::vector<bool> own(graph_.tensors.size(), false);
  std::vector<int> order(Classes());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return alignment_.operators[a].members[0] < alignment_.operators[b].members[0];
  });
  for (int c : order) {
    const std::vector<OperatorId>& members = alignment_.operators[c].members;
    if (graph_.operators[members[0]].kind != sdfg::OperatorKind::kCompute) continue;
    if (!ReadsOwn(alignment_.operators[c], own)) continue;
    plans_[c].kind = ClassPlan::Kind::kExplicit;
    for (OperatorId member : members) {
      for (TensorId output : graph_.operators[member].outputs) {
        if (output != kNone) own[output] = true;
      }
    }
  }
}

// Whether some operand is `own`, or parts of several tensors of the model.
bool FoldPlan::ReadsOwn(const Aligned& aligned, const std::vector<bool>& own) const {
  for (size_t i = 0; i < graph_.operators[aligned.members[0]].inputs.size(); ++i) {
    std::vector<TensorId> operands;
    bool given = true;
    for (OperatorId member : aligned.members) {
      if (i >= graph_.operators[member].inputs.size()) return false;
      const TensorId operand = graph_.operators[member].inputs[i];
      if (operand == kNone) return false;
      if (own[operand]) return true;
      given = given && graph_.tensors[operand].producer == kNone &&
              in_.lineage[operand].kind == LineageKind::kFull;
      operands.push_back(operand);
    }
    const auto logical = [&](TensorId operand) { return in_.lineage[operand].logical; };
    if (given && std::any_of(operands.begin(), operands.end(), [&](TensorId operand) {
          return logical(operand) != logical(operands[0]);
        })) {
      return true;
    }
  }
  return false;
}

bool FoldPlan::Any() const {
  return std::any_of(plans_.begin(), plans_.end(),
                     [](const ClassPlan& plan) { return plan.kind != ClassPlan::Kind::kExplicit; });
}

// Whether the tensors can be the instances of one, and its lineage.
std::optional<Lineage> FoldPlan::AlikeTensors(const Group& group,
                                              const std::vector<TensorId>& members) const {
  const Tensor& first = graph_.tensors[members[0]];
  std::vector<const Lineage*> lineages;
  for (size_t r = 0; r < members.size(); ++r) {
    const Tensor& t = graph_.tensors[members[r]];
    if (t.shape != first.shape || t.axes != first.axes || t.dtype != first.dtype ||
        t.role != first.role || t.device != group.device(static_cast<int32_t>(r))) {
      return std::nullopt;
    }
    lineages.push_back(&in_.lineage[members[r]]);
  }
  return FoldLineage(lineages, static_cast<int>(first.axes.size()));
}

ClassPlan FoldPlan::PlanOf(const Aligned& aligned) {
  ClassPlan plan;
  const Group& group = groups_.groups[aligned.group];
  const Operator& first = graph_.operators[aligned.members[0]];
  bool same = true;
  for (OperatorId member : aligned.members) {
    const Operator& op = graph_.operators[member];
    if (op.lifted != first.lifted || op.inputs.size() != first.inputs.size() ||
        op.outputs.size() != first.outputs.size()) {
      return plan;
    }
    same = same && op.function == first.function;
  }
  for (size_t o = 0; o < first.outputs.size(); ++o) {
    std::vector<TensorId> outputs;
    for (OperatorId member : aligned.members) {
      outputs.push_back(graph_.operators[member].outputs[o]);
    }
    const auto missing = std::count(outputs.begin(), outputs.end(), kNone);
    if (missing == static_cast<int64_t>(outputs.size())) continue;
    if (missing > 0 || !AlikeTensors(group, outputs).has_value()) return plan;
  }
  if (first.lifted && PlanCollective(aligned, group, &plan)) return plan;
  if (same) {
    plan.kind = ClassPlan::Kind::kSame;
  } else if (FitsRanks(aligned)) {
    plan.kind = ClassPlan::Kind::kRanked;
  }
  return plan;
}

std::vector<const IndexFunction*> FoldPlan::FunctionsOf(const Aligned& aligned) const {
  std::vector<const IndexFunction*> functions;
  for (OperatorId member : aligned.members) {
    functions.push_back(graph_.operators[member].function.get());
  }
  return functions;
}

// Whether the functions differ in constants that fit, wherever the other coordinates go.
bool FoldPlan::FitsRanks(const Aligned& aligned) {
  const std::vector<const IndexFunction*> functions = FunctionsOf(aligned);
  const auto [found, fresh] = fits_.try_emplace(functions, false);
  if (!fresh) return found->second;
  CoordinateLayout layout;
  layout.extents = {static_cast<int64_t>(functions.size())};
  layout.output = {0};
  layout.inputs.assign(functions[0]->inputs.size(), {{0, 0}});
  return found->second = FoldRanks(functions, layout).has_value();
}

namespace {

bool SameOperands(const GroupCollective& collective, const Operator& a, const Operator& b) {
  if (!IsReduction(collective.kind)) return a.inputs == b.inputs;
  return a.inputs.size() == b.inputs.size() &&
         std::is_permutation(a.inputs.begin(), a.inputs.end(), b.inputs.begin());
}

}  // namespace

bool FoldPlan::PlanCollective(const Aligned& aligned, const Group& group, ClassPlan* plan) {
  std::vector<bool> taken(group.size, false);
  for (int32_t r = 0; r < group.size; ++r) {
    const Operator& op = graph_.operators[aligned.members[r]];
    const auto [found, fresh] = recognized_.try_emplace({op.function.get(), group.size});
    if (fresh) found->second = RecognizeGroupForm(*op.function, group.size, r);
    const std::optional<Participation>& own = found->second;
    if (!own.has_value()) return false;
    const bool chunk = own->collective.kind == CollectiveKind::kChunk;
    if (r > 0 && !(own->collective == plan->collective)) return false;
    // A collective of the whole group reads the same everywhere; what is reduced, in any order.
    if (!chunk && !SameOperands(own->collective, op, graph_.operators[aligned.members[0]])) {
      return false;
    }
    if (chunk && own->position != r) return false;
    const bool placed = own->collective.kind == CollectiveKind::kReduceScatter ||
                        own->collective.kind == CollectiveKind::kAllToAll;
    const int position = placed ? own->position : r;
    if (taken[position]) return false;
    taken[position] = true;
    plan->collective = own->collective;
    plan->positions.push_back(position);
  }
  plan->kind = ClassPlan::Kind::kCollective;
  return true;
}

// Nodes of the folded graph: classes, then operators.
int FoldPlan::NodeOf(OperatorId op) const {
  return Folded(class_of_[op]) ? class_of_[op] : Classes() + op;
}

FoldPlan::Dependencies FoldPlan::Depend() const {
  Dependencies d;
  d.readers.resize(Classes() + graph_.operators.size());
  d.waiting.assign(d.readers.size(), 0);
  for (OperatorId op = 0; op < static_cast<OperatorId>(graph_.operators.size()); ++op) {
    for (TensorId input : graph_.operators[op].inputs) {
      const OperatorId producer = graph_.tensors[input].producer;
      if (producer == kNone) continue;
      d.readers[NodeOf(producer)].push_back(NodeOf(op));
      ++d.waiting[NodeOf(op)];
    }
  }
  return d;
}
bool FoldPlan::Exists(int node) const {
  return node < Classes() ? Folded(node) : !Folded(class_of_[node - Classes()]);
}
int FoldPlan::FirstOperator(int node) const {
  return node < Classes() ? alignment_.operators[node].members[0] : node - Classes();
}

// Nodes in an order in which each comes after what it reads; those in cycles are missing.
std::vector<int> FoldPlan::Order() const {
  Dependencies d = Depend();
  using Ready = std::pair<int, int>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (int node = 0; node < static_cast<int>(d.waiting.size()); ++node) {
    if (Exists(node) && d.waiting[node] == 0) ready.push({FirstOperator(node), node});
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = ready.top().second;
    ready.pop();
    order.push_back(node);
    for (int reader : d.readers[node]) {
      if (--d.waiting[reader] == 0) ready.push({FirstOperator(reader), reader});
    }
  }
  return order;
}

// A class of which one instance reads another one, or whose instances come before and after those
// of a second class, is not one operator.
void FoldPlan::BreakCycles() {
  while (true) {
    std::vector<bool> left(Classes() + graph_.operators.size(), false);
    for (int node = 0; node < static_cast<int>(left.size()); ++node) left[node] = Exists(node);
    for (int node : Order()) left[node] = false;
    // Of what is left, what nothing left reads is only behind the cycles.
    const Dependencies d = Depend();
    for (bool changed = true; changed;) {
      changed = false;
      for (int node = static_cast<int>(left.size()) - 1; node >= 0; --node) {
        const auto& readers = d.readers[node];
        if (!left[node] ||
            std::any_of(readers.begin(), readers.end(), [&](int r) { return left[r]; })) {
          continue;
        }
        left[node] = false;
        changed = true;
      }
    }
    bool any = false;
    for (int c = 0; c < Classes(); ++c) {
      if (!left[c]) continue;
      plans_[c].kind = ClassPlan::Kind::kExplicit;
      any = true;
    }
    if (!any) return;
  }
}

}  // namespace planproof::lineage::folding
