#include "shape_reduction/defined_inputs.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "shape_reduction/domain_floating.h"
#include "shape_reduction/problem_evaluation.h"

namespace planproof::shape_reduction {

namespace {

constexpr auto kShortTime = std::chrono::milliseconds(500);

}  // namespace

DefinedInputs::DefinedInputs(const lineage::Problem& problem, ProgramCache* programs)
    : problem_(problem), programs_(programs) {
  const sdfg::Graph& model = problem.logical;
  std::vector<char> needed(model.tensors.size(), 0);
  for (const lineage::RequiredRelation& required : problem.required) {
    needed[required.lineage.logical] = 1;
  }
  for (size_t o = model.operators.size(); o-- > 0;) {
    const sdfg::Operator& op = model.operators[o];
    const auto used = std::find_if(op.outputs.begin(), op.outputs.end(), [&](sdfg::TensorId id) {
      return id != sdfg::kNone && needed[id];
    });
    if (used == op.outputs.end()) continue;
    for (const sdfg::TensorId id : op.inputs) needed[id] = 1;
    if (sdfg::CanBeUndefined(*op.function) || !op.function->premises.empty()) {
      open_.push_back(*used);
    }
  }
}

bool DefinedInputs::Contain(const std::vector<BlockTensorPtr<double>>& inputs, int64_t max_elements,
                            WorkClock::time_point deadline) {
  // What leaves the range of doubles on the way has a value with more bits of exponent.
  return open_.empty() || HaveValues<DoubleDomain>(inputs, max_elements, deadline) ||
         HaveValues<LongDoubleDomain>(inputs, max_elements, deadline);
}

template <typename D>
bool DefinedInputs::HaveValues(const std::vector<BlockTensorPtr<double>>& inputs,
                               int64_t max_elements, WorkClock::time_point deadline) {
  ProblemEvaluation<D> evaluation(problem_, programs_);
  bool undefined = false;
  ReducedOptions options;
  options.max_elements = max_elements;
  options.cone_of = open_;
  options.free_intermediates = true;
  options.skip_too_fine = true;
  options.deadline = std::min(deadline, WorkClock::now() + kShortTime);
  options.on_produced = [&](sdfg::TensorId id) {
    const auto& values = evaluation.logical()[id]->values;
    undefined |= std::any_of(values.begin(), values.end(), [](auto x) { return std::isnan(x); });
    return !undefined;
  };
  if (!evaluation.EvaluateLogical(inputs, options).ok()) {
    open_.clear();
    return true;
  }
  return !undefined && evaluation.open_premise().empty();
}

}  // namespace planproof::shape_reduction
