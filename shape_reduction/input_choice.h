// Chooses block-constant inputs for the logical graph.
//
// Any choice is legitimate: it only restricts the inputs for which the two graphs are compared, and
// a difference found is one of the full-size plan. What matters is that the choice tells wrong
// plans from right ones: dimensions are cut at the shard bounds of the plan (a few of them where
// there are many) and at random places, values are small, mixed in sign, sometimes zero or near a
// literal of the graphs, and parameters are scaled so that contractions over thousands of equal
// elements stay moderate. All values are exact in double precision, and such as the element type
// has (element_values.h).
#ifndef PLANPROOF_SHAPE_REDUCTION_INPUT_CHOICE_H_
#define PLANPROOF_SHAPE_REDUCTION_INPUT_CHOICE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/input_ranges.h"
#include "shape_reduction/reduced_evaluator.h"

namespace planproof::shape_reduction {

// How finely to cut, how wild the values.
struct ChoiceOptions {
  int max_bounds = 3;     // shard bounds per extent
  int random_cuts = 1;    // further cuts per extent, anywhere; -1: no cut where there is no bound
  bool derived = false;   // also at the bounds of produced and required tensors
  int64_t fine = 0;       // extents up to this are cut everywhere, where that gives few blocks
  bool literals = false;  // values near literals of the graphs
  bool compared = false;  // integers with which operators compare (compared_values.h)
  uint64_t centre = 0;    // which literal whole tensors lie near
  bool wild = false;      // no scaling of parameters by their fan-in
  bool faint = false;     // parameters near zero, so that gradients are small: nothing is clipped
  double faintness = 0x1p-8;  // how near: by this they are scaled down
  bool interior = false;      // what is not negative is positive, as the operand of a square root
};

// The choice that belongs to a seed: from few cuts and tame values to more cuts, values near
// literals, and parameters that are not scaled down, or to very little. The low half counts
// attempts, the high half makes cuts coarser.
ChoiceOptions OptionsOfSeed(uint64_t seed);
inline constexpr int kCoarseSeedShift = 32;
// The seed of the inputs on which the model was run, if it was; else one like others.
inline constexpr uint64_t kRecordedSeed = ~uint64_t{0};

class InputChooser {
 public:
  InputChooser(const lineage::Problem& problem, ProgramCache* programs);

  // One value per logical tensor without producer, null for all others. Equal seeds and options
  // give equal inputs.
  std::vector<BlockTensorPtr<double>> Choose(uint64_t seed, const ChoiceOptions& options) const;

  // For other choices of the same inputs.
  using Random = std::mt19937_64;
  static bool IsSource(const sdfg::Tensor& tensor);  // its value is chosen
  // The power of two by which a parameter is scaled down, so that contractions stay moderate.
  double ScaleOf(sdfg::TensorId id) const;
  const InputRanges& ranges() const { return ranges_; }
  // Equal elements along the dimension may be a tie.
  bool Untied(sdfg::TensorId id, size_t dim) const;
  // Changes the values chosen for a real tensor to meet its premises and to avoid ties; where truth
  // values are meant, positive numbers become true.
  void MeetPremises(sdfg::TensorId id, double scale, Random* random,
                    BlockTensor<double>* tensor) const;
  // The same for the values chosen for integers.
  void MeetRowPremises(sdfg::TensorId id, Random* random, const std::vector<PartitionPtr>& dims,
                       std::vector<int64_t>* values) const;

 private:
  using SlicesSeen = std::set<std::vector<int64_t>>;
  void FindBounds();
  void AddBounds(const sdfg::Tensor& tensor, const lineage::Lineage& lineage, SlicesSeen* seen);
  void FindLiterals();
  void FindRanked(ProgramCache* programs);
  int64_t BlocksIfFine(int64_t fine) const;
  BlockTensorPtr<double> ChooseTensor(sdfg::TensorId id, const ChoiceOptions& options,
                                      const std::map<int64_t, PartitionPtr>& partitions,
                                      Random* random) const;
  void ChooseReals(sdfg::TensorId id, const ChoiceOptions& options, Random* random,
                   BlockTensor<double>* tensor) const;
  bool IsDeclared(sdfg::TensorId id, lineage::Problem::InputPremise::Kind kind) const;
  void MeetTruths(sdfg::TensorId id, Random* random, BlockTensor<double>* tensor) const;
  void ChooseIntegers(sdfg::TensorId id, const ChoiceOptions& options, Random* random,
                      BlockTensor<double>* tensor,
                      const std::map<int64_t, PartitionPtr>& partitions) const;

  const std::optional<lineage::Problem> named_;  // if the model names no parameters
  const lineage::Problem& problem_;
  // By extent: of the plan's inputs; of these and of all produced and required tensors.
  std::map<int64_t, std::set<int64_t>> bounds_, all_bounds_;
  const InputRanges ranges_;
  std::vector<uint32_t> declared_;  // by logical tensor: kinds of premises, as bits
  std::vector<double> fan_in_;      // by logical tensor
  std::vector<double> literals_;
  // Dimensions of logical inputs whose elements a top-k choice compares.
  std::set<std::pair<sdfg::TensorId, size_t>> ranked_;
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_INPUT_CHOICE_H_
