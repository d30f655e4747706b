#include "runtime_check/placement.h"

#include <algorithm>
#include <utility>

namespace planproof::runtime_check {
namespace {

using sdfg::Op;
using sdfg::VarId;

// A set of variables.
class Variables {
 public:
  explicit Variables(size_t count) : words_((count + 63) / 64, 0) {}
  void Add(VarId var) { words_[var / 64] |= uint64_t{1} << (var % 64); }
  void Remove(VarId var) { words_[var / 64] &= ~(uint64_t{1} << (var % 64)); }
  void Add(const Variables& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  bool Has(VarId var) const { return (words_[var / 64] >> (var % 64) & 1) != 0; }

 private:
  std::vector<uint64_t> words_;
};

bool Binds(const Node& node) {
  return node.form == Form::kOperation && node.var >= 0 && node.op != Op::kIndex;
}

// Whether the operand is computed in a loop or branch of its own.
bool HasRegion(const Node& node, size_t operand) {
  if (node.form != Form::kOperation) return false;
  if (Binds(node)) return operand == 0;
  return operand > 0 && (node.op == Op::kSelect || node.op == Op::kAnd || node.op == Op::kOr);
}

class Placing {
 public:
  Placing(const Expression& expression, const std::vector<bool>& lane)
      : e_(expression), lane_(lane) {}

  std::optional<Placement> Run(const std::vector<VarId>& rows) {
    result_.of_node.assign(e_.nodes.size(), -1);
    FindFree();
    result_.regions.push_back({});
    RegionId outer = 0;
    for (const VarId var : rows) outer = AddRegion(Region::Kind::kDimension, outer, var);
    result_.strip = AddRegion(Region::Kind::kStrip, outer, -1);
    Need(e_.root(), result_.strip);
    for (NodeId id = e_.root(); id >= 0; --id) {
      if (result_.of_node[id] < 0) continue;
      PlaceNode(id);
      if (result_.regions.back().depth > kMaxNesting) return std::nullopt;
    }
    for (NodeId id = 0; id <= e_.root(); ++id) {
      if (result_.of_node[id] >= 0) result_.regions[result_.of_node[id]].nodes.push_back(id);
    }
    return std::move(result_);
  }

 private:
  void FindFree() {
    for (const Node& node : e_.nodes) {
      Variables free(e_.binder.size());
      for (const NodeId arg : node.args) free.Add(free_[arg]);
      if (Binds(node)) free.Remove(node.var);
      if (node.form == Form::kOperation && node.op == Op::kIndex) free.Add(node.var);
      bool by_lane = false;
      for (size_t var = 0; var < lane_.size(); ++var) {
        by_lane |= lane_[var] && free.Has(static_cast<VarId>(var));
      }
      result_.by_lane.push_back(by_lane);
      free_.push_back(std::move(free));
    }
  }

  RegionId AddRegion(Region::Kind kind, RegionId parent, VarId var, NodeId owner = kNoNode,
                     int operand = 0) {
    Region region{.kind = kind, .parent = parent, .var = var, .owner = owner, .operand = operand};
    region.depth = result_.regions[parent].depth + 1;
    result_.regions.push_back(std::move(region));
    return static_cast<RegionId>(result_.regions.size()) - 1;
  }

  // The innermost region that holds both.
  RegionId Common(RegionId a, RegionId b) const {
    const auto& regions = result_.regions;
    while (a != b)
      (regions[a].depth >= regions[b].depth ? a : b) =
          regions[regions[a].depth >= regions[b].depth ? a : b].parent;
    return a;
  }

  void Need(NodeId id, RegionId region) {
    RegionId& known = result_.of_node[id];
    known = known < 0 ? region : Common(known, region);
  }

  // Whether the node is the same each time the region is run within its parent.
  bool IsConstantIn(NodeId id, const Region& region) const {
    switch (region.kind) {
      case Region::Kind::kDimension:
      case Region::Kind::kLoop:
        return !free_[id].Has(region.var);
      case Region::Kind::kStrip:
        return !result_.by_lane[id];
      default:
        return false;
    }
  }

  // All that needs the node has been placed.
  void PlaceNode(NodeId id) {
    RegionId& place = result_.of_node[id];
    while (IsConstantIn(id, result_.regions[place])) place = result_.regions[place].parent;
    const RegionId own = place;
    const Node& node = e_.nodes[id];
    for (size_t i = 0; i < node.args.size(); ++i) {
      RegionId needed = own;
      if (HasRegion(node, i)) {
        const auto kind = Binds(node) ? Region::Kind::kLoop : Region::Kind::kBranch;
        needed = AddRegion(kind, own, Binds(node) ? node.var : -1, id, static_cast<int>(i));
        result_.by_operand[{id, static_cast<int>(i)}] = needed;
      }
      Need(node.args[i], needed);
    }
  }

  const Expression& e_;
  const std::vector<bool>& lane_;
  std::vector<Variables> free_;
  Placement result_;
};

}  // namespace

std::optional<Placement> Place(const Expression& expression, const std::vector<VarId>& rows,
                               const std::vector<bool>& lane) {
  return Placing(expression, lane).Run(rows);
}

}  // namespace planproof::runtime_check
