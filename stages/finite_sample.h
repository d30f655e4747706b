// Looks for a sample that shows that the premises of a proof can hold together.
#ifndef PLANPROOF_STAGES_FINITE_SAMPLE_H_
#define PLANPROOF_STAGES_FINITE_SAMPLE_H_

#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::stages {

// Whether some inputs exist for which all premises hold and both graphs are finite. Appends a
// violation of kind UNKNOWN otherwise. They are looked for in a worker; a search that is lost finds
// none.
bool HasFiniteSample(const lineage::Problem& problem, const VerifyOptions& options, Result* result);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_FINITE_SAMPLE_H_
