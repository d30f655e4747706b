// Guesses the number that a tensor's definition is to be multiplied by, from the coefficients of
// the two terms that are compared. A guess is verified by whoever asked.
#ifndef PLANPROOF_INFERENCE_FACTOR_GUESS_H_
#define PLANPROOF_INFERENCE_FACTOR_GUESS_H_

#include <vector>

#include "solver/term.h"

namespace planproof::inference {

// Guesses what the terms are times what is defined, the likeliest first, none twice: terms that are
// written alike begin with the same one, and of those that are not the least coefficients
// correspond. 1 is among them.
std::vector<solver::Rational> FactorGuesses(const solver::Terms& terms,
                                            const solver::Terms& defined);

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_FACTOR_GUESS_H_
