// Random single-fault mutants of a plan: what the verifier says and what numbers say.
#ifndef PLANPROOF_TESTS_RANDOM_MUTANT_TRIALS_H_
#define PLANPROOF_TESTS_RANDOM_MUTANT_TRIALS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "strategy/verify.h"
#include "tests/random/dense_judge.h"
#include "tests/random/plan_pairs.h"

namespace planproof::random_tests {

// What full evaluation of the twin, mutated alike, says.
enum class TwinVerdict : uint8_t {
  kEqual,
  kDifferent,
  kUndefined,  // it reads outside a tensor, or the like
  kNotAlike,   // the same seed gives another fault in the twin
  kMalformed,  // not evaluated: the mutant is malformed
};
const char* TwinVerdictName(TwinVerdict verdict);

struct MutantTrial {
  uint64_t seed = 0;
  std::string kind, what;
  stages::Verdict verdict = stages::Verdict::kUnknown;
  std::string reason;  // first violation
  TwinVerdict twin = TwinVerdict::kNotAlike;
  std::string twin_difference;
  int twin_samples = 0;
  // Block-constant inputs on the full plan, for mutants that are proved, and for undecided ones
  // whose twin says nothing.
  bool full_judged = false, full_equal = false, full_different = false;
  double verify_seconds = 0, judge_seconds = 0;
  // PROVED, but numbers differ.
  bool FalseProof() const {
    return verdict == stages::Verdict::kProved &&
           (full_different || twin == TwinVerdict::kDifferent || twin == TwinVerdict::kUndefined);
  }
  // REFUTED, but all samples of the twin agree: either the fault does not show at small extents, or
  // the refutation is wrong.
  bool DoubtfulRefutation() const {
    return verdict == stages::Verdict::kRefuted && twin == TwinVerdict::kEqual;
  }
};

struct MutantOptions {
  int samples = 20;       // of the twin
  int full_samples = 16;  // of the full plan
  double timeout_s = 20;  // of one claim
  uint64_t judge_seed = 1;
};

class MutantTrials {
 public:
  MutantTrials(const PlanPair& pair, const MutantOptions& options);
  // The unchanged plan: PROVED and equal, or there is nothing to learn from its mutants.
  absl::StatusOr<MutantTrial> Unchanged();
  absl::StatusOr<MutantTrial> Try(uint64_t seed);

 private:
  void Decide(lineage::Problem* problem, MutantTrial* trial) const;
  void JudgeFull(const lineage::Problem& problem, MutantTrial* trial) const;
  void JudgeTwin(lineage::Problem* twin, MutantTrial* trial);

  const PlanPair& pair_;
  MutantOptions options_;
  DenseJudge judge_;
};

struct MutantSummary {
  int count = 0;
  std::map<std::string, std::map<std::string, int>> by_kind;  // kind, verdict
  std::map<std::string, int> by_verdict;
  std::map<std::string, std::map<std::string, int>> twin;  // verdict, verdict of the twin
  int false_proofs = 0, doubtful_refutations = 0;
  void Add(const MutantTrial& trial);
  std::string Table() const;
};

}  // namespace planproof::random_tests

#endif  // PLANPROOF_TESTS_RANDOM_MUTANT_TRIALS_H_
