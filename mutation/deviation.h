// Makes one operator instance deviate: on one rank (and in one microbatch, where there are several)
// an operator of a plan does something else. Written as an exception of the plan format
// (docs/plan-format.md), so that it works for plans of any size.
#ifndef PLANPROOF_MUTATION_DEVIATION_H_
#define PLANPROOF_MUTATION_DEVIATION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"
#include "lineage/lineage.h"

namespace planproof::mutation {

struct Deviation {
  std::string kind;           // "wrong factor"
  std::string what;           // for people, one line: operator, where, what is done instead
  std::string program;        // "stage3"
  std::string operator_name;  // "linear (layers.3.q)", as reports name it
  std::string tensor;         // what the operator makes there: "layers.3.q"
  std::vector<std::pair<std::string, int64_t>> at;  // coordinates
  int device = -1;
  int64_t microbatch = -1;  // -1: the operator does not vary by microbatch
};

// Names of the kinds, in the order in which they are drawn.
std::vector<std::string> DeviationKinds();

// Draws operator, rank, microbatch and kind, and adds the exception to the plan in `file`.
// `problem` is what the unchanged file (with its specification) poses. `kind` empty: any. Kinds and
// places whose result would be equal are not drawn: what is changed is a real value on which a
// required output depends, and a tensor is never replaced by one of the same lineage.
// FailedPrecondition if nothing fits.
absl::StatusOr<Deviation> DeviateAtRandom(plan::PlanFile* file, const lineage::Problem& problem,
                                          uint64_t seed, const std::string& kind = "");

// The same for the files that pose `problem`: writes the plan with the deviation, together with its
// specification, to `output` in binary. FailedPrecondition if the files are not in plan format.
absl::StatusOr<Deviation> DeviateFiles(const std::vector<std::string>& files,
                                       const lineage::Problem& problem, uint64_t seed,
                                       const std::string& output);

}  // namespace planproof::mutation

#endif  // PLANPROOF_MUTATION_DEVIATION_H_
