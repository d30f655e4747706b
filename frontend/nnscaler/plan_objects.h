// Holds the part of an nnScaler execution plan that counts, typed and checked.
//
// A pickled ModuleCodeGen holds far more than the plan: the graph before partitioning, schedules,
// generated code. This view takes what each device executes (execplan._seq) and what that refers
// to. Tensors are one entry per tensor id, however many objects of the file describe it; two
// objects that describe one id differently contradict each other and the file is rejected.
#ifndef PLANPROOF_FRONTEND_NNSCALER_PLAN_OBJECTS_H_
#define PLANPROOF_FRONTEND_NNSCALER_PLAN_OBJECTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/nnscaler/pickle.h"
#include "sdfg/operator_library.h"
#include "sdfg/types.h"

namespace planproof::frontend::nnscaler {

inline constexpr int kNoIndex = -1;

// An IRFullTensor: a tensor of the model, before it is split.
struct FullTensor {
  int64_t id = 0;
  std::string name;
  sdfg::Shape shape;
  sdfg::DType dtype = sdfg::DType::kUnknown;
  bool is_attribute = false;  // parameter or buffer
  bool is_gradient = false;
  bool is_loss = false;
  int gradient = kNoIndex;  // in Plan::fulls
};

// An IRSubTensor: the piece of a full tensor that a device holds.
struct SubTensor {
  int64_t id = 0;
  int full = kNoIndex;                             // in Plan::fulls
  std::vector<std::pair<int64_t, int64_t>> index;  // start, stop per dimension of the full tensor
  int64_t term = 0, terms = 1;                     // value map: this term of so many
  sdfg::DType dtype = sdfg::DType::kUnknown;
  sdfg::Shape shape() const;
};

// One operand of a node: a tensor, or a literal.
struct NodeOperand {
  int tensor = kNoIndex;         // in Plan::subs
  int gradient = kNoIndex;       // in Plan::subs; of this use of the tensor
  sdfg::AttributeValue literal;  // when not a tensor
};

enum class PrimKind : uint8_t {
  kMove,
  kBroadcast,
  kReduce,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kChunk,
  kIdentity,
  // One collective forward and its dual backward.
  kAllReduceIdentity,
  kIdentityAllReduce,
  kSplitAllGather,
  kAllGatherSplit,
  kReduceScatterAllGather,
  kAllGatherReduceScatter,
  kAllToAllAllToAll,
  kAllReduceAllReduce,
};

// A communication primitive of an adapter, as one device sees it.
struct Prim {
  PrimKind kind = PrimKind::kIdentity;
  std::string class_name;
  std::vector<int> inputs, outputs;  // in Plan::subs
  int dim = kNoIndex, idim = kNoIndex, odim = kNoIndex;
  int source = kNoIndex, destination = kNoIndex;
  std::vector<int> ranks;
};

enum class NodeKind : uint8_t { kData, kForward, kBackward, kAdapter, kReducer };

struct Node {
  NodeKind kind = NodeKind::kForward;
  int64_t id = 0;         // of the cell; not unique among devices
  std::string name;       // operator name: "linear"
  std::string signature;  // "torch.nn.functional.linear"
  sdfg::SourceLocation source;
  std::vector<int> devices;
  std::vector<NodeOperand> inputs, outputs;
  sdfg::Attributes attributes;
  int mirror = kNoIndex;  // kBackward: the forward node, in Plan::nodes
  bool forward = true;    // kAdapter
  std::vector<Prim> prims;
  std::string Label() const;  // "linear, cell 12 at model.py:5"
};

// One entry of a device's sequence.
struct Cell {
  int64_t id = 0;
  int32_t body = kNoIndex;  // in Plan::bodies
};

struct DeviceSequence {
  int device = 0;
  std::vector<Cell> cells;
};

struct Plan {
  std::vector<int> devices;               // the plan's own, ascending; 0 .. n-1
  int64_t copies = 1;                     // data-parallel copies of the whole plan at run time
  std::vector<DeviceSequence> sequences;  // one per device, ascending
  std::vector<std::vector<int>> bodies;   // nodes that a cell runs, in order
  std::vector<Node> nodes;
  std::vector<SubTensor> subs;
  std::vector<FullTensor> fulls;
  const FullTensor& FullOf(int sub) const { return fulls[subs[sub].full]; }
  std::string TensorName(int sub) const;  // "layers.0.weight#22"
};

// InvalidArgument: malformed or self-contradicting. Unimplemented: something this reader has no
// meaning for.
absl::StatusOr<Plan> ReadPlan(const Pickle& pickle);

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_PLAN_OBJECTS_H_
