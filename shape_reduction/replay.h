// Both graphs on one choice of inputs, with every value kept: for experiments that explain a
// difference, and for the sample that shows that premises can hold together.
#ifndef PLANPROOF_SHAPE_REDUCTION_REPLAY_H_
#define PLANPROOF_SHAPE_REDUCTION_REPLAY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "shape_reduction/reduced_evaluator.h"

namespace planproof::shape_reduction {

class Replay {
 public:
  using Ptr = BlockTensorPtr<double>;

  explicit Replay(const lineage::Problem& problem);
  ~Replay();

  // Evaluates in double precision on the inputs of the seed: of the parallel graph what `cone`
  // depends on (all if empty), of the logical graph everything.
  absl::Status Run(uint64_t seed, const std::vector<sdfg::TensorId>& cone, double seconds);

  // Null if it was not evaluated.
  const Ptr& Logical(sdfg::TensorId id) const;
  const Ptr& Parallel(sdfg::TensorId id) const;
  // What the lineage says that a tensor of this shape holds; null if that cannot be read.
  Ptr Claimed(const sdfg::Shape& shape, const lineage::Lineage& lineage);
  // The operator of the parallel graph on other operands; null on failure.
  Ptr Apply(const sdfg::Operator& op, int output, const std::vector<Ptr>& inputs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Searches inputs for which all premises hold (those of operators of both graphs and those of the
// specification) and all required outputs are finite on both sides. Premises are decided in
// interval arithmetic: rounding cannot make contradictory premises hold.
struct Sample {
  enum class Outcome : uint8_t {
    kFound,
    kNone,       // no inputs were found
    kExhausted,  // the graphs could not be evaluated within the limits
  };
  Outcome outcome = Outcome::kNone;
  std::string message;  // what is in the way
};
Sample FindSample(const lineage::Problem& problem, int attempts, double seconds);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_REPLAY_H_
