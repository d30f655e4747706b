// Do the slices that devices hold cover the logical tensor, without unexplained overlap?
#ifndef PLANPROOF_FRONTEND_PLAN_COVER_H_
#define PLANPROOF_FRONTEND_PLAN_COVER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lineage/lineage.h"

namespace planproof::plan {

// The slices of all instances of one parallel tensor.
struct CoverBox {
  std::string holder;                  // for messages: "program stage0"
  std::vector<lineage::IndexMap> map;  // per logical dimension
  sdfg::Shape extents;                 // of the parallel tensor, coordinates included
  bool overlap = false;                // partial overlap is declared
};

// Errors (InvalidArgument): a range of a dimension that nobody holds; two slices that overlap
// without being equal and without `overlap`. A dimension whose map is too irregular to enumerate
// (above 2^24 indices) is Unimplemented.
absl::Status CheckCoverOf(const sdfg::Shape& logical, const std::vector<CoverBox>& boxes);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_COVER_H_
