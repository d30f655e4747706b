// Looks for a sample that shows that the premises of a proof can hold together.
#ifndef PLANPROOF_STRATEGY_FINITE_SAMPLE_H_
#define PLANPROOF_STRATEGY_FINITE_SAMPLE_H_

#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::strategy {

// Whether some inputs exist for which all premises hold and both graphs are finite. Appends a
// violation of kind UNKNOWN otherwise. They are looked for in a worker; a search that is lost finds
// none.
bool HasFiniteSample(const lineage::Problem& problem, const stages::VerifyOptions& options,
                     stages::Result* result);

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_FINITE_SAMPLE_H_
