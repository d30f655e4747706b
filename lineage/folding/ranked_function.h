// Makes one index function for all ranks of a group: a coordinate more, and constants that depend
// on it.
#ifndef PLANPROOF_LINEAGE_FOLDING_RANKED_FUNCTION_H_
#define PLANPROOF_LINEAGE_FOLDING_RANKED_FUNCTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/index_function.h"
#include "sdfg/index_map.h"

namespace planproof::lineage::folding {

// Where coordinates go. Each output gets a dimension of extent `extents[c]` at position
// `output[c]`, ascending; input i is read at coordinate c at position p for each (p, c) of
// `inputs[i]`, ascending in p. The rank is the last coordinate.
struct CoordinateLayout {
  std::vector<int64_t> extents;
  std::vector<int> output;
  std::vector<std::vector<std::pair<int, int>>> inputs;
};

// variants[r] at every rank r; they differ in integer constants at most, and in what that makes
// them assume (an integer to which 0 is added does not overflow). Nothing if they differ otherwise,
// or constants do not fit (digits.h). What comes out has been checked: InstanceOf gives each
// variant back, but for its assumptions: the folded function makes those of all variants.
std::optional<sdfg::IndexFunction> FoldRanks(
    const std::vector<const sdfg::IndexFunction*>& variants, const CoordinateLayout& layout);

// The function at one rank, without coordinates. InvalidArgument if it reads anything elsewhere
// than at its own coordinates. `any_rank` (if not null) becomes true if the rank stands nowhere but
// in these, so that the function is the same at every rank.
absl::StatusOr<sdfg::IndexFunction> InstanceOf(const sdfg::IndexFunction& folded,
                                               const CoordinateLayout& layout, int64_t rank,
                                               bool* any_rank = nullptr);

// The same function, with the simplifications that building it makes: what InstanceOf gives is
// compared with this.
absl::StatusOr<sdfg::IndexFunction> Rebuilt(const sdfg::IndexFunction& function);

// All of a function but its assumptions, as bytes.
std::string ContentOf(sdfg::IndexFunction function);

// Whether the folded function assumes whatever this one does.
bool AssumesAllOf(const sdfg::IndexFunction& folded, const sdfg::IndexFunction& one);

}  // namespace planproof::lineage::folding

#endif  // PLANPROOF_LINEAGE_FOLDING_RANKED_FUNCTION_H_
