// Infers relations of a plan that nobody states: guessed here, proved as claims.
//
// The tensors of the plan are taken in order. The element of one at a generic index is a term over
// elements of logical tensors, since what it is computed from is related, or read by its
// definition. A logical tensor whose definition, opened down to just these, has that value at some
// index is what the tensor is taken to be, and the index, as a function of the tensor's own, is the
// map. So partial sums need no relation: their reduction has one. Layers that repeat are looked at
// once (definition_key.h).
//
// Nothing rests on a guess: it becomes a lineage of provenance kInferred, and stages decide it as
// they decide a claim of the plan's.
#ifndef PLANPROOF_INFERENCE_RELATION_INFERENCE_H_
#define PLANPROOF_INFERENCE_RELATION_INFERENCE_H_

#include <cstdint>
#include <set>

#include "inference/candidates.h"
#include "inference/match_budget.h"
#include "stages/lineage_inference.h"

namespace planproof::inference {

class RelationInference : public stages::LineageInference {
 public:
  // `work_of_summand`: with less, more partial sums are looked for only after their sums.
  explicit RelationInference(Buckets buckets = Buckets::kAreOneTensor,
                             int64_t work_of_summand = kWorkOfSummand,
                             Opening opening = Opening::kLeast)
      : buckets_(buckets), work_of_summand_(work_of_summand), opening_(opening) {}

  stages::InferredRelations Infer(const lineage::Problem& problem,
                                  const stages::StopRequest* stop) const override;
  // The same, without a look at these tensors.
  stages::InferredRelations InferWithout(const std::set<sdfg::TensorId>& skip,
                                         const lineage::Problem& problem,
                                         const stages::StopRequest* stop) const;
  // With the pieces of buckets, if there are any, and then with more that is opened: other tensors
  // are found then, not always more. The latter takes long, and is no use behind a fault.
  const stages::LineageInference* Otherwise(const lineage::Problem& problem,
                                            bool mostly_proved) const override;

 private:
  const Buckets buckets_;
  const int64_t work_of_summand_;
  const Opening opening_;
};

// Forgets what is said of tensors that the plan computes.
void DiscardLineage(lineage::Problem* problem);

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_RELATION_INFERENCE_H_
