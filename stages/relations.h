// Keeps what each tensor stands for while claims are decided.
//
// A parallel tensor that is *related* (by an input relation, or by a full lineage whose claim has
// not failed) is read as the logical element at its lineage. Every other parallel tensor is read as
// its producer defines it. A logical tensor is an unknown value, except that rearrangements, masks,
// constant multiples that only lineage mentions and tensors that no lineage mentions are always
// read through, and that a claim may unfold some tensors into their definitions.
//
// Why this is sound: a claim "P = L at the map, if the related inputs are" is decided for arbitrary
// values of the logical tensors it mentions; claims depend on earlier operators of the parallel
// graph only, so by induction over its topological order all relations in use hold when every claim
// does.
#ifndef PLANPROOF_STAGES_RELATIONS_H_
#define PLANPROOF_STAGES_RELATIONS_H_

#include <map>
#include <utility>
#include <vector>

#include "lineage/lineage.h"
#include "sdfg/symbolic_evaluator.h"

namespace planproof::stages {

inline constexpr int32_t kLogical = 0;
inline constexpr int32_t kParallel = 1;

// The number under which premises of an operator are recorded.
inline int32_t PremiseNumber(int32_t graph, sdfg::OperatorId op) { return 2 * op + graph; }
inline int32_t GraphOfPremise(int32_t number) { return number % 2; }
inline sdfg::OperatorId OperatorOfPremise(int32_t number) { return number / 2; }

// What is known of the relation between a parallel tensor and a logical one. Where its lineage
// comes from, the plan or a guess, is lineage::Provenance and makes no difference here.
enum class RelationState : uint8_t {
  kNone,     // there is none: the tensor is read by its definition
  kGiven,    // part of the specification: an input's or a parameter's; nothing to prove
  kAssumed,  // what a lineage claims: a hypothesis of the claims that read the tensor
  kProved,   // the same, and its claim is proved with all on which a required output rests
  kGivenUp,  // its claim failed: the tensor is read by its definition
};

class Relations : public sdfg::RepresentationPolicy {
 public:
  explicit Relations(const lineage::Problem& problem);

  sdfg::Representation Of(sdfg::TensorRef tensor) override;
  // Granted are the premises of logical operators on which a required output depends: the model has
  // no value where they do not hold. The number is the operator's, by graph.
  bool MayBeInfinite(sdfg::TensorRef tensor) override;
  solver::PremiseSource SourceOf(sdfg::TensorRef tensor) const override;
  // A required output of the model depends on the tensor.
  bool InModelCone(sdfg::TensorId logical) const { return in_model_cone_[logical]; }

  // Whether the parallel tensor is read through its lineage.
  bool Related(sdfg::TensorId parallel) const {
    const RelationState state = state_[parallel];
    return state != RelationState::kNone && state != RelationState::kGivenUp;
  }
  RelationState StateOf(sdfg::TensorId parallel) const { return state_[parallel]; }
  // Of tensors that a lineage claims to be something.
  void Assume(sdfg::TensorId parallel) { state_[parallel] = RelationState::kAssumed; }
  void GiveUp(sdfg::TensorId parallel) { state_[parallel] = RelationState::kGivenUp; }
  void MarkProved(sdfg::TensorId parallel) { state_[parallel] = RelationState::kProved; }

  // Logical tensors that are rearrangements, masks, multiples for lineage, or no parallel tensor's
  // lineage: never unknown values.
  bool Inlined(sdfg::TensorId logical) const { return inlined_[logical]; }
  bool Masked(sdfg::TensorId logical) const { return masked_[logical]; }
  // The tensor of which a multiple for lineage is one; kNone for other tensors. A claim about the
  // multiple is one about that tensor's definition.
  sdfg::TensorId MultipleOf(sdfg::TensorId logical) const { return multiple_of_[logical]; }
  // For the claim being decided: logical tensors to unfold.
  void Unfold(sdfg::TensorId logical) { unfolded_[logical] = true; }
  void FoldAll();

  solver::IntRange IntRangeOf(sdfg::TensorId logical) const { return int_range_[logical]; }
  bool Positive(sdfg::TensorId logical) const { return positive_[logical]; }
  bool NonNegative(sdfg::TensorId logical) const { return nonnegative_[logical]; }
  // Records what the definition of a logical tensor shows of its sign.
  void SetSign(sdfg::TensorId logical, solver::Sign sign) {
    positive_[logical] = positive_[logical] || sign == solver::Sign::kPositive;
    nonnegative_[logical] = nonnegative_[logical] || sign != solver::Sign::kUnknown;
  }
  // A real tensor with a definition and at least one element, of which no element is a mask's.
  bool MayBeZero(sdfg::TensorId logical) const;
  // The definition has been shown to be 0 for all inputs, without a premise: read as 0 from now on.
  void SetZero(sdfg::TensorId logical) { zero_[logical] = any_zero_ = true; }
  bool Zero(sdfg::TensorId logical) const { return zero_[logical]; }
  // It has been shown in the same way to be 0 at every index at which one of these forms is
  // negative.
  void SetZeroUnless(sdfg::TensorId logical, std::vector<sdfg::IndexMap> forms) {
    zero_unless_[logical] = std::move(forms);
  }
  void ForgetZeroRegions() { zero_unless_.clear(); }
  bool KnowsZeros() const { return any_zero_ || !zero_unless_.empty(); }
  const std::vector<sdfg::IndexMap>* ZeroUnless(sdfg::TensorId logical) const {
    const auto found = zero_unless_.find(logical);
    return found == zero_unless_.end() ? nullptr : &found->second;
  }
  const lineage::Problem& problem() const { return problem_; }

 private:
  bool MayBeMasked(const sdfg::Operator& op, sdfg::ExprId body) const;

  const lineage::Problem& problem_;
  std::vector<RelationState> state_;  // by parallel tensor
  std::vector<bool> inlined_, masked_, unfolded_, positive_, nonnegative_, zero_;
  bool any_zero_ = false;
  std::vector<bool> in_model_cone_;
  std::vector<bool> infinite_logical_, infinite_parallel_;  // by tensor, once one is asked for
  std::vector<solver::IntRange> int_range_;
  std::vector<sdfg::TensorId> multiple_of_;
  std::map<sdfg::TensorId, std::vector<sdfg::IndexMap>> zero_unless_;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_RELATIONS_H_
