#include "stages/claim_questions.h"

#include <memory>

#include "stages/workers/outcome_bytes.h"

namespace planproof::stages {

std::vector<ClaimOutcome> AskInWorker(const lineage::Problem& problem, Relations* relations,
                                      const ClaimLimits& claim_limits, WorkerLimits limits,
                                      int questions,
                                      const std::function<ClaimOutcome(ClaimSolver*, int)>& ask,
                                      const std::function<std::string(int)>& name) {
  std::vector<ClaimOutcome> answers(static_cast<size_t>(questions));
  std::unique_ptr<ClaimSolver> solver;
  const auto work = [&](int k) {
    if (!solver) solver = std::make_unique<ClaimSolver>(problem, relations, claim_limits);
    return ToBytes(ask(solver.get(), k));
  };
  const auto on_result = [&](int k, TaskOutcome outcome) {
    ClaimOutcome& answer = answers[static_cast<size_t>(k)];
    if (outcome.status == TaskStatus::kDone && FromBytes(outcome.result, &answer)) return;
    answer = ClaimOutcome{};
    answer.status = ClaimStatus::kAbandoned;
    answer.reason =
        outcome.reason.empty() ? "the worker's answer was not readable" : outcome.reason;
  };
  limits.jobs = 1;
  if (questions > 0) RunInWorkers(questions, limits, work, on_result, name);
  return answers;
}

}  // namespace planproof::stages
