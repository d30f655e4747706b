// Finds where a value that certainly is undefined comes from.
#ifndef PLANPROOF_SHAPE_REDUCTION_UNDEFINED_ORIGIN_H_
#define PLANPROOF_SHAPE_REDUCTION_UNDEFINED_ORIGIN_H_

#include <functional>
#include <string>
#include <vector>

#include "sdfg/graph.h"
#include "shape_reduction/block_tensor.h"
#include "shape_reduction/domain_interval.h"

namespace planproof::shape_reduction {

struct UndefinedOrigin {
  sdfg::TensorId tensor = sdfg::kNone;  // some of its elements are undefined, its operands are not
  UndefinedBy by = UndefinedBy::kNothing;
};

// The first element of the tensor that certainly is undefined says by what; kNothing if none is.
UndefinedBy AnyUndefined(const BlockTensor<Interval>& tensor);

// Follows undefined values from `root` to the first operator that makes one. `undefined` says of
// each tensor whether some of its elements certainly are. Not followed are the `proved` tensors,
// those that are shown to be what their lineage says wherever they are defined: that they are not
// defined everywhere is a restriction of that proof, listed with it, and no difference.
UndefinedOrigin FindUndefinedOrigin(const sdfg::Graph& graph, sdfg::TensorId root,
                                    const std::vector<sdfg::TensorId>& proved,
                                    const std::function<UndefinedBy(sdfg::TensorId)>& undefined);

// "root of a negative number"
std::string InWords(UndefinedBy by);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_UNDEFINED_ORIGIN_H_
