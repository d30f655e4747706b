// Finds the logical tensors that given ones determine.
#ifndef PLANPROOF_INFERENCE_CANDIDATES_H_
#define PLANPROOF_INFERENCE_CANDIDATES_H_

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "inference/operands.h"
#include "sdfg/graph.h"

namespace planproof::inference {

// What a part of several tensors that were joined, of a bucket of gradients, is computed from: all
// of them, or the one in which it lies.
enum class Buckets : uint8_t { kAreOneTensor, kAreTheirPieces };
// Whether that makes a difference.
bool JoinsAny(const sdfg::Graph& graph);

// Says what is read by its definition where nothing is computed from all values that a term has:
// as little as helps; or, if no relation is found so, all that the rest determines, too. The latter
// takes longer, and relates what others are better proved without.
enum class Opening : uint8_t { kLeast, kAllDetermined };

class Candidates {
 public:
  // `constant`: by tensor, whether it is known to be a constant (constant_tensors.h).
  Candidates(const sdfg::Graph& logical, Buckets buckets, Opening opening,
             std::vector<bool> constant, Operands* operands);

  // Tensors that are computed from some of `values` and from nothing else that varies, nearest
  // first; a few dozen at most.
  std::vector<sdfg::TensorId> DeterminedBy(const std::vector<sdfg::TensorId>& values);
  // Those of them that are computed from all of the values.
  std::vector<sdfg::TensorId> ComputedFrom(const std::vector<sdfg::TensorId>& values);
  // What the tensor, which is computed, is computed from.
  std::vector<sdfg::TensorId> OperandsOf(sdfg::TensorId tensor);
  // Where nothing is computed from all of the values: a few of them with which opened (and with
  // what is then determined by the rest), something is. Empty if that does not help.
  // There may be two choices, the smaller one first.
  std::vector<std::vector<sdfg::TensorId>> ToOpen(
      const std::vector<sdfg::TensorId>& values,
      const std::function<bool(sdfg::TensorId)>& transparent);

 private:
  bool IsDetermined(sdfg::TensorId t, int depth);
  bool NeedsAll(sdfg::TensorId tensor, const std::vector<sdfg::TensorId>& values);
  std::vector<sdfg::TensorId> ToOpen(const std::vector<sdfg::TensorId>& values,
                                     const std::function<bool(sdfg::TensorId)>& transparent,
                                     bool closed);
  std::vector<sdfg::TensorId> Redundant(const std::vector<sdfg::TensorId>& values, bool all);
  bool IsDeterminedBy(sdfg::TensorId tensor, const std::vector<sdfg::TensorId>& values, bool all);
  std::vector<sdfg::TensorId> WithOpened(std::vector<sdfg::TensorId> values,
                                         const std::vector<sdfg::TensorId>& opened,
                                         const std::function<bool(sdfg::TensorId)>& transparent);

  const sdfg::Graph& graph_;
  const Opening opening_;
  Operands& operands_;
  const std::vector<bool> constant_;
  std::vector<sdfg::TensorId> first_;  // by tensor: stages::FirstOfCopies; empty: buckets are whole
  // By tensor: what it is an operand of.
  std::vector<std::vector<sdfg::TensorId>> computed_from_;
  std::unordered_map<sdfg::TensorId, bool> determined_;  // by the values in question
  int visited_ = 0;
};

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_CANDIDATES_H_
