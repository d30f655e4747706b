// Tells what kind of collective an operator is, and which others could stand in its place.
//
// The kind is told from the operator's function, not from its name: all functions that lead along
// one axis from the shape of its operand to that of its result are made, and compared with it.
#ifndef PLANPROOF_STAGES_COLLECTIVE_FORMS_H_
#define PLANPROOF_STAGES_COLLECTIVE_FORMS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sdfg/graph.h"

namespace planproof::stages {

enum class CollectiveKind : uint8_t {
  kSum,      // of what the ranks hold
  kAverage,  // the mean of it
  kMaximum,
  kMinimum,
  kOne,             // what one rank holds (`place`), for all: a broadcast
  kPart,            // each rank keeps its own part of what it holds
  kScatter,         // each rank gets its part of the sum
  kScatterAverage,  // of the mean
  kGather,          // the parts of all ranks, one after another
  kShift,           // each rank gets what the rank `place` before it holds
};

// A sum, an average, a maximum or a minimum, of which every rank gets the whole.
bool IsReduction(CollectiveKind kind);

// One function along one axis.
struct CollectiveForm {
  CollectiveKind kind = CollectiveKind::kSum;
  sdfg::AxisId axis = sdfg::kNone;  // kNone: between programs, whose tensors are the operands
  int64_t place = 0;                // of parts and gathers the dimension, coordinates counted
  std::shared_ptr<const sdfg::IndexFunction> function;
};

// Nothing if it is no collective of these kinds. Of an operand that varies over the axis, or, where
// programs are the ranks, of operands on different devices.
std::optional<CollectiveForm> FormOf(const sdfg::Graph& graph, const sdfg::Operator& op);

// The functions of other kinds, or other places, that have operand and result of the same shapes,
// along the same axis.
std::vector<CollectiveForm> OtherForms(const sdfg::Graph& graph, const sdfg::Operator& op,
                                       const CollectiveForm& form);

// Two operators in a row that cut, or gather, one dimension along different axes: the function from
// the first one's operand to the second one's result in which the other axis is the outer one. Null
// if they are not two such.
std::shared_ptr<const sdfg::IndexFunction> InOtherOrder(const sdfg::Tensor& in,
                                                        const sdfg::Tensor& out,
                                                        const CollectiveForm& first,
                                                        const CollectiveForm& second);

// The element of one coordinate of the axis, whose dimension is dropped; null if that fails.
std::shared_ptr<const sdfg::IndexFunction> Selection(const sdfg::Tensor& tensor, size_t axis_dim,
                                                     int64_t place);
// The reduction of a tensor along one of its axes, given to all ranks: its shape stays. Null if its
// elements cannot be added.
std::shared_ptr<const sdfg::IndexFunction> Reduction(const sdfg::Tensor& tensor, size_t axis_dim,
                                                     CollectiveKind kind);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_COLLECTIVE_FORMS_H_
