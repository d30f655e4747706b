// Evaluates both graphs on one choice of inputs and keeps every value: for experiments that explain
// a difference, and for the sample that shows that premises can hold together.
#ifndef PLANPROOF_SHAPE_REDUCTION_REPLAY_H_
#define PLANPROOF_SHAPE_REDUCTION_REPLAY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "shape_reduction/reduced_evaluator.h"

namespace planproof::shape_reduction {

class FocusedEvaluation;

class Replay {
 public:
  using Ptr = BlockTensorPtr<double>;

  // `trusted`, by parallel tensor, or empty: these are taken to be what their full lineage says,
  // and not computed.
  explicit Replay(const lineage::Problem& problem, std::vector<char> trusted = {});
  // Of an evaluation in enclosures that was made already: values are the middles of narrow
  // enclosures, and NaN where they are wide. There is nothing to Run.
  Replay(const lineage::Problem& problem, std::shared_ptr<FocusedEvaluation> evaluation);
  ~Replay();
  bool enclosed() const { return enclosed_; }

  // Evaluates in double precision on the inputs of the seed: of the parallel graph what `cone`
  // depends on (all if empty), of the logical graph everything.
  absl::Status Run(uint64_t seed, const std::vector<sdfg::TensorId>& cone, double seconds);

  // Null if it was not evaluated.
  const Ptr& Logical(sdfg::TensorId id) const;
  const Ptr& Parallel(sdfg::TensorId id) const;
  // Whether the parallel tensor is what the lineage says: for enclosures, whether they meet
  // everywhere; for doubles, up to rounding (`agree`). True if that cannot be read.
  bool Holds(sdfg::TensorId id, const lineage::Lineage& lineage,
             const std::function<bool(const Ptr&, const Ptr&)>& agree);
  // Whether two tensors of this replay agree, in the same sense. False if either is null.
  bool Same(const Ptr& left, const Ptr& right,
            const std::function<bool(const Ptr&, const Ptr&)>& agree) const;
  // Of enclosures only: those of one element do not meet; and what is known of an element.
  bool Apart(const Ptr& left, const Ptr& right, const std::vector<int64_t>& index) const;
  std::string Text(const Ptr& tensor, const std::vector<int64_t>& index, int digits) const;
  // What the lineage says that a tensor of this shape holds; null if that cannot be read.
  Ptr Claimed(const sdfg::Shape& shape, const lineage::Lineage& lineage);
  // The operator of the parallel graph on other operands; null on failure, such as operands that
  // are no such tensors as the operator reads.
  Ptr Apply(const sdfg::Operator& op, int output, const std::vector<Ptr>& inputs);

  struct State;

 private:
  std::unique_ptr<State> state_;
  bool enclosed_ = false;
};

// Searches inputs for which all premises hold (those of operators of both graphs and those of the
// specification) and all required outputs are finite on both sides. Premises are decided in
// interval arithmetic: rounding cannot make contradictory premises hold. Inputs
// on which the model was run are tried after the simplest ones.
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
