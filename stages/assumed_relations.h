// Verifies under assumptions, and says what a result means for the problem as it was read.
#ifndef PLANPROOF_STAGES_ASSUMED_RELATIONS_H_
#define PLANPROOF_STAGES_ASSUMED_RELATIONS_H_

#include <cstddef>
#include <optional>
#include <string>

#include "lineage/assumptions.h"
#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"
#include "stages/run_context.h"

namespace planproof::stages {

// The problem, to which CheckPlan does not object, under options.assume, which are not empty.
// known->assumed lists all of them, and known->outputs counts what is required then. Nothing where
// one of them is refused: known->verdict and a violation say so.
std::optional<lineage::AssumedProblem> UnderAssumptions(const lineage::Problem& problem,
                                                        const VerifyOptions& options,
                                                        Result* known);

// What the result of that problem means for the problem as it was read, which requires so many
// `outputs`: only these are refuted, and of a proof it is said which assumptions the rest implies.
// Every result lists all of the assumptions, in Result::assumed. `known`: what was known before it
// was decided.
Result ConsiderAssumptions(const lineage::AssumedProblem& assuming, size_t outputs,
                           const RunContext& context, const Result& known, Result result);

// "PROVED", "PROVED under 2 assumptions and 1 restriction": what people are told, wherever a
// verdict is shown. A plan under restrictions has no value where they do not hold.
std::string VerdictInWords(const Result& result);
const char* NeedName(AssumedRelation::Need need);  // "used", "provable", "no effect"
// One line: what is assumed, where it is stated and why, and whether it may be left out.
std::string InWords(const AssumedRelation& assumed);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_ASSUMED_RELATIONS_H_
