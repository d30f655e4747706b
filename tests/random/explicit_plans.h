// Random small plans that spell every rank out, half of them with one instance that deviates.
#ifndef PLANPROOF_TESTS_RANDOM_EXPLICIT_PLANS_H_
#define PLANPROOF_TESTS_RANDOM_EXPLICIT_PLANS_H_

#include <cstdint>
#include <map>
#include <string>

#include "lineage/lineage.h"
#include "strategy/verify.h"

namespace planproof::random_tests {

struct ExplicitPlan {
  uint64_t seed = 0;
  lineage::Problem problem;
  int ranks = 0;
  std::string steps;      // for people
  std::string deviation;  // "slice on rank 2"; empty: all ranks do the same
};

// The same seed makes the same plan. A deviating one has another slice, group, constant or order on
// one rank.
ExplicitPlan MakeExplicitPlan(uint64_t seed, bool deviate);

// The verdicts with and without folding, and how the plan was folded.
struct FoldTrial {
  bool folded = false;        // anything was
  int64_t explicit_left = 0;  // operators that stay as they were read
  std::string difference;     // what the folded form does not give back; empty: all
  stages::Verdict with = stages::Verdict::kUnknown, without = stages::Verdict::kUnknown;
  std::string reason;  // of the verdict with folding
  bool Agrees() const { return difference.empty() && with == without; }
};
FoldTrial TryExplicitPlan(const ExplicitPlan& plan);

// Plans and verdicts by kind of deviation.
struct FoldSummary {
  std::map<std::string, std::map<std::string, int>> counts;
  void Add(const ExplicitPlan& plan, const FoldTrial& trial);
  std::string Table() const;
};

}  // namespace planproof::random_tests

#endif  // PLANPROOF_TESTS_RANDOM_EXPLICIT_PLANS_H_
