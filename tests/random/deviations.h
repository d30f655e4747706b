// Single operator instances that deviate: what the verifier says of each, and in what time.
#ifndef PLANPROOF_TESTS_RANDOM_DEVIATIONS_H_
#define PLANPROOF_TESTS_RANDOM_DEVIATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mutation/deviation.h"
#include "strategy/verify.h"

namespace planproof::random_tests {

struct DeviationTrial {
  uint64_t seed = 0;
  mutation::Deviation deviation;
  stages::Verdict verdict = stages::Verdict::kUnknown;
  std::string finding;  // stage, cause and message of the first violation
  bool operator_named = false;
  bool rank_named = false;
  size_t devices = 0;  // that the first violation lists
  double seconds = 0;  // reading, proving, refuting, explaining
  bool Passed() const {
    return (verdict == stages::Verdict::kRefuted || verdict == stages::Verdict::kMalformed) &&
           operator_named && rank_named;
  }
};

class DeviationTrials {
 public:
  // Files of one plan in plan format; `scratch`: a file to write wrong plans to.
  DeviationTrials(std::vector<std::string> files, std::string scratch);

  // Reads and verifies the unchanged plan `times` times: the median, in seconds. An error if it is
  // not proved.
  absl::StatusOr<double> ProofSeconds(int times);
  absl::StatusOr<DeviationTrial> Try(uint64_t seed);

 private:
  absl::StatusOr<stages::Result> Verify(const std::vector<std::string>& files, double* seconds);

  std::vector<std::string> files_;
  std::string scratch_;
  lineage::Problem problem_;
  bool loaded_ = false;
};

}  // namespace planproof::random_tests

#endif  // PLANPROOF_TESTS_RANDOM_DEVIATIONS_H_
