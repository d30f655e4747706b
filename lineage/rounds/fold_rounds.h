// Folds rounds: what a ring does round by round becomes one operator with a coordinate.
//
// In round r rank c of a ring of n holds the piece of rank c - r. So a family of tensors, one of
// each round (rounds.h), is one tensor over ranks and *pieces*: of rank c and piece p what round
// c - p (mod n) makes. Pieces are read where they come from, sums over rounds are sums over pieces,
// and sums that travel with a piece are sums over ranks: nothing is left that counts rounds, and
// the work of a proof does not depend on their number.
//
// Maxima that rounds carry on are generalised: in each round that of all pieces, plus a value that
// can be anything, an input of the model that the model does not read. What holds for all values
// holds for those that make it the maximum so far; where that of all pieces has a value, so have
// these.
#ifndef PLANPROOF_LINEAGE_ROUNDS_FOLD_ROUNDS_H_
#define PLANPROOF_LINEAGE_ROUNDS_FOLD_ROUNDS_H_

#include <optional>

#include "lineage/lineage.h"

namespace planproof::lineage::rounds {

// The problem with the rounds of its rings folded: if all that it requires holds, so does all that
// the given one requires. Not the other way round. It has no schedule. Nothing if there are no
// rounds to fold.
std::optional<Problem> FoldRounds(const Problem& problem);

}  // namespace planproof::lineage::rounds

#endif  // PLANPROOF_LINEAGE_ROUNDS_FOLD_ROUNDS_H_
