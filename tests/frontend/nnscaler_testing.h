// Helpers of the nnScaler reader's tests: small plans from write_nnscaler_plan.py, and a numeric
// judge that evaluates both graphs of a problem on full shapes.
#ifndef PLANPROOF_TESTS_FRONTEND_NNSCALER_TESTING_H_
#define PLANPROOF_TESTS_FRONTEND_NNSCALER_TESTING_H_

#include <string>

#include "absl/status/statusor.h"
#include "frontend/nnscaler/reader.h"
#include "lineage/lineage.h"

namespace planproof::frontend::nnscaler {

// The file of a small plan with a fault ("" for none). Empty if python3 is not there. All plans are
// written once per process, to a temporary directory that goes when the process ends.
std::string SmallPlan(const std::string& plan, const std::string& fault = "", int seed = 0,
                      int protocol = 4);

// A published plan whose name starts with `prefix`; empty if the folder is missing.
std::string PublishedPlan(const std::string& prefix);

absl::StatusOr<lineage::Problem> ReadSmall(const std::string& parallel,
                                           const std::string& fault = "",
                                           const std::string& logical_fault = "");

// The largest difference, relative to the largest value, between what relations say and what the
// two graphs compute from random inputs.
struct Judgement {
  double required = 0;  // over the required relations
  std::string worst;    // the one that differs most
  double proposed = 0;  // over all full lineages of tensors that operators make
  std::string worst_proposed;
  int full_lineages = 0;
};
absl::StatusOr<Judgement> Judge(const lineage::Problem& problem, unsigned seed = 1);

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_TESTS_FRONTEND_NNSCALER_TESTING_H_
