#include "shape_reduction/focused_search.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "shape_reduction/confirmation.h"
#include "shape_reduction/defined_inputs.h"
#include "shape_reduction/focused_evaluation.h"

namespace planproof::shape_reduction {
namespace {

constexpr uint64_t kPerFocus = 2;  // attempts at one place before the next one

std::string Text(const Interval& x) {
  char buffer[80];
  if (x.lo == x.hi) {
    std::snprintf(buffer, sizeof(buffer), "%.17g", x.lo);
  } else {
    std::snprintf(buffer, sizeof(buffer), "[%.17g, %.17g]", x.lo, x.hi);
  }
  return buffer;
}

}  // namespace

Witness SearchFocused(const lineage::Problem& problem, const std::vector<Focus>& focuses,
                      const WitnessOptions& options) {
  Witness witness;
  if (focuses.empty()) return witness;
  const auto deadline =
      WorkClock::now() + std::chrono::duration_cast<WorkClock::duration>(
                             std::chrono::duration<double>(options.time_budget_s));
  const auto evaluation = std::make_shared<FocusedEvaluation>(problem);
  ProgramCache programs;
  DefinedInputs defined(problem, &programs);
  const uint64_t round = kPerFocus * focuses.size();
  for (int k = 0; k < options.attempts && WorkClock::now() < deadline; ++k) {
    const Focus& focus = focuses[k % round / kPerFocus];
    const uint64_t attempt = k / round * kPerFocus + k % kPerFocus;
    if (!evaluation->Run(focus, attempt, options.max_elements, deadline, &witness.message)) {
      continue;
    }
    ++witness.attempts;
    int required = -1;
    Gap gap = evaluation->WidestGap(&required);
    if (required < 0 && evaluation->Extend(options.max_elements, deadline, &witness.message)) {
      gap = evaluation->WidestGap(&required);
    }
    if (required < 0) continue;
    if (!defined.Contain(evaluation->inputs(), options.max_elements, deadline)) {
      witness.message = "the inputs tried violate a premise of the logical graph";
      continue;
    }
    const Enclosures enclosures{
        .disjoint = gap.left.hi < gap.right.lo || gap.right.hi < gap.left.lo,
        .logical_low = gap.left.lo,
        .logical_high = gap.left.hi,
        .parallel_low = gap.right.lo,
        .parallel_high = gap.right.hi,
        .logical_text = Text(gap.left),
        .parallel_text = Text(gap.right),
        .precision = kDoubleBits};
    if (!Confirm(problem, required, gap.index, enclosures, evaluation->inputs(), options, &witness))
      continue;
    witness.seed = attempt;
    witness.evaluation = evaluation;
    witness.message.clear();
    return witness;
  }
  if (witness.attempts == 0 && !witness.message.empty()) {
    witness.outcome = Witness::Outcome::kExhausted;
  }
  return witness;
}

}  // namespace planproof::shape_reduction
