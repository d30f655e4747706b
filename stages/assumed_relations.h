// Verification under assumptions, and what a result says of them.
#ifndef PLANPROOF_STAGES_ASSUMED_RELATIONS_H_
#define PLANPROOF_STAGES_ASSUMED_RELATIONS_H_

#include <chrono>
#include <string>
#include <vector>

#include "lineage/assumptions.h"
#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::stages {

// Decides the problem, to which CheckPlan does not object, under options.assume. `known`: what has
// been found so far. Every result lists all of the assumptions, in Result::assumed.
Result VerifyAssuming(const lineage::Problem& problem, const VerifyOptions& options,
                      std::chrono::steady_clock::time_point start, Result known);

// What a result lists of them, before anything is decided.
std::vector<AssumedRelation> DescribeAssumptions(const lineage::Problem& problem,
                                                 const std::vector<lineage::Assumption>& all);

// "PROVED", "PROVED under 2 assumptions": what people are told, wherever a verdict is shown.
std::string VerdictInWords(const Result& result);
const char* NeedName(AssumedRelation::Need need);  // "used", "provable", "no effect"
// One line: what is assumed, where it is stated and why, and whether it may be left out.
std::string InWords(const AssumedRelation& assumed);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_ASSUMED_RELATIONS_H_
