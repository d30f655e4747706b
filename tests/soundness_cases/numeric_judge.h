// An independent judge of small problems: both graphs at full size, in double, at random inputs.
#ifndef PLANPROOF_TESTS_SOUNDNESS_CASES_NUMERIC_JUDGE_H_
#define PLANPROOF_TESTS_SOUNDNESS_CASES_NUMERIC_JUDGE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lineage/lineage.h"

namespace planproof::soundness {

struct Judgement {
  bool equal = true;       // at every sample, within 1e-8 relative
  std::string difference;  // the first one found
  int samples = 0;         // with finite values on both sides
};

// Evaluates `samples` times at inputs that satisfy the declared premises.
absl::StatusOr<Judgement> Judge(const lineage::Problem& problem, int samples, uint64_t seed);

}  // namespace planproof::soundness

#endif  // PLANPROOF_TESTS_SOUNDNESS_CASES_NUMERIC_JUDGE_H_
