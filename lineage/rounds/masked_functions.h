// Makes one function of rank and piece of operators of a ring that do the same in each round, but
// for a mask that depends on round and rank.
//
// A causal mask hides keys behind a query. In round r rank c has the keys of piece c - s r (mod n),
// so what it hides is another bound for each rank and round; over ranks and pieces it is one affine
// bound, as positions are.
#ifndef PLANPROOF_LINEAGE_ROUNDS_MASKED_FUNCTIONS_H_
#define PLANPROOF_LINEAGE_ROUNDS_MASKED_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sdfg/index_function.h"

namespace planproof::lineage::rounds {

// The functions of one operator by round, with explicit coordinates.
struct MaskedRounds {
  std::vector<std::shared_ptr<const sdfg::IndexFunction>> functions;
  size_t axes = 0;             // coordinates of the output and of each input, in one order
  size_t ring = 0;             // which of them is the rank
  int64_t count = 0;           // rounds, and ranks
  int64_t step = 1;            // in round r rank c has piece c - step r
  std::vector<bool> of_piece;  // by input of round 0: whether it varies over pieces
};

// y[c.., p, i..] = [L(i) <= a rank + b p + d] f, where each round's function is such a product with
// one f and one form L; f is defined at all indices or y is not. An input that varies over pieces
// has them after its coordinates. Nothing if the bound is not affine at every rank and piece.
std::optional<sdfg::IndexFunction> ProductOfAllRounds(const MaskedRounds& rounds);

// y[c.., p, i..] = max over k of x: of input 0 of round 0's function, with the piece after the
// coordinates, without masks. In each round the function is the maximum of some of these x, those
// of its input `input` from round 1 on, and from then on of the value before, its input `before`.
// In round 0 there is at least one at every index and rank. Nothing if no mask leaves any out.
std::optional<sdfg::IndexFunction> MaximumOfAllRounds(const MaskedRounds& rounds, int input,
                                                      int before);

}  // namespace planproof::lineage::rounds

#endif  // PLANPROOF_LINEAGE_ROUNDS_MASKED_FUNCTIONS_H_
