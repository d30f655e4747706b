// Says where a search for a counterexample is to look, when it is known which claim failed and
// where.
#ifndef PLANPROOF_SHAPE_REDUCTION_FOCUS_H_
#define PLANPROOF_SHAPE_REDUCTION_FOCUS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "lineage/lineage.h"

namespace planproof::shape_reduction {

struct Focus {
  sdfg::TensorId parallel = sdfg::kNone;  // it was not shown to be what its lineage says,
  lineage::Lineage lineage;               // namely this (kind kFull),
  // at these indices: low <= index < high by dimension, coordinates first; empty: anywhere.
  std::vector<std::pair<int64_t, int64_t>> box;
  // Logical tensors of which the difference is made, as far as that is known: they must not vanish.
  std::vector<sdfg::TensorId> mentioned;
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_FOCUS_H_
