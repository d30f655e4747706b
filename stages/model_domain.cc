#include "stages/model_domain.h"

#include <algorithm>
#include <functional>

#include "stages/cells.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::SplitRequest;
using sdfg::TensorId;
using solver::PremiseKind;

namespace {

constexpr size_t kMaxReaders = 64;
constexpr int kMaxDomainCells = 64;  // of one operator's definition

// Evaluates at a generic index of each cell; what is met in cells that fail is met all the same.
void EvaluateCells(solver::Arena* arena, sdfg::SymbolicEvaluator* evaluator,
                   const sdfg::Shape& shape,
                   const std::function<bool(const sdfg::Indices& index)>& evaluate) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  std::vector<Cell> work = {WholeCell(evaluator->symbols(), shape)};
  int cells = 0;
  while (!work.empty()) {
    const Cell cell = std::move(work.back());
    work.pop_back();
    evaluator->ClearFailure();
    if (evaluate(cell.index) || ++cells > kMaxDomainCells || arena->exhausted()) continue;
    if (evaluator->request().kind != SplitRequest::Kind::kNone)
      Split(evaluator->symbols(), cell, evaluator->request(), &work);
  }
  evaluator->ClearFailure();
}

}  // namespace

ModelDomain::ModelDomain(const lineage::Problem& problem, const Relations& relations,
                         solver::Arena* arena, sdfg::SymbolicEvaluator* evaluator)
    : problem_(problem),
      relations_(relations),
      arena_(*arena),
      evaluator_(*evaluator),
      granted_(arena) {}

void ModelDomain::Discharge(std::vector<solver::Premise>* open) {
  open->erase(std::remove_if(open->begin(), open->end(),
                             [this](const solver::Premise& premise) {
                               return granted_.Follows(premise.kind, premise.poly);
                             }),
              open->end());
}

std::set<OperatorId> ModelDomain::ReadersOf(const std::vector<uint32_t>& tensors) const {
  const sdfg::Graph& g = problem_.logical;
  std::vector<bool> read(g.tensors.size(), false);
  for (uint32_t t : tensors) {
    if (t < read.size()) read[t] = true;
  }
  std::set<OperatorId> readers;
  for (size_t id = 0; id < g.operators.size() && readers.size() < kMaxReaders; ++id) {
    const sdfg::Operator& op = g.operators[id];
    const bool reads = std::any_of(op.inputs.begin(), op.inputs.end(),
                                   [&](TensorId t) { return t != kNone && read[t]; });
    if (!reads) continue;
    bool counts = false;
    for (TensorId t : op.outputs) {
      if (t == kNone) continue;
      counts = counts || relations_.InModelCone(t);
      read[t] = read[t] || relations_.Inlined(t);  // operators are in topological order
    }
    if (counts && (sdfg::CanBeUndefined(*op.function) || !op.function->premises.empty()))
      readers.insert(static_cast<OperatorId>(id));
  }
  return readers;
}

void ModelDomain::AssumeDeclared(TensorId tensor) {
  using Kind = lineage::Problem::InputPremise::Kind;
  for (const auto& premise : problem_.premises) {
    // Signs are known of the elements themselves.
    if (premise.tensor != tensor || premise.kind != Kind::kNonZero) continue;
    const sdfg::Tensor& t = problem_.logical.tensors[tensor];
    if (sdfg::IsInteger(t.dtype)) continue;
    EvaluateCells(&arena_, &evaluator_, t.shape, [&](const sdfg::Indices& index) {
      const auto value = evaluator_.Element({kLogical, tensor}, index);
      if (value) granted_.Assume(PremiseKind::kNonZero, value->value);
      return value.has_value();
    });
  }
}

std::vector<solver::Premise> ModelDomain::AssumeDefined(OperatorId id) {
  const sdfg::Graph& g = problem_.logical;
  const sdfg::Operator& op = g.operators[id];
  arena_.ClearPremises();
  for (TensorId t : op.outputs) {
    if (t == kNone || !relations_.InModelCone(t)) continue;
    const sdfg::TensorRef tensor{kLogical, t};
    EvaluateCells(&arena_, &evaluator_, g.tensors[t].shape, [&](const sdfg::Indices& index) {
      return sdfg::IsInteger(g.tensors[t].dtype)
                 ? evaluator_.IntegerDefined(tensor, index).has_value()
                 : evaluator_.Defined(tensor, index).has_value();
    });
  }
  for (size_t p = 0; p < op.function->premises.size(); ++p) {
    const auto premise = static_cast<int>(p);
    EvaluateCells(&arena_, &evaluator_, sdfg::SymbolicEvaluator::ConditionShape(g, id, premise),
                  [&](const sdfg::Indices& index) {
                    return evaluator_.RecordCondition(kLogical, id, premise, index);
                  });
  }
  std::vector<solver::Premise> granted;
  for (const solver::Premise& premise : arena_.premises()) {
    if (premise.granted) granted.push_back(premise);
  }
  for (const solver::Premise& premise : granted) Assume(premise);
  arena_.ClearPremises();
  return granted;
}

std::vector<solver::Premise> ModelDomain::AssumeDefinitionOf(TensorId tensor) {
  const OperatorId producer = problem_.logical.tensors[tensor].producer;
  if (producer == kNone) return {};
  const sdfg::ExactBranches exact(&evaluator_);
  return AssumeDefined(producer);
}

void ModelDomain::AssumeReadersOf(const std::vector<uint32_t>& tensors) {
  for (uint32_t t : tensors) {
    if (t < problem_.logical.tensors.size()) AssumeDeclared(static_cast<TensorId>(t));
  }
  const sdfg::ExactBranches exact(&evaluator_);  // what is remembered meets no premises
  for (OperatorId id : ReadersOf(tensors)) {
    if (arena_.exhausted()) return;
    AssumeDefined(id);
  }
}

}  // namespace planproof::stages
