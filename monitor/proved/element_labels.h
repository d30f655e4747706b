// Labels the elements of an operator's result by what they are computed from.
#ifndef PLANPROOF_MONITOR_PROVED_ELEMENT_LABELS_H_
#define PLANPROOF_MONITOR_PROVED_ELEMENT_LABELS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sdfg/index_function.h"

namespace planproof::monitor {

// A label of both; of labels that are not equal another one, as far as 64 bits tell.
uint64_t Mixed(uint64_t label, uint64_t other);

// The next index in row-major order; from the last one the first.
void Advance(const sdfg::Shape& shape, std::vector<int64_t>* index);

// Labels of one output, given those of the inputs, for a function that moves elements or computes
// each from few. Elements that are only moved keep their label. Others have one made of `seed`, the
// operations and the labels of their operands; and, where several operations may be fused in some
// places and not in others, of their position. `exact`: they are not fused, as those of
// collectives. Nothing for other functions.
std::optional<std::vector<uint64_t>> LabelsElementByElement(
    const sdfg::IndexFunction& function, int output,
    const std::vector<const std::vector<uint64_t>*>& inputs, uint64_t seed, bool exact);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_ELEMENT_LABELS_H_
