// An integer map between index spaces: for each dimension of the target one expression over the
// dimensions of the source, affine up to division and remainder by constants (boxes in digits).
#ifndef PLANPROOF_SDFG_INDEX_MAP_H_
#define PLANPROOF_SDFG_INDEX_MAP_H_

#include <cstdint>
#include <vector>

namespace planproof::sdfg {

// scale * (floor((i_dim + offset) / div) mod mod); mod = 0 means no reduction, and there is then no
// offset. 0 <= offset < div * mod: what rank r of a ring holds is part (r + offset) mod mod.
struct IndexTerm {
  int32_t dim = 0;  // dimension of the source, coordinates included
  int64_t scale = 1;
  int64_t div = 1;
  int64_t mod = 0;
  int64_t offset = 0;

  bool operator==(const IndexTerm&) const = default;

  // The digit, before it is scaled.
  int64_t At(int64_t index) const {
    const int64_t part = (index + offset) / div;
    return mod > 0 ? part % mod : part;
  }
  // An upper bound of the digits of a dimension of this extent, which is positive; without an
  // offset the largest of them.
  int64_t Most(int64_t extent) const {
    const int64_t part = (extent - 1 + offset) / div;
    return mod > 0 && part > mod - 1 ? mod - 1 : part;
  }
};

// constant + sum of terms
struct IndexMap {
  int64_t constant = 0;
  std::vector<IndexTerm> terms;

  bool operator==(const IndexMap&) const = default;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_INDEX_MAP_H_
