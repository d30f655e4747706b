// Matches what ranks send one another, the collectives of all traces, and adds it to the graph.
//
// Collectives of one group are matched by their order, sends and receives by group, peer, tag and
// order, as the runtimes do. Each result is a tensor from the start, so that a rank's trace can be
// followed without the others'; which operator makes it is known when all traces have been.
#ifndef PLANPROOF_FRONTEND_TORCH_COMMUNICATIONS_H_
#define PLANPROOF_FRONTEND_TORCH_COMMUNICATIONS_H_

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/torch/exchange.h"
#include "frontend/torch/graph_writer.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

class Communications {
 public:
  Communications(sdfg::Graph* graph, FunctionTable* functions, int32_t world)
      : graph_(graph), functions_(functions), events_(world) {}

  // `rank` takes part with these operands. The results are tensors that nothing computes yet; their
  // shapes are those that the trace gives them.
  void Issue(const Trace& trace, const Executed& executed, GraphWriter* writer,
             std::vector<sdfg::TensorId> inputs, std::vector<sdfg::TensorId> outputs);
  void Wait(int32_t rank, int64_t work);

  // Adds the operators. Errors: those of CheckExchange, and InvalidArgument where ranks wait for
  // each other for ever.
  absl::Status Connect();

 private:
  struct Event {
    size_t exchange = 0;
    bool blocks = false;  // goes on only when all have come
  };

  size_t Join(const Channel& channel, Participant part);
  absl::Status CheckOrder() const;
  absl::Status Add(const Exchange& exchange);
  absl::Status AddResults(const Exchange& exchange, const Participant& part);
  // result = function of inputs, in the shape that the result has.
  absl::Status Result(const Participant& part, sdfg::OperatorKind kind,
                      const std::vector<int32_t>& group, sdfg::TensorId result,
                      const std::vector<sdfg::TensorId>& inputs, const std::string& key,
                      const std::function<absl::StatusOr<sdfg::IndexFunction>()>& make);
  absl::StatusOr<sdfg::TensorId> Reshaped(const Participant& part, sdfg::TensorId tensor,
                                          const sdfg::Shape& shape);
  absl::Status AddReduceScatter(const Exchange& exchange, const Participant& part,
                                std::vector<sdfg::TensorId> inputs);
  absl::Status AddAllToAll(const Exchange& exchange, const Participant& part);

  sdfg::Graph* graph_;
  FunctionTable* functions_;
  std::vector<Exchange> exchanges_;
  // Of each channel: the exchanges, and how many of them each rank has joined.
  std::map<Channel, std::vector<size_t>> by_channel_;
  std::map<std::pair<Channel, int32_t>, size_t> joined_;
  std::vector<std::vector<Event>> events_;  // by rank
  std::map<std::pair<int32_t, int64_t>, size_t> works_;
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_COMMUNICATIONS_H_
