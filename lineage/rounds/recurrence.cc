#include "lineage/rounds/recurrence.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace planproof::lineage::rounds {

using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::kNoExpr;
using sdfg::Node;
using sdfg::Op;
using sdfg::VarId;

namespace {

constexpr size_t kMaxNodes = 200;  // of functions that are looked at
// Pairs of nodes that one comparison looks at: either order of a sum's terms is tried, in sums of
// sums again and again. What takes more counts as different.
constexpr int kMaxPairs = 10000;

// One real output, defined wherever its nodes are.
bool IsPlain(const IndexFunction& f) {
  return f.outputs.size() == 1 && f.outputs[0].body != kNoExpr && f.premises.empty() &&
         !sdfg::IsInteger(f.outputs[0].dtype) && f.nodes.size() <= kMaxNodes;
}

const Node& Body(const IndexFunction& f) { return f.nodes[f.outputs[0].body]; }

// The index, which is 0 where there is one only.
bool IsDimension(const IndexFunction& f, ExprId id, VarId dim) {
  const Node& index = f.nodes[id];
  if (index.op == Op::kIntConst) return index.value == 0 && f.vars[dim].extent == 1;
  return index.op == Op::kIndex && index.var == dim;
}

// The element of an input of the output's shape at the output's own index: the input, or -1.
int OwnElement(const IndexFunction& f, ExprId id, size_t output = 0) {
  const Node& node = f.nodes[id];
  const std::vector<VarId>& dims = f.outputs[output].dims;
  if (node.op != Op::kElement || node.args.size() != dims.size()) return -1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (f.inputs[node.input].shape[d] != f.vars[dims[d]].extent ||
        !IsDimension(f, node.args[d], dims[d])) {
      return -1;
    }
  }
  return node.input;
}

// Whether the expression reads the input.
bool Reads(const IndexFunction& f, ExprId id, int input) {
  std::vector<bool> seen(f.nodes.size(), false);  // expressions share parts
  std::vector<ExprId> left = {id};
  while (!left.empty()) {
    const ExprId next = left.back();
    left.pop_back();
    if (seen[next]) continue;
    seen[next] = true;
    const Node& node = f.nodes[next];
    if ((node.op == Op::kElement || node.op == Op::kIntElement) && node.input == input) return true;
    left.insert(left.end(), node.args.begin(), node.args.end());
  }
  return false;
}

bool IsWithin(const IndexFunction& f, ExprId id, int64_t extent) {
  const Node& node = f.nodes[id];
  if (node.op == Op::kIntConst) return node.value >= 0 && node.value < extent;
  return node.op == Op::kIndex && f.vars[node.var].extent <= extent;
}

class Comparison {
 public:
  Comparison(const IndexFunction& a, const IndexFunction& b,
             absl::FunctionRef<bool(int, int)> same_input)
      : a_(a), b_(b), same_input_(same_input) {}

  bool Run(ExprId x, ExprId y, const std::vector<std::pair<VarId, VarId>>& vars = {}) {
    same_.insert(vars.begin(), vars.end());
    const std::vector<VarId>&dims = a_.outputs[0].dims, &others = b_.outputs[0].dims;
    if (dims.size() != others.size()) return false;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (a_.vars[dims[d]].extent != b_.vars[others[d]].extent) return false;
      same_[dims[d]] = others[d];
    }
    return Same(x, y);
  }

 private:
  bool Same(ExprId x, ExprId y) {
    if (++pairs_ > kMaxPairs) return false;
    const Node &p = a_.nodes[x], &q = b_.nodes[y];
    if (p.op != q.op || p.args.size() != q.args.size() || p.value != q.value ||
        !(p.real == q.real) || p.op == Op::kOpaque) {
      return false;
    }
    switch (p.op) {
      case Op::kIndex: {
        const auto known = same_.find(p.var);
        return known != same_.end() && known->second == q.var;
      }
      case Op::kSum:
      case Op::kReduceMax:
      case Op::kReduceMin:
        // Each variable is bound once.
        if (a_.vars[p.var].extent != b_.vars[q.var].extent) return false;
        same_[p.var] = q.var;
        break;
      case Op::kElement:
      case Op::kIntElement:
        if (!same_input_(p.input, q.input)) return false;
        break;
      default:
        break;
    }
    if ((p.op == Op::kAdd || p.op == Op::kMul) && Same(p.args[0], q.args[1]) &&
        Same(p.args[1], q.args[0])) {
      return true;
    }
    for (size_t i = 0; i < p.args.size(); ++i) {
      if (!Same(p.args[i], q.args[i])) return false;
    }
    return true;
  }

  const IndexFunction &a_, &b_;
  absl::FunctionRef<bool(int, int)> same_input_;
  std::map<VarId, VarId> same_;
  int pairs_ = 0;
};

// The two operands of a commutative node, either way round.
std::vector<std::pair<ExprId, ExprId>> Orders(const Node& node) {
  return {{node.args[0], node.args[1]}, {node.args[1], node.args[0]}};
}

// exp(old - new) with both read at the same of the output's dimensions.
bool ReadScales(const IndexFunction& f, ExprId id, Rescaling* found) {
  const Node& exp = f.nodes[id];
  if (exp.op != Op::kExp || f.nodes[exp.args[0]].op != Op::kAdd) return false;
  for (const auto& [plus, minus] : Orders(f.nodes[exp.args[0]])) {
    const Node &old_scale = f.nodes[plus], &negative = f.nodes[minus];
    if (old_scale.op != Op::kElement || negative.op != Op::kNeg) continue;
    const Node& new_scale = f.nodes[negative.args[0]];
    if (new_scale.op != Op::kElement || new_scale.input == old_scale.input ||
        new_scale.args != old_scale.args ||
        f.inputs[new_scale.input].shape != f.inputs[old_scale.input].shape) {
      continue;
    }
    found->old_scale = old_scale.input;
    found->new_scale = new_scale.input;
    found->scale_dims.clear();
    const std::vector<VarId>& dims = f.outputs[0].dims;
    for (size_t d = 0; d < old_scale.args.size(); ++d) {
      const Node& index = f.nodes[old_scale.args[d]];
      const auto at =
          index.op == Op::kIndex ? std::find(dims.begin(), dims.end(), index.var) : dims.end();
      if (at == dims.end() || f.inputs[old_scale.input].shape[d] != f.vars[index.var].extent) {
        return false;
      }
      found->scale_dims.push_back(static_cast<int>(at - dims.begin()));
    }
    return true;
  }
  return false;
}

}  // namespace

bool IsSum(const IndexFunction& f) {
  if (!IsPlain(f) || f.inputs.size() != 2 || Body(f).op != Op::kAdd) return false;
  const int x = OwnElement(f, Body(f).args[0]), y = OwnElement(f, Body(f).args[1]);
  return x >= 0 && y >= 0 && x != y;
}

bool OnlyChooses(const IndexFunction& f) {
  if (!IsPlain(f)) return false;
  for (const Node& node : f.nodes) {
    switch (node.op) {
      case Op::kIntConst:
      case Op::kIndex:
      case Op::kMax:
      case Op::kMin:
        break;
      case Op::kReduceMax:
      case Op::kReduceMin:
        if (f.vars[node.var].extent < 1) return false;
        break;
      case Op::kElement:
        for (size_t d = 0; d < node.args.size(); ++d) {
          if (!IsWithin(f, node.args[d], f.inputs[node.input].shape[d])) return false;
        }
        break;
      default:
        return false;
    }
  }
  return true;
}

std::optional<Maximum> MaximumOf(const IndexFunction& f) {
  if (!OnlyChooses(f) || Body(f).op != Op::kMax) return std::nullopt;
  for (const auto& [own, rest] : Orders(Body(f))) {
    const int before = OwnElement(f, own);
    if (before >= 0 && !Reads(f, rest, before)) return Maximum{before, rest};
  }
  return std::nullopt;
}

std::optional<Rescaling> RescalingOf(const IndexFunction& f) {
  if (!IsPlain(f) || Body(f).op != Op::kAdd) return std::nullopt;
  for (const auto& [product, rest] : Orders(Body(f))) {
    if (f.nodes[product].op != Op::kMul) continue;
    for (const auto& [own, factor] : Orders(f.nodes[product])) {
      Rescaling found;
      found.before = OwnElement(f, own);
      found.rest = rest;
      if (found.before < 0 || !ReadScales(f, factor, &found) || found.before == found.old_scale ||
          found.before == found.new_scale || Reads(f, rest, found.before) ||
          Reads(f, rest, found.old_scale)) {
        continue;
      }
      return found;
    }
  }
  return std::nullopt;
}

bool SameValue(const IndexFunction& a, ExprId value_a, const IndexFunction& b, ExprId value_b,
               absl::FunctionRef<bool(int, int)> same_input) {
  return IsPlain(a) && IsPlain(b) && Comparison(a, b, same_input).Run(value_a, value_b);
}

bool SameExpression(const IndexFunction& a, ExprId value_a, const IndexFunction& b, ExprId value_b,
                    const std::vector<std::pair<VarId, VarId>>& vars,
                    absl::FunctionRef<bool(int, int)> same_input) {
  return Comparison(a, b, same_input).Run(value_a, value_b, vars);
}

int OwnElementOf(const IndexFunction& f, size_t output, ExprId id) {
  return OwnElement(f, id, output);
}

int CopiedInput(const IndexFunction& f, size_t output) {
  const sdfg::FunctionOutput& y = f.outputs[output];
  if (y.body == kNoExpr || !f.premises.empty() || sdfg::IsInteger(y.dtype)) return -1;
  const int input = OwnElement(f, y.body, output);
  return input >= 0 && f.inputs[input].dtype == y.dtype ? input : -1;
}

bool IsExponential(const IndexFunction& f) {
  return IsPlain(f) && f.inputs.size() == 1 && Body(f).op == Op::kExp &&
         OwnElement(f, Body(f).args[0]) == 0;
}

std::optional<Difference> DifferenceOf(const IndexFunction& f) {
  if (!IsPlain(f) || f.inputs.size() != 2 || Body(f).op != Op::kAdd) return std::nullopt;
  for (const auto& [plus, minus] : Orders(Body(f))) {
    if (f.nodes[minus].op != Op::kNeg) continue;
    const Difference found = {OwnElement(f, plus), OwnElement(f, f.nodes[minus].args[0])};
    if (found.a >= 0 && found.b >= 0 && found.a != found.b) return found;
  }
  return std::nullopt;
}

std::vector<Scaling> ScalingsOf(const IndexFunction& f) {
  std::vector<Scaling> found;
  if (!IsPlain(f) || Body(f).op != Op::kMul) return found;
  for (const auto& [own, other] : Orders(Body(f))) {
    const Node& factor = f.nodes[other];
    Scaling scaling = {OwnElement(f, own), factor.input, {}};
    if (scaling.x < 0 || factor.op != Op::kElement || factor.input == scaling.x) continue;
    bool fits = true;
    for (size_t d = 0; d < factor.args.size() && fits; ++d) {
      const std::vector<VarId>& dims = f.outputs[0].dims;
      const Node& index = f.nodes[factor.args[d]];
      const int64_t extent = f.inputs[factor.input].shape[d];
      const auto at =
          index.op == Op::kIndex ? std::find(dims.begin(), dims.end(), index.var) : dims.end();
      fits = at == dims.end() ? index.op == Op::kIntConst && index.value == 0 && extent == 1
                              : f.vars[*at].extent == extent;
      scaling.factor_dims.push_back(at == dims.end() ? -1 : static_cast<int>(at - dims.begin()));
    }
    if (fits) found.push_back(std::move(scaling));
  }
  return found;
}

}  // namespace planproof::lineage::rounds
