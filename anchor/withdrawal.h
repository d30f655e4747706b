// Applies recorded numbers to a verdict: they withdraw or harden it, and never make one.
#ifndef PLANPROOF_ANCHOR_WITHDRAWAL_H_
#define PLANPROOF_ANCHOR_WITHDRAWAL_H_

#include "anchor/anchor_comparison.h"
#include "stages/result.h"

namespace planproof::anchor {

// Puts the report into the result, and
//   held differs          MALFORMED: what the proof takes for granted is not so. REFUTED stays
//   where
//                         what is held may follow from what the graphs compute
//   translation differs   PROVED and REFUTED become UNKNOWN: they are about other programs
//   results differ        PROVED becomes UNKNOWN
//   not anchored          is listed among the assumptions; with `require` PROVED and REFUTED become
//                         UNKNOWN
void ApplyAnchor(anchor::AnchorComparison comparison, bool require, stages::Result* result);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_WITHDRAWAL_H_
