// Makes index functions with explicit coordinates, of which one counts the pieces of a ring.
#ifndef PLANPROOF_LINEAGE_ROUNDS_PIECE_FUNCTIONS_H_
#define PLANPROOF_LINEAGE_ROUNDS_PIECE_FUNCTIONS_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/index_function.h"

namespace planproof::lineage::rounds {

// y is x with dimension `from` of it as its dimension `to`; the others keep their order.
absl::StatusOr<sdfg::IndexFunction> MoveDimension(const sdfg::Shape& shape, sdfg::DType dtype,
                                                  std::ptrdiff_t from, std::ptrdiff_t to);

// y = x + z, where z has not dimension `without` of x.
absl::StatusOr<sdfg::IndexFunction> AddBroadcast(const sdfg::Shape& shape, sdfg::DType dtype,
                                                 size_t without);

// y[c.., i..] = sum over p: terms[c.., p, i..] * exp(scales[c.., p, m..] - last[c.., m..]): `axes`
// coordinates c, and each of m that dimension of i which `dims` says, 0 where it says -1.
absl::StatusOr<sdfg::IndexFunction> RescaledSum(const sdfg::Shape& terms, const sdfg::Shape& scales,
                                                sdfg::DType dtype, size_t axes,
                                                const std::vector<int>& dims);

// y[c.., p, i..] = x[c.., i..] * exp(scales[c.., p, m..] - last[c.., m..]), likewise.
absl::StatusOr<sdfg::IndexFunction> ScaledByPiece(const sdfg::Shape& x, const sdfg::Shape& scales,
                                                  sdfg::DType dtype, size_t axes,
                                                  const std::vector<int>& dims);

}  // namespace planproof::lineage::rounds

#endif  // PLANPROOF_LINEAGE_ROUNDS_PIECE_FUNCTIONS_H_
