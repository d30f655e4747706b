// Says whether it is worth while to look for a proof that a quotient of sums is zero: evaluates it
// at one point, modulo a prime. It decides nothing.
#ifndef PLANPROOF_SOLVER_VANISHING_H_
#define PLANPROOF_SOLVER_VANISHING_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "solver/term.h"

namespace planproof::solver {

// Gives every atom a number, sums the sum of the numbers of the pieces into which they are cut at
// the bounds of all that have their body: whatever is a quotient of these that is identically 0 is
// 0 here.
class PointOfTerms {
 public:
  PointOfTerms(const Arena& arena, PolyId p);
  uint64_t Of(PolyId p);

 private:
  void Collect(PolyId p);
  uint64_t OfAtom(AtomId id);
  uint64_t OfSum(const Atom& sum);

  const Arena& arena_;
  absl::flat_hash_set<AtomId> seen_;
  std::map<std::pair<MonoId, size_t>, std::vector<int64_t>> cuts_;
  absl::flat_hash_map<AtomId, uint64_t> values_;
};

// False: no rule that takes atoms and pieces of sums for unknowns finds that p is zero.
bool MayVanish(const Arena& arena, PolyId p);

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_VANISHING_H_
