#include "tests/fuzz/decide_problem.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "frontend/plan/read_plan.h"
#include "stages/claim_solver.h"
#include "stages/claim_table.h"
#include "stages/logical_signs.h"
#include "stages/problem_check.h"
#include "stages/relations.h"
#include "stages/schedule/schedule_check.h"
#include "stages/static_checks.h"

namespace planproof::fuzz {
namespace {

constexpr size_t kMaxOperators = 64;
constexpr size_t kMaxClaims = 4;

void RequireRoundTrip(const lineage::Problem& problem) {
  const absl::StatusOr<std::string> bytes = plan::SerializePlan(problem, plan::PlanFormat::kBinary);
  if (!bytes.ok()) return;
  absl::StatusOr<plan::PlanFile> file = plan::ParsePlanFile(*bytes, "converted");
  absl::Status status = file.status();
  if (status.ok()) {
    std::vector<std::pair<std::string, plan::PlanFile>> files;
    files.emplace_back("converted", *std::move(file));
    status = plan::BuildProblemFromFiles(files, sdfg::OperatorLibrary::BuiltIn()).status();
  }
  if (status.ok()) return;
  std::fprintf(stderr, "the raw form is not read back: %s\n",
               std::string(status.message()).c_str());
  std::abort();
}

}  // namespace

void DecideProblem(const lineage::Problem& problem) {
  if (!stages::CheckProblem(problem).ok()) return;
  if (!stages::CheckResidence(problem.parallel, 20).empty()) return;
  stages::StepOrder order(problem);
  if (!stages::CheckSchedule(&order, 20).empty()) return;
  if (problem.logical.operators.size() + problem.parallel.operators.size() > kMaxOperators) return;
  RequireRoundTrip(problem);
  const stages::Cone cone = stages::ConeOfRequired(problem);
  const stages::ClaimTable table(problem, cone);
  stages::Relations relations(problem);
  stages::InferLogicalSigns(problem, &relations);
  const auto classes = table.AllClasses(relations, true);
  stages::ClaimLimits limits;
  limits.term_budget = 4000;
  limits.max_cells = 32;
  limits.max_unfoldings = 2;
  stages::ClaimSolver solver(problem, &relations, limits);
  for (size_t i = 0; i < std::min(classes.size(), kMaxClaims); ++i) {
    (void)solver.Decide(table.claims()[classes[i].members[0]]);
  }
}

}  // namespace planproof::fuzz
