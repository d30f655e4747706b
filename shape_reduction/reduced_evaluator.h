// Evaluates whole graphs on weighted representatives.
//
// Exactly equal to evaluating the full-size graph on block-constant inputs, at a cost that depends
// on the number of blocks and not on the sizes of dimensions. Domains: DoubleDomain (search),
// IntervalDomain and MpfiDomain (confirmation). Operators are evaluated one by one in topological
// order; equal operators on equal inputs are evaluated once.
#ifndef PLANPROOF_SHAPE_REDUCTION_REDUCED_EVALUATOR_H_
#define PLANPROOF_SHAPE_REDUCTION_REDUCED_EVALUATOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lineage/lineage.h"
#include "sdfg/graph.h"
#include "shape_reduction/block_tensor.h"
#include "shape_reduction/scalar_program.h"
#include "shape_reduction/work_clock.h"

namespace planproof::shape_reduction {

// Programs by function, output and coordinates. Functions must outlive it. One thread at a time.
class ProgramCache {
 public:
  const ScalarProgram& Get(const sdfg::Graph& graph, const sdfg::Operator& op, int output);
  // The read of a logical tensor of this shape at the map, as a function of the indices of a
  // parallel tensor of shape `parallel`.
  const ScalarProgram& GetRead(const sdfg::Shape& parallel, const sdfg::Shape& logical,
                               const std::vector<lineage::IndexMap>& map, bool integer);

 private:
  std::unordered_map<std::string, std::unique_ptr<ScalarProgram>> programs_;
  std::vector<std::shared_ptr<const sdfg::IndexFunction>> alive_;
};

template <typename V>
using BlockTensorPtr = std::shared_ptr<const BlockTensor<V>>;

struct ReducedOptions {
  // Largest number of blocks of any tensor or intermediate array.
  int64_t max_elements = int64_t{1} << 23;
  // Only what these tensors depend on is evaluated; empty: everything.
  std::vector<sdfg::TensorId> cone_of;
  // Produced tensors other than cone_of are freed after their last use.
  bool free_intermediates = false;
  // A tensor with too many blocks, and what is computed from it, gets no value; the rest does.
  bool skip_too_fine = false;
  WorkClock::time_point deadline = WorkClock::time_point::max();
  // Called with every tensor that an operator has just produced; false ends the evaluation (OK).
  std::function<bool(sdfg::TensorId)> on_produced;
};

template <typename D>
class ReducedEvaluator {
 public:
  using V = typename D::Value;
  using Ptr = BlockTensorPtr<V>;

  // `enclose` (interval domains only): a block's value encloses those of all its elements, which
  // need not be equal. Long dimensions are then not cut where their indices are compared with each
  // other, and tensors of equal content are one, so that what equal layers do to them is done once.
  // `compared`: LooseComparisons::otherwise.
  explicit ReducedEvaluator(ProgramCache* programs, bool enclose = false,
                            PartitionsByExtent compared = {})
      : programs_(*programs), enclose_(enclose), compared_(std::move(compared)) {}

  // A premise of an operator that is not known to hold everywhere on these inputs.
  struct OpenPremise {
    sdfg::OperatorId op;
    PremiseCheck check;
  };

  // `values` has one entry per tensor: on entry those of tensors without producer (kOne and kZero
  // may be null) and of others that need not be computed, on return all that were evaluated. The
  // graph's operators are in topological order. ResourceExhausted names the operator and tensor at
  // which blocks became too many; DeadlineExceeded if the deadline passed.
  absl::Status Evaluate(const sdfg::Graph& graph, const ReducedOptions& options,
                        std::vector<Ptr>* values, std::vector<OpenPremise>* open_premises);

  // The logical tensor read at the lineage's map: what the parallel tensor is claimed to be.
  absl::Status Read(const sdfg::Shape& parallel, const sdfg::Shape& logical,
                    const std::vector<lineage::IndexMap>& map, const Ptr& value,
                    int64_t max_elements, Ptr* result);

  // The program applied to the inputs.
  absl::Status Apply(const ScalarProgram& program, const std::vector<Ptr>& inputs,
                     int64_t max_elements, Ptr* result, PremiseCheck* premises);

  // The tensor, or an equal one that was interned before. Only enclosing evaluators intern.
  Ptr Intern(Ptr tensor);

 private:
  struct Remembered {
    std::weak_ptr<const BlockTensor<V>> result;
    std::vector<std::weak_ptr<const BlockTensor<V>>> inputs;  // a freed input's address may recur
    PremiseCheck premises;
  };
  // Of a tensor that a selection made, or a copy of one: the selection, and what the tensor is
  // wherever that selects the input that it keeps (guarded_read.h).
  struct Selected {
    const sdfg::Operator* op;
    const ScalarProgram* program;
    Ptr kept;
  };
  using SelectedByTensor = std::unordered_map<sdfg::TensorId, std::vector<Selected>>;
  void Remember(const sdfg::Operator& op, const ScalarProgram& program,
                const std::vector<Ptr>& inputs, sdfg::TensorId output, int64_t max_elements,
                SelectedByTensor* selected);
  // The operator's inputs, of which those that it reads only where selections kept something are
  // that.
  static std::vector<Ptr> KeptInputs(const sdfg::Operator& op, const ScalarProgram& program,
                                     const SelectedByTensor& selected, std::vector<Ptr> inputs);

  ProgramCache& programs_;
  const bool enclose_;
  const PartitionsByExtent compared_;
  std::map<std::vector<const void*>, Remembered> remembered_;
  std::unordered_multimap<uint64_t, std::weak_ptr<const BlockTensor<V>>> interned_;
  std::map<const ScalarProgram*, std::unique_ptr<ScalarProgram>> with_kept_;  // WithKeptInput
};

// The value of every element of a tensor without producer whose role fixes it.
template <typename V>
BlockTensorPtr<V> ConstantTensor(const sdfg::Shape& shape, V value);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_REDUCED_EVALUATOR_H_
