// Makes operators that read one of several joined tensors read that tensor itself.
#ifndef PLANPROOF_LINEAGE_READS_OF_PARTS_H_
#define PLANPROOF_LINEAGE_READS_OF_PARTS_H_

#include <optional>

#include "lineage/lineage.h"

namespace planproof::lineage {

// The problem in which whoever reads one of the tensors that were joined reads that one. Gradients
// of all parameters lie in one buffer, which ranks add up at once, and each parameter's gradient is
// then a part of it. By its definition it is made of all of them, so that what is said of so many
// gradients grows with their square; and since each lies elsewhere, no two layers are alike.
//
// A buffer that is added up, element by element, is added up part by part, if all ranks have joined
// it in the same way. Both graphs must have been checked (operators in topological order). Tensors
// keep their numbers, and those that nobody needs any more stay. It has no schedule.
//
// Nothing if there is no such read; if something that is required is still computed from what is
// joined, since the model's and the plan's buffers may then be one another's parts; and if the plan
// says what tensors are that it computes.
std::optional<Problem> WithReadsOfParts(const Problem& problem);

}  // namespace planproof::lineage

#endif  // PLANPROOF_LINEAGE_READS_OF_PARTS_H_
