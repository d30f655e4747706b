// Says which values the elements of an input can have, each by itself.
#ifndef PLANPROOF_SHAPE_REDUCTION_ELEMENT_VALUES_H_
#define PLANPROOF_SHAPE_REDUCTION_ELEMENT_VALUES_H_

#include <cstdint>
#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/block_tensor.h"

namespace planproof::shape_reduction {

// Those of its element type that meet the premises declared of single elements: a truth value is 0
// or 1, an integer a whole number of its type. Ids and counts fit into 32 bits
// (docs/plan-format.md) unless a range says otherwise. Floating types are the real numbers.
struct ElementDomain {
  enum class Kind : uint8_t { kReal, kTruth, kInteger };
  Kind kind = Kind::kReal;
  int64_t low = 0, high = 0;  // low <= value < high; of reals no bounds
  bool nonzero = false;       // 0 is none of them

  bool Contains(int64_t value) const {
    return value >= low && value < high && !(nonzero && value == 0);
  }
  bool IsEmpty() const {
    return kind != Kind::kReal && (low >= high || (nonzero && low == 0 && high == 1));
  }
  // Whether each element is one of them, held as the type holds them.
  bool Admits(const BlockTensor<double>& tensor) const;
  // The value of the domain that is nearest; it is not empty.
  int64_t Nearest(int64_t value) const;
};

// Of the tensors of the logical graph, as if none were computed.
std::vector<ElementDomain> DomainsOf(const lineage::Problem& problem);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_ELEMENT_VALUES_H_
