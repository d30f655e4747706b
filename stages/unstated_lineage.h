// Decides what is done about a plan that states few relations.
#ifndef PLANPROOF_STAGES_UNSTATED_LINEAGE_H_
#define PLANPROOF_STAGES_UNSTATED_LINEAGE_H_

#include <cstdint>

#include "lineage/lineage.h"
#include "stages/cone.h"

namespace planproof::stages {

// How much of what the plan computes for its required outputs (their cone) is not said to be
// anything. Where some of it is, the rest is mostly read by its definition: the rounds of a ring.
enum class Unstated : uint8_t { kNothing, kSome, kAll };
Unstated UnstatedLineage(const lineage::Problem& problem, const Cone& cone);

// The plan has so few tensors that a wrong one is found without relations in between.
bool IsShort(const lineage::Problem& problem);

// A sum that is taken twice is a multiple of something, and a wrong slice is a slice: a relation
// that is inferred says so, and hides the fault from who explains it.
void ForgetWhatFaultsLookLike(lineage::Problem* problem);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_UNSTATED_LINEAGE_H_
