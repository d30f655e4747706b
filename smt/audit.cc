#include "smt/audit.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "smt/class_runs.h"
#include "solver/z3_solver.h"
#include "stages/workers/process_pool.h"

namespace planproof::smt {

using Status = SmtClaimOutcome::Status;

Agreement Compare(const stages::ClaimOutcome& normal_form, const SmtClaimOutcome& smt) {
  if (smt.status == Status::kUnknown) return Agreement::kIndefinite;
  if (normal_form.status != stages::ClaimStatus::kProved || smt.status == Status::kEqual) {
    return Agreement::kAgree;
  }
  // Proved with definitions opened further than Z3 was shown: the claims are not the same.
  return normal_form.method == stages::ProofMethod::kUnfolded ? Agreement::kIndefinite
                                                              : Agreement::kContradiction;
}

void Audit(const lineage::Problem& problem, const stages::VerifyOptions& options,
           const stages::ClaimTable& table, const stages::Relations& relations,
           const stages::ProofSearch& search, stages::Result* result) {
  const bool audit = options.engine == stages::Engine::kAudit;
  const auto not_audited = [&](const std::string& why) {
    stages::Violation v;
    v.verdict = stages::Verdict::kUnknown;
    v.kind = "not audited";
    v.message = absl::StrCat("not audited: ", why);
    result->violations.push_back(std::move(v));
    if (result->verdict == stages::Verdict::kProved) result->verdict = stages::Verdict::kUnknown;
  };
  const auto stopped = [&] { return options.stop != nullptr && options.stop->requested; };
  if (!solver::Z3Missing().empty()) {
    result->warnings.push_back(absl::StrCat(
        solver::Z3Missing(), audit ? "; what is PROVED without Z3 is not audited, and so UNKNOWN"
                                   : "; without Z3 no claim is written as SMT-LIB"));
    if (audit) not_audited(solver::Z3Missing());
    return;
  }
  if (audit && stopped()) return not_audited(stages::kInterrupted);
  const std::vector<stages::ClaimClass> classes = table.AllClasses(relations, options.use_classes);
  const std::vector<SmtClaimOutcome> smt =
      RunClasses(problem, options, table, relations, search, classes,
                 {.z3 = audit,
                  .domain = result->verdict == stages::Verdict::kRefuted,
                  .normal_form = &search.outcomes()});
  if (audit && stopped()) return not_audited(stages::kInterrupted);
  if (!audit) {
    if (stopped())
      result->warnings.push_back("not every claim was written as SMT-LIB: interrupted");
    return;
  }
  int64_t identical = 0, differing = 0, equal = 0, different = 0, bounded = 0, whole = 0;
  std::vector<stages::Violation> contradictions;
  std::set<std::string> reasons;
  for (size_t k = 0; k < classes.size(); ++k) {
    const int c = classes[k].members[0];
    const SmtClaimOutcome& o = smt[k];
    bounded += o.status == Status::kEqual && o.bound_holds;
    whole += o.status == Status::kEqual && o.bound_holds && !o.restricted;
    if (o.identical) {
      ++identical;
    } else {
      ++differing;
      equal += o.status == Status::kEqual;
      different += o.status == Status::kDifferent;
    }
    const Agreement agreement = Compare(search.outcomes()[c], o);
    if (agreement == Agreement::kIndefinite) {
      reasons.insert(absl::StrCat(search.ClaimName(c), ": ", o.reason));
    }
    if (agreement != Agreement::kContradiction) continue;
    stages::Violation v;
    v.verdict = stages::Verdict::kUnknown;
    v.kind = "engines contradict";
    v.stage = search.ClaimName(c);
    v.message = absl::StrCat("the normal form proves ", v.stage, " (class ", k,
                             "), Z3 refutes it: ", o.reason);
    contradictions.push_back(std::move(v));
  }
  // A plan that has no value somewhere is refuted, though it is right wherever it has one.
  if (result->verdict == stages::Verdict::kRefuted &&
      whole == static_cast<int64_t>(classes.size())) {
    stages::Violation v;
    v.verdict = stages::Verdict::kUnknown;
    v.kind = "engines contradict";
    v.message = "numbers refute the plan, but Z3 proves every claim of it";
    contradictions.push_back(std::move(v));
  }
  const int64_t definite = equal + different;
  result->tiers.emplace_back("audit: raw terms identical", identical);
  result->tiers.emplace_back("audit: raw terms differ", differing);
  result->tiers.emplace_back("audit: z3 equal", equal);
  result->tiers.emplace_back("audit: z3 different", different);
  result->tiers.emplace_back("audit: contradictions", static_cast<int64_t>(contradictions.size()));
  result->warnings.push_back(
      absl::StrCat("audit: ", classes.size(), " classes, the raw terms of ", differing,
                   " are not identical; Z3 is definite on ", definite, " of these",
                   differing > 0 ? absl::StrCat(" (", definite * 100 / differing, " %)") : "",
                   ", the bound on representatives covers ", bounded,
                   " classes; contradictions: ", contradictions.size()));
  for (const std::string& reason : reasons) {
    result->warnings.push_back(absl::StrCat("audit: Z3 has no answer for ", reason));
  }
  if (!contradictions.empty()) {
    result->verdict = stages::Verdict::kUnknown;
    result->violations.insert(result->violations.begin(), contradictions.begin(),
                              contradictions.end());
  }
}

}  // namespace planproof::smt
