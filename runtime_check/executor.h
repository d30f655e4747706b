// Runs a graph on concrete inputs at full shapes, operator by operator, from index functions alone.
//
// All devices are simulated: coordinates are leading dimensions of tensors, and collectives are
// functions like any other. It shares nothing with the prover, with the evaluators that look for
// counterexamples, or with the dense evaluator, which are therefore no part of what it says.
//
// Arithmetic: in float64 an operator computes in doubles. In all other types it computes in float32
// and its result is rounded to the type, as matrix units do that accumulate in float32. What is not
// a floating-point number is never rounded, and neither is what an operator only moves.
#ifndef PLANPROOF_RUNTIME_CHECK_EXECUTOR_H_
#define PLANPROOF_RUNTIME_CHECK_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime_check/backend.h"
#include "runtime_check/tape.h"
#include "runtime_check/values.h"
#include "sdfg/graph.h"

namespace planproof::runtime_check {

// Tapes by function and output, each compiled once.
class Programs {
 public:
  absl::StatusOr<const Tape*> Get(const sdfg::Operator& op, int output);
  int compiled() const { return compiled_; }

 private:
  int compiled_ = 0;
  std::map<std::pair<const sdfg::IndexFunction*, int>, std::unique_ptr<Tape>> tapes_;
  std::vector<std::shared_ptr<const sdfg::IndexFunction>> alive_;
};

// Of all tensors of the graph.
double ElementsOf(const sdfg::Graph& graph);

struct Cost {
  double elements = 0;  // of all tensors of the graph, and of rows that opaque functions read
  double work = 0;      // lane operations of all operators
};
absl::StatusOr<Cost> CostOf(const sdfg::Graph& graph, Programs* programs);

// `tensors`: on entry those without producer (kOne and kZero may be empty), on return also all that
// `keep` says; without `keep` all. The others are freed after their last use. `produced` is called
// for each tensor that an operator has made and that `watched` says, without it for all; its error
// ends the run. With a backend it computes, and only what is kept or watched is brought from there.
// With `rewrites`, `produced` may change the tensor, and what is computed from it reads the change.
struct RunOptions {
  sdfg::DType arithmetic = sdfg::DType::kFloat64;
  const std::vector<bool>* keep = nullptr;
  const std::vector<bool>* watched = nullptr;
  std::function<absl::Status(sdfg::TensorId)> produced;
  bool rewrites = false;
  Backend* backend = nullptr;
};
absl::Status RunGraph(const sdfg::Graph& graph, const RunOptions& options, Programs* programs,
                      std::vector<Values>* tensors);

// The outputs of the function, in order.
absl::StatusOr<std::vector<Values>> RunFunction(const sdfg::IndexFunction& function,
                                                sdfg::DType arithmetic,
                                                const std::vector<Values>& inputs,
                                                Backend* backend = nullptr);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_EXECUTOR_H_
