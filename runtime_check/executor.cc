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

// Where an operator runs for one of its outputs: at each of these coordinates, on elements of its
// operands that begin there.
struct Instances {
  int64_t count = 1;
  int64_t elements = 1;          // of the output, in each
  std::vector<int64_t> offsets;  // by instance, then operand
};

Instances InstancesOf(const sdfg::Graph& graph, const sdfg::Operator& op, TensorId output) {
  const sdfg::Tensor& target = graph.tensors[output];
  std::vector<std::vector<int64_t>> strides;
  for (const TensorId input : op.inputs) strides.push_back(StridesOf(graph, graph.tensors[input]));
  sdfg::Shape extents;
  if (op.lifted) {
    for (const sdfg::AxisId axis : target.axes) extents.push_back(graph.axes[axis].extent);
  }
  Instances instances;
  instances.count = CountOf(extents);
  instances.elements = op.lifted ? LocalCount(target) : CountOf(target.shape);
  std::vector<int64_t> coordinate(extents.size(), 0);
  for (int64_t instance = 0; instance < instances.count; ++instance) {
    for (const std::vector<int64_t>& stride : strides) {
      int64_t offset = 0;
      for (size_t k = 0; k < extents.size(); ++k) offset += coordinate[k] * stride[target.axes[k]];
      instances.offsets.push_back(offset);
    }
    Advance(extents, &coordinate);
  }
  return instances;
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
    const Instances instances = InstancesOf(graph_, op_, output);
    const size_t count = op_.inputs.size();
    for (int64_t instance = 0; instance < instances.count; ++instance) {
      std::vector<Operand<S>> operands;
      for (size_t i = 0; i < count; ++i) {
        operands.push_back(
            OperandAt<S>(tensors[op_.inputs[i]], instances.offsets[instance * count + i]));
      }
      const int64_t first = instance * instances.elements;
      const absl::Status status =
          result->storage == Values::Storage::kInteger
              ? machine_.Run(operands, nullptr, result->integers.data() + first)
              : machine_.Run(operands, RealsFor(result) + first, nullptr);
      if (!status.ok()) return status;
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

bool IsRounded(const sdfg::Tensor& tensor, Values::Storage storage) {
  return storage == Values::Storage::kFloat && tensor.dtype != DType::kBool;
}

// Each device rounds what it holds, with a scale of its own in FP8.
void RoundResult(const sdfg::Tensor& tensor, DType arithmetic, Values* values) {
  if (!IsRounded(tensor, values->storage)) return;
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

// A run of a graph: which tensors are made, where, and how long they are held.
class GraphRun {
 public:
  GraphRun(const sdfg::Graph& graph, const RunOptions& options, Programs* programs,
           std::vector<Values>* tensors)
      : graph_(graph), options_(options), programs_(programs), tensors_(*tensors) {}

  absl::Status Run() {
    if (absl::Status status = MakeConstants(); !status.ok()) return status;
    uses_.assign(graph_.tensors.size(), 0);
    for (const sdfg::Operator& op : graph_.operators) {
      for (const TensorId input : op.inputs) ++uses_[input];
    }
    if (options_.backend != nullptr) {
      buffers_.resize(graph_.tensors.size());
      if (absl::Status status = PrepareBackend(); !status.ok()) return status;
    }
    for (size_t id = 0; id < graph_.operators.size(); ++id) {
      const sdfg::Operator& op = graph_.operators[id];
      for (size_t o = 0; o < op.outputs.size(); ++o) {
        const TensorId output = op.outputs[o];
        if (output == kNone) continue;
        const absl::Status status = Make(op, static_cast<int>(o));
        if (!status.ok()) return WithPlace(status, graph_, static_cast<sdfg::OperatorId>(id));
        if (!Watched(output)) continue;
        if (absl::Status seen = options_.produced(output); !seen.ok()) return seen;
        if (options_.rewrites && options_.backend != nullptr) buffers_[output].reset();
      }
      for (const TensorId input : op.inputs) {
        --uses_[input];
        FreeUnlessNeeded(input);
      }
      for (const TensorId output : op.outputs) {
        if (output != kNone) FreeUnlessNeeded(output);
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status MakeConstants() {
    for (size_t id = 0; id < graph_.tensors.size(); ++id) {
      const sdfg::Tensor& tensor = graph_.tensors[id];
      Values& values = tensors_[id];
      if (tensor.producer != kNone || values.storage != Values::Storage::kNone) continue;
      if (tensor.role != sdfg::TensorRole::kOne && tensor.role != sdfg::TensorRole::kZero) {
        return absl::InvalidArgumentError(absl::StrCat("no value for tensor ", tensor.name));
      }
      values = Values::Zeros(tensor.shape, tensor.dtype, options_.arithmetic);
      if (tensor.role == sdfg::TensorRole::kZero) continue;
      for (int64_t i = 0; i < values.size(); ++i) values.Set(i, 1);
    }
    return absl::OkStatus();
  }

  bool Watched(TensorId id) const {
    return options_.produced && (options_.watched == nullptr || (*options_.watched)[id]);
  }
  bool Kept(TensorId id) const { return options_.keep == nullptr || (*options_.keep)[id]; }
  // Where the tensor, an input too, has its elements.
  Values::Storage StorageOf(TensorId id) const {
    return Values::Zeros({0}, graph_.tensors[id].dtype, options_.arithmetic).storage;
  }

  void FreeUnlessNeeded(TensorId id) {
    if (uses_[id] > 0) return;
    if (options_.backend != nullptr) buffers_[id].reset();
    if (!Kept(id)) tensors_[id] = {};
  }

  // What the backend is asked to run; without operands.
  Backend::Application Asked(const sdfg::Operator& op, const Tape& tape, TensorId output) const {
    Backend::Application application;
    application.tape = &tape;
    application.arithmetic = options_.arithmetic;
    application.result = StorageOf(output);
    Instances instances = InstancesOf(graph_, op, output);
    application.instances = instances.count;
    application.elements = instances.elements;
    application.offsets = std::move(instances.offsets);
    for (const TensorId input : op.inputs) application.storages.push_back(StorageOf(input));
    return application;
  }

  absl::Status PrepareBackend() {
    std::vector<Backend::Application> applications;
    for (size_t id = 0; id < graph_.operators.size(); ++id) {
      const sdfg::Operator& op = graph_.operators[id];
      for (size_t o = 0; o < op.outputs.size(); ++o) {
        if (op.outputs[o] == kNone) continue;
        const absl::StatusOr<const Tape*> tape = programs_->Get(op, static_cast<int>(o));
        if (!tape.ok()) return WithPlace(tape.status(), graph_, static_cast<sdfg::OperatorId>(id));
        applications.push_back(Asked(op, **tape, op.outputs[o]));
      }
    }
    return options_.backend->Prepare(applications);
  }

  absl::Status Make(const sdfg::Operator& op, int number) {
    const TensorId output = op.outputs[number];
    const sdfg::Tensor& tensor = graph_.tensors[output];
    const absl::StatusOr<const Tape*> tape = programs_->Get(op, number);
    if (!tape.ok()) return tape.status();
    if (options_.backend != nullptr) return MakeThere(op, **tape, output);
    Values result = Values::Zeros(tensor.shape, tensor.dtype, options_.arithmetic);
    const absl::Status status =
        ApplyTape(graph_, op, **tape, options_.arithmetic, output, tensors_, &result);
    if (!status.ok()) return status;
    if (!(*tape)->moves_only) RoundResult(tensor, options_.arithmetic, &result);
    tensors_[output] = std::move(result);
    return absl::OkStatus();
  }

  absl::Status MakeThere(const sdfg::Operator& op, const Tape& tape, TensorId output) {
    const sdfg::Tensor& tensor = graph_.tensors[output];
    Backend::Application application = Asked(op, tape, output);
    for (const TensorId input : op.inputs) {
      if (buffers_[input] == nullptr) {
        auto uploaded = options_.backend->Upload(tensors_[input]);
        if (!uploaded.ok()) return uploaded.status();
        buffers_[input] = *std::move(uploaded);
      }
      application.operands.push_back(buffers_[input].get());
    }
    auto result = options_.backend->Run(application);
    if (!result.ok()) return result.status();
    buffers_[output] = *std::move(result);
    if (!tape.moves_only && IsRounded(tensor, application.result)) {
      absl::Status status =
          options_.backend->Round(buffers_[output].get(), options_.arithmetic, LocalCount(tensor));
      if (!status.ok()) return status;
    }
    if (!Kept(output) && !Watched(output)) return absl::OkStatus();
    tensors_[output] = Values::Zeros(tensor.shape, tensor.dtype, options_.arithmetic);
    return options_.backend->Download(*buffers_[output], &tensors_[output]);
  }

  const sdfg::Graph& graph_;
  const RunOptions& options_;
  Programs* const programs_;
  std::vector<Values>& tensors_;
  std::vector<int64_t> uses_;                              // that are still to come
  std::vector<std::unique_ptr<Backend::Buffer>> buffers_;  // with a backend
};

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
  return GraphRun(graph, options, programs, tensors).Run();
}

absl::StatusOr<std::vector<Values>> RunFunction(const sdfg::IndexFunction& function,
                                                DType arithmetic, const std::vector<Values>& inputs,
                                                Backend* backend) {
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
  if (absl::Status status =
          RunGraph(graph, {.arithmetic = arithmetic, .backend = backend}, &programs, &tensors);
      !status.ok()) {
    return status;
  }
  tensors.erase(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(inputs.size()));
  return tensors;
}

}  // namespace planproof::runtime_check
