// Decides all claims of a problem, in search.
//
// Round 1 decides every claim under the hypothesis that all full lineages hold; claims are then
// independent of one another and are decided class by class in worker processes. A claim that fails
// is tried again with logical definitions unfolded. What still fails gives up its lineage: its
// tensor is read by its definition from then on, and the claims that rested on it are decided
// again. At the end every claim that counts rests on claims that were proved (relations.h has the
// induction).
#ifndef PLANPROOF_STAGES_PROOF_SEARCH_H_
#define PLANPROOF_STAGES_PROOF_SEARCH_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lineage/lineage.h"
#include "stages/claim.h"
#include "stages/claim_outcomes.h"
#include "stages/claim_solver.h"
#include "stages/claim_table.h"
#include "stages/options.h"
#include "stages/result.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

// Hears what the first round decides, class by class. Nothing depends on what it makes of it.
class FirstRoundObserver {
 public:
  virtual ~FirstRoundObserver() = default;
  virtual void Begin(int64_t classes, int64_t claims) = 0;
  virtual void Decided(int class_id, int64_t members, const std::string& stage,
                       const ClaimOutcome& outcome) = 0;
};

class ProofSearch {
 public:
  ProofSearch(const lineage::Problem& problem, const VerifyOptions& options, ClaimTable* table,
              Relations* relations);

  // May be null; must outlive the first round.
  void Observe(FirstRoundObserver* observer) { observer_ = observer; }
  // Decides all claims under the full hypothesis. True if every claim was proved.
  bool DecideAll();
  size_t FailedClaims() const { return Failed().size(); }
  // Gives up the lineages that failed; the claims that rested on them, undecided again.
  std::vector<int> GiveUpFailed();
  // Gives up the lineages that failed and decides again what rested on them, until nothing changes.
  // Stops after `max_rounds`. True if every required claim is proved. Claims are decided
  // with this work limit per claim, those that come after `seconds` not at all.
  bool Continue(int max_rounds, int64_t term_budget, double seconds);

  // Begins again with these outcomes of the first round, no lineage given up, and tries the claims
  // that failed by what their differences mention. True if every required claim is proved.
  bool OpenDifferences(ClaimOutcomes first, double seconds);

  // Takes outcomes of claims that another engine has found.
  void SetOutcome(const std::vector<int>& claims, const ClaimOutcome& outcome) {
    outcomes_.Set(claims, outcome);
  }
  void SetClasses(int64_t classes) { classes_ = classes; }

  const ClaimOutcomes& outcomes() const { return outcomes_; }
  int64_t classes() const { return classes_; }
  const CacheUse& memory_use() const { return memory_use_; }
  // The run was asked to stop: what is left is not worth a search for reasons.
  bool Interrupted() const;
  // The claim rests, directly or not, on a claim that was abandoned.
  bool RestsOnAbandoned(int claim) const;
  bool RequiredProved() const;
  // Of the claims on which required outputs rest, those whose plan has conditions that do not
  // follow from where the model is defined.
  std::vector<int> Restricted() const;
  // Looks at the whole model for the conditions of these claims.
  void Discharge(const std::vector<int>& restricted);
  // By claim: it and every claim that it rests on through related ones is proved, and the plan is
  // defined there.
  std::vector<bool> ProvedClaims() const;
  // Of the workers of this run.
  WorkerLimits Limits() const;
  const PoolUsage& usage() const { return usage_; }
  double key_seconds() const { return key_seconds_; }
  // Wall-clock time of the workers' rounds without starting and stopping the processes, and the
  // share of it that built terms.
  double decide_seconds() const { return std::max(0.0, decide_seconds_ - usage_.processes_s); }
  double evaluate_seconds() const { return std::min(evaluate_seconds_, decide_seconds()); }
  std::string ClaimName(int claim) const;

 private:
  // Required claims, and those that they rest on through related ones; false if one is no claim.
  bool BehindRequired(std::vector<int>* claims) const;
  std::vector<const Claim*> ClaimsAt(const std::vector<int>& positions) const;
  std::vector<int> Failed() const;
  void RetryFailed();
  void Retry(const std::vector<int>& failed, const ClaimLimits& limits);
  // Claims that are one within these limits; each by itself if it may meet what is not part of its
  // class.
  std::vector<ClaimClass> Classes(const std::vector<int>& which, const ClaimLimits& limits) const;
  // Decides one representative per class within these limits, in the first round also from memory.
  void Decide(const std::vector<int>& which, bool unfold, const ClaimLimits& limits);
  // The positions, those of claims that take long first.
  std::vector<int> LongestFirst(const std::vector<int>& representatives,
                                const std::vector<int>& positions) const;
  // Decides the representatives at the positions listed.
  void RunTasks(const std::vector<int>& representatives, const std::vector<int>& positions,
                ClaimLimits limits, std::vector<ClaimOutcome>* results);
  // The first round: from memory what is remembered, the rest by the executor; what is proved is
  // remembered as it comes in.
  void RunFirst(const std::vector<ClaimClass>& classes, const std::vector<int>& representatives,
                const ClaimLimits& limits, std::vector<ClaimOutcome>* results);

  const lineage::Problem& problem_;
  const VerifyOptions& options_;
  ClaimTable& table_;
  Relations& relations_;
  ClaimOutcomes outcomes_;
  std::vector<int> claim_of_tensor_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  int64_t classes_ = 0;
  PoolUsage usage_;
  CacheUse memory_use_;
  FirstRoundObserver* observer_ = nullptr;
  std::function<void(int, const ClaimOutcome&)> on_decided_;  // position and outcome
  bool first_ = false;                                        // the first round is in work
  bool differences_ = false;  // numbers agree: what differences mention is opened, too
  std::string fingerprint_;
  double key_seconds_ = 0, decide_seconds_ = 0, evaluate_seconds_ = 0;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_PROOF_SEARCH_H_
