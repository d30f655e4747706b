// What makes a rank hold other numbers than it is said to: found in the numbers, not guessed.
#ifndef PLANPROOF_ANCHOR_HELD_CAUSES_H_
#define PLANPROOF_ANCHOR_HELD_CAUSES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "anchor/held_tensor.h"

namespace planproof::anchor {

struct HeldFinding {
  enum class Kind : uint8_t {
    kOtherPart,    // what its place is on another rank
    kTransposed,   // its place, transposed
    kOtherPlaces,  // other slices along a dimension, or the same in another order
    kMultiple,     // its place times a number
    kOtherTensor,  // what the reference has in another tensor
    kSomeDiffer,   // its place but for some elements
    kUnrelated,    // hardly an element is that of its place, and it stands nowhere else
  };
  Kind kind = Kind::kUnrelated;
  std::string text;  // follows "rank 1 holds"
};

// Of one part that differs: where its numbers stand in the reference. `others`: further tensors of
// the reference, whose numbers it may hold.
HeldFinding WhatPartHolds(const HeldTensor& tensor, size_t part,
                          const std::vector<const HeldTensor*>& others);

// What usually makes it, of all parts that differ (positions in `parts`) as the first of them; may
// be empty.
std::string UsualCause(const HeldTensor& tensor, const std::vector<size_t>& differing,
                       HeldFinding::Kind kind);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_HELD_CAUSES_H_
