// Finds in the numbers, without guessing, why a rank holds other ones than it is said to.
#ifndef PLANPROOF_ANCHOR_HELD_CAUSES_H_
#define PLANPROOF_ANCHOR_HELD_CAUSES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "anchor/held_tensor.h"

namespace planproof::anchor {

struct HeldFinding {
  enum class Kind : uint8_t {
    kOtherPart,    // the place of another rank
    kTransposed,   // its place transposed, or its place in the whole transposed
    kOtherPlaces,  // other slices along a dimension, or the same in another order
    kMultiple,     // a number times its place, or times one of the others here
    kOtherTensor,  // the place that it should have, in another tensor of the reference
    kSum,          // its place and one of the others here, added up
    kSomeDiffer,   // its place but for some elements
    kUnrelated,    // hardly an element is that of its place, and it stands nowhere else
  };
  Kind kind = Kind::kUnrelated;
  std::string text;  // follows "rank 1 holds"
};

// Tells of a part that differs where its numbers stand in the reference, as such, times a number,
// or added to its place. `others`: further tensors of the reference, whose numbers it may hold.
HeldFinding FindHeld(const HeldTensor& tensor, size_t part,
                     const std::vector<const HeldTensor*>& others);

// The usual cause of a finding about the first of all parts that differ (positions in `differing`);
// may be empty.
std::string UsualCause(const HeldTensor& tensor, const std::vector<size_t>& differing,
                       HeldFinding::Kind kind);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_HELD_CAUSES_H_
