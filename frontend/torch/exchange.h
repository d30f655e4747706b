// Describes and checks one exchange among ranks: a collective of a group, or both ends of a
// message.
//
// A runtime does not compare what its participants pass: bytes of another type are taken for other
// numbers, and a count that is too large reads beyond the message. A plan in which they disagree
// has therefore no meaning, and is refused here, before an operator is made of the exchange.
#ifndef PLANPROOF_FRONTEND_TORCH_EXCHANGE_H_
#define PLANPROOF_FRONTEND_TORCH_EXCHANGE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/torch/strided.h"
#include "frontend/torch/trace.h"
#include "sdfg/graph.h"

namespace planproof::frontend::torch {

// One rank's part of an exchange.
struct Participant {
  int32_t rank = 0;
  const Collective* collective = nullptr;
  std::vector<sdfg::TensorId> inputs, outputs;
  std::vector<Strided> layouts;  // in memory, of all of them, each from position 0
  std::string label, place;      // `place` names the rank, the operator and its line
  sdfg::SourceLocation source;
};

// Where exchanges meet in their order. Of a collective `ranks` is its group; of messages the sender
// and the receiver, with their tag, and `group` is that in which they are sent. `number` counts
// the groups of the same ranks.
struct Channel {
  std::vector<int32_t> ranks;
  int64_t number = 0;
  bool point_to_point = false;
  int64_t tag = 0;
  std::vector<int32_t> group;
  auto operator<=>(const Channel&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct Exchange {
  Channel channel;
  // By rank; of a message the sender's is 0 and the receiver's 1.
  std::map<int32_t, Participant> parts;
};

// Whether every member takes part, and all agree: in kind, reduction and root; in the element type
// and the shape of what is sent and received; in the number of tensors; in the splits. Errors, with
// both places: InvalidArgument, or Unimplemented where a reduction has no declared meaning for the
// element type.
absl::Status CheckExchange(const sdfg::Graph& graph, const Exchange& exchange);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_EXCHANGE_H_
