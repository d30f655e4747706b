// Says by exact evaluation of full shapes whether a changed plan still computes what is required.
//
// It shares nothing with the prover: both graphs are evaluated element by element in double
// precision on random inputs with zeros and negative values. Values of the unchanged plan are kept,
// so that a mutant costs only what its fault reaches.
#ifndef PLANPROOF_TESTS_RANDOM_DENSE_JUDGE_H_
#define PLANPROOF_TESTS_RANDOM_DENSE_JUDGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "sdfg/dense_evaluator.h"

namespace planproof::random_tests {

struct DenseJudgement {
  bool equal = true;
  double worst = 0;        // largest difference, relative to the largest value of its tensor
  std::string difference;  // the first required relation that does not hold, with values
  int samples = 0;         // with finite values; the first difference ends the search
};

class DenseJudge {
 public:
  // `base` must outlive the judge and have passed Graph::Check.
  DenseJudge(const lineage::Problem& base, int samples, int64_t id_range, uint64_t seed);

  // `problem` is `base` or a changed copy of its parallel graph (tensors keep their ids; new ones,
  // related to new logical inputs, may follow). An error if it cannot be evaluated: the plan is
  // then undefined somewhere (reads outside a tensor).
  absl::StatusOr<DenseJudgement> Judge(const lineage::Problem& problem);

 private:
  using Value = std::shared_ptr<const sdfg::DenseTensor>;
  struct Sample {
    std::vector<Value> logical, parallel;  // by tensor of `base`; null outside the cone
  };
  absl::StatusOr<const Sample*> Base(int sample);
  absl::Status Compare(const lineage::Problem& problem, const std::vector<Value>& logical,
                       const std::vector<Value>& parallel, DenseJudgement* judgement) const;
  sdfg::DenseTensor RandomInput(const lineage::Problem& problem, sdfg::TensorId id,
                                int sample) const;

  const lineage::Problem& base_;
  int count_;
  int64_t id_range_;
  uint64_t seed_;
  std::vector<std::unique_ptr<Sample>> samples_;
};

}  // namespace planproof::random_tests

#endif  // PLANPROOF_TESTS_RANDOM_DENSE_JUDGE_H_
