#include "smt/class_runs.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "stages/workers/process_pool.h"

namespace planproof::smt {

using Status = SmtClaimOutcome::Status;

namespace {

constexpr double kQuestionSeconds = 5;
constexpr double kClassSeconds = 40;  // of one worker's task, all cells together
constexpr int kUnfoldLevels = 3;

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

}  // namespace

std::vector<SmtClaimOutcome> RunClasses(const lineage::Problem& problem,
                                        const stages::VerifyOptions& options,
                                        const stages::ClaimTable& table,
                                        const stages::Relations& relations,
                                        const stages::ProofSearch& search,
                                        const std::vector<stages::ClaimClass>& classes,
                                        const Asking& asking) {
  if (!options.dump_smt_directory.empty()) {
    std::error_code ignored;
    std::filesystem::create_directories(options.dump_smt_directory, ignored);
  }
  auto name = [&](int k) { return search.ClaimName(classes[k].members[0]); };
  auto work = [&](int k) {
    const int c = classes[k].members[0];
    const stages::Claim& claim = table.claims()[c];
    SmtClaimOptions smt;
    smt.timeout_s = asking.z3 ? kQuestionSeconds : 0;
    smt.ask_domain = asking.domain;
    if (asking.unfold) smt.unfold_levels = kUnfoldLevels;
    if (asking.normal_form != nullptr &&
        (*asking.normal_form)[c].method == stages::ProofMethod::kUnfolded) {
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
  auto on_result = [&](int k, stages::TaskOutcome outcome) {
    if (outcome.status == stages::TaskStatus::kDone) {
      outcomes[k] = FromBytes(outcome.result);
    } else {
      outcomes[k].reason = outcome.reason;
    }
    if (options.progress) options.progress({"", ++done, static_cast<int64_t>(classes.size())});
  };
  stages::WorkerLimits limits;
  limits.jobs = options.jobs;
  limits.task_timeout_s = std::min(options.stage_timeout_s, kClassSeconds);
  limits.memory_limit_mb = options.memory_limit_mb;
  limits.stop = options.stop;
  limits.while_waiting = [&] {
    if (options.progress) options.progress({"", done, static_cast<int64_t>(classes.size())});
  };
  stages::RunInWorkers(static_cast<int>(classes.size()), limits, work, on_result, name);
  return outcomes;
}

}  // namespace planproof::smt
