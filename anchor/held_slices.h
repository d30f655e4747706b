// Looks for slices of a part along one dimension among those of the whole: a merged or converted
// weight that was cut as one, data that are cut in another order.
#ifndef PLANPROOF_ANCHOR_HELD_SLICES_H_
#define PLANPROOF_ANCHOR_HELD_SLICES_H_

#include <optional>
#include <string>

#include "anchor/held_tensor.h"

namespace planproof::anchor {

// "places 0:2, 4:6 of dimension 0 of the whole, and its place is 0:4"; nothing if the slices stand
// nowhere, stand where they should, or are too few and too rough to tell.
std::optional<std::string> OtherSlices(const HeldTensor& tensor, const HeldTensor::Part& part);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_HELD_SLICES_H_
