#include "runtime_check/executor.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime_check/rounding.h"
#include "runtime_check/tape_machine.h"

namespace planproof::runtime_check {
namespace {

using sdfg::DType;
using sdfg::kNone;
using sdfg::TensorId;

// Elements between the instances at neighbouring coordinates, by axis of the graph; 0 along axes
// over which the tensor does not vary.
std::vector<int64_t> StridesOf(const sdfg::Graph& graph, const sdfg::Tensor& tensor) {
  std::vector<int64_t> strides(graph.axes.size(), 0);
  int64_t stride = 1;
  for (size_t d = tensor.shape.size(); d-- > 0; stride *= tensor.shape[d]) {
    if (d < tensor.axes.size()) strides[tensor.axes[d]] = stride;
  }
  return strides;
}

int64_t LocalCount(const sdfg::Tensor& tensor) {
  return CountOf(
      {tensor.shape.begin() + static_cast<std::ptrdiff_t>(tensor.axes.size()), tensor.shape.end()});
}

const double* RealsOf(const Values& values, double) { return values.doubles.data(); }
const float* RealsOf(const Values& values, float) { return values.floats.data(); }

template <typename S>
Operand<S> OperandAt(const Values& values, int64_t offset) {
  if (values.storage == Values::Storage::kInteger)
    return {.integers = values.integers.data() + offset};
  return {.reals = RealsOf(values, S{}) + offset};
}

// One output of an operator at all its coordinates. A: what is computed in, S: what is stored.
template <typename A, typename S>
class Application {
 public:
  Application(const sdfg::Graph& graph, const sdfg::Operator& op, const Tape& tape)
      : graph_(graph), op_(op), machine_(tape) {}

  absl::Status Run(const std::vector<Values>& tensors, TensorId output, Values* result) {
    const sdfg::Tensor& target = graph_.tensors[output];
    std::vector<std::vector<int64_t>> strides;
    for (const TensorId input : op_.inputs)
      strides.push_back(StridesOf(graph_, graph_.tensors[input]));
    sdfg::Shape extents;
    if (op_.lifted) {
      for (const sdfg::AxisId axis : target.axes) extents.push_back(graph_.axes[axis].extent);
    }
    const int64_t local = op_.lifted ? LocalCount(target) : CountOf(target.shape);
    const int64_t instances = CountOf(extents);
    std::vector<int64_t> coordinate(extents.size(), 0);
    for (int64_t instance = 0; instance < instances; ++instance) {
      std::vector<Operand<S>> operands;
      for (size_t i = 0; i < op_.inputs.size(); ++i) {
        int64_t offset = 0;
        for (size_t k = 0; k < extents.size(); ++k)
          offset += coordinate[k] * strides[i][target.axes[k]];
        operands.push_back(OperandAt<S>(tensors[op_.inputs[i]], offset));
      }
      absl::Status status;
      if (result->storage == Values::Storage::kInteger) {
        status = machine_.Run(operands, nullptr, result->integers.data() + instance * local);
      } else {
        status = machine_.Run(operands, RealsFor(result) + instance * local, nullptr);
      }
      if (!status.ok()) return status;
      Advance(extents, &coordinate);
    }
    return absl::OkStatus();
  }

 private:
  static A* RealsFor(Values* values) {
    if constexpr (std::is_same_v<A, double>) {
      return values->doubles.data();
    } else {
      return values->floats.data();
    }
  }

  const sdfg::Graph& graph_;
  const sdfg::Operator& op_;
  TapeMachine<A, S> machine_;
};

absl::Status ApplyTape(const sdfg::Graph& graph, const sdfg::Operator& op, const Tape& tape,
                       DType arithmetic, TensorId output, const std::vector<Values>& tensors,
                       Values* result) {
  if (arithmetic == DType::kFloat64)
    return Application<double, double>(graph, op, tape).Run(tensors, output, result);
  // Whole numbers are computed in doubles: 24 bits would not hold them.
  if (result->storage == Values::Storage::kInteger)
    return Application<double, float>(graph, op, tape).Run(tensors, output, result);
  return Application<float, float>(graph, op, tape).Run(tensors, output, result);
}

// Each device rounds what it holds, with a scale of its own in FP8.
void RoundResult(const sdfg::Tensor& tensor, DType arithmetic, Values* values) {
  if (values->storage != Values::Storage::kFloat || tensor.dtype == DType::kBool) return;
  const int64_t local = LocalCount(tensor);
  if (local == 0) return;
  for (int64_t begin = 0; begin < values->size(); begin += local) {
    RoundTensor(arithmetic, std::span<float>(values->floats.data() + begin, local));
  }
}

absl::Status WithPlace(const absl::Status& status, const sdfg::Graph& graph, sdfg::OperatorId id) {
  return absl::Status(status.code(),
                      absl::StrCat(graph.Describe(id), ": ", std::string(status.message())));
}

}  // namespace

absl::StatusOr<const Tape*> Programs::Get(const sdfg::Operator& op, int output) {
  std::unique_ptr<Tape>& tape = tapes_[{op.function.get(), output}];
  if (tape == nullptr) {
    absl::StatusOr<Tape> compiled = Compile(*op.function, output);
    if (!compiled.ok()) return compiled.status();
    tape = std::make_unique<Tape>(*std::move(compiled));
    ++compiled_;
    alive_.push_back(op.function);
  }
  return tape.get();
}

double ElementsOf(const sdfg::Graph& graph) {
  double elements = 0;
  for (const sdfg::Tensor& tensor : graph.tensors)
    elements += static_cast<double>(CountOf(tensor.shape));
  return elements;
}

absl::StatusOr<Cost> CostOf(const sdfg::Graph& graph, Programs* programs) {
  // Also of tensors without elements there are strides.
  for (const sdfg::Tensor& tensor : graph.tensors) {
    int64_t stride = 1;
    for (const int64_t extent : tensor.shape) {
      if (!__builtin_mul_overflow(stride, std::max<int64_t>(extent, 1), &stride)) continue;
      return absl::UnimplementedError(
          absl::StrCat("tensor ", tensor.name, ": its extents are beyond 64 bits"));
    }
  }
  Cost cost;
  cost.elements = ElementsOf(graph);
  for (size_t id = 0; id < graph.operators.size(); ++id) {
    const sdfg::Operator& op = graph.operators[id];
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o] == kNone) continue;
      const absl::StatusOr<const Tape*> tape = programs->Get(op, static_cast<int>(o));
      if (!tape.ok()) return WithPlace(tape.status(), graph, static_cast<sdfg::OperatorId>(id));
      double instances = 1;
      if (op.lifted) {
        for (const sdfg::AxisId axis : graph.tensors[op.outputs[o]].axes)
          instances *= static_cast<double>(graph.axes[axis].extent);
      }
      cost.work += instances * (*tape)->work;
      for (const OpaqueCall& call : (*tape)->calls) {
        cost.elements += static_cast<double>(call.row_extent) * call.row_lanes;
      }
    }
  }
  return cost;
}

absl::Status RunGraph(const sdfg::Graph& graph, const RunOptions& options, Programs* programs,
                      std::vector<Values>* tensors) {
  const DType arithmetic = options.arithmetic;
  std::vector<int64_t> uses(graph.tensors.size(), 0);
  for (size_t id = 0; id < graph.tensors.size(); ++id) {
    const sdfg::Tensor& tensor = graph.tensors[id];
    Values& values = (*tensors)[id];
    if (tensor.producer != kNone || values.storage != Values::Storage::kNone) continue;
    if (tensor.role != sdfg::TensorRole::kOne && tensor.role != sdfg::TensorRole::kZero) {
      return absl::InvalidArgumentError(absl::StrCat("no value for tensor ", tensor.name));
    }
    values = Values::Zeros(tensor.shape, tensor.dtype, arithmetic);
    if (tensor.role == sdfg::TensorRole::kZero) continue;
    for (int64_t i = 0; i < values.size(); ++i) values.Set(i, 1);
  }
  for (const sdfg::Operator& op : graph.operators) {
    for (const TensorId input : op.inputs) ++uses[input];
  }
  const auto free_unless_needed = [&](TensorId id) {
    if (uses[id] == 0 && options.keep != nullptr && !(*options.keep)[id]) (*tensors)[id] = {};
  };
  for (size_t id = 0; id < graph.operators.size(); ++id) {
    const sdfg::Operator& op = graph.operators[id];
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      const TensorId output = op.outputs[o];
      if (output == kNone) continue;
      const sdfg::Tensor& tensor = graph.tensors[output];
      const absl::StatusOr<const Tape*> tape = programs->Get(op, static_cast<int>(o));
      if (!tape.ok()) return WithPlace(tape.status(), graph, static_cast<sdfg::OperatorId>(id));
      Values result = Values::Zeros(tensor.shape, tensor.dtype, arithmetic);
      const absl::Status status =
          ApplyTape(graph, op, **tape, arithmetic, output, *tensors, &result);
      if (!status.ok()) return WithPlace(status, graph, static_cast<sdfg::OperatorId>(id));
      if (!(*tape)->moves_only) RoundResult(tensor, arithmetic, &result);
      (*tensors)[output] = std::move(result);
      if (!options.produced) continue;
      if (absl::Status seen = options.produced(output); !seen.ok()) return seen;
    }
    for (const TensorId input : op.inputs) {
      --uses[input];
      free_unless_needed(input);
    }
    for (const TensorId output : op.outputs) {
      if (output != kNone) free_unless_needed(output);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Values>> RunFunction(const sdfg::IndexFunction& function,
                                                DType arithmetic,
                                                const std::vector<Values>& inputs) {
  sdfg::Graph graph;
  sdfg::Operator op;
  op.function = std::make_shared<const sdfg::IndexFunction>(function);
  std::vector<Values> tensors = inputs;
  for (const sdfg::FunctionInput& input : function.inputs) {
    sdfg::Tensor tensor;
    tensor.shape = input.shape;
    tensor.dtype = input.dtype;
    tensor.role = sdfg::TensorRole::kInput;
    op.inputs.push_back(graph.AddTensor(std::move(tensor)));
  }
  for (const sdfg::FunctionOutput& output : function.outputs) {
    sdfg::Tensor tensor;
    tensor.shape = output.shape(function.vars);
    tensor.dtype = output.dtype;
    op.outputs.push_back(graph.AddTensor(std::move(tensor)));
    tensors.emplace_back();
  }
  op.name = function.operator_name;
  graph.AddOperator(std::move(op));
  Programs programs;
  if (absl::Status status = RunGraph(graph, {.arithmetic = arithmetic}, &programs, &tensors);
      !status.ok()) {
    return status;
  }
  tensors.erase(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(inputs.size()));
  return tensors;
}

}  // namespace planproof::runtime_check
