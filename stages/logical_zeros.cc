#include "stages/logical_zeros.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "stages/claim_solver.h"
#include "stages/claim_table.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {
namespace {

constexpr char kIsZero[] = "0";

// How far from the claims tensors are looked for.
struct Reach {
  size_t tensors;  // at most
  int steps;       // from a tensor to what its definition reads
};
constexpr Reach kOfZeros = {256, 256};
// Enough for the gradients of scores: what masks them is near.
constexpr Reach kOfRegions = {2048, 3};

// What the definitions of these logical tensors read, what that reads, and so on, nearest first.
void AddOperands(const lineage::Problem& problem, const Reach& reach,
                 std::set<sdfg::TensorId>* found) {
  std::vector<sdfg::TensorId> last(found->begin(), found->end());
  for (int step = 0; step < reach.steps && !last.empty(); ++step) {
    std::vector<sdfg::TensorId> next;
    for (const sdfg::TensorId reader : last) {
      const sdfg::OperatorId producer = problem.logical.tensors[reader].producer;
      if (producer == sdfg::kNone) continue;
      for (const sdfg::TensorId t : problem.logical.operators[producer].inputs) {
        if (found->size() >= reach.tensors) return;
        if (t != sdfg::kNone && found->insert(t).second) next.push_back(t);
      }
    }
    last = std::move(next);
  }
}

std::vector<sdfg::TensorId> Candidates(const lineage::Problem& problem,
                                       const std::vector<const Claim*>& claims,
                                       const Relations& relations, const Reach& reach) {
  std::set<sdfg::TensorId> found;
  for (const Claim* claim : claims) {
    found.insert(claim->target.logical);
    for (const sdfg::TensorId related : RelatedInputs(problem, relations, *claim))
      found.insert(problem.lineage[related].logical);
  }
  AddOperands(problem, reach, &found);
  std::vector<sdfg::TensorId> candidates;
  for (const sdfg::TensorId t : found) {
    if (candidates.size() == reach.tensors) break;
    if (relations.MayBeZero(t)) candidates.push_back(t);
  }
  return candidates;
}

// A line per form: the tensor, the constant, and dimensions with their coefficients.
std::string ToText(sdfg::TensorId tensor, const std::vector<sdfg::IndexMap>& forms) {
  std::string text;
  for (const sdfg::IndexMap& form : forms) {
    absl::StrAppend(&text, tensor, " ", form.constant);
    for (const sdfg::IndexTerm& term : form.terms)
      absl::StrAppend(&text, " ", term.dim, " ", term.scale);
    absl::StrAppend(&text, "\n");
  }
  return text;
}

void FromText(const std::string& text, Relations* relations) {
  std::map<sdfg::TensorId, std::vector<sdfg::IndexMap>> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    sdfg::TensorId tensor;
    sdfg::IndexMap form;
    numbers >> tensor >> form.constant;
    for (sdfg::IndexTerm term; numbers >> term.dim >> term.scale;) form.terms.push_back(term);
    found[tensor].push_back(std::move(form));
  }
  for (auto& [tensor, forms] : found) relations->SetZeroUnless(tensor, std::move(forms));
}

}  // namespace

bool InferLogicalZeros(const lineage::Problem& problem, const std::vector<const Claim*>& claims,
                       const WorkerLimits& limits, Relations* relations) {
  const std::vector<sdfg::TensorId> candidates = Candidates(problem, claims, *relations, kOfZeros);
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

void InferZeroRegions(const lineage::Problem& problem, const std::vector<const Claim*>& claims,
                      const WorkerLimits& limits, Relations* relations) {
  std::vector<sdfg::TensorId> candidates = Candidates(problem, claims, *relations, kOfRegions);
  // What is known of an operand is used for what is made of it.
  std::sort(candidates.begin(), candidates.end(), [&](sdfg::TensorId a, sdfg::TensorId b) {
    return problem.logical.tensors[a].producer < problem.logical.tensors[b].producer;
  });
  const auto work = [&](int) {
    ClaimSolver solver(problem, relations, ClaimLimits{});
    std::string found;
    for (const sdfg::TensorId t : candidates) {
      std::vector<sdfg::IndexMap> forms = solver.ZeroUnless(t);
      if (forms.empty()) continue;
      found += ToText(t, forms);
      relations->SetZeroUnless(t, std::move(forms));
    }
    return found;
  };
  const auto on_result = [&](int, TaskOutcome outcome) {
    if (outcome.status == TaskStatus::kDone) FromText(outcome.result, relations);
  };
  if (!candidates.empty()) RunInWorkers(1, limits, work, on_result, nullptr);
}

}  // namespace planproof::stages
