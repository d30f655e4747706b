// Residual branches of the forward pass: where they are, and which are near a place.
#include <algorithm>
#include <deque>

#include "shape_reduction/focused_choice.h"

namespace planproof::shape_reduction {

using sdfg::Op;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr int kBranchDepth = 8;  // operators between a branch's last parameter and its end
constexpr size_t kBranchOperators = 256;
constexpr size_t kMaxBranch = 256;  // tensors of a branch
constexpr size_t kHub = 32;         // tensors with more consumers connect everything
constexpr int kFarSteps = 64;
constexpr int kNearBranch = 24;  // operators
constexpr size_t kMaxMentioned = 4;
constexpr size_t kMaxCopies = 16;  // of what a norm gives

// The expression is zero wherever the elements of input `input` are.
bool Vanishes(const sdfg::IndexFunction& function, sdfg::ExprId root, int input) {
  std::vector<char> zero(function.nodes.size(), 0);
  for (sdfg::ExprId id = 0; id <= root; ++id) {
    const sdfg::Node& node = function.nodes[id];
    const auto arg = [&](size_t k) { return zero[node.args[k]] != 0; };
    switch (node.op) {
      case Op::kElement:
        zero[id] = node.input == input;
        break;
      case Op::kMul:
        zero[id] = arg(0) || arg(1);
        break;
      case Op::kAdd:
      case Op::kMax:
      case Op::kMin:
        zero[id] = arg(0) && arg(1);
        break;
      case Op::kDiv:
      case Op::kNeg:
      case Op::kAbs:
      case Op::kSum:
        zero[id] = arg(0);
        break;
      case Op::kSelect:
        zero[id] = arg(1) && arg(2);
        break;
      case Op::kReal:
        zero[id] = node.real.IsZero();
        break;
      default:
        break;
    }
  }
  return zero[root] != 0;
}

}  // namespace

std::vector<int> FocusedChooser::Downstream(const sdfg::Graph& graph, TensorId place,
                                            const std::set<TensorId>& beyond) {
  std::vector<int> distance(graph.tensors.size(), -1);
  distance[place] = 0;
  for (const sdfg::Operator& op : graph.operators) {
    int least = -1;
    for (TensorId id : op.inputs) {
      if (distance[id] >= 0 && (least < 0 || distance[id] < least)) least = distance[id];
    }
    if (least < 0) continue;
    for (TensorId id : op.outputs) {
      if (id != sdfg::kNone && distance[id] < 0 && beyond.count(id) == 0) distance[id] = least + 1;
    }
  }
  return distance;
}

// Parameters that make the tensor zero if they are, and others (inner) that make zero what these
// are multiplied with.
bool FocusedChooser::Close(TensorId end, int depth, std::set<TensorId>* parameters,
                           std::set<TensorId>* inner) const {
  const sdfg::Graph& graph = problem_.logical;
  if (graph.tensors[end].role == sdfg::TensorRole::kParameter) {  // a bias
    parameters->insert(end);
    return true;
  }
  const OperatorId producer = graph.tensors[end].producer;
  if (producer == sdfg::kNone || depth == 0) return false;
  const sdfg::Operator& op = graph.operators[producer];
  const sdfg::IndexFunction& function = *op.function;
  const sdfg::ExprId body = function.outputs[graph.tensors[end].producer_output].body;
  for (size_t i = op.inputs.size(); i-- > 0;) {
    if (graph.tensors[op.inputs[i]].role == sdfg::TensorRole::kParameter &&
        Vanishes(function, body, static_cast<int>(i))) {
      parameters->insert(op.inputs[i]);
      for (size_t j = 0; inner != nullptr && j < op.inputs.size(); ++j) {
        if (j == i || !Vanishes(function, body, static_cast<int>(j))) continue;
        if (Close(op.inputs[j], kBranchDepth, inner, nullptr)) break;
      }
      return true;
    }
  }
  if (function.nodes[body].op == Op::kAdd && op.inputs.size() == 2) {
    return Close(op.inputs[0], depth - 1, parameters, inner) &&
           Close(op.inputs[1], depth - 1, parameters, inner);
  }
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (Vanishes(function, body, static_cast<int>(i)) &&
        Close(op.inputs[i], depth - 1, parameters, inner)) {
      return true;
    }
  }
  return false;
}

TensorId FocusedChooser::CopiedFrom(TensorId tensor) const {
  const sdfg::Graph& graph = problem_.logical;
  for (int depth = 0; depth < kBranchDepth && graph.tensors[tensor].producer != sdfg::kNone;
       ++depth) {
    const sdfg::Operator& op = graph.operators[graph.tensors[tensor].producer];
    const ScalarProgram& program = programs_.Get(graph, op, graph.tensors[tensor].producer_output);
    const sdfg::Node& body = program.nodes[program.body];
    if (body.op != Op::kElement || body.args.size() != program.dims.size()) break;
    const TensorId source = op.inputs[body.input];
    if (graph.tensors[source].shape != graph.tensors[tensor].shape) break;
    bool same = true;
    for (size_t d = 0; d < body.args.size(); ++d) {
      const IndexForm& form = program.forms[body.args[d]];
      same &= form.constant == 0 && form.atoms.empty() && form.terms.size() == 1 &&
              form.terms[0].var == program.dims[d] && form.terms[0].div == 1 &&
              form.terms[0].scale == 1;
    }
    if (!same) break;
    tensor = source;
  }
  return tensor;
}

void FocusedChooser::FindBranches() {
  const sdfg::Graph& graph = problem_.logical;
  // Whether `from` is computed from `to`, or from what that is a copy of.
  const auto depends = [&](TensorId from, TensorId copy) {
    const TensorId to = CopiedFrom(copy);
    const OperatorId earliest = graph.tensors[to].producer;
    std::vector<TensorId> work = {from};
    std::set<OperatorId> seen;
    while (!work.empty() && seen.size() < kBranchOperators) {
      const TensorId t = work.back();
      work.pop_back();
      if (t == to) return true;
      const OperatorId producer = graph.tensors[t].producer;
      if (producer <= earliest || !seen.insert(producer).second) continue;
      const auto& inputs = graph.operators[producer].inputs;
      work.insert(work.end(), inputs.begin(), inputs.end());
    }
    return false;
  };
  for (const sdfg::Operator& op : graph.operators) {
    if (op.inputs.size() != 2 || op.outputs[0] == sdfg::kNone || backward_[op.outputs[0]]) continue;
    // A mask that is broadcast is no residual.
    if (graph.tensors[op.inputs[0]].shape != graph.tensors[op.inputs[1]].shape) continue;
    const sdfg::IndexFunction& function = *op.function;
    const sdfg::Node& body = function.nodes[function.outputs[0].body];
    if (body.op != Op::kAdd || function.nodes[body.args[0]].op != Op::kElement ||
        function.nodes[body.args[1]].op != Op::kElement) {
      continue;
    }
    for (const size_t k : {1, 0}) {
      Branch branch{op.inputs[k], op.outputs[0], {}, {}};
      if (!depends(branch.end, op.inputs[1 - k])) continue;
      if (!Close(branch.end, kBranchDepth, &branch.parameters, &branch.inner)) continue;
      branches_.push_back(std::move(branch));
      break;
    }
  }
}

// A norm's weight, and the tables with which what it scales is multiplied.
void FocusedChooser::FindFactors() {
  const sdfg::Graph& graph = problem_.logical;
  const auto vanishes_with = [&](const sdfg::Operator& op, size_t input) {
    const TensorId out = op.outputs[0];
    if (out == sdfg::kNone || backward_[out] != 0) return false;
    return Vanishes(*op.function, op.function->outputs[0].body, static_cast<int>(input));
  };
  for (const sdfg::Operator& op : graph.operators) {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!IsFactor(graph.tensors[op.inputs[i]]) || !vanishes_with(op, i)) continue;
      std::set<TensorId>& tables = tables_of_factor_[op.inputs[i]];
      std::vector<TensorId> scaled = {op.outputs[0]};
      for (size_t k = 0; k < scaled.size() && k < kMaxCopies; ++k) {
        for (const OperatorId reader : consumers_[scaled[k]]) {
          const sdfg::Operator& product = graph.operators[reader];
          for (size_t j = 0; j < product.inputs.size(); ++j) {
            const sdfg::Tensor& table = graph.tensors[product.inputs[j]];
            if (table.role == sdfg::TensorRole::kParameter && table.shape.size() > 1 &&
                vanishes_with(product, j)) {
              tables.insert(product.inputs[j]);
            }
          }
          const TensorId out = product.outputs[0];
          if (product.inputs.size() != 1 || out == sdfg::kNone || backward_[out] != 0) continue;
          const sdfg::IndexFunction& function = *product.function;
          const bool moves = function.nodes[function.outputs[0].body].op == Op::kElement;
          if (moves) scaled.push_back(out);
        }
      }
    }
  }
}

// All parameters from which the branch is computed, since the last residual sum.
std::set<TensorId> FocusedChooser::ParametersOf(const Branch& branch) const {
  const sdfg::Graph& graph = problem_.logical;
  std::set<TensorId> sums, parameters, seen = {branch.end};
  for (const Branch& other : branches_) sums.insert(other.sum);
  std::vector<TensorId> work = {branch.end};
  while (!work.empty() && seen.size() < kMaxBranch) {
    const TensorId t = work.back();
    work.pop_back();
    if (graph.tensors[t].role == sdfg::TensorRole::kParameter) parameters.insert(t);
    const OperatorId producer = graph.tensors[t].producer;
    if (producer == sdfg::kNone || sums.count(t) != 0) continue;
    for (const TensorId input : graph.operators[producer].inputs) {
      if (seen.insert(input).second) work.push_back(input);
    }
  }
  return parameters;
}

// Norms' weights of the branch are made small and the tables after them large, so that what the
// branch adds is as it was, and the weights' gradients are what counts.
void FocusedChooser::RaiseFactors(const Branch& branch, Attempt* attempt) const {
  constexpr double kSmallFactor = 0x1p-10;
  const std::set<TensorId> open = ParametersOf(branch);
  for (const auto& [factor, tables] : tables_of_factor_) {
    const auto is_open = [&](TensorId table) { return open.count(table) != 0; };
    if (std::none_of(tables.begin(), tables.end(), is_open)) continue;
    if (!attempt->scales.emplace(factor, kSmallFactor).second) continue;
    for (const TensorId table : tables) attempt->scales[table] = 1 / kSmallFactor;
  }
}

// Those whose every way to a residual sum leads through an exponential.
void FocusedChooser::FindScores() {
  const sdfg::Graph& graph = problem_.logical;
  std::set<TensorId> sums;
  for (const Branch& branch : branches_) sums.insert(branch.sum);
  const auto exponential = [](const sdfg::Operator& op) {
    return std::any_of(op.function->nodes.begin(), op.function->nodes.end(),
                       [](const sdfg::Node& node) { return node.op == Op::kExp; });
  };
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].role != sdfg::TensorRole::kParameter) continue;
    std::vector<TensorId> work = {static_cast<TensorId>(t)};
    std::set<TensorId> seen(work.begin(), work.end());
    bool met = false, direct = false;
    while (!work.empty() && !direct) {
      const TensorId id = work.back();
      work.pop_back();
      for (const OperatorId o : consumers_[id]) {
        const sdfg::Operator& op = graph.operators[o];
        if (op.outputs[0] == sdfg::kNone || backward_[op.outputs[0]]) continue;
        if (exponential(op)) {
          met = true;
          continue;
        }
        for (const TensorId output : op.outputs) {
          if (output == sdfg::kNone || !seen.insert(output).second) continue;
          direct |= sums.count(output) != 0;
          work.push_back(output);
        }
      }
      direct |= seen.size() > kMaxBranch;
    }
    if (met && !direct) scores_.insert(static_cast<TensorId>(t));
  }
}

// Tensors of the forward pass from which it can be said which branch the place belongs to: itself,
// or what the gradient there is computed from.
std::vector<TensorId> FocusedChooser::ForwardAnchors(TensorId place) const {
  const sdfg::Graph& graph = problem_.logical;
  if (!backward_[place]) return {place};
  std::vector<TensorId> level = {place}, anchors;
  std::set<TensorId> seen = {place};
  for (int depth = 0; depth < kNearBranch && anchors.empty() && !level.empty(); ++depth) {
    std::vector<TensorId> next;
    for (TensorId id : level) {
      if (graph.tensors[id].producer == sdfg::kNone) continue;
      for (TensorId input : graph.operators[graph.tensors[id].producer].inputs) {
        if (!seen.insert(input).second) continue;
        const bool forward = !backward_[input] && graph.tensors[input].producer != sdfg::kNone;
        if (forward && consumers_[input].size() <= kHub) anchors.push_back(input);
        if (backward_[input] && next.size() < kHub) next.push_back(input);
      }
    }
    level = std::move(next);
  }
  if (anchors.size() > kMaxMentioned) anchors.resize(kMaxMentioned);
  return anchors;
}

// The branches to keep open: those of what the difference is made of, that into which the place
// runs, and then those around the place, nearest first. What a branch starts from runs into it,
// and past it into the next one, which may end sooner: only the first is meant.
std::vector<size_t> FocusedChooser::Nearest(const Focus& focus,
                                            const std::vector<int>& distance) const {
  std::vector<size_t> result;
  const auto add = [&](size_t branch) {
    if (std::find(result.begin(), result.end(), branch) == result.end()) result.push_back(branch);
  };
  std::set<TensorId> sums;
  for (const Branch& branch : branches_) sums.insert(branch.sum);
  std::vector<TensorId> places = focus.mentioned;
  if (places.size() > kMaxMentioned) places.resize(kMaxMentioned);
  places.push_back(focus.lineage.logical);
  for (TensorId place : places) {
    for (TensorId anchor : ForwardAnchors(place)) {
      const std::vector<int> downstream = Downstream(problem_.logical, anchor, sums);
      std::pair<int, size_t> best{kNearBranch + 1, 0};
      for (size_t b = 0; b < branches_.size(); ++b) {
        const int d = downstream[branches_[b].end];
        if (d >= 0) best = std::min(best, {d, b});
      }
      if (best.first <= kNearBranch) add(best.second);
    }
  }
  std::vector<std::pair<int, size_t>> around;
  for (size_t b = 0; b < branches_.size(); ++b) {
    const int d = distance[branches_[b].end];
    around.push_back({d < 0 ? kFarSteps + 1 : d, b});
  }
  std::sort(around.begin(), around.end());
  for (const auto& [d, b] : around) add(b);
  return result;
}

std::vector<int> FocusedChooser::Distances(TensorId from) const {
  const sdfg::Graph& graph = problem_.logical;
  std::vector<int> distance(graph.tensors.size(), -1);
  std::vector<char> seen(graph.operators.size(), 0);
  std::deque<TensorId> work = {from};
  distance[from] = 0;
  while (!work.empty()) {
    const TensorId t = work.front();
    work.pop_front();
    std::vector<OperatorId> around;
    // From tensors without producer only at the start: what all layers read is no neighbourhood.
    if ((t == from || graph.tensors[t].producer != sdfg::kNone) && consumers_[t].size() <= kHub) {
      around = consumers_[t];
    }
    if (graph.tensors[t].producer != sdfg::kNone) around.push_back(graph.tensors[t].producer);
    for (OperatorId o : around) {
      const sdfg::Operator& op = graph.operators[o];
      if (distance[t] >= kFarSteps || op.inputs.size() > kHub || seen[o]) continue;
      seen[o] = 1;
      for (const auto* side : {&op.inputs, &op.outputs}) {
        for (TensorId next : *side) {
          if (next == sdfg::kNone || distance[next] >= 0) continue;
          distance[next] = distance[t] + 1;
          work.push_back(next);
        }
      }
    }
  }
  return distance;
}

}  // namespace planproof::shape_reduction
