// Elements by their definitions: a producer's function applied at symbolic indices, and what is
// remembered of that.
#include <utility>

#include "absl/strings/str_cat.h"
#include "sdfg/function_evaluation.h"
#include "sdfg/stack_room.h"
#include "sdfg/symbolic_evaluator.h"
#include "solver/hash_mix.h"

namespace planproof::sdfg {

using solver::Affine;

namespace {

constexpr int kMaxTensorDepth = 4000;
// The work limit grows with what there is to read: it is to stop terms that explode, not long
// chains of small ones.
constexpr int64_t kTermsPerDefinition = 32;

}  // namespace

void SymbolicEvaluator::Forget() {
  memo_.clear();
  int_memo_.clear();
  needs_guards_.clear();
  index_numbers_.Forget();
  guard_numbers_.Forget();
  trails_.Forget();
}

namespace {

uint64_t HashOf(const Affine& e) {
  uint64_t h = solver::MixHash(e.terms.size(), static_cast<uint64_t>(e.constant));
  for (const auto& [symbol, coefficient] : e.terms)
    h = solver::MixHash(solver::MixHash(h, symbol), static_cast<uint64_t>(coefficient));
  return h;
}

uint64_t HashOf(solver::PolyId p) { return p; }

}  // namespace

template <typename Sequence>
size_t SymbolicEvaluator::Numbers<Sequence>::Hash::operator()(const Sequence& sequence) const {
  uint64_t h = sequence.size();
  for (const auto& part : sequence) h = solver::MixHash(h, HashOf(part));
  return h;
}

namespace {

// The coordinates of a lifted operator's instance from an output's full index.
FunctionEvaluation::Coordinates CoordinatesOf(const Tensor& t, const Indices& indices) {
  FunctionEvaluation::Coordinates out;
  for (size_t a = 0; a < t.axes.size(); ++a) out.emplace_back(t.axes[a], indices[a]);
  return out;
}

// The coordinates over which a lifted operator's instances vary are those of each output.
TensorId AnyOutput(const Operator& op) {
  for (TensorId t : op.outputs) {
    if (t != kNone) return t;
  }
  return kNone;
}

}  // namespace

class SymbolicEvaluator::PremiseScope {
 public:
  PremiseScope(SymbolicEvaluator* evaluator, TensorRef tensor)
      : arena_(evaluator->arena_), before_(arena_.premise_source()) {
    arena_.SetPremiseSource(evaluator->policy_.SourceOf(tensor));
  }
  ~PremiseScope() { arena_.SetPremiseSource(before_); }
  PremiseScope(const PremiseScope&) = delete;
  PremiseScope& operator=(const PremiseScope&) = delete;

 private:
  solver::Arena& arena_;
  const solver::PremiseSource before_;
};

Shape SymbolicEvaluator::ConditionShape(const Graph& graph, OperatorId id, int premise) {
  const Operator& op = graph.operators[id];
  const IndexFunction& f = *op.function;
  Shape shape;
  if (op.lifted) {
    const Tensor& output = graph.tensors[AnyOutput(op)];
    shape.assign(output.shape.begin(), output.shape.begin() + output.axes.size());
  }
  const Shape local = f.outputs[f.premises[premise].output].shape(f.vars);
  shape.insert(shape.end(), local.begin(), local.end());
  return shape;
}

bool SymbolicEvaluator::RecordCondition(int32_t graph, OperatorId id, int premise,
                                        const Indices& indices) {
  const Operator& op = graphs_[graph]->operators[id];
  const TensorId output = AnyOutput(op);
  const PremiseScope scope(this, {graph, output});
  FunctionEvaluation::Coordinates coordinates;
  Indices local = indices;
  if (op.lifted) {
    const Tensor& t = graphs_[graph]->tensors[output];
    coordinates = CoordinatesOf(t, indices);
    local.erase(local.begin(), local.begin() + t.axes.size());
  }
  FunctionEvaluation application(this, graph, op, std::move(coordinates));
  solver::PolyId holds;
  if (!application.Premise(premise, local, &holds)) return false;
  arena_.RecordCondition(holds);
  return true;
}

template <typename Value, typename Evaluate>
std::optional<Value> SymbolicEvaluator::ByDefinition(TensorRef tensor, const Indices& indices,
                                                     const Evaluate& evaluate) {
  const Graph& graph = *graphs_[tensor.graph];
  const Tensor& t = graph.tensors[tensor.tensor];
  if (t.producer == kNone) {
    Fail(absl::StrCat("tensor ", t.name, " has no definition"));
    return std::nullopt;
  }
  if (++depth_ > kMaxTensorDepth || StackIsShort() || arena_.exhausted()) {
    Fail("the terms of this claim exceed the work limit");
    return std::nullopt;
  }
  arena_.Grant(kTermsPerDefinition);
  const Operator& op = graph.operators[t.producer];
  FunctionEvaluation::Coordinates coordinates;
  Indices local = indices;
  if (op.lifted) {
    coordinates = CoordinatesOf(t, indices);
    local.erase(local.begin(), local.begin() + t.axes.size());
  }
  const PremiseScope premises(this, tensor);
  FunctionEvaluation application(this, tensor.graph, op, std::move(coordinates));
  std::optional<Value> value = evaluate(&application, t.producer_output, local);
  --depth_;
  return value;
}

template <typename Value, typename Evaluate>
auto SymbolicEvaluator::Remembered(const Key& key, const Indices& indices, Memo<Value>* memo,
                                   const Evaluate& evaluate)
    -> std::optional<std::pair<Value, PremiseTrails::Id>> {
  if (auto it = memo->find(key); it != memo->end()) {
    trails_.MeetAgain(it->second.second);
    return it->second;
  }
  PremiseTrails::Scope scope(&trails_);
  const std::optional<Value> value = ByDefinition<Value>(key.tensor, indices, evaluate);
  if (!value) return std::nullopt;
  const std::pair found(*value, scope.Finish());
  if (!arena_.exhausted()) memo->emplace(key, found);
  return found;
}

// What evaluates without the conditions around it has that value in every branch: branches only
// allow further reads, if they are not taken exactly. So most elements are evaluated once and not
// once per branch. A premise that is met on the way is met in the branch.
template <typename Value, typename Evaluate>
std::optional<Value> SymbolicEvaluator::OutsideBranches(TensorRef tensor, uint32_t number,
                                                        const Indices& indices, Memo<Value>* memo,
                                                        const Evaluate& evaluate) {
  const Key key{tensor, number, kNoGuards};
  if (needs_guards_.contains(key)) return std::nullopt;
  const int depth = depth_;
  const Guards around = std::exchange(guards_, Guards());
  const auto found = Remembered(key, indices, memo, evaluate);
  guards_ = around;
  if (found) {
    if (found->second != PremiseTrails::kNothing) trails_.MeetInBranch();
    return found->first;
  }
  depth_ = depth;
  if (request_.kind == SplitRequest::Kind::kNone && !arena_.exhausted()) {
    needs_guards_.insert(key);
    error_.clear();
  }
  return std::nullopt;
}

template <typename Value, typename Evaluate>
std::optional<Value> SymbolicEvaluator::Definition(TensorRef tensor, const Indices& indices,
                                                   Memo<Value>* memo, const Evaluate& evaluate) {
  const uint32_t number = index_numbers_.Of(indices);
  uint32_t guards = kNoGuards;
  if (!guards_.empty()) {
    if (!exact_branches_) {
      std::optional<Value> value = OutsideBranches(tensor, number, indices, memo, evaluate);
      const bool failed = request_.kind != SplitRequest::Kind::kNone || !error_.empty();
      if (value || failed) return value;
    }
    guards = kNoGuards + 1 + guard_numbers_.Of(guards_);
  }
  const auto found = Remembered(Key{tensor, number, guards}, indices, memo, evaluate);
  if (!found) return std::nullopt;
  return found->first;
}

std::optional<MaskedValue> SymbolicEvaluator::Defined(TensorRef tensor, const Indices& indices) {
  return Definition(tensor, indices, &memo_,
                    [](FunctionEvaluation* application, int output, const Indices& local) {
                      return application->Output(output, local);
                    });
}

std::optional<Affine> SymbolicEvaluator::IntegerDefined(TensorRef tensor, const Indices& indices) {
  return Definition(tensor, indices, &int_memo_,
                    [](FunctionEvaluation* application, int output, const Indices& local) {
                      return application->IntegerOutput(output, local);
                    });
}

}  // namespace planproof::sdfg
