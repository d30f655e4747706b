// Checks that the slices that devices hold cover the logical tensor, without unexplained overlap.
#ifndef PLANPROOF_LINEAGE_COVER_H_
#define PLANPROOF_LINEAGE_COVER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lineage/lineage.h"

namespace planproof::lineage {

// The slices of all instances of one parallel tensor: one slice per coordinate of its axes.
struct CoverBox {
  std::string holder;         // for messages: "program stage0"
  std::vector<IndexMap> map;  // per logical dimension
  sdfg::Shape extents;        // of the parallel tensor, coordinates included
  int axes = 0;               // leading dimensions that are coordinates
  bool overlap = false;       // partial overlap is declared
};

// The slices of one box are equal or disjoint, and hold each element once, but for copies by
// indices that the map does not mention. Two boxes hold the same part of the tensor, cut as they
// like, or any slice of the one is equal to or disjoint from any of the other. Boxes with `overlap`
// may do as they like. Errors (InvalidArgument): a range of a dimension that nobody holds;
// undeclared overlap. A dimension whose map is too irregular to enumerate (above 2^24 indices) is
// Unimplemented.
absl::Status CheckCoverOf(const sdfg::Shape& logical, std::vector<CoverBox> boxes);

// The same by visiting every element, for maps whose digits depend on each other; of boxes that are
// not empty. Unimplemented above 2^24 elements.
absl::Status CheckCoverByEnumeration(const sdfg::Shape& logical,
                                     const std::vector<const CoverBox*>& boxes);

// Of two boxes, which may be one.
absl::Status OverlapError(const CoverBox& a, const CoverBox& b);

}  // namespace planproof::lineage

#endif  // PLANPROOF_LINEAGE_COVER_H_
