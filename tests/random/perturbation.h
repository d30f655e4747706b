// A fresh symbol added to the output of one operator: no claim may stay proved over it.
#ifndef PLANPROOF_TESTS_RANDOM_PERTURBATION_H_
#define PLANPROOF_TESTS_RANDOM_PERTURBATION_H_

#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "strategy/verify.h"
#include "tests/random/dense_judge.h"
#include "tests/random/plan_pairs.h"

namespace planproof::random_tests {

struct Place {
  sdfg::OperatorId op = sdfg::kNone;
  int output = 0;
};

// The outputs of operators on which a required output depends and that are read (or required).
// `distinct`: one per function and logical tensor that it makes.
std::vector<Place> PerturbationPlaces(const lineage::Problem& problem, bool distinct);

// Every element of the output is increased by an element of its own of a new input, which the
// specification knows and does not use; or, for collectives, whose operands must be the
// participants' tensors, by multiples of 1/7. Integers are increased by 1, booleans are negated.
void Perturb(lineage::Problem* problem, const Place& place, bool fresh_symbol);

struct PerturbationTrial {
  std::string what;
  stages::Verdict verdict = stages::Verdict::kUnknown;
  // The verdict is still PROVED: what numbers say of the twin.
  bool judged = false, numbers_equal = false;
  std::string difference;
  bool FalseProof() const {
    return verdict == stages::Verdict::kProved && !(judged && numbers_equal);
  }
};

class Perturbations {
 public:
  Perturbations(const PlanPair& pair, int samples, double timeout_s);
  PerturbationTrial Try(const Place& place);

 private:
  const PlanPair& pair_;
  double timeout_s_;
  DenseJudge judge_;
};

}  // namespace planproof::random_tests

#endif  // PLANPROOF_TESTS_RANDOM_PERTURBATION_H_
