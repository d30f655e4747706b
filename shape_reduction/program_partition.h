// Partitions of a program's variables, derived from the partitions of its inputs.
#ifndef PLANPROOF_SHAPE_REDUCTION_PROGRAM_PARTITION_H_
#define PLANPROOF_SHAPE_REDUCTION_PROGRAM_PARTITION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "shape_reduction/partition.h"
#include "shape_reduction/scalar_program.h"

namespace planproof::shape_reduction {

using PartitionPtr = std::shared_ptr<const DimPartition>;

// What the derivation must know of an input: its partition per dimension and, for an integer
// tensor, its value per block.
struct InputBlocks {
  std::vector<PartitionPtr> dims;
  const std::vector<int64_t>* ints = nullptr;
};

// The coarsest partitions (up to the limits of the pullback) on whose blocks the program's body and
// premises are constant, by variable. The output's partition is that of its dimension variables;
// the partition of a summed variable tells how its sum becomes a weighted one.
std::vector<DimPartition> DerivePartitions(const ScalarProgram& program,
                                           const std::vector<InputBlocks>& inputs);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_PROGRAM_PARTITION_H_
