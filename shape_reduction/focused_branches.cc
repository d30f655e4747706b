// Residual branches of the forward pass: where they are, and which are near a place.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "shape_reduction/focused_choice.h"

namespace planproof::shape_reduction {

using sdfg::Op;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr int kMaxCopying = 8;  // operators that move a tensor unchanged
constexpr size_t kBranchOperators = 256;
constexpr size_t kMaxBranch = 256;  // tensors of a branch
constexpr size_t kHub = 32;         // tensors with more consumers connect everything
constexpr int kFarSteps = 64;
constexpr int kNearBranch = 24;  // operators
constexpr size_t kMaxMentioned = 4;
constexpr int kSumDepth = 2;  // operators between a parameter's gradient and a sum of squares
constexpr size_t kMaxTurns = 4;
constexpr size_t kMaxCopies = 16;  // of what a norm gives

// Inputs of the operator of which elements are multiplied with elements of this one.
std::set<TensorId> OperandsMultipliedWith(const sdfg::Operator& op, TensorId input) {
  std::set<TensorId> result;
  const std::vector<sdfg::Node>& nodes = op.function->nodes;
  for (const sdfg::Node& node : nodes) {
    if (node.op != Op::kMul) continue;
    for (const size_t k : {0, 1}) {
      const sdfg::Node &own = nodes[node.args[k]], &other = nodes[node.args[1 - k]];
      if (own.op == Op::kElement && other.op == Op::kElement && op.inputs[own.input] == input)
        result.insert(op.inputs[other.input]);
    }
  }
  return result;
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

TensorId FocusedChooser::CopiedFrom(TensorId tensor) const {
  const sdfg::Graph& graph = problem_.logical;
  for (int depth = 0; depth < kMaxCopying && graph.tensors[tensor].producer != sdfg::kNone;
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
      if (!depends(op.inputs[k], op.inputs[1 - k])) continue;
      std::optional<ZeroingParameters> zeroing = FindZeroingParameters(graph, op.inputs[k]);
      if (!zeroing.has_value()) continue;
      branches_.push_back({op.inputs[k], op.outputs[0], std::move(*zeroing), {}});
      break;
    }
  }
  std::set<TensorId> sums;
  for (const Branch& branch : branches_) sums.insert(branch.sum);
  for (Branch& branch : branches_) FindParameters(sums, &branch);
}

// A norm's weight and bias, and the tables with which what they scale is multiplied.
void FocusedChooser::FindNorms() {
  const sdfg::Graph& graph = problem_.logical;
  const auto is_forward = [&](const sdfg::Operator& op) {
    return op.outputs[0] != sdfg::kNone && backward_[op.outputs[0]] == 0;
  };
  for (const sdfg::Operator& op : graph.operators) {
    const auto is_factor = [&](TensorId id) {
      return IsFactor(graph.tensors[id]) &&
             std::find(op.inputs.begin(), op.inputs.end(), id) != op.inputs.end();
    };
    if (!is_forward(op) || std::none_of(op.inputs.begin(), op.inputs.end(), is_factor)) continue;
    std::optional<ZeroingParameters> zeroing = FindZeroingParameters(graph, op.outputs[0]);
    if (!zeroing.has_value() ||
        !std::all_of(zeroing->outer.begin(), zeroing->outer.end(), is_factor))
      continue;
    Norm norm{std::move(zeroing->outer), {}};
    std::vector<TensorId> scaled = {op.outputs[0]};
    for (size_t k = 0; k < scaled.size() && k < kMaxCopies; ++k) {
      for (const OperatorId reader : consumers_[scaled[k]]) {
        const sdfg::Operator& product = graph.operators[reader];
        if (!is_forward(product)) continue;
        for (const TensorId operand : OperandsMultipliedWith(product, scaled[k])) {
          const sdfg::Tensor& table = graph.tensors[operand];
          if (table.role == sdfg::TensorRole::kParameter && table.shape.size() > 1)
            norm.tables.insert(operand);
        }
        if (product.inputs.size() != 1) continue;
        const sdfg::IndexFunction& function = *product.function;
        const bool moves = function.nodes[function.outputs[0].body].op == Op::kElement;
        if (moves) scaled.push_back(product.outputs[0]);
      }
    }
    norms_.push_back(std::move(norm));
  }
}

void FocusedChooser::FindParameters(const std::set<TensorId>& sums, Branch* branch) const {
  const sdfg::Graph& graph = problem_.logical;
  std::set<TensorId> seen = {branch->end};
  std::vector<TensorId> work = {branch->end};
  while (!work.empty() && seen.size() < kMaxBranch) {
    const TensorId t = work.back();
    work.pop_back();
    if (graph.tensors[t].role == sdfg::TensorRole::kParameter) branch->parameters.insert(t);
    const OperatorId producer = graph.tensors[t].producer;
    if (producer == sdfg::kNone || sums.count(t) != 0) continue;
    for (const TensorId input : graph.operators[producer].inputs) {
      if (seen.insert(input).second) work.push_back(input);
    }
  }
}

void FocusedChooser::Rescale(const Norm& norm, double scale, bool last, Attempt* attempt) {
  if (last) attempt->last_raised.insert(norm.factors.begin(), norm.factors.end());
  for (const TensorId factor : norm.factors) attempt->scales[factor] = scale;
  for (const TensorId table : norm.tables) attempt->scales[table] = 1 / scale;
}

// Norms' weights of the branch are made larger or smaller by `scale`, and the tables after them
// the other way, so that what the branch adds is as it was: of gradients, those of what is small
// count most.
void FocusedChooser::RescaleBranch(const Branch& branch, double scale, Attempt* attempt) const {
  for (const Norm& norm : norms_) {
    const auto is_open = [&](TensorId table) { return branch.parameters.count(table) != 0; };
    if (std::any_of(norm.tables.begin(), norm.tables.end(), is_open))
      Rescale(norm, scale, attempt->kind.last, attempt);
  }
}

// The same of the last norm and the head, whose gradients would hide all others. `last`: its last
// element is raised in such attempts.
void FocusedChooser::RescaleHead(bool last, Attempt* attempt) const {
  constexpr double kSmallNorm = 0x1p-5;
  for (const Norm& norm : norms_) {
    if (norm.tables != std::set<TensorId>{head_}) continue;
    const bool tied = lookups_.count(head_) != 0;
    Rescale(norm, tied ? 1 : kSmallNorm, last && attempt->kind.last, attempt);
  }
}

// Those whose every way to a residual sum leads through an exponential: not a head's, of which
// only the loss computes exponentials.
void FocusedChooser::FindScores() {
  const sdfg::Graph& graph = problem_.logical;
  std::set<TensorId> sums;
  for (const Branch& branch : branches_) sums.insert(branch.sum);
  std::vector<char> adds(graph.tensors.size(), 0);  // a residual sum depends on it
  for (auto op = graph.operators.rbegin(); op != graph.operators.rend(); ++op) {
    const bool any = std::any_of(op->outputs.begin(), op->outputs.end(), [&](TensorId id) {
      return id != sdfg::kNone && (adds[id] != 0 || sums.count(id) != 0);
    });
    for (const TensorId id : op->inputs) adds[id] |= any ? 1 : 0;
  }
  // Not where the input is a factor besides: x * sigmoid(x).
  const auto exponential = [&](const sdfg::Operator& op, TensorId input) {
    const auto is_exp = [](const sdfg::Node& node) { return node.op == Op::kExp; };
    if (std::none_of(op.function->nodes.begin(), op.function->nodes.end(), is_exp)) return false;
    const auto at = std::find(op.inputs.begin(), op.inputs.end(), input);
    return !VanishesWith(op, static_cast<size_t>(at - op.inputs.begin()));
  };
  std::map<TensorId, std::set<TensorId>> later;  // what the scores are multiplied with on the way
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].role != sdfg::TensorRole::kParameter) continue;
    std::vector<TensorId> work = {static_cast<TensorId>(t)};
    std::set<TensorId> seen(work.begin(), work.end());
    std::set<TensorId> operands;
    bool met = false, direct = false;
    while (!work.empty() && !direct) {
      const TensorId id = work.back();
      work.pop_back();
      for (const OperatorId o : consumers_[id]) {
        const sdfg::Operator& op = graph.operators[o];
        if (op.outputs[0] == sdfg::kNone || backward_[op.outputs[0]]) continue;
        if (exponential(op, id)) {
          met |= adds[op.outputs[0]] != 0;
          continue;
        }
        operands.insert(op.inputs.begin(), op.inputs.end());
        for (const TensorId output : op.outputs) {
          if (output == sdfg::kNone || !seen.insert(output).second) continue;
          direct |= sums.count(output) != 0;
          work.push_back(output);
        }
      }
      direct |= seen.size() > kMaxBranch;
    }
    if (!met || direct) continue;
    operands.erase(static_cast<TensorId>(t));
    scores_.insert(static_cast<TensorId>(t));
    later.emplace(static_cast<TensorId>(t), std::move(operands));
  }
  for (const auto& [id, operands] : later) {
    const auto is_score = [&](TensorId operand) { return scores_.count(operand) != 0; };
    if (!IsRanked(id) && std::none_of(operands.begin(), operands.end(), is_score))
      last_of_scores_.insert(id);
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

// Parameters that are updated by what the place is compared in, where it is an optimizer's step.
std::set<TensorId> FocusedChooser::NearestUpdated(const Focus& focus) const {
  const sdfg::Graph& graph = problem_.logical;
  std::set<TensorId> updated;
  for (const int r : NearestRequired(focus, kMaxRequired)) {
    const OperatorId producer = graph.tensors[problem_.required[r].lineage.logical].producer;
    if (producer == sdfg::kNone) continue;
    for (const TensorId id : graph.operators[producer].inputs) {
      if (graph.tensors[id].role == sdfg::TensorRole::kParameter) updated.insert(id);
    }
  }
  return updated;
}

// A place that adds up the gradients of several branches' parameters (of a layer's attention and
// of its feed-forward part): each of these is the one that is open in some attempts. Where it adds
// up none (a norm of all gradients), those are whose parameters' updates are compared; false.
// Adds what these tensors of the backward pass are made of, a few steps back.
void FocusedChooser::AddSummands(std::set<TensorId>* sums) const {
  const sdfg::Graph& graph = problem_.logical;
  std::vector<TensorId> level(sums->begin(), sums->end());
  for (int depth = 0; depth < kSumDepth && level.size() < kMaxBranch; ++depth) {
    std::vector<TensorId> next;
    for (const TensorId t : level) {
      if (graph.tensors[t].producer == sdfg::kNone) continue;
      for (const TensorId input : graph.operators[graph.tensors[t].producer].inputs) {
        if (backward_[input] && sums->insert(input).second) next.push_back(input);
      }
    }
    level = std::move(next);
  }
}

bool FocusedChooser::TakeTurns(const Focus& focus, uint64_t number,
                               std::vector<size_t>* nearest) const {
  std::set<TensorId> named;
  for (const TensorId id : focus.mentioned) {
    if (backward_[id] && id != focus.lineage.logical) named.insert(id);
  }
  std::set<TensorId> all = named;
  all.insert(focus.lineage.logical);
  AddSummands(&named);
  AddSummands(&all);
  const auto in = [&](const std::set<TensorId>& sums) {
    return [this, &sums](size_t branch) {
      for (const TensorId parameter : branches_[branch].parameters) {
        for (const TensorId gradient : GradientsOf(parameter)) {
          if (sums.count(gradient) != 0) return true;
        }
      }
      return false;
    };
  };
  const auto first = nearest->begin();
  const auto end = first + static_cast<int64_t>(std::min(nearest->size(), kMaxTurns));
  size_t turns = std::stable_partition(first, end, in(all)) - first;
  const bool of_branches = turns > 0;
  if (!of_branches) {
    const std::set<TensorId> updated = NearestUpdated(focus);
    const auto is_updated = [&](size_t branch) {
      const std::set<TensorId>& parameters = branches_[branch].parameters;
      return std::any_of(parameters.begin(), parameters.end(),
                         [&](TensorId id) { return updated.count(id) != 0; });
    };
    turns = std::stable_partition(first, nearest->end(), is_updated) - first;
  }
  if (turns == 0) return false;
  // Every other pair of attempts has branches of what the difference names.
  if (of_branches && number % 4 < 2) {
    const auto last = first + static_cast<int64_t>(turns);
    const size_t of_named = std::stable_partition(first, last, in(named)) - first;
    if (of_named > 0) turns = of_named;
  }
  // Attempts of one kind, and of one pair, have different branches.
  const size_t turn = (number + number / 2 + number / 8) % turns;
  std::rotate(first, first + turn, first + turn + 1);
  return of_branches;
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
