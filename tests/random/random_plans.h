// Random small plans: a chain of operators and a sharded version of it, right or with one fault.
#ifndef PLANPROOF_TESTS_RANDOM_RANDOM_PLANS_H_
#define PLANPROOF_TESTS_RANDOM_RANDOM_PLANS_H_

#include <cstdint>
#include <map>
#include <string>

#include "lineage/lineage.h"
#include "strategy/verify.h"
#include "tests/random/dense_judge.h"

namespace planproof::random_tests {

struct RandomPlan {
  uint64_t seed = 0;
  lineage::Problem problem;      // both graphs have passed Check
  std::string steps;             // "linear split by columns, softmax, ..."
  std::string fault;             // empty: none was put in
  int64_t longest_interval = 0;  // extent of the longest cut or contracted dimension
};

// Extents are 9 to 20; a sharded dimension is cut at random places into 2 or 3 pieces of at least 3
// elements. With `wrong`, one step is made wrong: an offset, an order of pieces, a missing or wrong
// reduction, a divisor, a normalization of a part, a factor.
RandomPlan MakeRandomPlan(uint64_t seed, bool wrong);

struct PlanTrial {
  stages::Verdict verdict = stages::Verdict::kUnknown;
  std::string reason;
  bool evaluated = false, equal = false;
  std::string difference;
  double verify_seconds = 0;
  // The verdict contradicts full evaluation.
  bool FalseProof() const { return verdict == stages::Verdict::kProved && !(evaluated && equal); }
  bool FalseRefutation() const {
    return verdict == stages::Verdict::kRefuted && evaluated && equal;
  }
};
PlanTrial TryRandomPlan(const RandomPlan& plan, int samples);

struct PlanSummary {
  int plans = 0, false_proofs = 0, false_refutations = 0, faults = 0;
  std::map<std::string, int> counts;  // "equal, PROVED"
  void Add(const RandomPlan& plan, const PlanTrial& trial);
  std::string Table() const;
};

}  // namespace planproof::random_tests

#endif  // PLANPROOF_TESTS_RANDOM_RANDOM_PLANS_H_
