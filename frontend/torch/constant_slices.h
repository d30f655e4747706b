// Finds constants of a rank that are slices of the model's.
//
// A mask of the whole batch is a constant of the model, its rows are constants of the ranks. That a
// constant is a slice is seen by comparing all its values, so nothing is assumed; which slice,
// where several have these values, is a guess: the one that the rank has of some input of the
// batch.
#ifndef PLANPROOF_FRONTEND_TORCH_CONSTANT_SLICES_H_
#define PLANPROOF_FRONTEND_TORCH_CONSTANT_SLICES_H_

#include <optional>
#include <set>
#include <vector>

#include "frontend/torch/trace.h"
#include "sdfg/index_map.h"

namespace planproof::frontend::torch {

// Shapes in which the program looks at all of a storage, row-major.
std::set<sdfg::Shape> ShapesOf(const Trace& trace, StorageId storage);

// A constant of the model: all its elements are listed.
struct ListedWhole {
  const Storage* storage = nullptr;
  std::set<sdfg::Shape> shapes;
};

// Where the elements of the rank's constant are in the whole one: of each, in the order of memory,
// the position in memory there. One number everywhere, and numbers that
// count up, are a slice only where an input is one.
std::optional<sdfg::IndexMap> SliceOf(const ListedWhole& whole, const Trace& rank,
                                      StorageId constant);

// Storages of one number everywhere, of which nothing is written during the iteration.
std::vector<StorageId> UniformConstants(const Trace& trace);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_CONSTANT_SLICES_H_
