// Represents constant multiples of logical tensors, as lineage mentions them.
#ifndef PLANPROOF_LINEAGE_MULTIPLE_H_
#define PLANPROOF_LINEAGE_MULTIPLE_H_

#include "sdfg/graph.h"
#include "solver/rational.h"

namespace planproof::lineage {

// Adds factor * tensor, for lineage only (OperatorKind::kMultiple), to the logical graph, and gives
// the tensor. The factor is not 0, the tensor one of real numbers.
sdfg::TensorId AddMultiple(sdfg::TensorId tensor, const solver::Rational& factor,
                           sdfg::Graph* logical);

// What such a tensor is a multiple of, and by which factor; the tensor itself and 1 for others.
struct Multiple {
  sdfg::TensorId of = sdfg::kNone;
  solver::Rational factor = 1;
};
Multiple AsMultiple(const sdfg::Graph& logical, sdfg::TensorId tensor);

}  // namespace planproof::lineage

#endif  // PLANPROOF_LINEAGE_MULTIPLE_H_
