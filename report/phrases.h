// Words what all formats say alike about a result and its findings. Each is one line: nothing from
// a file can break it.
#ifndef PLANPROOF_REPORT_PHRASES_H_
#define PLANPROOF_REPORT_PHRASES_H_

#include <string>
#include <vector>

#include "stages/result.h"

namespace planproof::report {

// The worst first, otherwise in their order.
std::vector<const stages::Violation*> WorstFirst(const stages::Result& result);

// One line for each relation that is assumed.
std::vector<std::string> AssumedInWords(const stages::Result& result);
// ": every required output equals ...", or what is wrong; empty if nothing is known.
std::string AfterVerdict(const stages::Result& result);
// Of a recorded program: whether its recorded numbers agree, and with what they were compared;
// empty if nothing was.
std::string RecordedInWords(const stages::Result& result);
// "stage X: cause".
std::string Headline(const stages::Violation& violation);
// Whether where relations end says more of the place than the cause: it does not where numbers of
// the whole plan show the cause.
bool NamesWhereRelationsEnd(const stages::Violation& first);
// Of a plan whose relations were inferred: where they end; may be empty.
std::string WhereRelationsEnd(const stages::Result& result);
// "linear (y), at model.py:4: y = x @ w.T"
std::string LogicalSide(const stages::Violation& violation);
// "identity (y), linear (part); devices 0, 1; microbatches all"
std::string ParallelSide(const stages::Violation& violation);
// "loss[0] on tp=0: logical 3.25, parallel 1.5"; empty: there is no witness.
std::string WitnessValues(const stages::Violation& violation, bool exactly);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_PHRASES_H_
