// Joins a maximum over a box with what stands at the edge of the box: an uneven part of a row.
#ifndef PLANPROOF_SOLVER_EXTENDED_MAXIMUM_H_
#define PLANPROOF_SOLVER_EXTENDED_MAXIMUM_H_

#include <optional>

#include "solver/term.h"

namespace planproof::solver {

// Rule extend-maximum: the maximum of the atom, a maximum over a box, and of `other` as one atom,
// if `other` is what the maximum's body is in the slice of the box that is next in one dimension,
// or that slice's maximum. Nothing if it is not.
std::optional<Atom> ExtendedMaximum(Arena* arena, AtomId maximum, PolyId other);

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_EXTENDED_MAXIMUM_H_
