// Writes the report that people read.
//
// The first line is the verdict, and what is wrong. For a plan that is wrong the first five lines
// say everything one needs to go and look: stage and suspected cause; the logical operator with its
// source line; the parallel operators with their devices and microbatches; the lineage that fails;
// the values that a witness gives on both sides. What follows are details and counts.
#ifndef PLANPROOF_REPORT_TEXT_REPORT_H_
#define PLANPROOF_REPORT_TEXT_REPORT_H_

#include <cstddef>
#include <string>

#include "stages/result.h"

namespace planproof::report {

struct TextOptions {
  bool color = false;    // the verdict in colour, for a terminal
  bool verbose = false;  // enclosures in full, and all inputs of a witness, to reproduce it
  size_t columns = 0;    // of the terminal: longer lines are wrapped; 0: none is
  bool lineage_can_be_claimed = false;  // the plan is in plan format
  size_t most_violations = 10;          // further ones are counted
  size_t most_list_entries = 12;        // of premises, assumptions, ...
};

// What a report says about one finding: its headline and the rows below.
std::string FindingText(const stages::Violation& violation, const TextOptions& options = {});

// Ends with a newline.
std::string TextReport(const stages::Result& result, const TextOptions& options = {});

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_TEXT_REPORT_H_
