// Tells what is added up in a tensor over the rounds of a ring: sums of sums, of what was handed
// on, of what was scaled when a maximum changed.
#ifndef PLANPROOF_LINEAGE_ROUNDS_CARRIED_SUMS_H_
#define PLANPROOF_LINEAGE_ROUNDS_CARRIED_SUMS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "sdfg/graph.h"

namespace planproof::lineage::rounds {

// exp(M[round - 1] - M[round]) of a family M of maxima; of none if `family` is -1.
struct ScaleFactor {
  int family = -1;
  int64_t round = 0;
};

// One term of a sum: a tensor X, as X[c + shift] at rank c, times exp(M[from] - M[to]).
struct Term {
  sdfg::TensorId tensor = sdfg::kNone;
  int64_t shift = 0;  // less than the number of ranks
  bool scaled = false;
  int64_t from = 0, to = 0;
};

struct Sum {
  std::vector<Term> terms;
  int scale_family = -1;                    // of M, if a term is scaled
  std::vector<int> scale_dims;              // by dimension of M: the output's, -1 if it is 1 long
  std::vector<sdfg::OperatorId> operators;  // that the sum stands for
};

// How tensors are read here.
struct SumReader {
  const sdfg::Graph& graph;
  int64_t ranks = 0;
  // Whether a sum ends at the tensor: it is a term.
  absl::FunctionRef<bool(sdfg::TensorId)> is_term;
  // How far an operator shifts along the ring: its result at c is its operand at c + shift. Nothing
  // if it does not hand on.
  absl::FunctionRef<std::optional<int64_t>(sdfg::OperatorId)> shift_of;
  absl::FunctionRef<ScaleFactor(sdfg::TensorId)> factor_of;
  // The operator is free to be a part of the sum.
  absl::FunctionRef<bool(sdfg::OperatorId)> is_free;
};

// Nothing if the tensor is no such sum of exactly `count` terms.
std::optional<Sum> SumOf(const SumReader& reader, sdfg::TensorId tensor, size_t count);

}  // namespace planproof::lineage::rounds

#endif  // PLANPROOF_LINEAGE_ROUNDS_CARRIED_SUMS_H_
