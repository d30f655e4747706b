#include "sdfg/dense_evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "sdfg/differentiate.h"
#include "sdfg/index_function_check.h"
#include "sdfg/index_range.h"
#include "sdfg/real_functions.h"

namespace planproof::sdfg {
namespace {

constexpr int64_t kMaxDenseElements = int64_t{1} << 26;
// Evaluation recurses along an expression; a deeper one is refused.
constexpr int kMaxEvaluationDepth = 4000;

struct Value {
  double real = 0;
  int64_t integer = 0;  // sorts I and B
};

// Evaluates the expressions of one function. Every node keeps its last value and the time of its
// computation; the value holds as long as no index variable below it has moved since. So what does
// not depend on an inner loop is computed once, in any nesting.
class Evaluation {
 public:
  Evaluation(const IndexFunction& function, const OpaqueFunction& opaque)
      : f_(function), opaque_(opaque), sorts_(SortsOf(function)) {
    values_.resize(f_.nodes.size());
    computed_.assign(f_.nodes.size(), -1);
    position_.assign(f_.vars.size(), 0);
    moved_.assign(f_.vars.size(), 0);
    rows_.resize(f_.nodes.size());
    exponents_.assign(f_.nodes.size(), 0);
    std::vector<int> depth;
    for (const Node& node : f_.nodes) {
      absl::InlinedVector<VarId, 6> free;
      int deepest = 0;
      for (ExprId arg : node.args) {
        for (VarId var : free_[arg]) {
          if (std::find(free.begin(), free.end(), var) == free.end()) free.push_back(var);
        }
        deepest = std::max(deepest, depth[arg]);
      }
      if (node.op == Op::kIndex) {
        free.push_back(node.var);
      } else if (node.var >= 0) {
        free.erase(std::remove(free.begin(), free.end(), node.var), free.end());
      }
      if (node.op == Op::kPow) exponents_[free_.size()] = node.real.ToDouble();
      if (node.op == Op::kReal) values_[free_.size()].real = node.real.ToDouble();
      free_.push_back(std::move(free));
      depth.push_back(deepest + 1);
      depth_ = std::max(depth_, deepest + 1);
    }
  }

  // `inputs` has the elements of every input.
  absl::Status Run(const std::vector<const double*>& inputs, const std::vector<double*>& outputs) {
    if (depth_ > kMaxEvaluationDepth) return absl::ResourceExhaustedError("expression too deep");
    inputs_ = inputs;
    std::fill(computed_.begin(), computed_.end(), -1);
    for (size_t o = 0; o < f_.outputs.size(); ++o) {
      if (outputs[o] == nullptr) continue;
      const FunctionOutput& output = f_.outputs[o];
      const int64_t count = ElementCount(output.shape(f_.vars));
      for (VarId var : output.dims) Move(var, 0);
      for (int64_t i = 0; i < count; ++i) {
        const Value& value = Evaluate(output.body);
        outputs[o][i] =
            sorts_[output.body] == Sort::kInt ? static_cast<double>(value.integer) : value.real;
        if (!status_.ok()) return status_;
        for (size_t d = output.dims.size(); d-- > 0;) {
          const VarId var = output.dims[d];
          if (position_[var] + 1 < f_.vars[var].extent) {
            Move(var, position_[var] + 1);
            break;
          }
          Move(var, 0);
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  void Move(VarId var, int64_t position) {
    position_[var] = position;
    moved_[var] = ++time_;
  }

  bool Holds(ExprId id) const {
    if (computed_[id] < 0) return false;
    for (VarId var : free_[id]) {
      if (moved_[var] > computed_[id]) return false;
    }
    return true;
  }

  const Value& Evaluate(ExprId id) {
    if (!Holds(id)) {
      const int64_t started = time_;
      Compute(id, f_.nodes[id]);
      // Inner loops have advanced the clock, but not for what this value depends on.
      computed_[id] = started;
    }
    return values_[id];
  }

  double Real(const Node& node, size_t i) { return Evaluate(node.args[i]).real; }
  int64_t Int(const Node& node, size_t i) { return Evaluate(node.args[i]).integer; }

  double ReadElement(const Node& node) {
    const FunctionInput& input = f_.inputs[node.input];
    int64_t offset = 0;
    for (size_t d = 0; d < node.args.size(); ++d) {
      const int64_t index = Int(node, d);
      if (index < 0 || index >= input.shape[d]) {
        Fail(absl::StrCat("reads input ", input.name, " at ", index, " of dimension ", d,
                          ", whose extent is ", input.shape[d]));
        return 0;
      }
      offset = offset * input.shape[d] + index;
    }
    return inputs_[node.input][offset];
  }

  void Fail(const std::string& what) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(absl::StrCat("operator ", f_.operator_name, ": ", what));
  }

  template <typename Combine>
  double Fold(const Node& node, double start, Combine combine) {
    double result = start;
    const int64_t extent = f_.vars[node.var].extent;
    for (int64_t i = 0; i < extent && status_.ok(); ++i) {
      Move(node.var, i);
      result = combine(result, Evaluate(node.args[0]).real);
    }
    return result;
  }

  double Opaque(ExprId id, const Node& node) {
    if (node.name == kTwoOverSqrtPi) return 1.1283791670955126;
    std::vector<double>& row = rows_[id];
    row.clear();
    std::vector<double> scalars;
    const auto number = [this](ExprId arg) {
      const Value& value = Evaluate(arg);
      return sorts_[arg] == Sort::kInt ? static_cast<double>(value.integer) : value.real;
    };
    if (node.var >= 0) {
      for (int64_t i = 0; i < f_.vars[node.var].extent && status_.ok(); ++i) {
        Move(node.var, i);
        row.push_back(number(node.args[0]));
      }
    }
    for (size_t i = node.var >= 0 ? 1 : 0; i < node.args.size(); ++i) {
      scalars.push_back(number(node.args[i]));
    }
    if (!status_.ok()) return 0;
    const absl::StatusOr<double> value = opaque_({node.name, node.int_valued, row, scalars});
    if (value.ok()) return *value;
    Fail(std::string(value.status().message()));
    return 0;
  }

  void Compute(ExprId id, const Node& node) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double real = 0;
    int64_t integer = 0;
    switch (node.op) {
      case Op::kIntConst:
        integer = node.value;
        break;
      case Op::kIndex:
        integer = position_[node.var];
        break;
      case Op::kIntAdd:
        integer = Int(node, 0) + Int(node, 1);
        break;
      case Op::kIntScale:
        integer = node.value * Int(node, 0);
        break;
      case Op::kIntDiv:
        integer = FloorDiv(Int(node, 0), node.value);
        break;
      case Op::kIntMod: {
        const int64_t value = Int(node, 0);
        integer = value - node.value * FloorDiv(value, node.value);
        break;
      }
      case Op::kWhole:
        integer = std::llround(Real(node, 0));
        break;
      case Op::kIntElement:
        integer = std::llround(ReadElement(node));
        break;
      case Op::kReal:
        return;  // set once
      case Op::kNegInf:
        real = -kInfinity;
        break;
      case Op::kElement:
        real = ReadElement(node);
        break;
      case Op::kPosition:
        real = static_cast<double>(Int(node, 0));
        break;
      case Op::kIndicator:
        real = Int(node, 0) != 0 ? 1 : 0;
        break;
      case Op::kAdd:
        real = Real(node, 0) + Real(node, 1);
        break;
      case Op::kMul:
        real = Real(node, 0) * Real(node, 1);
        break;
      case Op::kNeg:
        real = -Real(node, 0);
        break;
      case Op::kDiv:
        real = Real(node, 0) / Real(node, 1);
        break;
      case Op::kPow:
        real = std::pow(Real(node, 0), exponents_[id]);
        break;
      case Op::kExp:
        real = std::exp(Real(node, 0));
        break;
      case Op::kLog:
        real = std::log(Real(node, 0));
        break;
      case Op::kErf:
        real = std::erf(Real(node, 0));
        break;
      case Op::kSin:
        real = std::sin(Real(node, 0));
        break;
      case Op::kCos:
        real = std::cos(Real(node, 0));
        break;
      case Op::kAbs:
        real = std::fabs(Real(node, 0));
        break;
      case Op::kMax:
        real = std::max(Real(node, 0), Real(node, 1));
        break;
      case Op::kMin:
        real = std::min(Real(node, 0), Real(node, 1));
        break;
      case Op::kSelect: {
        const Value& taken = Evaluate(node.args[Int(node, 0) != 0 ? 1 : 2]);
        real = taken.real;
        integer = taken.integer;
        break;
      }
      case Op::kSum:
        real = Fold(node, 0, [](double a, double b) { return a + b; });
        break;
      case Op::kReduceMax:
        real = Fold(node, -kInfinity, [](double a, double b) { return std::max(a, b); });
        break;
      case Op::kReduceMin:
        real = Fold(node, kInfinity, [](double a, double b) { return std::min(a, b); });
        break;
      case Op::kOpaque:
        real = Opaque(id, node);
        if (node.int_valued) integer = std::llround(real);
        break;
      case Op::kIntLess:
        integer = Int(node, 0) < Int(node, 1);
        break;
      case Op::kIntLessEq:
        integer = Int(node, 0) <= Int(node, 1);
        break;
      case Op::kIntEq:
        integer = Int(node, 0) == Int(node, 1);
        break;
      case Op::kRealLess:
        integer = Real(node, 0) < Real(node, 1);
        break;
      case Op::kRealLessEq:
        integer = Real(node, 0) <= Real(node, 1);
        break;
      case Op::kRealEq:
        integer = Real(node, 0) == Real(node, 1);
        break;
      case Op::kNonzero:
        integer = sorts_[node.args[0]] == Sort::kInt ? Int(node, 0) != 0 : Real(node, 0) != 0;
        break;
      case Op::kAnd:
        integer = Int(node, 0) != 0 && Int(node, 1) != 0;
        break;
      case Op::kOr:
        integer = Int(node, 0) != 0 || Int(node, 1) != 0;
        break;
      case Op::kNot:
        integer = Int(node, 0) == 0;
        break;
    }
    values_[id] = {real, integer};
  }

  const IndexFunction& f_;
  const OpaqueFunction& opaque_;
  std::vector<Sort> sorts_;
  std::vector<absl::InlinedVector<VarId, 6>> free_;
  int depth_ = 0;
  std::vector<const double*> inputs_;
  std::vector<Value> values_;
  std::vector<int64_t> computed_;          // per node: the time of its value, -1 if none
  std::vector<int64_t> position_;          // per variable
  std::vector<int64_t> moved_;             // per variable: when it moved last
  std::vector<std::vector<double>> rows_;  // kOpaque
  std::vector<double> exponents_;          // kPow
  int64_t time_ = 0;
  absl::Status status_;
};

absl::StatusOr<DenseTensor> Allocate(const Shape& shape, double value) {
  if (ElementCount(shape) > kMaxDenseElements) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a tensor of ", ElementCount(shape), " elements is too large to evaluate"));
  }
  return DenseTensor{shape, std::vector<double>(ElementCount(shape), value)};
}

bool Fits(const DenseTensor& tensor, const Shape& shape) {
  return tensor.shape == shape && static_cast<int64_t>(tensor.data.size()) == ElementCount(shape);
}

// Elements between the instances of `tensor` at neighbouring coordinates of each axis, 0 along axes
// over which it does not vary.
std::vector<int64_t> AxisStrides(const Graph& graph, const Tensor& tensor) {
  std::vector<int64_t> strides(graph.axes.size(), 0);
  int64_t stride = 1;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    if (d < tensor.axes.size()) strides[tensor.axes[d]] = stride;
    stride *= tensor.shape[d];
  }
  return strides;
}

absl::Status ApplyOperator(const Graph& graph, const Operator& op, const OpaqueFunction& opaque,
                           std::vector<DenseTensor>* tensors) {
  std::vector<std::vector<int64_t>> input_strides;
  std::vector<std::vector<int64_t>> output_strides;
  std::vector<AxisId> axes;
  for (TensorId output : op.outputs) {
    if (output == kNone) {
      output_strides.emplace_back(graph.axes.size(), 0);
      continue;
    }
    output_strides.push_back(AxisStrides(graph, graph.tensors[output]));
    if (op.lifted) axes = graph.tensors[output].axes;
    absl::StatusOr<DenseTensor> result = Allocate(graph.tensors[output].shape, 0);
    if (!result.ok()) return result.status();
    (*tensors)[output] = *std::move(result);
  }
  for (TensorId input : op.inputs)
    input_strides.push_back(AxisStrides(graph, graph.tensors[input]));

  Evaluation evaluation(*op.function, opaque);
  std::vector<int64_t> coordinate(graph.axes.size(), 0);
  const auto offset = [&coordinate](const std::vector<int64_t>& strides) {
    int64_t result = 0;
    for (size_t i = 0; i < strides.size(); ++i) result += coordinate[i] * strides[i];
    return result;
  };
  for (;;) {
    std::vector<const double*> inputs;
    std::vector<double*> outputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      inputs.push_back((*tensors)[op.inputs[i]].data.data() + offset(input_strides[i]));
    }
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      outputs.push_back(op.outputs[o] == kNone
                            ? nullptr
                            : (*tensors)[op.outputs[o]].data.data() + offset(output_strides[o]));
    }
    if (absl::Status status = evaluation.Run(inputs, outputs); !status.ok()) return status;
    size_t next = axes.size();
    while (next > 0 && ++coordinate[axes[next - 1]] == graph.axes[axes[next - 1]].extent) {
      coordinate[axes[--next]] = 0;
    }
    if (next == 0) return absl::OkStatus();
  }
}

}  // namespace

int64_t ElementCount(const Shape& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) return std::numeric_limits<int64_t>::max();
  }
  return count;
}

absl::StatusOr<double> HashedOpaque(const OpaqueCall& call) {
  if (const std::optional<double> value = RealFunctionValue(call.name, call.scalars)) return *value;
  uint64_t hash = 0xcbf29ce484222325ull;
  const auto mix = [&hash](uint64_t bits) {
    hash ^= bits;
    hash *= 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  };
  for (char c : call.name) mix(static_cast<unsigned char>(c));
  // Rounded, so that values which differ by rounding errors agree (except at the boundaries).
  const auto mix_number = [&mix](double value) {
    mix(static_cast<uint64_t>(std::llround(std::clamp(value, -1e9, 1e9) * 1e6)));
  };
  for (double value : call.row) mix_number(value);
  mix(call.row.size());
  for (double value : call.scalars) mix_number(value);
  if (call.int_valued) {
    return static_cast<double>(hash % std::max<uint64_t>(1, call.row.size()));
  }
  return (static_cast<double>(hash >> 11) + 0.5) / 9007199254740992.0;
}

absl::StatusOr<std::vector<DenseTensor>> EvaluateDense(const IndexFunction& function,
                                                       const std::vector<DenseTensor>& inputs,
                                                       const OpaqueFunction& opaque) {
  if (inputs.size() != function.inputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("operator ", function.operator_name, " takes ",
                                                   function.inputs.size(), " inputs, not ",
                                                   inputs.size()));
  }
  std::vector<const double*> input_data;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!Fits(inputs[i], function.inputs[i].shape)) {
      return absl::InvalidArgumentError(
          absl::StrCat("operator ", function.operator_name, ": input ", i, " has another shape"));
    }
    input_data.push_back(inputs[i].data.data());
  }
  std::vector<DenseTensor> outputs;
  for (const FunctionOutput& output : function.outputs) {
    absl::StatusOr<DenseTensor> result = Allocate(output.shape(function.vars), 0);
    if (!result.ok()) return result.status();
    outputs.push_back(*std::move(result));
  }
  std::vector<double*> output_data;
  // An output without elements is skipped anyway; a null pointer would mean "not wanted".
  for (DenseTensor& output : outputs) output_data.push_back(output.data.data());
  Evaluation evaluation(function, opaque);
  if (absl::Status status = evaluation.Run(input_data, output_data); !status.ok()) return status;
  return outputs;
}

absl::StatusOr<std::vector<DenseTensor>> EvaluateDenseGraph(
    const Graph& graph, const std::map<TensorId, DenseTensor>& inputs,
    const OpaqueFunction& opaque) {
  std::vector<DenseTensor> tensors(graph.tensors.size());
  for (size_t id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    if (tensor.producer != kNone) continue;
    const auto given = inputs.find(static_cast<TensorId>(id));
    if (given != inputs.end()) {
      if (!Fits(given->second, tensor.shape)) {
        return absl::InvalidArgumentError(
            absl::StrCat("value of tensor ", tensor.name, " has another shape"));
      }
      tensors[id] = given->second;
    } else if (tensor.role == TensorRole::kOne || tensor.role == TensorRole::kZero) {
      absl::StatusOr<DenseTensor> value =
          Allocate(tensor.shape, tensor.role == TensorRole::kOne ? 1 : 0);
      if (!value.ok()) return value.status();
      tensors[id] = *std::move(value);
    } else {
      return absl::InvalidArgumentError(absl::StrCat("no value for tensor ", tensor.name));
    }
  }
  for (const Operator& op : graph.operators) {
    if (absl::Status status = ApplyOperator(graph, op, opaque, &tensors); !status.ok()) {
      return status;
    }
  }
  return tensors;
}

}  // namespace planproof::sdfg
