// Derives the partitions of a program's variables from those of its inputs.
#ifndef PLANPROOF_SHAPE_REDUCTION_PROGRAM_PARTITION_H_
#define PLANPROOF_SHAPE_REDUCTION_PROGRAM_PARTITION_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "shape_reduction/partition.h"
#include "shape_reduction/scalar_program.h"

namespace planproof::shape_reduction {

// An integer that depends on a comparison which intervals could not decide: not defined.
inline constexpr int64_t kInvalidInt = std::numeric_limits<int64_t>::min();
// A valid index that is not known: the choice of experts where the scores' enclosures overlap.
inline constexpr int64_t kUnknownInt = std::numeric_limits<int64_t>::min() + 1;
inline constexpr bool IsKnownInt(int64_t value) { return value > kUnknownInt; }

using PartitionPtr = std::shared_ptr<const DimPartition>;
using PartitionsByExtent = std::map<int64_t, PartitionPtr>;

// What the derivation must know of an input: its partition per dimension and, for an integer
// tensor, its value per block.
struct InputBlocks {
  std::vector<PartitionPtr> dims;
  const std::vector<int64_t>* ints = nullptr;
};

// Comparisons of index variables with each other (a causal mask, key against query), of programs
// whose values are enclosed.
struct LooseComparisons {
  std::vector<char> nodes;  // by node: it may be undecided on a block
  // Where no operand cuts such an index (a mask made of nothing), it is cut so.
  const PartitionsByExtent* otherwise = nullptr;
};

// The coarsest partitions (up to the limits of the pullback) on whose blocks the program's body and
// premises are constant, by variable. The output's partition is that of its dimension variables;
// the partition of a summed variable tells how its sum becomes a weighted one.
//
// With `loose`, for enclosures: a comparison that would cut its indices finely does not, and its
// node is marked. On a block where it is not the same everywhere it is undecided, and the block's
// value must enclose both.
std::vector<DimPartition> DerivePartitions(const ScalarProgram& program,
                                           const std::vector<InputBlocks>& inputs,
                                           LooseComparisons* loose = nullptr);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_PROGRAM_PARTITION_H_
