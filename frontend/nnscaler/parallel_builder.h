// Builds the parallel graph and the relations it must satisfy; internal.
//
// All microbatches of a uniform plan are one lane: tensors have the axes (copy, microbatch) and
// each operator of a device appears once. Otherwise each microbatch is a lane of its own, tensors
// have the axis (copy) only, and the parallel graph has every microbatch spelled out.
#ifndef PLANPROOF_FRONTEND_NNSCALER_PARALLEL_BUILDER_H_
#define PLANPROOF_FRONTEND_NNSCALER_PARALLEL_BUILDER_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/nnscaler/alignment.h"
#include "frontend/nnscaler/backward_operands.h"
#include "frontend/nnscaler/logical_graph.h"
#include "frontend/nnscaler/operator_functions.h"
#include "frontend/nnscaler/prims.h"
#include "frontend/nnscaler/reader.h"
#include "frontend/nnscaler/schedule.h"
#include "lineage/problem_builder.h"

namespace planproof::frontend::nnscaler {

class ParallelBuilder {
 public:
  ParallelBuilder(const Plan& plan, const Plan& logical_plan, LogicalGraph& logical,
                  const Alignment& alignment, const Schedule& schedule,
                  const ReaderOptions& options, const sdfg::OperatorLibrary& operators,
                  lineage::ProblemBuilder* problem);
  // Fills the problem, whose logical graph is there; adds the loss terms to it.
  absl::Status Run();
  const std::set<std::string>& assumptions() const { return functions_.assumptions(); }

 private:
  using TensorId = sdfg::TensorId;
  struct ForwardRecord {
    Function function;
    std::vector<TensorId> inputs;  // as they were when it ran
    int node = kNoIndex;
  };
  // The tensor that a node wrote as a parameter's gradient.
  struct GradientWrite {
    int sub = kNoIndex;
    TensorId tensor = sdfg::kNone;
  };

  sdfg::Graph& graph() { return problem_->parallel; }
  int Devices() const { return static_cast<int>(plan_.devices.size()); }
  bool IsParameterGradient(int sub) const {
    return plan_.FullOf(sub).is_gradient && plan_.FullOf(sub).is_attribute;
  }

  bool IsLoss(int full) const { return alignment_.full[full].logical == logical_.loss; }

  // Lanes and operators: parallel_builder.cc.
  void MakeAxes();
  absl::Status RunLane(int microbatch);
  // What no operator makes holds what the model reads.
  absl::Status RelateInputs();
  absl::Status RunNode(const Event& event);
  absl::Status RunForward(const Event& event);
  absl::Status RunBackward(const Event& event);
  absl::Status RunData(const Event& event);
  // The present value of a piece on a device; kNone if it is not there.
  TensorId Find(int device, int sub);
  absl::StatusOr<TensorId> Read(const Event& event, int sub);
  // A produced value becomes visible; `event` says which node made it.
  absl::Status Write(const Event& event, int sub, TensorId tensor);
  // Adds an operator and the tensors of its outputs. Checks operand shapes against the function.
  absl::Status Emit(sdfg::Operator op, const Event& event, const std::vector<int>& subs,
                    std::vector<TensorId>* outputs);

  // Whether a value just made is all of its piece: neither one of several writes that add up nor
  // on its way to such a sum.
  bool IsWhole(const Event& event, int sub, bool accumulated) const;

  // Tensors and their lineage: parallel_tensors.cc.
  void CountWrites(int microbatch);
  void FindIncomplete();
  TensorId AddTensor(sdfg::Tensor tensor, lineage::Lineage lineage);
  TensorId AddPiece(int device, int sub, std::vector<sdfg::AxisId> axes, sdfg::TensorRole role,
                    bool with_lineage);
  TensorId Source(int device, int sub);
  lineage::Lineage LineageOf(int sub, const std::vector<sdfg::AxisId>& axes) const;
  sdfg::Shape LocalShape(TensorId tensor);

  // Communication: communication.cc.
  absl::Status RunAdapterStep(const Event& event);
  absl::Status FinishAdapter(const Event& event);
  absl::Status RunLocalPrim(const Event& event);
  absl::Status RunCommunication(const Communication& communication);
  absl::StatusOr<TensorId> AdapterRead(const Event& event, int sub);
  absl::Status Transfer(const Event& from, const Event& to);
  absl::Status RunCollective(const Communication& communication,
                             const std::vector<ResolvedPrim>& prims);
  // Members of the group ordered by the start of their pieces along `dim`, or as they are; a
  // warning where the two differ.
  std::vector<int> PieceOrder(const Communication& communication, const std::vector<int>& subs,
                              int dim);
  absl::StatusOr<int> ChunkPosition(const Event& event, int whole, int part, int dim, int size,
                                    int rank);
  void WarnOrder(const Event& event, const std::string& what);

  // Parameters' gradients: gradients.cc.
  struct Accumulator;
  absl::Status RunGradients();
  absl::Status Reduce(const Communication& communication);
  absl::StatusOr<TensorId> SumOf(Accumulator& accumulator, int device, int sub);
  absl::StatusOr<TensorId> OverMicrobatches(TensorId tensor, const std::vector<int>& microbatches);
  absl::StatusOr<TensorId> OverCopies(TensorId tensor, const Node& reducer);
  absl::StatusOr<TensorId> Scaled(TensorId tensor, int64_t factor, const std::string& label);
  absl::StatusOr<TensorId> Plain(const std::string& name, Function function, bool lifted,
                                 std::vector<TensorId> inputs, sdfg::Tensor output,
                                 const Node* node);

  // Requirements: required.cc.
  absl::Status RequireGradients();
  absl::Status RequireLosses(int microbatch);
  absl::StatusOr<TensorId> LossTerms();

  const Plan& plan_;
  const Plan& logical_plan_;
  LogicalGraph& logical_;
  const Alignment& alignment_;
  const Schedule& schedule_;
  const ReaderOptions& options_;
  lineage::ProblemBuilder* problem_;
  FunctionCache functions_;
  std::vector<bool> differentiated_;
  std::vector<bool> partial_;  // per sub tensor: one term of a sum, multiref's value maps mended

  // Of the present lane. Per device, per sub tensor:
  int lane_ = 0;
  std::vector<std::vector<Event>> lane_events_;  // per lane
  std::vector<sdfg::AxisId> lane_axes_;
  std::vector<std::vector<TensorId>> value_;
  std::vector<std::vector<int>> writes_, writes_left_;
  std::vector<std::vector<bool>> incomplete_;
  std::vector<absl::flat_hash_map<int, TensorId>> adapter_local_;     // per device
  absl::flat_hash_map<std::pair<int, int>, ForwardRecord> forwards_;  // (device, node)
  absl::flat_hash_map<std::pair<int, int64_t>, int> forward_ids_;     // (device, cell id) -> node
  std::vector<std::pair<TensorId, int>> loss_;                        // per device: tensor, sub
  std::vector<int> arrived_;                                          // per communication

  // Of the whole plan.
  std::map<std::pair<int, int>, TensorId> sources_;  // (device, sub), attributes and ones
  std::map<std::pair<int, std::pair<int, std::vector<std::pair<int64_t, int64_t>>>>, TensorId>
      source_pieces_;  // (device, (full, index))
  absl::flat_hash_map<std::pair<std::pair<int, int>, int>, std::vector<GradientWrite>>
      gradient_writes_;  // ((device, node), lane)
  using PieceKey = std::pair<int, std::vector<std::pair<int64_t, int64_t>>>;  // (full, index)
  std::map<std::pair<int, PieceKey>, Accumulator> accumulators_;
  std::map<std::pair<int, PieceKey>, int> parameter_pieces_;  // parameter pieces: a sub tensor
  std::set<std::string> warned_;
  TensorId loss_terms_ = sdfg::kNone;
};

struct ParallelBuilder::Accumulator {
  // Written and not yet reduced: tensors with the microbatches in which they were written.
  std::vector<std::pair<TensorId, std::vector<int>>> pending;
  TensorId reduced = sdfg::kNone;  // after the last reducer
};

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_PARALLEL_BUILDER_H_
