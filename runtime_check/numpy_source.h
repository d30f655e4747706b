// Writes operators as NumPy statements, from their index functions alone.
//
// A statement computes one output at all coordinates. Every index variable becomes an axis of
// NumPy's broadcasting (numpy.ogrid), sums and maxima reduce axes; sums of products of elements
// become an einsum, and where every operand is read at the output's own index the names stand
// alone. So an operator needs no rule of its own, and none can contradict its index function.
#ifndef PLANPROOF_RUNTIME_CHECK_NUMPY_SOURCE_H_
#define PLANPROOF_RUNTIME_CHECK_NUMPY_SOURCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sdfg/graph.h"
#include "sdfg/index_map.h"

namespace planproof::runtime_check {

// The most elements that a statement may make on its way.
inline constexpr int64_t kMostNumpyElements = int64_t{1} << 25;

// A function that statements may call: the indices of a row, the largest first, of the `kept` best
// of so many groups; a group counts as the sum of its `best` largest.
inline constexpr char kNumpyChoice[] = "choose";
inline constexpr char kNumpyChoiceSource[] =
    R"(def choose(row, groups, kept, best):
    members = np.where(np.isnan(row), -np.inf, row).reshape(groups, -1)
    scores = -np.sort(-members, axis=1)[:, :best].sum(axis=1)
    members[np.argsort(-scores, kind="stable")[kept:]] = -np.inf
    return np.argsort(-members.reshape(-1), kind="stable")
)";

// Lines that make the tensor `outputs[output]` of the operator; `names` by tensor of the graph.
// Nothing if the operator has a function without a meaning in NumPy, or needs too much memory.
std::optional<std::vector<std::string>> NumpySource(const sdfg::Graph& graph,
                                                    const sdfg::Operator& op, int output,
                                                    const std::vector<std::string>& names);

// `target` of this shape, whose elements are those of `source` at the map, all of which exist.
std::vector<std::string> NumpyElements(const std::string& target, const sdfg::Shape& shape,
                                       const std::string& source,
                                       const std::vector<sdfg::IndexMap>& map,
                                       const sdfg::Shape& source_shape);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_NUMPY_SOURCE_H_
