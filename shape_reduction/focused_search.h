// Searches for a counterexample to claims that failed at known places of a plan of any size.
#ifndef PLANPROOF_SHAPE_REDUCTION_FOCUSED_SEARCH_H_
#define PLANPROOF_SHAPE_REDUCTION_FOCUSED_SEARCH_H_

#include <vector>

#include "shape_reduction/focus.h"
#include "shape_reduction/witness.h"

namespace planproof::shape_reduction {

// Both graphs are evaluated from their inputs (focused_choice.h), in enclosing intervals of doubles
// only: a required relation whose two enclosures are disjoint at some element is refuted at once.
// No lineage and no claim is believed. What is compared are the relations nearest to a focus.
// `focuses`: earliest first. Of the options attempts, time_budget_s, max_elements and
// max_printed_values count. Outcome: kConfirmed, kNone or kExhausted.
Witness SearchFocused(const lineage::Problem& problem, const std::vector<Focus>& focuses,
                      const WitnessOptions& options);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_FOCUSED_SEARCH_H_
