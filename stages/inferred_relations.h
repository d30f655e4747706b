// Holds relations that the files do not state, as guesses: what inference answers.
#ifndef PLANPROOF_STAGES_INFERRED_RELATIONS_H_
#define PLANPROOF_STAGES_INFERRED_RELATIONS_H_

#include <cstdint>
#include <vector>

#include "lineage/lineage.h"
#include "solver/rational.h"

namespace planproof::stages {

// Each element of the parallel tensor is the factor times the logical element at `map`.
struct InferredRelation {
  sdfg::TensorId parallel = sdfg::kNone;
  sdfg::TensorId logical = sdfg::kNone;
  solver::Rational factor = 1;
  std::vector<sdfg::IndexMap> map;
  friend bool operator==(const InferredRelation&, const InferredRelation&) = default;
};

struct InferredRelations {
  std::vector<InferredRelation> relations;
  std::vector<sdfg::TensorId> unrelated;  // tensors that were looked at and got none
  int64_t tensors = 0;                    // computed ones without lineage that were looked at
  int64_t classes = 0;                    // of them, by definition
  friend bool operator==(const InferredRelations&, const InferredRelations&) = default;
};

// The problem with a lineage of provenance kInferred for each of these relations that it can have:
// of a computed parallel tensor without a full lineage, to elements that exist, of numbers of the
// same kind. Nothing else is different, but for multiples of logical tensors that lineages mention.
lineage::Problem WithRelations(const lineage::Problem& problem,
                               const std::vector<InferredRelation>& relations);

// What is required of tensors that have no full lineage and that an operator reads, as relations:
// it is claimed in any case, and what is computed from such a tensor may be shown from it.
std::vector<InferredRelation> RequiredRelations(const lineage::Problem& problem);

// Lineages of provenance kInferred.
int64_t CountInferred(const lineage::Problem& problem);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_INFERRED_RELATIONS_H_
