#include "shape_reduction/compared_values.h"

#include <cmath>
#include <memory>
#include <unordered_map>
#include <utility>

#include "shape_reduction/index_form.h"

namespace planproof::shape_reduction {

using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::Node;
using sdfg::Op;
using sdfg::TensorId;

namespace {

constexpr size_t kMaxValues = 64;    // of one kind, of one tensor
constexpr int kMaxVisits = 256;      // of expressions, per value followed
constexpr double kLargest = 0x1p40;  // of reals
constexpr int64_t kFarthest = int64_t{1} << 40;

template <typename T>
void Insert(T value, std::set<T>* values) {
  if (values->size() < kMaxValues) values->insert(value);
}

// The constants of one index function, by input.
class FunctionValues {
 public:
  explicit FunctionValues(const IndexFunction& function)
      : f_(function), own_(function.inputs.size()) {
    for (const Node& node : f_.nodes) {
      forms_.push_back(FormOf(node, static_cast<ExprId>(forms_.size()), forms_, f_.vars));
    }
    into_ = &own_;
    for (const Node& node : f_.nodes) Compare(node);
  }

  const std::vector<ComparedValues>& own() const { return own_; }

  // What the elements of the inputs are where those of this output have the values.
  void Follow(int output, const ComparedValues& values, std::vector<ComparedValues>* inputs) {
    into_ = inputs;
    const ExprId body = f_.outputs[output].body;
    for (const int64_t value : values.integers)
      Start(body, static_cast<double>(value), value, false);
    for (const int64_t value : values.edges) Start(body, static_cast<double>(value), value, true);
    for (const double value : values.reals) {
      const int64_t below = static_cast<int64_t>(std::floor(value));
      Start(body, value, below, false);
      if (IsInteger(body)) Start(body, value, static_cast<int64_t>(std::ceil(value)), false);
    }
  }

 private:
  bool IsInteger(ExprId id) const {
    const Node& node = f_.nodes[id];
    if (node.op == Op::kSelect) return IsInteger(node.args[1]);
    return node.op <= Op::kIntElement || (node.op == Op::kOpaque && node.int_valued);
  }

  void Start(ExprId body, double real, int64_t value, bool edge) {
    visits_ = 0;
    if (IsInteger(body)) {
      Integer(body, value, edge);
    } else {
      Real(body, real);
    }
  }

  void Compare(const Node& node) {
    visits_ = 0;
    switch (node.op) {
      case Op::kIntLess:
      case Op::kIntLessEq:
      case Op::kIntEq: {
        IndexForm difference = AddForms(forms_[node.args[0]], forms_[node.args[1]], -1, f_.vars);
        if (difference.overflow || difference.atoms.size() != 1) return;
        // Where the difference is 0; of an inequality also where it is not yet.
        Form(difference, 0, false);
        if (node.op != Op::kIntEq) {
          Form(difference, -1, false);
          Form(difference, 1, false);
        }
        return;
      }
      case Op::kNonzero:
        Start(node.args[0], 0, 0, false);
        return;
      case Op::kRealLess:
      case Op::kRealLessEq:
      case Op::kRealEq:
      case Op::kMax:
      case Op::kMin:
        for (const int k : {0, 1}) {
          if (const Node& other = f_.nodes[node.args[1 - k]]; other.op == Op::kReal) {
            Real(node.args[k], other.real.ToDouble());
          }
        }
        return;
      default:
        return;
    }
  }

  // form = value.
  void Form(const IndexForm& form, int64_t value, bool edge) {
    if (form.overflow || form.atoms.size() != 1 || ++visits_ > kMaxVisits) return;
    const auto [scale, atom] = form.atoms[0];
    IndexForm rest = form;
    rest.atoms.clear();
    int64_t low = 0, high = 0;
    if (!FormRange(rest, &low, &high)) return;
    if (low == high) {
      const int64_t difference = value - low;  // both at most 2^62
      Atom(atom, FloorDiv(difference, scale), edge);
      if (difference % scale != 0) Atom(atom, FloorDiv(difference, scale) + 1, edge);
      return;
    }
    for (const int64_t end : {low, high}) {
      for (int64_t near = -1; near <= 1; ++near) {
        Atom(atom, FloorDiv(value - end, scale) + near, /*edge=*/true);
      }
    }
  }

  void Integer(ExprId id, int64_t value, bool edge) {
    if (f_.nodes[id].op == Op::kSelect) return Atom(id, value, edge);
    Form(forms_[id], value, edge);
  }

  void Atom(ExprId id, int64_t value, bool edge) {
    if (++visits_ > kMaxVisits || value > kFarthest || value < -kFarthest) return;
    const Node& node = f_.nodes[id];
    switch (node.op) {
      case Op::kIntElement: {
        ComparedValues& input = (*into_)[node.input];
        Insert(value, edge ? &input.edges : &input.integers);
        return;
      }
      case Op::kIntDiv: {  // from value d up to the next multiple
        int64_t first;
        if (__builtin_mul_overflow(value, node.value, &first)) return;
        for (const int64_t near : {first - 1, first, first + node.value - 1, first + node.value}) {
          Integer(node.args[0], near, edge);
        }
        return;
      }
      case Op::kIntMod:
        Integer(node.args[0], value, edge);
        Integer(node.args[0], value + node.value, edge);
        return;
      case Op::kSelect:
        Integer(node.args[1], value, edge);
        Integer(node.args[2], value, edge);
        return;
      default:
        return;
    }
  }

  // The expression has the value; nothing is lost where it has it elsewhere, too.
  void Real(ExprId id, double value) {
    if (++visits_ > kMaxVisits || !(std::fabs(value) <= kLargest)) return;
    const Node& node = f_.nodes[id];
    const auto constant = [&](int k) -> const Node* {
      const Node& arg = f_.nodes[node.args[k]];
      return arg.op == Op::kReal ? &arg : nullptr;
    };
    switch (node.op) {
      case Op::kElement:
        Insert(value, &(*into_)[node.input].reals);
        return;
      case Op::kPosition:
        Integer(node.args[0], static_cast<int64_t>(std::floor(value)), false);
        Integer(node.args[0], static_cast<int64_t>(std::ceil(value)), false);
        return;
      case Op::kAdd:
      case Op::kMul:
        for (const int k : {0, 1}) {
          const Node* other = constant(1 - k);
          if (other == nullptr) continue;
          const double c = other->real.ToDouble();
          if (node.op == Op::kAdd) Real(node.args[k], value - c);
          if (node.op == Op::kMul && c != 0) Real(node.args[k], value / c);
        }
        return;
      case Op::kDiv:
        if (const Node* divisor = constant(1)) {
          Real(node.args[0], value * divisor->real.ToDouble());
        } else if (const Node* dividend = constant(0); dividend != nullptr && value != 0) {
          Real(node.args[1], dividend->real.ToDouble() / value);
        }
        return;
      case Op::kNeg:
        Real(node.args[0], -value);
        return;
      case Op::kAbs:
        if (value < 0) return;
        Real(node.args[0], value);
        Real(node.args[0], -value);
        return;
      case Op::kPow:
        if (value <= 0) return;
        Real(node.args[0], std::pow(value, 1 / node.real.ToDouble()));
        Real(node.args[0], -std::pow(value, 1 / node.real.ToDouble()));
        return;
      case Op::kExp:
        if (value > 0) Real(node.args[0], std::log(value));
        return;
      case Op::kLog:
        Real(node.args[0], std::exp(value));
        return;
      case Op::kMax:
      case Op::kMin:
        Real(node.args[0], value);
        Real(node.args[1], value);
        return;
      case Op::kSelect:
        Real(node.args[1], value);
        Real(node.args[2], value);
        return;
      case Op::kReduceMax:
      case Op::kReduceMin:
        Real(node.args[0], value);
        return;
      default:
        return;
    }
  }

  const IndexFunction& f_;
  std::vector<IndexForm> forms_;
  std::vector<ComparedValues> own_;
  std::vector<ComparedValues>* into_ = nullptr;
  int visits_ = 0;
};

class Collector {
 public:
  // By tensor of the graph.
  std::vector<ComparedValues> Of(const sdfg::Graph& graph) {
    std::vector<ComparedValues> found(graph.tensors.size());
    for (size_t o = graph.operators.size(); o-- > 0;) {
      const sdfg::Operator& op = graph.operators[o];
      FunctionValues& function = ValuesOf(*op.function);
      for (size_t k = 0; k < op.inputs.size(); ++k) Add(function.own()[k], &found[op.inputs[k]]);
      for (size_t k = 0; k < op.outputs.size(); ++k) {
        if (op.outputs[k] == sdfg::kNone) continue;
        const ComparedValues& values = found[op.outputs[k]];
        if (values.integers.empty() && values.edges.empty() && values.reals.empty()) continue;
        std::vector<ComparedValues> inputs(op.inputs.size());
        function.Follow(static_cast<int>(k), values, &inputs);
        for (size_t i = 0; i < op.inputs.size(); ++i) Add(inputs[i], &found[op.inputs[i]]);
      }
    }
    return found;
  }

  static void Add(const ComparedValues& from, ComparedValues* into) {
    for (const int64_t value : from.integers) Insert(value, &into->integers);
    for (const int64_t value : from.edges) Insert(value, &into->edges);
    for (const double value : from.reals) Insert(value, &into->reals);
  }

 private:
  FunctionValues& ValuesOf(const IndexFunction& function) {
    std::unique_ptr<FunctionValues>& values = functions_[&function];
    if (values == nullptr) values = std::make_unique<FunctionValues>(function);
    return *values;
  }

  std::unordered_map<const IndexFunction*, std::unique_ptr<FunctionValues>> functions_;
};

}  // namespace

std::vector<ComparedValues> FindComparedValues(const lineage::Problem& problem) {
  Collector collector;
  std::vector<ComparedValues> found = collector.Of(problem.logical);
  const std::vector<ComparedValues> parallel = collector.Of(problem.parallel);
  for (size_t t = 0; t < parallel.size() && t < problem.lineage.size(); ++t) {
    const lineage::Lineage& lineage = problem.lineage[t];
    if (problem.parallel.tensors[t].producer != sdfg::kNone ||
        lineage.kind != lineage::LineageKind::kFull) {
      continue;
    }
    Collector::Add(parallel[t], &found[lineage.logical]);
  }
  for (size_t t = 0; t < found.size(); ++t) {
    if (problem.logical.tensors[t].producer != sdfg::kNone) found[t] = {};
  }
  return found;
}

}  // namespace planproof::shape_reduction
