// Published bugs, re-created: each entry finds the places where it can happen and puts one there.
#include "mutation/catalogue.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sdfg/collectives.h"

namespace planproof::mutation {
namespace {

using sdfg::IndexFunction;
using sdfg::Node;
using sdfg::Op;
using sdfg::OperatorId;
using solver::Rational;

// Operators that `fits` accepts, of which the seed chooses one.
template <typename Fits>
absl::StatusOr<OperatorId> Choose(const GraphEditor& editor, uint64_t seed,
                                  const std::string& wanted, const Fits& fits) {
  std::vector<OperatorId> places;
  for (OperatorId id = 0; id < editor.size(); ++id) {
    if (fits(id)) places.push_back(id);
  }
  if (places.empty()) {
    return absl::FailedPreconditionError("this plan has no place for it: it needs " + wanted);
  }
  return places[seed % places.size()];
}

bool IsCollective(const GraphEditor& editor, OperatorId id, const std::string& name) {
  return editor.op(id).name.rfind(name, 0) == 0 && editor.OwnInput(id) >= 0;
}

// The literal numbers of a function that `fits` accepts, as node numbers.
template <typename Fits>
int FindNode(const IndexFunction& function, const Fits& fits) {
  for (size_t i = 0; i < function.nodes.size(); ++i) {
    if (fits(function, function.nodes[i])) return static_cast<int>(i);
  }
  return -1;
}

// A small constant that is added, such as the eps of a norm: the node of the constant.
int AddedConstant(const IndexFunction& function) {
  for (const Node& node : function.nodes) {
    if (node.op != Op::kAdd) continue;
    for (const int argument : node.args) {
      const Node& operand = function.nodes[argument];
      if (operand.op == Op::kReal && Rational(0) < operand.real && operand.real < Rational(1, 10)) {
        return argument;
      }
    }
  }
  return -1;
}

int Exponent(const IndexFunction& function) {
  return FindNode(function, [](const IndexFunction&, const Node& node) {
    return node.op == Op::kPow && node.real == Rational(2);
  });
}

// A constant divisor of an operator that divides (the score's square root of the head size): the
// node of the constant.
int Divisor(const IndexFunction& function) {
  if (function.operator_name.find("div") == std::string::npos) return -1;
  for (const Node& node : function.nodes) {
    if (node.op != Op::kDiv && node.op != Op::kMul) continue;
    for (const int argument : node.args) {
      const Node& operand = function.nodes[argument];
      if (operand.op == Op::kReal && !operand.real.IsZero() && !operand.real.IsOne()) {
        return argument;
      }
    }
  }
  return -1;
}

// Changes the literal that `find` points at, on one device or on all that make the same value.
absl::StatusOr<Mutation> ChangeLiteral(GraphEditor& editor, const std::string& kind, uint64_t seed,
                                       bool everywhere, int (*find)(const IndexFunction&),
                                       Rational (*change)(const Rational&),
                                       const std::string& wanted) {
  absl::StatusOr<OperatorId> place = Choose(editor, seed, wanted, [&](OperatorId id) {
    return !editor.IsBackward(id) && find(*editor.op(id).function) >= 0 &&
           (editor.Replicas(id).size() > 1 || editor.graph().axes.empty());
  });
  if (!place.ok()) return place.status();
  const std::vector<OperatorId> ids =
      everywhere ? editor.Replicas(*place) : std::vector<OperatorId>{*place};
  std::string text;
  for (const OperatorId id : ids) {
    editor.EditFunction(id, [&](IndexFunction& function) {
      const int node = find(function);
      if (node < 0) return false;
      Rational& literal = function.nodes[node].real;
      const Rational changed = change(literal);
      text = literal.ToString() + " is now " + changed.ToString();
      literal = changed;
      return true;
    });
  }
  return editor.Done(kind, ids, text);
}

absl::StatusOr<Mutation> DropSum(GraphEditor& editor, const std::string& kind, uint64_t seed,
                                 bool backward) {
  absl::StatusOr<OperatorId> place =
      Choose(editor, seed, backward ? "an all-reduce in the backward pass" : "an all-reduce",
             [&](OperatorId id) {
               return IsCollective(editor, id, "all_reduce") && editor.IsBackward(id) == backward;
             });
  if (!place.ok()) return place.status();
  const std::vector<OperatorId> group = editor.Group(*place);
  Mutation mutation = editor.Done(kind, group, "replaced by the identity");
  for (const OperatorId id : group) {
    if (!editor.BypassWith(id, editor.OwnInput(id))) {
      return absl::FailedPreconditionError("the all-reduce changes the shape");
    }
  }
  return mutation;
}

absl::StatusOr<Mutation> DropOperator(GraphEditor& editor, const std::string& kind, uint64_t seed,
                                      bool gradient) {
  absl::StatusOr<OperatorId> place = Choose(
      editor, seed, gradient ? "a gradient that is consumed" : "an all-reduce", [&](OperatorId id) {
        const auto& outputs = editor.op(id).outputs;
        if (outputs.empty() || outputs[0] < 0 || !editor.HasConsumer(outputs[0])) return false;
        return gradient ? editor.IsBackward(id)
                        : !editor.IsBackward(id) && IsCollective(editor, id, "all_reduce");
      });
  if (!place.ok()) return place.status();
  const std::vector<OperatorId> ids =
      gradient ? std::vector<OperatorId>{*place} : editor.Group(*place);
  Mutation mutation = editor.Done(kind, ids, "removed, its output is still used");
  editor.Remove(ids);
  return mutation;
}

// An all-reduce becomes an all-gather or the reverse; the shapes of the outputs stay.
absl::StatusOr<Mutation> ExchangeCollective(GraphEditor& editor, const std::string& kind,
                                            uint64_t seed, bool to_gather) {
  const std::string name = to_gather ? "all_reduce" : "all_gather";
  absl::StatusOr<OperatorId> place =
      Choose(editor, seed, "an " + name + " among listed devices", [&](OperatorId id) {
        return IsCollective(editor, id, name) && editor.op(id).inputs.size() > 1 &&
               editor.op(id).lifted && !editor.op(id).function->inputs[0].shape.empty();
      });
  if (!place.ok()) return place.status();
  const std::vector<OperatorId> group = editor.Group(*place);
  Mutation mutation = editor.Done(
      kind, group, to_gather ? "gathers instead of reducing" : "reduces instead of gathering");
  for (const OperatorId id : group) {
    const sdfg::Operator& op = editor.op(id);
    std::vector<sdfg::Shape> shapes;
    for (const sdfg::FunctionInput& input : op.function->inputs) shapes.push_back(input.shape);
    const sdfg::DType dtype = op.function->inputs[0].dtype;
    absl::StatusOr<IndexFunction> function =
        to_gather ? sdfg::AllGather(shapes, dtype, static_cast<int>(shapes[0].size()) - 1)
                  : sdfg::AllReduce(shapes[0], dtype, static_cast<int>(shapes.size()),
                                    sdfg::ReduceKind::kSum);
    if (!function.ok()) return absl::FailedPreconditionError(function.status().message());
    editor.SetFunction(id, *std::move(function), op.inputs);
    sdfg::Operator& changed = editor.graph().operators[id];
    changed.name = to_gather ? "all_gather" : "all_reduce";
    changed.kind = to_gather ? sdfg::OperatorKind::kAllGather : sdfg::OperatorKind::kAllReduce;
  }
  return mutation;
}

absl::StatusOr<Mutation> WrongReceiver(GraphEditor& editor, uint64_t seed) {
  absl::StatusOr<OperatorId> place =
      Choose(editor, seed, "a move between devices", [&](OperatorId id) {
        return editor.op(id).kind == sdfg::OperatorKind::kMove && !editor.op(id).outputs.empty() &&
               editor.op(id).outputs[0] >= 0 && editor.HasConsumer(editor.op(id).outputs[0]);
      });
  if (!place.ok()) return place.status();
  const Mutation before = editor.Done("BR6", {*place}, "");
  sdfg::Operator& op = editor.graph().operators[*place];
  sdfg::Tensor& output = editor.graph().tensors[op.outputs[0]];
  // Any other device of the plan that is not the receiver.
  sdfg::Device wrong = -1;
  for (const sdfg::Tensor& tensor : editor.graph().tensors) {
    if (tensor.device >= 0 && tensor.device != output.device) wrong = tensor.device;
  }
  if (wrong < 0) return absl::FailedPreconditionError("the plan has one device");
  const sdfg::Device right = output.device;
  for (sdfg::Device& device : op.devices) {
    if (device == right) device = wrong;
  }
  output.device = wrong;
  Mutation mutation = before;
  mutation.devices.push_back(wrong);
  mutation.what +=
      "sends to device " + std::to_string(wrong) + " instead of " + std::to_string(right);
  return mutation;
}

absl::StatusOr<Mutation> GradientTwice(GraphEditor& editor, uint64_t seed) {
  absl::StatusOr<OperatorId> place =
      Choose(editor, seed, "the backward of multiref", [&](OperatorId id) {
        const std::vector<sdfg::TensorId>& inputs = editor.op(id).inputs;
        if (!editor.NameContains(id, "multiref") || !editor.IsBackward(id)) return false;
        if (inputs.size() < 2) return false;
        const sdfg::TensorId last = inputs[inputs.size() - 1], before = inputs[inputs.size() - 2];
        return last != before && editor.IsGradient(last) && editor.IsGradient(before) &&
               editor.SameShape(last, before);
      });
  if (!place.ok()) return place.status();
  const std::vector<sdfg::TensorId>& inputs = editor.op(*place).inputs;
  const int last = static_cast<int>(inputs.size()) - 1;
  editor.SetInput(*place, last, inputs[last - 1]);
  return editor.Done("BR10", {*place}, "takes its first gradient twice");
}

absl::StatusOr<Mutation> ExchangedGradients(GraphEditor& editor, uint64_t seed) {
  absl::StatusOr<OperatorId> place =
      Choose(editor, seed, "the backward of a rotary embedding", [&](OperatorId id) {
        const std::vector<sdfg::TensorId>& inputs = editor.op(id).inputs;
        return editor.NameContains(id, "rotary") && editor.IsBackward(id) && inputs.size() > 1 &&
               editor.SameShape(inputs[inputs.size() - 1], inputs[inputs.size() - 2]);
      });
  if (!place.ok()) return place.status();
  std::vector<sdfg::TensorId>& inputs = editor.graph().operators[*place].inputs;
  std::swap(inputs[inputs.size() - 1], inputs[inputs.size() - 2]);
  return editor.Done("BR11", {*place}, "its two gradients are exchanged");
}

absl::StatusOr<Mutation> EarlyReducer(GraphEditor& editor, uint64_t seed) {
  absl::StatusOr<OperatorId> place =
      Choose(editor, seed, "a gradient summed over microbatches", [&](OperatorId id) {
        const sdfg::Operator& op = editor.op(id);
        if (op.lifted || op.inputs.size() != 1 || !editor.IsBackward(id)) return false;
        bool microbatches = false;
        for (const sdfg::AxisId axis : editor.graph().tensors[op.inputs[0]].axes) {
          const auto& after = editor.graph().tensors[op.outputs[0]].axes;
          microbatches |= editor.graph().axes[axis].name.find("microbatch") != std::string::npos &&
                          std::find(after.begin(), after.end(), axis) == after.end();
        }
        return microbatches && FindNode(*op.function, [](const IndexFunction& f, const Node& node) {
                                 return node.op == Op::kSum && f.vars[node.var].extent > 1;
                               }) >= 0;
      });
  if (!place.ok()) return place.status();
  editor.EditFunction(*place, [](IndexFunction& function) {
    for (const Node& node : function.nodes) {
      if (node.op != Op::kSum || function.vars[node.var].extent < 2) continue;
      --function.vars[node.var].extent;
      return true;
    }
    return false;
  });
  return editor.Done("BR14", {*place}, "runs before the last microbatch has added its gradient");
}

// A buffer of positions is read from its start on every rank.
absl::StatusOr<Mutation> UnslicedPositions(GraphEditor& editor, uint64_t seed) {
  lineage::Problem& problem = editor.problem();
  std::vector<sdfg::TensorId> places;
  for (size_t i = 0; i < problem.lineage.size(); ++i) {
    const sdfg::Tensor& tensor = problem.parallel.tensors[i];
    if (tensor.role != sdfg::TensorRole::kBuffer && tensor.role != sdfg::TensorRole::kInput)
      continue;
    for (const lineage::IndexMap& map : problem.lineage[i].map) {
      bool moves = map.constant != 0;
      for (const lineage::IndexTerm& term : map.terms) {
        moves |= term.dim < static_cast<int>(tensor.axes.size());
      }
      if (moves && tensor.role == sdfg::TensorRole::kBuffer) {
        places.push_back(static_cast<sdfg::TensorId>(i));
        break;
      }
    }
  }
  if (places.empty()) {
    return absl::FailedPreconditionError(
        "this plan has no place for it: it needs a buffer of positions that is sliced along a"
        " sharded sequence");
  }
  const sdfg::TensorId place = places[seed % places.size()];
  const size_t axes = problem.parallel.tensors[place].axes.size();
  for (lineage::IndexMap& map : problem.lineage[place].map) {
    map.constant = 0;
    std::erase_if(map.terms, [axes](const lineage::IndexTerm& term) {
      return term.dim < static_cast<int>(axes) ||
             (term.gated() && term.gate.dim < static_cast<int>(axes));
    });
  }
  Mutation mutation;
  mutation.kind = "C1";
  mutation.operators = {problem.parallel.tensors[place].name};
  mutation.what = "C1: " + problem.parallel.tensors[place].name +
                  ": every rank reads the slice that starts at 0";
  return mutation;
}

absl::StatusOr<Mutation> TwoProducers(GraphEditor& editor, uint64_t seed) {
  absl::StatusOr<OperatorId> place =
      Choose(editor, seed, "a forward operator whose output is used", [&](OperatorId id) {
        const auto& outputs = editor.op(id).outputs;
        return !editor.IsBackward(id) && outputs.size() == 1 && outputs[0] >= 0 &&
               editor.HasConsumer(outputs[0]);
      });
  if (!place.ok()) return place.status();
  sdfg::Operator again = editor.op(*place);
  again.label += " again";
  editor.graph().operators.push_back(std::move(again));
  return editor.Done("C2", {*place}, "runs twice and makes the same tensor");
}

Rational Two(const Rational&) { return 2; }
Rational One(const Rational&) { return 1; }
Rational Doubled(const Rational& old) { return old * Rational(2); }

}  // namespace

absl::StatusOr<Mutation> MutateByCatalogue(GraphEditor& editor, const std::string& kind,
                                           uint64_t seed) {
  if (kind == "BR1") return DropSum(editor, kind, seed, /*backward=*/false);
  if (kind == "BR2") return DropOperator(editor, kind, seed, /*gradient=*/false);
  if (kind == "BR3") return ExchangeCollective(editor, kind, seed, /*to_gather=*/true);
  if (kind == "BR4") return ExchangeCollective(editor, kind, seed, /*to_gather=*/false);
  if (kind == "BR5") return DropSum(editor, kind, seed, /*backward=*/true);
  if (kind == "BR6") return WrongReceiver(editor, seed);
  if (kind == "BR7" || kind == "BR9") {
    return ChangeLiteral(editor, kind, seed, kind == "BR9", AddedConstant, Two,
                         "an added constant below 1/10, such as the eps of a norm");
  }
  if (kind == "BR8") {
    return ChangeLiteral(editor, kind, seed, false, Exponent, One, "an exponent 2");
  }
  if (kind == "BR10") return GradientTwice(editor, seed);
  if (kind == "BR11") return ExchangedGradients(editor, seed);
  if (kind == "BR12" || kind == "BR13") {
    return ChangeLiteral(editor, kind, seed, kind == "BR13", Divisor, Doubled,
                         "a division by a constant");
  }
  if (kind == "BR14") return EarlyReducer(editor, seed);
  if (kind == "C1") return UnslicedPositions(editor, seed);
  if (kind == "C2") return TwoProducers(editor, seed);
  if (kind == "C3") return DropOperator(editor, kind, seed, /*gradient=*/true);
  return absl::InvalidArgumentError("unknown kind");
}

}  // namespace planproof::mutation
