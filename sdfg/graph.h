// Defines the dataflow graph, SSA tensors and operator applications, for the logical model and for
// the parallel plan alike.
//
// A parallel graph does not store one node per device instance where a coordinate can compute it.
// A graph may have *coordinate axes* (data-parallel copy, microbatch, tensor-parallel rank, ...).
// A tensor lists the axes over which it varies; they are leading dimensions of it. So a tensor with
// axes (copy, microbatch) and local shape [4, 1024] stands for copy x microbatch local tensors, and
// the gradient accumulated over microbatches is a plain sum over a leading dimension. An operator
// whose function does not mention coordinates (`lifted`) is applied at each coordinate: its output
// has the union of its inputs' axes (in axis order), and every input is read at its own axes'
// coordinates. Functions that move data along an axis (collectives, accumulation over microbatches)
// are not lifted: their function has the coordinates as explicit leading dimensions.
#ifndef PLANPROOF_SDFG_GRAPH_H_
#define PLANPROOF_SDFG_GRAPH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sdfg/adjustable_operator.h"
#include "sdfg/index_function.h"
#include "sdfg/operator_kind.h"
#include "sdfg/types.h"

namespace planproof::sdfg {

using TensorId = int32_t;
using OperatorId = int32_t;
using AxisId = int32_t;
inline constexpr int32_t kNone = -1;

// What the coordinates of an axis are.
enum class AxisKind : uint8_t {
  kMesh,        // ranks of the device mesh
  kCopy,        // copies of a whole plan, each on devices of its own
  kMicrobatch,  // parts of a batch, one after another on the same devices
};

// A coordinate over which instances vary.
struct Axis {
  std::string name;  // for people: "dp", "microbatch", ...
  int64_t extent = 1;
  AxisKind kind = AxisKind::kMesh;
};

// Coordinates of one axis.
struct AxisCoordinates {
  AxisId axis = kNone;
  std::vector<int64_t> coordinates;
};

enum class TensorRole : uint8_t {
  kIntermediate,  // has a producer
  kInput,         // data of the batch (tokens, ids, the gradient seed)
  kParameter,     // trained; its update must be related as it was read
  kBuffer,        // a constant tensor of the model (rotary table), arbitrary values
  kOne,           // every element is exactly 1 (the gradient of the loss)
  kZero,          // every element is exactly 0
};

struct Tensor {
  std::string name;          // full name, for people and for alignment
  Shape shape;               // coordinate extents (of `axes`) first, then local extents
  std::vector<AxisId> axes;  // leading dimensions, ascending
  DType dtype = DType::kUnknown;
  TensorRole role = TensorRole::kIntermediate;
  // Device of the instance at coordinate 0 of all axes; -1 in a logical graph. The device of
  // another instance is device + sum over axes of coordinate * Graph::axis_device_stride.
  Device device = -1;
  OperatorId producer = kNone;
  int32_t producer_output = 0;
  SourceLocation source;
  int local_rank() const { return static_cast<int>(shape.size() - axes.size()); }
};

struct Operator {
  std::string name;  // for people: "linear", "all_reduce", "linear.backward"
  OperatorKind kind = OperatorKind::kCompute;
  std::shared_ptr<const IndexFunction> function;  // interned: equal functions share one object
  bool lifted = true;
  bool derivative = false;        // reverse mode added it (sdfg/reverse_mode.h)
  std::vector<TensorId> inputs;   // order of function->inputs
  std::vector<TensorId> outputs;  // order of function->outputs; kNone: not wanted
  std::vector<Device> devices;    // that run it, instance at coordinate 0
  // The ranks of a collective or move that is written out rank by rank, in the group's order.
  std::vector<Device> group;
  // Of a kRankOverride: where the first operand is taken, in all of these axes.
  std::vector<AxisCoordinates> override_at;
  std::vector<std::pair<std::string, std::string>> attributes;  // for reports
  SourceLocation source;
  std::string label;  // id in the source file ("cell 123"), for reports
  // What is known of memory. Values do not depend on it (stages/schedule/buffer_check.h).
  struct Memory {
    int32_t overwrites = kNone;  // the input whose memory then holds the output ("inplace")
    bool view = false;           // outputs may lie in the memory of the inputs, unchanged
    // Element i of all outputs is computed before element i of any is written; otherwise each
    // output is computed by itself.
    bool one_pass = false;
  };
  Memory memory;
  // For explanations; null where it is not known (collectives, derivatives, the raw form).
  std::shared_ptr<const AdjustableOperator> adjustable;
};

class Graph {
 public:
  std::vector<Axis> axes;
  std::vector<int64_t> axis_device_stride;  // device step per axis coordinate (0: same)
  std::vector<Tensor> tensors;
  std::vector<Operator> operators;  // in a topological order once Check has passed

  TensorId AddTensor(Tensor tensor);
  // The first tensor of this name; InvalidArgument if there is none.
  absl::StatusOr<TensorId> FindTensor(std::string_view name) const;
  // Adds the operator and marks it as the producer of its outputs. The outputs must exist.
  OperatorId AddOperator(Operator op);
  // Interns by content: equal functions give the same pointer.
  std::shared_ptr<const IndexFunction> Intern(IndexFunction function);
  // Number of operator instances: the product of its outputs' coordinate extents (times
  // participating devices for a collective).
  int64_t InstanceCount(const Operator& op) const;
  // Sorts operators topologically (stable) and checks single assignment, dangling operands, shapes
  // against functions, axes of lifted operators. The error names tensor and operator.
  absl::Status Check();
  // Name for people: "linear.7 on device 3".
  std::string Describe(OperatorId op) const;
  // For people: "tp=0|3, microbatch=1".
  std::string Describe(const std::vector<AxisCoordinates>& at) const;

 private:
  std::map<std::string, std::shared_ptr<const IndexFunction>> interned_;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_GRAPH_H_
