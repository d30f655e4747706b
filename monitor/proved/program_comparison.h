// Compares what a rank of a run executed in one step with what a rank of the proof executes.
#ifndef PLANPROOF_MONITOR_PROVED_PROGRAM_COMPARISON_H_
#define PLANPROOF_MONITOR_PROVED_PROGRAM_COMPARISON_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "monitor/proved/program.h"
#include "monitor/proved/size_ratios.h"

namespace planproof::monitor {

// The first in the order of the proof.
struct ProgramDifference {
  int64_t at = 0;       // position among the proof's operators
  std::string subject;  // the module, or the line, or the operator
  std::string statement;
  std::string place;  // "file:line" of the program
  std::optional<double> expected, found;
};

// Whether a group of the run is what this one is in the proof.
using SameGroup =
    std::function<bool(const std::vector<int32_t>& proved, const std::vector<int32_t>& run)>;

struct ProgramComparison {
  std::optional<ProgramDifference> difference;
  // Sizes depend on data, as of tokens that are sent to experts, and so does which operators run:
  // the first difference may be one of the data. Nothing is compared from there on.
  bool ended_by_data = false;
  int64_t compared = 0;    // operators
  bool same_sizes = true;  // of all tensors
};

// Both programs are relevant parts. `ratios`: what is known of sizes that differ.
ProgramComparison ComparePrograms(const RankProgram& proved, const RankProgram& run,
                                  const SizeRatios& ratios, const SameGroup& same_group);

// One has parameters of layers that the other does not have, of which both have some: names differ
// in numbers between dots alone.
bool HaveOtherLayers(const RankProgram& proved, const RankProgram& run);

// "all_reduce(sum, float32[16, 8]) over ranks 0, 1", for people.
std::string OperatorText(const RankProgram& program, const ProgramOperator& op);

// "train.py:12" of "train.py:12: loss = ...".
std::string PlaceOfSource(const std::string& source);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_PROGRAM_COMPARISON_H_
