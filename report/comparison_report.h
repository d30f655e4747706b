// Reports what a comparison of dumps found, for people and for machines.
#ifndef PLANPROOF_REPORT_COMPARISON_REPORT_H_
#define PLANPROOF_REPORT_COMPARISON_REPORT_H_

#include <string>

#include "runtime_check/dump_comparison.h"

namespace planproof::report {

struct ComparisonText {
  std::string reference, candidate, annotations;  // as the user named them
  bool verbose = false;                           // all tensors, not only those that alarm
  bool color = false;
};

// The first line is the answer; then, if there is an alarm, where, and the tensors that alarm.
std::string TextComparisonReport(const runtime_check::DumpReport& comparison,
                                 const ComparisonText& text);

// One JSON object (docs/compare.md). Keys are only ever added.
std::string JsonComparisonReport(const runtime_check::DumpReport& comparison,
                                 const ComparisonText& text);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_COMPARISON_REPORT_H_
