// Decides whether a result may be written into the memory from which it is computed.
//
// Nothing is known about the order in which an operator computes its elements. So element i of a
// result may replace element i of an operand only if nothing else reads that element: the operator
// reads, of that operand, element i for element i and for nothing else. Which elements are read is
// told by the operator's index function.
#ifndef PLANPROOF_STAGES_SCHEDULE_IN_PLACE_H_
#define PLANPROOF_STAGES_SCHEDULE_IN_PLACE_H_

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stages/schedule/step_order.h"

namespace planproof::stages {

// How the elements of one output are computed from one input.
struct InputReads {
  bool any = false;  // some element of the input is read
  // Element i of the output reads element i only: the same rank's, of the same type, at the same
  // place in row-major order. A collective that may run in place reads the other ranks', too.
  bool own_element = true;
};
// By output and input of the operator; nothing is read for an output that is not wanted.
std::vector<std::vector<InputReads>> ReadsOf(const sdfg::Graph& graph, const sdfg::Operator& op);

// By input: some wanted output reads it.
std::vector<bool> InputsRead(const sdfg::Operator& op);

// all_reduce, accumulate, broadcast and reduce: runtimes define what they do in place. Of any other
// collective a rank would overwrite what others still have to read.
bool MayRunInPlace(const sdfg::Operator& collective);

class InPlace {
 public:
  explicit InPlace(const StepOrder& order);

  // Why `op` may not write its output `written` into the memory where `there` lies, or empty:
  // `there` is not read at the time, or, if the elements of both lie at the same places, each for
  // its own element only. What else the same entry of the program's list
  // (lineage::Place::entry) computes from `there` on the way counts as read by `op`.
  const std::string& Conflict(sdfg::OperatorId op, sdfg::TensorId written, sdfg::TensorId there,
                              bool same_places);

 private:
  std::string FindConflict(sdfg::OperatorId op, sdfg::TensorId written, sdfg::TensorId there,
                           bool same_places) const;
  std::vector<sdfg::OperatorId> EntryOf(sdfg::OperatorId op) const;

  const StepOrder& order_;
  const sdfg::Graph& graph_;
  std::map<std::pair<int32_t, int32_t>, std::vector<sdfg::OperatorId>> entries_;
  std::map<std::tuple<sdfg::OperatorId, sdfg::TensorId, sdfg::TensorId>, std::string> known_;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SCHEDULE_IN_PLACE_H_
