// An integer map between index spaces: for each dimension of the target one expression over the
// dimensions of the source, affine up to division and remainder by constants (boxes in digits).
#ifndef PLANPROOF_SDFG_INDEX_MAP_H_
#define PLANPROOF_SDFG_INDEX_MAP_H_

#include <cstdint>
#include <vector>

namespace planproof::sdfg {

// scale * (floor(i_dim / div) mod mod); mod = 0 means no reduction.
struct IndexTerm {
  int32_t dim = 0;  // dimension of the source, coordinates included
  int64_t scale = 1;
  int64_t div = 1;
  int64_t mod = 0;
};

// constant + sum of terms
struct IndexMap {
  int64_t constant = 0;
  std::vector<IndexTerm> terms;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_INDEX_MAP_H_
