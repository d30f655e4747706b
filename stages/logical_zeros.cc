#include "stages/logical_zeros.h"

#include <deque>
#include <set>
#include <string>

#include "stages/claim_solver.h"
#include "stages/claim_table.h"
#include "stages/process_pool.h"

namespace planproof::stages {
namespace {

constexpr size_t kMostCandidates = 256;
constexpr char kIsZero[] = "0";

// What the definition of a logical tensor reads, what that reads, and so on, nearest first.
void AddOperands(const lineage::Problem& problem, sdfg::TensorId of,
                 std::set<sdfg::TensorId>* found) {
  std::deque<sdfg::TensorId> work = {of};
  while (!work.empty() && found->size() < kMostCandidates) {
    const sdfg::OperatorId producer = problem.logical.tensors[work.front()].producer;
    work.pop_front();
    if (producer == sdfg::kNone) continue;
    for (const sdfg::TensorId t : problem.logical.operators[producer].inputs) {
      if (t != sdfg::kNone && found->insert(t).second) work.push_back(t);
    }
  }
}

std::vector<sdfg::TensorId> Candidates(const lineage::Problem& problem,
                                       const std::vector<const Claim*>& claims,
                                       const Relations& relations) {
  std::set<sdfg::TensorId> found;
  for (const Claim* claim : claims) {
    found.insert(claim->target.logical);
    for (const sdfg::TensorId held : HeldInputs(problem, relations, *claim))
      found.insert(problem.lineage[held].logical);
  }
  for (const Claim* claim : claims) AddOperands(problem, claim->target.logical, &found);
  std::vector<sdfg::TensorId> candidates;
  for (const sdfg::TensorId t : found) {
    if (candidates.size() == kMostCandidates) break;
    if (relations.MayBeZero(t)) candidates.push_back(t);
  }
  return candidates;
}

}  // namespace

bool InferLogicalZeros(const lineage::Problem& problem, const std::vector<const Claim*>& claims,
                       const WorkerLimits& limits, Relations* relations) {
  const std::vector<sdfg::TensorId> candidates = Candidates(problem, claims, *relations);
  std::vector<bool> zero(candidates.size(), false);
  const auto work = [&](int k) {
    ClaimSolver solver(problem, relations, ClaimLimits{});
    return std::string(solver.IsZero(candidates[k]) ? kIsZero : "");
  };
  const auto on_result = [&](int k, TaskOutcome outcome) {
    zero[k] = outcome.status == TaskStatus::kDone && outcome.result == kIsZero;
  };
  RunInWorkers(static_cast<int>(candidates.size()), limits, work, on_result, nullptr);
  bool any = false;
  for (size_t k = 0; k < candidates.size(); ++k) {
    if (zero[k]) relations->SetZero(candidates[k]);
    any = any || zero[k];
  }
  return any;
}

}  // namespace planproof::stages
