// Describes the order in which devices run a plan: which program and phase an operator belongs to,
// the steps of every program, what is in flight meanwhile, and which tensors share a buffer.
//
// A phase is a part of a program's operators; a step runs the operators of one phase, in their
// order in the graph, for one microbatch or (a phase that runs once) for all of them. Values do not
// depend on any of this: every tensor of one microbatch is assigned once (docs/soundness.md). What
// depends on it is whether the plan can run, which stages/schedule/schedule_check.h decides.
#ifndef PLANPROOF_LINEAGE_SCHEDULE_H_
#define PLANPROOF_LINEAGE_SCHEDULE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sdfg/graph.h"

namespace planproof::lineage {

// The microbatch of a step that runs its phase for all microbatches.
inline constexpr int32_t kAllMicrobatches = -1;

struct ScheduleStep {
  int32_t phase = 0;  // in ProgramSchedule::phases
  int32_t microbatch = kAllMicrobatches;
};

struct ProgramSchedule {
  std::string name;
  std::vector<std::string> phases;
  // Empty: the plan states no order; phases run one after the other, each operator for all
  // microbatches.
  std::vector<ScheduleStep> steps;
  sdfg::SourceLocation source;
};

// Where a parallel tensor is computed. The place of an operator is that of its outputs.
struct Place {
  int32_t program = sdfg::kNone;  // in Schedule::programs
  int32_t phase = sdfg::kNone;    // in its phases; kNone: there at the start
  // The operator of the program's list that computes it. Where readers write one out as several
  // (a collective over two axes, an exception), these share its number; kNone: it is none of them.
  int32_t entry = sdfg::kNone;
};

// A buffer that several tensors share: a value is lost when the next one is written. With several
// slots the instance of microbatch m lies in slot m mod `slots`.
struct Storage {
  std::string buffer;  // its name in the program
  int32_t slots = 1;
};

// A collective or move that was started: `result` is its value, which only the operator "wait"
// reads; until then it may read `sources` and write its result.
struct AsyncOperation {
  std::string handle;
  sdfg::TensorId result = sdfg::kNone;
  std::vector<sdfg::TensorId> sources;
};

struct Schedule {
  std::vector<ProgramSchedule> programs;  // none: nothing is known about the order
  std::vector<Place> places;              // by parallel tensor
  std::map<sdfg::TensorId, Storage> storage;
  std::map<sdfg::TensorId, std::string> channels;  // of moves, by result; others use channel ""
  std::vector<AsyncOperation> async_operations;
};

}  // namespace planproof::lineage

#endif  // PLANPROOF_LINEAGE_SCHEDULE_H_
