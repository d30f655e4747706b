#include "smt/engine.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "smt/claim.h"
#include "smt/class_runs.h"
#include "solver/z3_solver.h"

namespace planproof::smt {

using Status = SmtClaimOutcome::Status;

namespace {

constexpr int kMaxRounds = 4;  // in which lineages are given up, if few claims fail
constexpr size_t kMaxAuditFailures = 12;

// Decides these claims, under the hypothesis that the lineages that `relations` holds do hold.
// Returns how many classes were equal without a bound.
int64_t DecideClaims(const lineage::Problem& problem, const stages::VerifyOptions& options,
                     const std::vector<stages::ClaimClass>& classes,
                     const stages::ClaimTable& table, const stages::Relations& relations,
                     stages::ProofSearch* search) {
  int64_t beyond_bound = 0;
  std::vector<stages::ClaimClass> asked = classes;
  stages::VerifyOptions own = options;
  // Claims that fail are asked again with definitions opened, one by one: what is opened is not
  // part of a class's content.
  for (const bool opened : {false, true}) {
    const std::vector<SmtClaimOutcome> decided = RunClasses(
        problem, own, table, relations, *search, asked, {.domain = true, .unfold = opened});
    std::vector<stages::ClaimClass> failed;
    for (size_t k = 0; k < asked.size(); ++k) {
      const SmtClaimOutcome& o = decided[k];
      if (opened && o.status != Status::kEqual) continue;  // the first answer stands
      beyond_bound += o.status == Status::kEqual && !o.bound_holds;
      search->SetOutcome(asked[k].members, AsClaimOutcome(o, opened));
      if (o.status != Status::kDifferent) continue;
      for (int c : asked[k].members) failed.push_back({{c}});
    }
    if (failed.empty()) break;
    asked = std::move(failed);
    own.dump_smt_directory.clear();
  }
  return beyond_bound;
}

}  // namespace

bool DecideBySmt(const lineage::Problem& problem, const stages::VerifyOptions& options,
                 stages::ClaimTable* table, const stages::Relations& relations,
                 stages::ProofSearch* search, stages::Result* result) {
  std::vector<stages::ClaimClass> classes = table->AllClasses(relations, options.use_classes);
  search->SetClasses(static_cast<int64_t>(classes.size()));
  for (size_t k = 0; k < classes.size(); ++k) {
    for (int c : classes[k].members) table->claims()[c].class_id = static_cast<int32_t>(k);
  }
  if (!solver::Z3Missing().empty()) {
    SmtClaimOutcome missing;
    missing.reason = solver::Z3Missing();
    for (const stages::ClaimClass& c : classes)
      search->SetOutcome(c.members, AsClaimOutcome(missing, false));
    result->warnings.push_back(absl::StrCat(
        missing.reason, "; without Z3 this engine decides no claim, so none is PROVED"));
    return false;
  }
  stages::VerifyOptions own = options;
  int64_t beyond_bound = 0;
  for (int round = 0;; ++round) {
    beyond_bound += DecideClaims(problem, own, classes, *table, relations, search);
    if (round == kMaxRounds || search->RequiredProved()) break;
    // A lineage that Z3 refutes need not be one of a plan that is wrong.
    if (search->FailedClaims() > kMaxAuditFailures) break;
    const std::vector<int> again = search->GiveUpFailed();
    if (again.empty()) break;
    classes = table->Classes(again, relations, options.use_classes);
    own.dump_smt_directory.clear();
  }
  if (beyond_bound > 0) {
    result->warnings.push_back(absl::StrCat(
        "smt: ", beyond_bound,
        " classes are equal on representatives, but no bound says that these suffice"));
  }
  return search->RequiredProved();
}

}  // namespace planproof::smt
