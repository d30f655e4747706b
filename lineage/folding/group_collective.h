// Converts collectives of one group between the two forms of sdfg/collectives.h: group form, which
// reads one tensor of each participant, and axis form, which reads one tensor with a rank's
// coordinate.
#ifndef PLANPROOF_LINEAGE_FOLDING_GROUP_COLLECTIVE_H_
#define PLANPROOF_LINEAGE_FOLDING_GROUP_COLLECTIVE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "sdfg/collectives.h"

namespace planproof::lineage::folding {

enum class CollectiveKind : uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kChunk };

// Whether the participants' tensors are reduced to one: their order says nothing then, since sums,
// maxima and minima are commutative.
inline bool IsReduction(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter;
}

// One collective of a group of `size`, as each of its participants runs it.
struct GroupCollective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  sdfg::ReduceKind reduce = sdfg::ReduceKind::kSum;
  int dim = 0;         // gathered, scattered or cut; of the local shape
  int concat_dim = 0;  // all-to-all
  int32_t size = 1;

  bool operator==(const GroupCollective&) const = default;
};

// The participant's function in group form; `position` says which part is its own. A chunk reads
// one tensor, the others `size` tensors of this shape.
absl::StatusOr<sdfg::IndexFunction> GroupForm(const GroupCollective& collective,
                                              const sdfg::Shape& local, sdfg::DType dtype,
                                              int position);

// All participants' functions in one: of a tensor of shape [leading.., size, local..], of which the
// instance at rank r is what participant r reads, the result at rank r is that of position r.
// Proof: both say the same of every element (sdfg/collectives.cc); the sum over the coordinate has
// the terms of the sum over the operands.
absl::StatusOr<sdfg::IndexFunction> AxisForm(const GroupCollective& collective,
                                             const sdfg::Shape& whole, sdfg::DType dtype,
                                             int axis_dim);

// A collective of which `function` is the group form, and the position at which it is; `guess` is
// tried first. Decided by comparing all bytes.
struct Participation {
  GroupCollective collective;
  int position = 0;
};
std::optional<Participation> RecognizeGroupForm(const sdfg::IndexFunction& function, int32_t size,
                                                int guess);

}  // namespace planproof::lineage::folding

#endif  // PLANPROOF_LINEAGE_FOLDING_GROUP_COLLECTIVE_H_
