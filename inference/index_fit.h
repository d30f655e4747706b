// Fits one index map to all pieces of a tensor.
#ifndef PLANPROOF_INFERENCE_INDEX_FIT_H_
#define PLANPROOF_INFERENCE_INDEX_FIT_H_

#include <optional>
#include <vector>

#include "sdfg/index_map.h"
#include "solver/term.h"
#include "stages/cells.h"

namespace planproof::inference {

// What the indices of a cell become: one form per dimension of the target, over the cell's symbols.
struct IndexPiece {
  stages::Cell cell;
  std::vector<solver::Affine> forms;
};

// The map that agrees with all pieces of a tensor of this shape: exactly, where there is one piece
// that is all of it; otherwise at sampled indices, from digits of dimensions at which pieces begin,
// shifted around and gated by others. It stays inside the target's shape. A guess.
std::optional<std::vector<sdfg::IndexMap>> FitPieces(const std::vector<IndexPiece>& pieces,
                                                     const sdfg::Shape& shape,
                                                     const sdfg::Shape& target);

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_INDEX_FIT_H_
