// How dimensions are cut, and which of their positions are told apart.
#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "shape_reduction/focused_choice.h"

namespace planproof::shape_reduction {

using sdfg::Op;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr int64_t kPositions = 3;  // that are told apart in a dimension with comparisons
// Of positions that are not told apart, the last sees at most so many times as many as the first:
// the enclosures of means over what they see grow with that.
constexpr int64_t kMaxKeys = 16;
constexpr int64_t kShortSequence = 8;  // all positions are
constexpr size_t kSpreadParts = 4;     // parts of a sequence of which positions are told apart
constexpr size_t kMaxParts = 64;
constexpr size_t kMaxDeviating = 4;       // starts of parts of one extent
constexpr int64_t kPartsOfMask = 4;       // at most, of which the ends are told apart
constexpr uint64_t kMaskPartsEvery = 4;   // attempts, in the last of them: it takes a while
constexpr uint64_t kFirstWithDigits = 2;  // attempt
constexpr int kMaxViews = 4;              // between a place and what it is a view of
constexpr size_t kMaxSteps = 64;          // through views, in all

// Calls visit(input, extent of a logical dimension, its map) for every input of the parallel graph
// that is a part of a logical one, and every dimension of that.
template <typename Visit>
void ForEachMapOfInputs(const lineage::Problem& problem, const Visit& visit) {
  for (size_t t = 0; t < problem.parallel.tensors.size() && t < problem.lineage.size(); ++t) {
    const sdfg::Tensor& tensor = problem.parallel.tensors[t];
    const lineage::Lineage& lineage = problem.lineage[t];
    if (tensor.producer != sdfg::kNone || lineage.kind != lineage::LineageKind::kFull) continue;
    const sdfg::Shape& logical = problem.logical.tensors[lineage.logical].shape;
    for (size_t d = 0; d < lineage.map.size(); ++d) visit(tensor, logical[d], lineage.map[d]);
  }
}

// Whether the term is a multiple of an index of the tensor, undivided.
bool IsWhole(const lineage::IndexTerm& term, const sdfg::Tensor& tensor) {
  return term.dim < static_cast<int>(tensor.axes.size()) && term.div == 1 && term.mod == 0 &&
         !term.gated();
}

}  // namespace

void FocusedChooser::FindCompared() {
  std::set<const ScalarProgram*> seen;
  for (const sdfg::Operator& op : problem_.logical.operators) {
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      if (op.outputs[k] == sdfg::kNone) continue;
      const ScalarProgram& program = programs_.Get(problem_.logical, op, static_cast<int>(k));
      if (!seen.insert(&program).second) continue;
      for (const sdfg::Node& node : program.nodes) {
        if (node.op != Op::kIntLess && node.op != Op::kIntLessEq) continue;
        const IndexForm difference =
            AddForms(program.forms[node.args[0]], program.forms[node.args[1]], -1, program.vars);
        if (!difference.atoms.empty() || difference.terms.size() < 2) continue;
        for (const DigitTerm& term : difference.terms) {
          if (term.var != difference.terms[0].var) {
            compared_.insert(
                {program.vars[term.var].extent, program.vars[difference.terms[0].var].extent});
          }
        }
      }
    }
  }
}

void FocusedChooser::FindEdges() {
  std::map<int64_t, std::set<int64_t>> starts;
  ForEachMapOfInputs(
      problem_, [&](const sdfg::Tensor& tensor, int64_t extent, const lineage::IndexMap& map) {
        std::set<int64_t>& own = starts[extent];
        if (own.size() < kMaxParts) own.insert(map.constant);
        for (const lineage::IndexTerm& term : map.terms) {
          if (!IsWhole(term, tensor)) continue;
          for (int64_t k = 0; k < tensor.shape[term.dim] && own.size() < kMaxParts; ++k) {
            own.insert(map.constant + k * term.scale);
          }
        }
      });
  for (const auto& [extent, own] : starts) {
    std::set<int64_t> edges = {0, extent - 1};
    for (int64_t start : own) {
      if (start > 0 && start < extent) edges.insert({start - 1, start});
    }
    edges_[extent].assign(edges.begin(), edges.end());
    if (compared_.count(extent) == 0 || extent <= kShortSequence) continue;
    std::set<int64_t>& ends = ends_of_parts_[extent];
    const size_t step = (own.size() + kSpreadParts - 1) / kSpreadParts;
    size_t k = 0;
    for (auto start = own.begin(); start != own.end(); ++start) {
      if (k++ % step != 0 || *start < 0 || *start + 1 >= extent) continue;
      const int64_t end = std::next(start) == own.end() ? extent : *std::next(start);
      ends.insert({*start, *start + 1, end - 1});
    }
  }
}

// A rank that does otherwise than the others of its program shows in what it holds, an expert say.
void FocusedChooser::FindDeviating() {
  std::map<sdfg::AxisId, std::set<int64_t>> deviates;
  for (const sdfg::Operator& op : problem_.parallel.operators) {
    for (const auto& [axis, coordinates] : op.override_at)
      deviates[axis].insert(coordinates.begin(), coordinates.end());
  }
  if (deviates.empty()) return;
  std::map<int64_t, std::set<int64_t>> starts;
  ForEachMapOfInputs(problem_,
                     [&](const sdfg::Tensor& tensor, int64_t extent, const lineage::IndexMap& map) {
                       std::set<int64_t> own = {map.constant};
                       bool of_rank = false;
                       for (const lineage::IndexTerm& term : map.terms) {
                         if (!IsWhole(term, tensor)) continue;
                         const auto at = deviates.find(tensor.axes[term.dim]);
                         if (at == deviates.end()) continue;
                         of_rank = true;
                         std::set<int64_t> moved;
                         for (const int64_t start : own) {
                           for (const int64_t k : at->second) {
                             if (moved.size() < kMaxDeviating) moved.insert(start + k * term.scale);
                           }
                         }
                         own = std::move(moved);
                       }
                       if (of_rank) starts[extent].insert(own.begin(), own.end());
                     });
  for (const auto& [extent, own] : starts) {
    for (const int64_t start : own) {
      if (start >= 0 && start < extent && deviating_[extent].size() < kMaxDeviating)
        deviating_[extent].push_back(start);
    }
  }
}

// Where the place, or its operator in the model, reads a dimension in digits (heads of a hidden
// size, shards of a rank), the first and the last value of each digit are told apart from the
// others, and what lies before the first index that is read; and the second value, at which a
// stride that is too short is seen. By extent.
std::map<int64_t, std::vector<int64_t>> FocusedChooser::DigitCuts(const Focus& focus) const {
  std::map<int64_t, std::vector<int64_t>> cuts;
  const auto add = [&](int64_t extent, int64_t step) {
    if (step > 1 && step < extent) {
      cuts[extent].insert(cuts[extent].end(), {step, extent - step});
    }
  };
  const sdfg::Graph& graph = problem_.logical;
  const sdfg::Shape& whole = graph.tensors[focus.lineage.logical].shape;
  for (size_t d = 0; d < focus.lineage.map.size(); ++d) {
    add(whole[d], focus.lineage.map[d].constant);
    for (const lineage::IndexTerm& term : focus.lineage.map[d].terms) {
      add(whole[d], std::abs(term.scale));
    }
  }
  // Through views of the place's operator and of what it reads. `inner`: by dimension of a tensor,
  // where it is cut.
  struct Step {
    TensorId at = sdfg::kNone;
    std::vector<std::vector<int64_t>> inner;
    bool computed = false;  // the place's operator is behind it: views only
    int depth = 0;
  };
  std::vector<Step> steps = {
      {focus.lineage.logical, std::vector<std::vector<int64_t>>(whole.size())}};
  for (size_t next = 0; next < steps.size() && steps.size() < kMaxSteps; ++next) {
    const Step step = steps[next];
    const sdfg::Tensor& tensor = graph.tensors[step.at];
    if (tensor.producer == sdfg::kNone || step.depth == kMaxViews) continue;
    const sdfg::Operator& op = graph.operators[tensor.producer];
    const ScalarProgram& program = programs_.Get(graph, op, tensor.producer_output);
    const bool moves = program.nodes[program.body].op == Op::kElement;
    if (step.computed && !moves) continue;
    for (const sdfg::Node& node : program.nodes) {
      if (node.op != Op::kElement && node.op != Op::kIntElement) continue;
      const sdfg::Shape& shape = graph.tensors[op.inputs[node.input]].shape;
      std::vector<std::vector<int64_t>> outer(shape.size());
      for (size_t d = 0; d < shape.size() && d < node.args.size(); ++d) {
        const IndexForm& form = program.forms[node.args[d]];
        if (form.overflow) continue;
        std::vector<int64_t>& own = outer[d];
        own.push_back(form.constant);
        int64_t end = form.constant + 1;  // of what is read: what follows may be read instead
        for (const DigitTerm& term : form.terms) {
          end += (term.extent - 1) * std::abs(term.scale);
          if (form.terms.size() > 1)
            own.insert(own.end(), {std::abs(term.scale), 2 * std::abs(term.scale)});
          const auto dim = std::find(program.dims.begin(), program.dims.end(), term.var);
          if (dim == program.dims.end() || term.div != 1) continue;
          for (const int64_t cut : step.inner[dim - program.dims.begin()]) {
            if (cut < term.extent) own.push_back(form.constant + cut * std::abs(term.scale));
          }
        }
        if (form.atoms.empty() && end < shape[d]) own.push_back(end);
        for (const int64_t cut : own) add(shape[d], cut);
      }
      steps.push_back(
          {op.inputs[node.input], std::move(outer), step.computed || !moves, step.depth + 1});
    }
  }
  return cuts;
}

// How the place holds each dimension of its logical tensor.
std::vector<FocusedChooser::HeldPart> FocusedChooser::HeldParts(const Focus& focus) const {
  const sdfg::Tensor& suspect = problem_.parallel.tensors[focus.parallel];
  const sdfg::Shape& whole = problem_.logical.tensors[focus.lineage.logical].shape;
  std::vector<HeldPart> parts;
  for (size_t d = 0; d < focus.lineage.map.size(); ++d) {
    HeldPart held{0, whole[d], focus.lineage.map[d].constant, compared_.count(whole[d]) != 0};
    for (const lineage::IndexTerm& term : focus.lineage.map[d].terms) {
      if (term.div != 1 || term.mod != 0 || term.gated()) continue;
      const bool local = term.dim >= static_cast<int>(suspect.axes.size());
      if (local && term.scale == 1) held.extent = suspect.shape[term.dim];
      if (!local && static_cast<size_t>(term.dim) < focus.box.size())
        held.first += term.scale * focus.box[term.dim].first;
    }
    parts.push_back(held);
  }
  return parts;
}

// Where two dimensions of the place are as long as each other where it is held (the shard of a
// square matrix, a batch in shards as long as a sequence), exchanging them shows only if both are
// cut at the same place within what is held. By extent.
std::map<int64_t, std::vector<int64_t>> FocusedChooser::CutsOfExchanges(const Focus& focus) const {
  std::map<int64_t, std::vector<int64_t>> cuts;
  const std::vector<HeldPart> parts = HeldParts(focus);
  for (size_t a = 0; a < parts.size(); ++a) {
    const HeldPart& held = parts[a];
    for (size_t b = 0; b < parts.size(); ++b) {
      if (a == b || held.extent < 2 || held.extent != parts[b].extent) continue;
      const bool compares = held.compared || parts[b].compared;
      for (int64_t k = 1; compares && k <= kPositions && k < held.extent; ++k)
        cuts[held.whole].push_back(held.first + k);
      if (!compares) cuts[held.whole].push_back(held.first + held.extent / 2);
    }
  }
  return cuts;
}

// In a transposed part of a mask only its last row, and beside it only the first one, are known to
// see any position: cut between others, these see none for all that enclosures say. By extent.
std::map<int64_t, std::vector<int64_t>> FocusedChooser::CutsOfMaskParts(const Focus& focus) const {
  std::map<int64_t, std::vector<int64_t>> cuts;
  const std::vector<HeldPart> parts = HeldParts(focus);
  for (size_t a = 0; a < parts.size(); ++a) {
    for (size_t b = 0; b < parts.size(); ++b) {
      const auto& [extent, whole, first, compared] = parts[a];
      if (a == b || !compared || extent < 2 || whole != parts[b].whole) continue;
      for (int64_t end = extent; end <= whole && whole <= kPartsOfMask * extent; end += extent)
        cuts[whole].insert(cuts[whole].end(), {end - 1, end, end + 1});
    }
  }
  return cuts;
}

// Cuts every extent, and says what the focus holds and which positions are told apart.
void FocusedChooser::Cut(const Focus& focus, uint64_t number, Attempt* attempt) const {
  const sdfg::Tensor& suspect = problem_.parallel.tensors[focus.parallel];
  std::map<sdfg::AxisId, std::pair<int64_t, int64_t>> coordinates;
  for (size_t a = 0; a < suspect.axes.size() && a < focus.box.size(); ++a) {
    if (focus.box[a].second - focus.box[a].first < suspect.shape[a]) {
      coordinates[suspect.axes[a]] = focus.box[a];
    }
  }
  std::map<int64_t, DimPartition> cuts;
  const auto refine = [&](int64_t extent, const DimPartition& partition) {
    const auto [at, added] = cuts.emplace(extent, partition);
    if (!added) at->second = at->second.Refine(partition);
  };
  // The slices of inputs that these coordinates hold.
  std::set<std::vector<int64_t>> seen;
  ForEachMapOfInputs(problem_, [&](const sdfg::Tensor& tensor, int64_t extent,
                                   const lineage::IndexMap& map) {
    for (const lineage::IndexTerm& term : map.terms) {
      if (!IsWhole(term, tensor) || term.scale <= 0) continue;
      const auto at = coordinates.find(tensor.axes[term.dim]);
      if (at == coordinates.end()) continue;
      const auto [low, high] = at->second;
      const int64_t axis_extent = tensor.shape[term.dim];
      // Which positions are told apart, inputs say; a weight may by chance be as long.
      const bool place_of = compared_.count(extent) == 0 || tensor.role == sdfg::TensorRole::kInput;
      if (!seen.insert({extent, term.scale, axis_extent, low, high, place_of}).second) continue;
      refine(extent, DimPartition::WithDigitCuts(extent, term.scale, axis_extent, {low, high}));
      if (place_of && term.scale * axis_extent == extent) {
        attempt->place[extent] = {low * term.scale, high * term.scale};
      }
    }
  });
  // The part of the logical tensor that the suspect is at the box.
  for (size_t d = 0; d < focus.lineage.map.size() && !focus.box.empty(); ++d) {
    const lineage::IndexMap& map = focus.lineage.map[d];
    int64_t low = map.constant, high = map.constant;
    for (const lineage::IndexTerm& term : map.terms) {
      const auto [first, end] = focus.box[term.dim];
      if (term.div != 1 || term.mod != 0 || term.scale <= 0 || term.gated()) {
        low = -1;
        break;
      }
      low += first * term.scale;
      high += (end - 1) * term.scale;
    }
    const int64_t extent = problem_.logical.tensors[focus.lineage.logical].shape[d];
    if (low > 0 && high < extent && low <= high && compared_.count(extent) == 0) {
      attempt->place.emplace(extent, std::pair{low, high + 1});
    }
  }
  std::mt19937_64 random(number * 0x9e3779b97f4a7c15u + 7);
  std::set<int64_t> extents;
  for (const sdfg::Tensor& tensor : problem_.logical.tensors) {
    if (tensor.producer == sdfg::kNone) {
      extents.insert(tensor.shape.begin(), tensor.shape.end());
    }
  }
  PartitionsByExtent& result = attempt->partitions;
  std::map<int64_t, std::vector<int64_t>> digits;  // of few faults: not at first
  if (number >= kFirstWithDigits) {
    digits = DigitCuts(focus);
    // Where ends of parts are told apart, every second time nothing else is: elsewhere blocks
    // multiply.
    if (attempt->kind.spread && number % 2 == 0)
      std::erase_if(digits, [&](const auto& own) { return compared_.count(own.first) == 0; });
    // The same within what the place holds: its first head, say.
    for (auto& [extent, own] : digits) {
      const auto part = attempt->place.find(extent);
      if (part == attempt->place.end() || part->second.first == 0 || compared_.count(extent) != 0)
        continue;
      const auto [first, end] = part->second;
      for (size_t k = 0, count = own.size(); k < count; ++k) {
        if (own[k] < end - first) own.push_back(first + own[k]);
      }
    }
    const auto add = [&](const std::map<int64_t, std::vector<int64_t>>& further) {
      for (const auto& [extent, own] : further)
        digits[extent].insert(digits[extent].end(), own.begin(), own.end());
    };
    add(CutsOfExchanges(focus));
    if (number % kMaskPartsEvery == kMaskPartsEvery - 1) add(CutsOfMaskParts(focus));
  }
  if (IsSumOfGradients(focus.lineage.logical) && attempt->kind.last) {
    for (const sdfg::Tensor& tensor : problem_.logical.tensors) {
      if (IsFactor(tensor)) digits[tensor.shape[0]].push_back(tensor.shape[0] - 1);
    }
  }
  if (attempt->kind.quiet) {
    for (const TensorId id : lookups_) {
      const int64_t rows = problem_.logical.tensors[id].shape[0];
      digits[rows].push_back(rows - 1);
    }
  }
  attempt->held = attempt->place;
  if (attempt->kind.lone) CutAroundLone(&digits, attempt);
  for (int64_t extent : extents) {
    const auto own_digits = digits.find(extent);
    std::vector<int64_t> further;
    if (own_digits != digits.end()) further = own_digits->second;
    if (compared_.count(extent) != 0) {
      const auto at = attempt->place.find(extent);
      const int64_t first = at == attempt->place.end() ? 0 : at->second.first;
      std::vector<int64_t> positions = {1};
      positions.insert(positions.end(), further.begin(), further.end());
      for (int64_t k = 0; k <= kPositions; ++k) positions.push_back(first + k);
      for (int64_t k = first + kPositions; k < extent; k *= kMaxKeys) positions.push_back(k);
      std::set<int64_t>& own = attempt->apart[extent];
      for (int64_t k = first; k < std::min(first + kPositions, extent); ++k) own.insert(k);
      const auto ends = ends_of_parts_.find(extent);
      if (attempt->kind.spread && ends != ends_of_parts_.end()) {
        own.insert(ends->second.begin(), ends->second.end());
        for (const int64_t k : ends->second) positions.insert(positions.end(), {k, k + 1});
      }
      refine(extent, extent <= kShortSequence ? DimPartition::Full(extent)
                                              : DimPartition::WithCuts(extent, positions));
      attempt->place[extent] = {first, std::min(first + kPositions, extent)};
    }
    const auto known = cuts.find(extent);
    if (known != cuts.end() && known->second.blocks() > 1) {
      result[extent] = std::make_shared<const DimPartition>(
          known->second.Refine(DimPartition::WithCuts(extent, further)));
      continue;
    }
    int64_t cut = extent / 2;
    if (number > 0 && extent > 4) {
      int64_t unit = 1;
      while (extent % (unit * 2) == 0 && unit * 8 <= extent) unit *= 2;
      cut = (1 + static_cast<int64_t>(random() % static_cast<uint64_t>(extent / unit - 1))) * unit;
    }
    further.push_back(cut);
    result[extent] = std::make_shared<const DimPartition>(DimPartition::WithCuts(extent, further));
  }
}

}  // namespace planproof::shape_reduction
