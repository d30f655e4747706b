#include "stages/audit.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "solver/z3_solver.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

using Status = SmtClaimOutcome::Status;

namespace {

constexpr double kQuestionSeconds = 5;
constexpr double kClassSeconds = 40;  // of one worker's task, all cells together
constexpr int kUnfoldLevels = 3;
constexpr int kMaxRounds = 4;  // in which lineages are given up, if few claims fail
constexpr size_t kMaxAuditFailures = 12;
constexpr char kSmtPremise[] =
    "every operator is defined on the inputs considered (asserted to Z3 as premises)";
constexpr char kSmtRestriction[] =
    "the plan's operators are defined (Z3 does not show it wherever the model's are)";

// Z3 is given all conditions at once, and does not say which of them it needs.
Condition OfAllOperators(const char* words) {
  Condition condition;
  condition.declared = words;
  return condition;
}

std::string ToBytes(const SmtClaimOutcome& o) {
  return absl::StrCat(static_cast<int>(o.status), " ", o.identical ? 1 : 0, " ",
                      o.expressed ? 1 : 0, " ", o.bound_holds ? 1 : 0, " ", o.presupposes ? 1 : 0,
                      " ", o.restricted ? 1 : 0, " ", o.representatives, " ", o.questions, " ",
                      o.reason);
}

SmtClaimOutcome FromBytes(const std::string& bytes) {
  SmtClaimOutcome o;
  std::istringstream in(bytes);
  int status = static_cast<int>(Status::kUnknown);
  in >> status >> o.identical >> o.expressed >> o.bound_holds >> o.presupposes >> o.restricted >>
      o.representatives >> o.questions;
  in >> std::ws;
  std::getline(in, o.reason);
  o.status = static_cast<Status>(status);
  return o;
}

struct Asking {
  bool z3 = true;  // otherwise questions are written only
  bool domain = false;
  bool unfold = false;
  const ClaimOutcomes* normal_form = nullptr;  // what it has unfolded is unfolded, too
};

// The outcomes of the classes' first members, in order.
std::vector<SmtClaimOutcome> RunClasses(const lineage::Problem& problem,
                                        const VerifyOptions& options, const ClaimTable& table,
                                        const Relations& relations, const ProofSearch& search,
                                        const std::vector<ClaimClass>& classes,
                                        const Asking& asking) {
  if (!options.dump_smt_directory.empty()) {
    std::error_code ignored;
    std::filesystem::create_directories(options.dump_smt_directory, ignored);
  }
  auto name = [&](int k) { return search.ClaimName(classes[k].members[0]); };
  auto work = [&](int k) {
    const int c = classes[k].members[0];
    const Claim& claim = table.claims()[c];
    SmtClaimOptions smt;
    smt.timeout_s = asking.z3 ? kQuestionSeconds : 0;
    smt.ask_domain = asking.domain;
    if (asking.unfold) smt.unfold_levels = kUnfoldLevels;
    if (asking.normal_form != nullptr &&
        (*asking.normal_form)[c].method == ProofMethod::kUnfolded) {
      smt.unfold_levels = kUnfoldLevels;
    }
    if (!options.dump_smt_directory.empty()) {
      smt.dump_prefix = absl::StrCat(options.dump_smt_directory, "/class_", k);
      smt.comments = {absl::StrCat("claim: ", name(k)),
                      absl::StrCat("claims of this class: ", classes[k].members.size())};
      const auto producer = problem.parallel.tensors[claim.parallel].producer;
      const auto logical = problem.logical.tensors[claim.target.logical].producer;
      if (logical != sdfg::kNone) {
        smt.comments.push_back(
            absl::StrCat("logical operator: ", problem.logical.Describe(logical)));
      }
      if (producer != sdfg::kNone) {
        smt.comments.push_back(
            absl::StrCat("parallel operator: ", problem.parallel.Describe(producer)));
      }
    }
    return ToBytes(DecideClaimBySmt(problem, relations, claim, smt));
  };
  std::vector<SmtClaimOutcome> outcomes(classes.size());
  int64_t done = 0;
  auto on_result = [&](int k, TaskOutcome outcome) {
    if (outcome.status == TaskStatus::kDone) {
      outcomes[k] = FromBytes(outcome.result);
    } else {
      outcomes[k].reason = outcome.reason;
    }
    if (options.progress) options.progress({"", ++done, static_cast<int64_t>(classes.size())});
  };
  WorkerLimits limits;
  limits.jobs = options.jobs;
  limits.task_timeout_s = std::min(options.stage_timeout_s, kClassSeconds);
  limits.memory_limit_mb = options.memory_limit_mb;
  limits.stop = options.stop;
  limits.while_waiting = [&] {
    if (options.progress) options.progress({"", done, static_cast<int64_t>(classes.size())});
  };
  RunInWorkers(static_cast<int>(classes.size()), limits, work, on_result, name);
  return outcomes;
}

std::vector<ClaimClass> AllClasses(const lineage::Problem& problem, const VerifyOptions& options,
                                   const ClaimTable& table, const Relations& relations) {
  std::vector<int> all(table.claims().size());
  for (size_t c = 0; c < all.size(); ++c) all[c] = static_cast<int>(c);
  return table.Classes(all, problem, relations, options.use_classes);
}

// What --engine smt says of a claim that Z3 was asked about.
ClaimOutcome OfSmt(const SmtClaimOutcome& o, bool opened) {
  ClaimOutcome out;
  if (o.status == Status::kEqual && o.bound_holds) {
    out.status = ClaimStatus::kProved;
    out.method = opened        ? ProofMethod::kZ3Unfolded
                 : o.identical ? ProofMethod::kZ3Identical
                               : ProofMethod::kZ3;
    if (o.presupposes) out.premises = {OfAllOperators(kSmtPremise)};
    if (o.restricted) out.restrictions = {OfAllOperators(kSmtRestriction)};
  } else if (o.status == Status::kEqual) {
    out.status = ClaimStatus::kAbandoned;
    out.reason = "equal on representatives, but no bound says that these suffice";
  } else {
    out.status = o.status == Status::kDifferent ? ClaimStatus::kFailed : ClaimStatus::kAbandoned;
    out.reason = absl::StrCat("Z3: ", o.reason);
  }
  return out;
}

// Decides these claims, under the hypothesis that the lineages that `relations` holds do hold.
// Returns how many classes were equal without a bound.
int64_t DecideClaims(const lineage::Problem& problem, const VerifyOptions& options,
                     const std::vector<ClaimClass>& classes, const ClaimTable& table,
                     const Relations& relations, ProofSearch* search) {
  int64_t beyond_bound = 0;
  auto adopt = [&](const std::vector<int>& claims, const SmtClaimOutcome& o, bool opened) {
    beyond_bound += o.status == Status::kEqual && !o.bound_holds;
    search->SetOutcome(claims, OfSmt(o, opened));
  };
  const std::vector<SmtClaimOutcome> decided =
      RunClasses(problem, options, table, relations, *search, classes, {.domain = true});
  // Claims that fail are asked again with definitions opened, one by one: what is opened is not
  // part of a class's content.
  std::vector<ClaimClass> failed;
  for (size_t k = 0; k < classes.size(); ++k) {
    adopt(classes[k].members, decided[k], false);
    if (decided[k].status != Status::kDifferent) continue;
    for (int c : classes[k].members) failed.push_back({{c}});
  }
  if (failed.empty()) return beyond_bound;
  VerifyOptions again = options;
  again.dump_smt_directory.clear();
  const std::vector<SmtClaimOutcome> opened = RunClasses(problem, again, table, relations, *search,
                                                         failed, {.domain = true, .unfold = true});
  for (size_t k = 0; k < failed.size(); ++k) {
    if (opened[k].status == Status::kEqual) adopt(failed[k].members, opened[k], true);
  }
  return beyond_bound;
}

}  // namespace

bool DecideBySmt(const lineage::Problem& problem, const VerifyOptions& options, ClaimTable* table,
                 const Relations& relations, ProofSearch* search, Result* result) {
  std::vector<ClaimClass> classes = AllClasses(problem, options, *table, relations);
  search->SetClasses(static_cast<int64_t>(classes.size()));
  for (size_t k = 0; k < classes.size(); ++k) {
    for (int c : classes[k].members) table->claims()[c].class_id = static_cast<int32_t>(k);
  }
  if (!solver::Z3Missing().empty()) {
    SmtClaimOutcome missing;
    missing.reason = solver::Z3Missing();
    for (const ClaimClass& c : classes) search->SetOutcome(c.members, OfSmt(missing, false));
    result->warnings.push_back(solver::Z3Missing());
    return false;
  }
  VerifyOptions own = options;
  int64_t beyond_bound = DecideClaims(problem, own, classes, *table, relations, search);
  // A lineage that Z3 refutes need not be one of a plan that is wrong.
  own.dump_smt_directory.clear();
  for (int round = 0; round < kMaxRounds && !search->RequiredProved(); ++round) {
    if (search->FailedClaims() > kMaxAuditFailures) break;
    const std::vector<int> again = search->GiveUpFailed();
    if (again.empty()) break;
    classes = table->Classes(again, problem, relations, options.use_classes);
    beyond_bound += DecideClaims(problem, own, classes, *table, relations, search);
  }
  if (beyond_bound > 0) {
    result->warnings.push_back(absl::StrCat(
        "smt: ", beyond_bound,
        " classes are equal on representatives, but no bound says that these suffice"));
  }
  return search->RequiredProved();
}

Agreement Compare(const ClaimOutcome& normal_form, const SmtClaimOutcome& smt) {
  if (smt.status == Status::kUnknown) return Agreement::kIndefinite;
  if (normal_form.status != ClaimStatus::kProved || smt.status == Status::kEqual) {
    return Agreement::kAgree;
  }
  // Proved with definitions opened further than Z3 was shown: the claims are not the same.
  return normal_form.method == ProofMethod::kUnfolded ? Agreement::kIndefinite
                                                      : Agreement::kContradiction;
}

void Audit(const lineage::Problem& problem, const VerifyOptions& options, const ClaimTable& table,
           const Relations& relations, const ProofSearch& search, Result* result) {
  const bool audit = options.engine == Engine::kAudit;
  const auto not_audited = [&](const std::string& why) {
    Violation v;
    v.verdict = Verdict::kUnknown;
    v.kind = "not audited";
    v.message = absl::StrCat("not audited: ", why);
    result->violations.push_back(std::move(v));
    if (result->verdict == Verdict::kProved) result->verdict = Verdict::kUnknown;
  };
  const auto stopped = [&] { return options.stop != nullptr && options.stop->requested; };
  if (!solver::Z3Missing().empty()) {
    result->warnings.push_back(solver::Z3Missing());
    if (audit) not_audited(solver::Z3Missing());
    return;
  }
  if (audit && stopped()) return not_audited(kInterrupted);
  const std::vector<ClaimClass> classes = AllClasses(problem, options, table, relations);
  const std::vector<SmtClaimOutcome> smt =
      RunClasses(problem, options, table, relations, search, classes,
                 {.z3 = audit,
                  .domain = result->verdict == Verdict::kRefuted,
                  .normal_form = &search.outcomes()});
  if (audit && stopped()) return not_audited(kInterrupted);
  if (!audit) {
    if (stopped())
      result->warnings.push_back("not every claim was written as SMT-LIB: interrupted");
    return;
  }
  int64_t identical = 0, differing = 0, equal = 0, different = 0, bounded = 0, whole = 0;
  std::vector<Violation> contradictions;
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
    Violation v;
    v.verdict = Verdict::kUnknown;
    v.kind = "engines contradict";
    v.stage = search.ClaimName(c);
    v.message = absl::StrCat("the normal form proves ", v.stage, " (class ", k,
                             "), Z3 refutes it: ", o.reason);
    contradictions.push_back(std::move(v));
  }
  // A plan that has no value somewhere is refuted, though it is right wherever it has one.
  if (result->verdict == Verdict::kRefuted && whole == static_cast<int64_t>(classes.size())) {
    Violation v;
    v.verdict = Verdict::kUnknown;
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
    result->verdict = Verdict::kUnknown;
    result->violations.insert(result->violations.begin(), contradictions.begin(),
                              contradictions.end());
  }
}

}  // namespace planproof::stages
