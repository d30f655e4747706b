// Evaluates one scalar program on blocks, in any number domain.
//
// Every node becomes a dense array over the blocks of the variables that it depends on, so whatever
// does not vary is computed once (the denominator of a softmax once per row). Variables are ordered
// by their number of blocks, the largest innermost. Sums are weighted by block lengths; a sum over
// a product of two factors is contracted without storing the product.
#ifndef PLANPROOF_SHAPE_REDUCTION_BLOCK_EVALUATOR_H_
#define PLANPROOF_SHAPE_REDUCTION_BLOCK_EVALUATOR_H_

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "shape_reduction/block_tensor.h"
#include "shape_reduction/broadcast.h"
#include "shape_reduction/domain_floating.h"
#include "shape_reduction/opaque_functions.h"
#include "shape_reduction/scalar_program.h"

namespace planproof::shape_reduction {

template <typename D>
class BlockEvaluator {
 public:
  using V = typename D::Value;

  // `loose`: by node, the comparisons that may differ within a block (program_partition.h); null
  // if there are none.
  BlockEvaluator(const ScalarProgram& program, const std::vector<DimPartition>& partitions,
                 const std::vector<const BlockTensor<V>*>& inputs, int64_t max_elements,
                 const std::vector<char>* loose = nullptr)
      : program_(program),
        partitions_(partitions),
        inputs_(inputs),
        max_elements_(max_elements),
        loose_(loose),
        space_({}) {}

  absl::Status Run(BlockTensor<V>* output, PremiseCheck* premises);

 private:
  using Op = sdfg::Op;
  using Node = sdfg::Node;
  using ExprId = sdfg::ExprId;

  struct Array {
    VarMask mask = 0;
    std::vector<V> r;
    std::vector<int64_t> i;          // at the first index of each block
    std::vector<int64_t> low, high;  // over the block, where loose comparisons need them
    std::vector<Truth> b;
  };
  // Offsets below: the element is out of range (its value is 0), or an index is invalid.
  static constexpr int64_t kOutside = -(int64_t{1} << 40);
  static constexpr int64_t kAnyIndex = -(int64_t{1} << 48);  // any element of the tensor
  static constexpr int64_t kBadIndex = -(int64_t{1} << 56);

  absl::Status RankVariables();
  bool ShareRanks(std::vector<int64_t>* extents);
  void PlanContractions();
  absl::Status Evaluate(ExprId id);
  absl::Status CheckSize(VarMask mask) const {
    if (space_.Size(mask) <= max_elements_) return absl::OkStatus();
    return absl::ResourceExhaustedError("an intermediate array has more than " +
                                        std::to_string(max_elements_) + " blocks");
  }
  VarMask MaskOf(sdfg::VarId var) const { return rank_[var] < 0 ? 0 : VarMask{1} << rank_[var]; }
  Array WeightsOf(sdfg::VarId var) const;
  std::vector<int64_t> Offsets(const Node& node, VarMask* mask);
  void Gather(const Node& node, Array* out);
  void Integer(const Node& node, Array* out);
  void Range(const Node& node, Array* out);
  // Bounds of an integer array; the values themselves where they do not vary within blocks.
  static const std::vector<int64_t>& LowOf(const Array& a) { return a.low.empty() ? a.i : a.low; }
  static const std::vector<int64_t>& HighOf(const Array& a) {
    return a.high.empty() ? a.i : a.high;
  }
  bool IsLoose(ExprId id) const { return loose_ != nullptr && (*loose_)[id] != 0; }
  void LooseComparison(const Node& node, Array* out);
  V AnyElement(const BlockTensor<V>& input) const;
  void Boolean(const Node& node, Array* out);
  void Select(const Node& node, Array* out);
  void SelectInteger(const Node& node, Array* out);
  absl::Status Contract(const Array& a, const Array& b, VarMask out_mask, Array* out);
  absl::Status SumNode(ExprId id, Array* out);
  void ReduceExtreme(const Node& node, Array* out);
  absl::Status Opaque(const Node& node, Array* out);
  template <typename F>
  void Map(const Node& node, Array* out, F f);
  template <typename F>
  void Zip(const Node& node, Array* out, F f);
  void Release(ExprId id);
  // The array of an operand that is read for the last time, or a copy.
  Array Take(ExprId id);
  static int64_t WholeNumber(const V& value);
  bool IsInteger(ExprId id) const { return program_.integer[id] != 0; }
  void Store(BlockTensor<V>* output);

  const ScalarProgram& program_;
  const std::vector<DimPartition>& partitions_;
  const std::vector<const BlockTensor<V>*>& inputs_;
  const int64_t max_elements_;
  const std::vector<char>* loose_;
  bool ranges_ = false;  // some comparison is loose
  BlockSpace space_;
  std::vector<int> rank_;            // by variable; -1: one block, index 0
  std::vector<sdfg::VarId> ranked_;  // variables of more than one block, fewest blocks first
  std::vector<Array> arrays_;
  std::vector<int> uses_;
  std::vector<char> fused_;  // nodes inside a contraction: not evaluated by themselves
};

}  // namespace planproof::shape_reduction

#include "shape_reduction/block_evaluator_impl.h"
#include "shape_reduction/block_evaluator_reads.h"
#include "shape_reduction/block_evaluator_sums.h"

#endif  // PLANPROOF_SHAPE_REDUCTION_BLOCK_EVALUATOR_H_
