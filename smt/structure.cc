#include "smt/structure.h"

#include <algorithm>
#include <utility>

#include "sdfg/types.h"

namespace planproof::smt {

using sdfg::TensorId;

namespace {

constexpr size_t kMaxStructureCells = 256;
constexpr size_t kMaxFunctionCells = 64;  // of terms that no bound covers unless nothing is reduced
constexpr size_t kMaxCuts = 64;           // of one dimension
constexpr int kMaxPasses = 16;
// A dimension that is still divided after so many passes is cut at every index, if it is short.
constexpr int kPatience = 4;
constexpr int64_t kShort = 32;
constexpr int kPassesForSearch = 2;  // of what does not settle

// Which runs and intervals are read at one index, and whether they count the other way round.
class Orientation {
 public:
  struct Root {
    int node;
    bool reversed;
  };
  int Add() {
    parents_.push_back({static_cast<int>(parents_.size()), false});
    return parents_.back().node;
  }
  Root Find(int node) const {
    Root at = {node, false};
    while (parents_[at.node].node != at.node) {
      const Root next = parents_[at.node];
      at = {next.node, at.reversed != next.reversed};
    }
    return at;
  }
  // False if they are already joined, the other way round.
  bool Join(int a, int b, bool reversed) {
    const Root x = Find(a), y = Find(b);
    if (x.node == y.node) return (x.reversed != y.reversed) == reversed;
    parents_[x.node] = {y.node, (x.reversed != y.reversed) != reversed};
    return true;
  }

 private:
  std::vector<Root> parents_;
};

// One evaluation of both sides at every cell.
class EvaluationPass {
 public:
  EvaluationPass(const SmtClaimView& view, const BlockStarts& starts, const SmtLimits& limits)
      : view_(view),
        shape_(view.problem.parallel.tensors[view.claim.parallel].shape),
        evaluation_(view.problem, view.relations, view.unfolded, starts, &alignment_, limits),
        index_(shape_.size()) {}

  SmtStructure Run() {
    if (!Visit(0)) structure_.error = evaluation_.error();
    structure_.unknowns.merge(evaluation_.TakeUnknowns());
    structure_.polynomial = evaluation_.polynomial();
    structure_.binds = evaluation_.binds();
    structure_.maxima = std::min(evaluation_.maxima(), 2);
    return std::move(structure_);
  }
  // Every run was one whole interval of what it reads.
  bool settled() const { return evaluation_.aligned(); }
  const SmtAlignment& alignment() const { return alignment_; }
  // Middles of intervals that are read forwards and backwards at one index.
  const BlockStarts& mirrors() const { return mirrors_; }

 private:
  bool Visit(size_t d) {
    if (d == shape_.size()) return AddCell();
    for (int64_t value = 0; value < shape_[d] && structure_.complete;) {
      const int loop = evaluation_.Open(value, shape_[d]);
      loops_.push_back(loop);
      index_[d] = evaluation_.LoopIndex(loop);
      if (!Visit(d + 1)) return false;
      value = evaluation_.End(loop);
      evaluation_.Close();
      loops_.pop_back();
    }
    return true;
  }

  bool AddCell() {
    const bool functions = !evaluation_.polynomial() && evaluation_.binds();
    if (structure_.cells.size() >= (functions ? kMaxFunctionCells : kMaxStructureCells)) {
      structure_.complete = false;
      return true;
    }
    alignment_.links.clear();
    SmtSide l, p;
    if (!EvaluateSide(view_, true, index_, &evaluation_, &p)) return false;
    const std::set<TensorId> of_plan = evaluation_.TakeUnknowns();
    structure_.mentions_target |= of_plan.count(view_.claim.target.logical) != 0;
    if (!EvaluateSide(view_, false, index_, &evaluation_, &l)) return false;
    structure_.unknowns.merge(evaluation_.TakeUnknowns());
    structure_.unknowns.insert(of_plan.begin(), of_plan.end());
    structure_.sums = std::max({structure_.sums, l.sums, p.sums});
    structure_.cells.push_back(MakeCell());
    return true;
  }

  SmtCell MakeCell() {
    Orientation orientation;
    std::map<int, int> run_nodes;
    std::map<std::tuple<TensorId, int, int64_t>, int> interval_nodes;
    auto node = [&](auto* nodes, const auto& key) {
      auto [it, inserted] = nodes->try_emplace(key, 0);
      if (inserted) it->second = orientation.Add();
      return it->second;
    };
    std::map<int, int64_t> lengths;  // by node
    for (const SmtAlignment::Link& link : alignment_.links) {
      if (link.length <= 1) continue;
      const int run = node(&run_nodes, link.run);
      const int interval =
          node(&interval_nodes, std::make_tuple(link.tensor, link.dim, link.start));
      lengths[interval] = link.length;
      if (orientation.Join(interval, run, link.reversed)) continue;
      auto& cuts = mirrors_[{link.tensor, link.dim}];
      cuts.insert(link.start + link.length / 2);
      cuts.insert(link.start + (link.length + 1) / 2);
    }
    SmtCell cell;
    std::map<int, int> groups;  // by root
    auto group = [&](int root, int64_t length) {
      auto [it, inserted] = groups.try_emplace(root, static_cast<int>(cell.groups.size()));
      if (inserted) cell.groups.emplace_back();
      SmtCell::Group& g = cell.groups[it->second];
      g.length = std::max(g.length, length);
      return it->second;
    };
    for (const auto& [interval, n] : interval_nodes) {
      const Orientation::Root root = orientation.Find(n);
      cell.intervals[interval] = {group(root.node, lengths[n]), root.reversed};
    }
    for (size_t d = 0; d < loops_.size(); ++d) {
      SmtCell::Index index;
      index.low = evaluation_.Value(loops_[d]);
      index.length = evaluation_.End(loops_[d]) - index.low;
      const Orientation::Root root = orientation.Find(node(&run_nodes, evaluation_.Run(loops_[d])));
      index.group = group(root.node, index.length);
      index.reversed = root.reversed;
      if (index.length > 1) cell.groups[index.group].free.push_back(static_cast<int>(d));
      cell.indices.push_back(index);
    }
    return cell;
  }

  const SmtClaimView& view_;
  const sdfg::Shape& shape_;
  SmtAlignment alignment_;
  SmtEvaluation evaluation_;
  std::vector<SmtIndex> index_;
  std::vector<int> loops_;
  SmtStructure structure_;
  BlockStarts mirrors_;
};

int64_t ExtentOf(const lineage::Problem& problem, const std::pair<TensorId, int>& dimension) {
  return problem.logical.tensors[dimension.first].shape[dimension.second];
}

// Whether that divided anything.
bool Divide(const lineage::Problem& problem, const BlockStarts& cuts, BlockStarts* starts) {
  bool any = false;
  for (const auto& [dimension, at] : cuts) {
    for (int64_t cut : at) {
      if (cut <= 0 || cut >= ExtentOf(problem, dimension)) continue;
      any |= (*starts)[dimension].insert(cut).second;
    }
  }
  return any;
}

bool DivideEverywhere(const lineage::Problem& problem, const std::pair<TensorId, int>& dimension,
                      BlockStarts* starts) {
  const int64_t extent = ExtentOf(problem, dimension);
  if (extent > kShort) return false;
  bool any = false;
  for (int64_t i = 1; i < extent; ++i) any |= (*starts)[dimension].insert(i).second;
  return any;
}

bool TooManyCuts(const BlockStarts& starts) {
  for (const auto& [dimension, at] : starts) {
    if (at.size() > kMaxCuts) return true;
  }
  return false;
}

}  // namespace

bool EvaluateSide(const SmtClaimView& view, bool parallel, const std::vector<SmtIndex>& index,
                  SmtEvaluation* e, SmtSide* out) {
  std::vector<SmtIndex> at = index;
  const lineage::Lineage& target = view.claim.target;
  TensorId tensor = view.claim.parallel;
  if (!parallel) {
    at.clear();
    tensor = target.logical;
    if (!e->Map(target.map, index, &at)) return false;
  }
  const bool whole = view.itself && !parallel;
  if (sdfg::IsInteger(view.problem.logical.tensors[target.logical].dtype)) {
    SmtIndex value;
    if (!(whole ? e->IntegerElement(parallel, tensor, at, &value)
                : e->IntegerDefined(parallel, tensor, at, &value))) {
      return false;
    }
    out->term = e->IntegerTerm(value);
    return true;
  }
  SmtValue value;
  if (!(whole ? e->Element(parallel, tensor, at, &value)
              : e->Defined(parallel, tensor, at, &value))) {
    return false;
  }
  *out = {value.masked, value.term, value.sums};
  return true;
}

SmtStructure FindSmtStructure(const SmtClaimView& view, const SmtLimits& limits) {
  SmtLimits generous = limits;
  generous.max_terms *= 10;
  BlockStarts starts;
  SmtStructure for_search;
  for (int k = 0; k < kMaxPasses; ++k) {
    EvaluationPass pass(view, starts, generous);
    SmtStructure s = pass.Run();
    const bool usable = s.error.empty() && s.complete;
    if (!usable && k > 0) break;
    const SmtAlignment& found = pass.alignment();
    const bool divided =
        Divide(view.problem, pass.settled() ? pass.mirrors() : found.cuts, &starts);
    s.starts = starts;
    if (!usable) return s;
    if (pass.settled() && !divided) {
      s.interchangeable = true;
      return s;
    }
    bool further = divided;
    for (const auto& dimension : found.scattered) {
      further |= DivideEverywhere(view.problem, dimension, &starts);
    }
    if (k >= kPatience) {
      for (const auto& [dimension, at] : found.cuts) {
        further |= DivideEverywhere(view.problem, dimension, &starts);
      }
    }
    if (k < kPassesForSearch) for_search = std::move(s);
    if (!further || TooManyCuts(starts)) break;
  }
  return for_search;
}

BlockStarts ChooseBlocks(const lineage::Problem& problem, const SmtStructure& structure,
                         const SmtCell& cell, const std::vector<int>& representatives,
                         int otherwise) {
  BlockStarts blocks;
  for (TensorId t : structure.unknowns) {
    const sdfg::Shape& shape = problem.logical.tensors[t].shape;
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      std::set<int64_t> starts = {0};
      if (auto it = structure.starts.find({t, d}); it != structure.starts.end()) {
        starts.insert(it->second.begin(), it->second.end());
      }
      auto& out = blocks[{t, d}];
      for (auto at = starts.begin(); at != starts.end(); ++at) {
        const int64_t end = std::next(at) == starts.end() ? shape[d] : *std::next(at);
        out.insert(*at);
        const auto read = cell.intervals.find({t, d, *at});
        const bool known = read != cell.intervals.end();
        const int64_t kept = known ? representatives[read->second.group] : otherwise;
        for (int64_t k = 1; k < std::min(kept, end - *at); ++k) {
          out.insert(known && read->second.reversed ? end - k : *at + k);
        }
      }
    }
  }
  return blocks;
}

}  // namespace planproof::smt
