#include "mutation/random_faults.h"

#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mutation/random.h"

namespace planproof::mutation {
namespace {

using sdfg::IndexFunction;
using sdfg::Node;
using sdfg::Op;
using sdfg::OperatorId;
using sdfg::TensorId;
using solver::Rational;

constexpr int kMaxAttempts = 10000;

// A fault that fits the operator is put there, and described; otherwise nothing happens.
using Fault = std::optional<std::string> (*)(GraphEditor&, OperatorId, Random&);

std::optional<std::string> SwapOperands(GraphEditor& editor, OperatorId id, Random& random) {
  std::vector<TensorId>& inputs = editor.graph().operators[id].inputs;
  if (inputs.size() < 2) return std::nullopt;
  const size_t a = random.Below(inputs.size()), b = random.Below(inputs.size());
  if (inputs[a] == inputs[b] || !editor.SameShape(inputs[a], inputs[b])) return std::nullopt;
  std::swap(inputs[a], inputs[b]);
  return "operands " + std::to_string(a) + " and " + std::to_string(b) + " are exchanged";
}

std::optional<std::string> WrongOperand(GraphEditor& editor, OperatorId id, Random& random) {
  const std::vector<TensorId>& inputs = editor.op(id).inputs;
  if (inputs.empty()) return std::nullopt;
  const size_t at = random.Below(inputs.size());
  const sdfg::Tensor& right = editor.graph().tensors[inputs[at]];
  std::vector<TensorId> others;
  for (size_t i = 0; i < editor.graph().tensors.size(); ++i) {
    const sdfg::Tensor& tensor = editor.graph().tensors[i];
    const TensorId other = static_cast<TensorId>(i);
    if (other != inputs[at] && tensor.device == right.device && tensor.producer < id &&
        tensor.dtype == right.dtype && editor.SameShape(other, inputs[at])) {
      others.push_back(other);
    }
  }
  if (others.empty()) return std::nullopt;
  const TensorId wrong = others[random.Below(others.size())];
  const std::string text = "reads " + editor.graph().tensors[wrong].name + " instead of " +
                           right.name + " as operand " + std::to_string(at);
  editor.SetInput(id, static_cast<int>(at), wrong);
  return text;
}

std::optional<std::string> TwiceTheSame(GraphEditor& editor, OperatorId id, Random& random) {
  const std::vector<TensorId>& inputs = editor.op(id).inputs;
  if (inputs.size() < 2) return std::nullopt;
  const size_t a = random.Below(inputs.size()), b = random.Below(inputs.size());
  if (inputs[a] == inputs[b] || !editor.SameShape(inputs[a], inputs[b])) return std::nullopt;
  editor.SetInput(id, static_cast<int>(a), inputs[b]);
  return "operand " + std::to_string(b) + " is read in place of operand " + std::to_string(a);
}

std::optional<std::string> Skip(GraphEditor& editor, OperatorId id, Random&) {
  const int own = editor.OwnInput(id);
  if (own < 0 || !editor.BypassWith(id, own)) return std::nullopt;
  return "gives back operand " + std::to_string(own) + " as it is";
}

// Edits one random node among those that `fits` accepts.
template <typename Fits, typename Edit>
std::optional<std::string> EditNode(GraphEditor& editor, OperatorId id, Random& random,
                                    const Fits& fits, const Edit& edit) {
  std::vector<int> places;
  const IndexFunction& old = *editor.op(id).function;
  for (size_t i = 0; i < old.nodes.size(); ++i) {
    if (fits(old, old.nodes[i])) places.push_back(static_cast<int>(i));
  }
  if (places.empty()) return std::nullopt;
  const int place = places[random.Below(places.size())];
  std::string text;
  editor.EditFunction(id, [&](IndexFunction& function) {
    text = edit(function, function.nodes[place]);
    return true;
  });
  return text;
}

std::optional<std::string> WrongConstant(GraphEditor& editor, OperatorId id, Random& random) {
  const uint64_t how = random.Below(4);
  return EditNode(
      editor, id, random,
      [](const IndexFunction&, const Node& node) {
        return node.op == Op::kReal || node.op == Op::kPow;
      },
      [how](IndexFunction&, Node& node) {
        const Rational old = node.real;
        node.real = how == 0   ? old * Rational(2)
                    : how == 1 ? old + Rational(1)
                    : how == 2 ? -old
                               : old * Rational(1, 2);
        if (node.real == old) node.real = old + Rational(1);
        return std::string(node.op == Op::kPow ? "exponent " : "constant ") + old.ToString() +
               " is now " + node.real.ToString();
      });
}

std::optional<std::string> WrongArithmetic(GraphEditor& editor, OperatorId id, Random& random) {
  return EditNode(
      editor, id, random,
      [](const IndexFunction&, const Node& node) {
        return node.op == Op::kAdd || node.op == Op::kMul || node.op == Op::kDiv ||
               node.op == Op::kMax || node.op == Op::kMin;
      },
      [](IndexFunction&, Node& node) -> std::string {
        switch (node.op) {
          case Op::kAdd:
            node.op = Op::kMul;
            return "a sum is now a product";
          case Op::kMul:
            node.op = Op::kAdd;
            return "a product is now a sum";
          case Op::kDiv:
            node.op = Op::kMul;
            return "a quotient is now a product";
          case Op::kMax:
            node.op = Op::kMin;
            return "a maximum is now a minimum";
          default:
            node.op = Op::kMax;
            return "a minimum is now a maximum";
        }
      });
}

std::optional<std::string> MissingTerm(GraphEditor& editor, OperatorId id, Random& random) {
  return EditNode(
      editor, id, random,
      [](const IndexFunction& function, const Node& node) {
        return node.op == Op::kSum && function.vars[node.var].extent > 1;
      },
      [](IndexFunction& function, Node& node) {
        sdfg::IndexVariable& variable = function.vars[node.var];
        --variable.extent;
        return "the sum over " + variable.name + " leaves out its last term";
      });
}

std::optional<std::string> WrongOffset(GraphEditor& editor, OperatorId id, Random& random) {
  const int64_t step = random.Below(2) == 0 ? 1 : -1;
  return EditNode(
      editor, id, random,
      [](const IndexFunction&, const Node& node) {
        return node.op == Op::kIntConst || node.op == Op::kIntScale;
      },
      [step](IndexFunction&, Node& node) {
        const std::string old = std::to_string(node.value);
        node.value += step;
        return std::string(node.op == Op::kIntConst ? "index offset " : "index stride ") + old +
               " is now " + std::to_string(node.value);
      });
}

std::optional<std::string> TransposedIndices(GraphEditor& editor, OperatorId id, Random& random) {
  const auto transposable = [](const IndexFunction& function, const Node& node, size_t a,
                               size_t b) {
    const sdfg::Shape& shape = function.inputs[node.input].shape;
    return shape[a] == shape[b] && shape[a] > 1 && node.args[a] != node.args[b];
  };
  return EditNode(
      editor, id, random,
      [&](const IndexFunction& function, const Node& node) {
        if (node.op != Op::kElement || node.args.size() < 2) return false;
        for (size_t a = 0; a + 1 < node.args.size(); ++a) {
          if (transposable(function, node, a, a + 1)) return true;
        }
        return false;
      },
      [&](IndexFunction& function, Node& node) {
        for (size_t a = 0; a + 1 < node.args.size(); ++a) {
          if (!transposable(function, node, a, a + 1)) continue;
          std::swap(node.args[a], node.args[a + 1]);
          return "indices " + std::to_string(a) + " and " + std::to_string(a + 1) + " of " +
                 function.inputs[node.input].name + " are exchanged";
        }
        return std::string();
      });
}

std::optional<std::string> Scaled(GraphEditor& editor, OperatorId id, Random& random) {
  const int64_t factor = 2 + static_cast<int64_t>(random.Below(3));
  const bool divided = random.Below(2) == 0;
  bool done = false;
  editor.EditFunction(id, [&](IndexFunction& function) {
    if (function.outputs.size() != 1 || sdfg::IsInteger(function.outputs[0].dtype) ||
        function.outputs[0].dtype == sdfg::DType::kBool) {
      return false;
    }
    Node literal{};
    literal.op = Op::kReal;
    literal.real = divided ? Rational(1, factor) : Rational(factor);
    function.nodes.push_back(literal);
    Node product{};
    product.op = Op::kMul;
    product.args = {function.outputs[0].body, static_cast<int>(function.nodes.size()) - 1};
    function.nodes.push_back(product);
    function.outputs[0].body = static_cast<int>(function.nodes.size()) - 1;
    done = true;
    return true;
  });
  if (!done) return std::nullopt;
  return std::string(divided ? "divided by " : "multiplied by ") + std::to_string(factor);
}

std::optional<std::string> Removed(GraphEditor& editor, OperatorId id, Random&) {
  bool used = false;
  for (const TensorId output : editor.op(id).outputs) {
    used = used || (output >= 0 && editor.HasConsumer(output));
  }
  if (!used) return std::nullopt;
  editor.Remove({id});
  return "removed";
}

std::optional<std::string> WrongDevice(GraphEditor& editor, OperatorId id, Random& random) {
  const sdfg::Device right = editor.DeviceOf(id);
  if (right < 0 || editor.op(id).outputs[0] < 0) return std::nullopt;
  const auto& tensors = editor.graph().tensors;
  const sdfg::Device wrong = tensors[random.Below(tensors.size())].device;
  if (wrong < 0 || wrong == right) return std::nullopt;
  editor.graph().tensors[editor.op(id).outputs[0]].device = wrong;
  return "its result is put on device " + std::to_string(wrong) + " instead of " +
         std::to_string(right);
}

struct NamedFault {
  const char* name;
  Fault fault;
  int weight;  // how often it is drawn; those that keep the plan well-shaped weigh most
};
constexpr NamedFault kFaults[] = {
    {"swapped operands", SwapOperands, 4},
    {"wrong operand", WrongOperand, 5},
    {"repeated operand", TwiceTheSame, 4},
    {"operator skipped", Skip, 4},
    {"wrong constant", WrongConstant, 4},
    {"wrong arithmetic", WrongArithmetic, 3},
    {"missing term", MissingTerm, 3},
    {"wrong offset", WrongOffset, 3},
    {"exchanged indices", TransposedIndices, 3},
    {"wrong factor", Scaled, 4},
    {"operator removed", Removed, 1},
    {"wrong device", WrongDevice, 1},
};

}  // namespace

absl::StatusOr<Mutation> MutateAtRandom(GraphEditor& editor, uint64_t seed) {
  Random random(seed);
  int weights = 0;
  for (const NamedFault& fault : kFaults) weights += fault.weight;
  for (int attempt = 0; editor.size() > 0 && attempt < kMaxAttempts; ++attempt) {
    const OperatorId id = static_cast<OperatorId>(random.Below(editor.size()));
    int drawn = static_cast<int>(random.Below(weights));
    size_t which = 0;
    while (drawn >= kFaults[which].weight) drawn -= kFaults[which++].weight;
    Mutation mutation = editor.Done(kFaults[which].name, {id}, "");
    const std::optional<std::string> change = kFaults[which].fault(editor, id, random);
    if (!change.has_value()) continue;
    mutation.what += *change;
    return mutation;
  }
  return absl::FailedPreconditionError("no fault fits anywhere in this plan");
}

}  // namespace planproof::mutation
