// Encodes the content of a claim as bytes: equal bytes, equal claims up to names of tensors and
// devices.
#ifndef PLANPROOF_STAGES_CLASS_KEY_H_
#define PLANPROOF_STAGES_CLASS_KEY_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "stages/claim.h"
#include "stages/relations.h"

namespace planproof::stages {

// Serialises, from the claimed tensor backwards: the parallel definition down to related ones, the
// logical definition of the target down to unknown values, and the index maps that relate them.
// Logical and parallel tensors are numbered in order of first appearance (so x * x is not x * y);
// functions, extents, axes, map constants, dtypes, roles, premises of inputs and what is known of
// zeros enter as they are. A claim decided without unfolding depends on nothing else.
class ClassKeys {
 public:
  ClassKeys(const lineage::Problem& problem, const Relations& relations)
      : problem_(problem),
        relations_(relations),
        logical_(problem.logical.tensors.size()),
        parallel_(problem.parallel.tensors.size()) {}

  // Empty if the definitions are too deep to serialise; the claim is then a class of its own. Equal
  // only among the claims of this problem: functions enter as numbers.
  std::string Of(const Claim& claim);
  // The same for comparison with claims of other problems and runs: functions enter by their
  // content.
  std::string ContentOf(const Claim& claim);
  // What is evaluated where the logical tensor's elements are written by its definition: equal
  // bytes, equal values up to names of tensors, and what is known of signs is the same.
  std::string OfLogical(sdfg::TensorId t);
  // The same where the values of its operands are unknown, but those of masks and integers.
  std::string OfLogicalOperator(sdfg::TensorId t);
  // Names of the logical tensors that the last call met, in the order of their numbers, as bytes.
  std::string LogicalNames() const;

 private:
  // Numbers of tensors by first appearance.
  class Numbering {
   public:
    explicit Numbering(size_t tensors) : number_(tensors, -1) {}
    // Whether it is new.
    bool Add(sdfg::TensorId t) {
      if (number_[t] >= 0) return false;
      number_[t] = static_cast<int32_t>(order_.size());
      order_.push_back(t);
      return true;
    }
    int32_t Of(sdfg::TensorId t) const { return number_[t]; }
    const std::vector<sdfg::TensorId>& order() const { return order_; }
    void Clear() {
      for (const sdfg::TensorId t : order_) number_[t] = -1;
      order_.clear();
    }

   private:
    std::vector<int32_t> number_;
    std::vector<sdfg::TensorId> order_;
  };

  void Clear();
  void PutClaim(const Claim& claim);
  void Put(int64_t value);
  void PutText(const std::string& text);
  void PutFunction(const sdfg::IndexFunction* function);
  void PutMap(const std::vector<sdfg::IndexMap>& map);
  void PutLogical(sdfg::TensorId t, int depth);
  void PutLogicalDefinition(sdfg::TensorId t, int depth);
  void PutParallel(sdfg::TensorId t, int depth);
  void PutParallelDefinition(sdfg::TensorId t, int depth);

  const lineage::Problem& problem_;
  const Relations& relations_;
  std::unordered_map<const sdfg::IndexFunction*, int64_t> functions_;
  std::unordered_map<const sdfg::IndexFunction*, int64_t> functions_of_claim_;
  std::unordered_map<const sdfg::IndexFunction*, std::string> serialized_;
  Numbering logical_, parallel_;
  std::string bytes_;
  bool too_deep_ = false;
  bool by_content_ = false;
  bool through_values_ = true;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_CLASS_KEY_H_
