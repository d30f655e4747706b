// Follows a trace, and adds to a graph what it computes.
#ifndef PLANPROOF_FRONTEND_TORCH_EXECUTION_H_
#define PLANPROOF_FRONTEND_TORCH_EXECUTION_H_

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/recording.h"
#include "frontend/torch/aten_call.h"
#include "frontend/torch/communications.h"
#include "frontend/torch/graph_writer.h"
#include "frontend/torch/known_elements.h"
#include "frontend/torch/memory.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

class Execution {
 public:
  // All outlive the execution.
  Execution(const Trace& trace, GraphWriter* writer, Memory::Constant constant,
            Communications* communications)
      : trace_(trace),
        writer_(writer),
        memory_(trace, writer, std::move(constant)),
        communications_(communications) {}

  // What is in memory at the start is written there first.
  Memory& memory() { return memory_; }
  absl::Status Run();
  // Places at which Python read a number that is not known beforehand and that no operator gets
  // from it: on these, the program may have decided what to do.
  const std::set<std::string>& unused_items() const { return unused_; }
  // What the trace says that results are, by the tensors of the graph that these are.
  const RecordedElements& recorded() const { return recorded_; }
  // What operators made, as far as the graph has it as one tensor; only if it was asked for.
  // Numbers that Python read of tensors that are not known beforehand.
  const std::vector<RecordedItem>& numbers() const { return numbers_; }
  void NoteWhatIsMade() { notes_made_ = true; }
  const std::vector<RecordedOperatorResult>& made() const { return made_; }
  // As RecordedProgram has it.
  const std::vector<std::pair<sdfg::TensorId, sdfg::TensorId>>& in_place() const {
    return in_place_;
  }

 private:
  absl::Status RunCollective(const Executed& executed);
  absl::Status RunOperator(const Executed& executed);
  absl::Status ReadItem(const Executed& executed);
  absl::Status Record(const Executed& executed);
  void CountItems(const Value& value);
  void NoteMade(const Executed& executed);

  const Trace& trace_;
  GraphWriter* writer_;
  Memory memory_;
  Communications* communications_;
  AtenCall::Items items_;
  std::map<int32_t, std::string> item_places_;
  std::set<std::string> unused_;
  RecordedElements recorded_;
  std::vector<RecordedItem> numbers_;
  bool notes_made_ = false;
  std::vector<RecordedOperatorResult> made_;
  std::vector<std::pair<sdfg::TensorId, sdfg::TensorId>> in_place_;
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_EXECUTION_H_
