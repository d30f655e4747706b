// Builds the map of a plan: layers x kinds of operators x ranks, by what is known of them.
#ifndef PLANPROOF_REPORT_LAYER_MAP_H_
#define PLANPROOF_REPORT_LAYER_MAP_H_

#include <string>

#include "report/ranks.h"
#include "report/report.h"
#include "stages/account.h"

namespace planproof::report {

// The layer that a name speaks of: "layers.12" of "stage1:layers.12.q.part", that is the path up to
// the first number that something follows; empty where there is none.
std::string LayerOf(const std::string& name);

// What the state of a claim means for what it is about, in a plan of this verdict.
State StateOf(stages::Stage::State state, stages::Verdict verdict);

// Operators have the state of the claims whose stages they belong to, those of a refuted stage on
// the ranks that are wrong.
LayerMap MapOf(const stages::Result& result, const stages::Account& account, RanksOfPlan* ranks);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_LAYER_MAP_H_
