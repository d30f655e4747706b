#include "runtime_check/expression.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sdfg/index_function_check.h"
#include "sdfg/index_range.h"

namespace planproof::runtime_check {
namespace {

using sdfg::ExprId;
using sdfg::Op;
using sdfg::VarId;

bool IsReduction(Op op) { return op == Op::kSum || op == Op::kReduceMax || op == Op::kReduceMin; }

double OfNothing(Op reduction) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (reduction == Op::kSum) return 0;
  return reduction == Op::kReduceMax ? -kInfinity : kInfinity;
}

class Lowering {
 public:
  Lowering(const sdfg::IndexFunction& function, const std::vector<bool>& lane)
      : f_(function), lane_(lane), sorts_(sdfg::SortsOf(function)) {}

  absl::StatusOr<Expression> Run(ExprId body) {
    const std::vector<bool> needed = Needed(body);
    if (!FindRangesAndVariables(body, needed)) {
      return absl::UnimplementedError(
          absl::StrCat("operator ", f_.operator_name, ": an index does not fit into 64 bits"));
    }
    done_.assign(f_.nodes.size(), kNoNode);
    result_.binder.assign(f_.vars.size(), kNoNode);
    for (ExprId id = 0; id <= body; ++id) {
      if (needed[id]) done_[id] = LowerNode(id);
    }
    MarkGuarded();
    return std::move(result_);
  }

 private:
  // An element of the sum that a flat offset is.
  struct Term {
    ExprId atom;
    int64_t factor = 0;
  };

  bool IsEmpty(const sdfg::Node& node) const {
    return IsReduction(node.op) && f_.vars[node.var].extent == 0;
  }

  std::vector<bool> Needed(ExprId body) const {
    std::vector<bool> needed(f_.nodes.size(), false);
    needed[body] = true;
    for (ExprId id = body; id >= 0; --id) {
      if (!needed[id] || IsEmpty(f_.nodes[id])) continue;
      for (const ExprId arg : f_.nodes[id].args) needed[arg] = true;
    }
    return needed;
  }

  bool FindRangesAndVariables(ExprId body, const std::vector<bool>& needed) {
    ranges_.resize(f_.nodes.size());
    by_lane_.assign(f_.nodes.size(), false);
    free_.resize(f_.nodes.size());
    binder_.assign(f_.vars.size(), std::numeric_limits<ExprId>::max());
    for (ExprId id = 0; id <= body; ++id) {
      if (!needed[id] || IsEmpty(f_.nodes[id])) continue;
      const sdfg::Node& node = f_.nodes[id];
      if (!sdfg::IntRangeOf(node, f_.vars, ranges_, &ranges_[id])) return false;
      std::vector<VarId>& free = free_[id];
      for (const ExprId arg : node.args)
        free.insert(free.end(), free_[arg].begin(), free_[arg].end());
      if (node.op == Op::kIndex) {
        free.push_back(node.var);
      } else if (node.var >= 0) {
        std::erase(free, node.var);
        binder_[node.var] = id;
      }
      std::sort(free.begin(), free.end());
      free.erase(std::unique(free.begin(), free.end()), free.end());
      by_lane_[id] = std::any_of(free.begin(), free.end(), [&](VarId var) { return lane_[var]; });
    }
    return true;
  }

  NodeId Add(Node node) {
    result_.nodes.push_back(std::move(node));
    return result_.root();
  }

  NodeId Constant(int64_t value) {
    const auto [known, fresh] = constants_.emplace(value, kNoNode);
    if (fresh) known->second = Add({.op = Op::kIntConst, .sort = Sort::kInt, .value = value});
    return known->second;
  }

  // base + factor * atom, shared by all reads that add the same.
  NodeId MultiplyAdd(NodeId base, NodeId atom, int64_t factor) {
    const auto [known, fresh] = sums_.emplace(std::tuple(base, atom, factor), kNoNode);
    if (fresh) {
      known->second = Add(
          {.form = Form::kMultiplyAdd, .sort = Sort::kInt, .value = factor, .args = {base, atom}});
    }
    return known->second;
  }

  // The innermost loop that the expression depends on comes last; those outside of all first.
  ExprId LoopOf(ExprId id) const {
    ExprId innermost = std::numeric_limits<ExprId>::max();
    for (const VarId var : free_[id]) innermost = std::min(innermost, binder_[var]);
    return innermost;
  }

  // Adds the terms of factor * id.
  void AddTerms(ExprId id, int64_t factor, int64_t* constant, std::vector<Term>* terms) const {
    std::vector<Term> work = {{id, factor}};
    while (!work.empty()) {
      const Term term = work.back();
      work.pop_back();
      const sdfg::Node& node = f_.nodes[term.atom];
      if (node.op == Op::kIntConst) {
        *constant += term.factor * node.value;
      } else if (node.op == Op::kIntAdd) {
        work.push_back({node.args[0], term.factor});
        work.push_back({node.args[1], term.factor});
      } else if (node.op == Op::kIntScale) {
        work.push_back({node.args[0], term.factor * node.value});
      } else {
        const auto known = std::find_if(terms->begin(), terms->end(),
                                        [&](const Term& other) { return other.atom == term.atom; });
        if (known == terms->end()) {
          terms->push_back(term);
        } else {
          known->factor += term.factor;
        }
      }
    }
  }

  NodeId SumOf(const std::vector<Term>& terms, bool by_lane, int64_t constant) {
    NodeId sum = Constant(constant);
    for (const Term& term : terms) {
      if (term.factor == 0 || by_lane_[term.atom] != by_lane) continue;
      sum = MultiplyAdd(sum, done_[term.atom], term.factor);
    }
    return sum;
  }

  NodeId Read(ExprId id) {
    const sdfg::Node& node = f_.nodes[id];
    const sdfg::Shape& shape = f_.inputs[node.input].shape;
    int64_t constant = 0, stride = 1;
    std::vector<Term> terms;
    NodeId within = kNoNode;
    for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
      AddTerms(node.args[d], stride, &constant, &terms);
      const std::optional<sdfg::IndexRange>& range = ranges_[node.args[d]];
      if (range && range->low >= 0 && range->high < shape[d]) continue;
      Node test{.form = Form::kWithin, .sort = Sort::kTruth, .value = shape[d]};
      test.args = {done_[node.args[d]]};
      if (within != kNoNode) test.args.push_back(within);
      within = Add(std::move(test));
    }
    std::stable_sort(terms.begin(), terms.end(),
                     [&](const Term& a, const Term& b) { return LoopOf(a.atom) > LoopOf(b.atom); });
    Node read{.form = node.op == Op::kElement ? Form::kRead : Form::kReadInt,
              .sort = node.op == Op::kElement ? Sort::kReal : Sort::kInt,
              .input = node.input};
    const NodeId uniform = SumOf(terms, false, constant);
    const NodeId lanes = SumOf(terms, true, 0);
    read.args = {uniform, lanes};
    if (within != kNoNode) read.args.push_back(within);
    return Add(std::move(read));
  }

  NodeId LowerNode(ExprId id) {
    const sdfg::Node& node = f_.nodes[id];
    if (node.op == Op::kElement || node.op == Op::kIntElement) return Read(id);
    Node lowered;
    lowered.op = node.op;
    lowered.sort = sorts_[id] == sdfg::Sort::kReal  ? Sort::kReal
                   : sorts_[id] == sdfg::Sort::kInt ? Sort::kInt
                                                    : Sort::kTruth;
    if (IsEmpty(node)) {
      lowered.op = Op::kReal;
      lowered.real = OfNothing(node.op);
      return Add(std::move(lowered));
    }
    lowered.var = node.var;
    lowered.value = node.value;
    if (node.op == Op::kReal || node.op == Op::kPow) lowered.real = node.real.ToDouble();
    if (node.op == Op::kNegInf) lowered.real = -std::numeric_limits<double>::infinity();
    if (node.op == Op::kOpaque) lowered.name = node.name;
    for (const ExprId arg : node.args) lowered.args.push_back(done_[arg]);
    const bool binds = node.var >= 0 && node.op != Op::kIndex;
    const NodeId result = Add(std::move(lowered));
    if (binds) result_.binder[node.var] = result;
    return result;
  }

  // What is read only where a condition chooses it need not exist elsewhere.
  void MarkGuarded() {
    std::vector<bool> open(result_.nodes.size(), false);
    open.back() = true;
    for (NodeId id = result_.root(); id >= 0; --id) {
      Node& node = result_.nodes[id];
      node.guarded = !open[id];
      if (!open[id]) continue;
      const bool operation = node.form == Form::kOperation;
      for (size_t i = 0; i < node.args.size(); ++i) {
        const bool chosen = operation && i > 0 &&
                            (node.op == Op::kSelect || node.op == Op::kAnd || node.op == Op::kOr);
        if (!chosen) open[node.args[i]] = true;
      }
    }
  }

  const sdfg::IndexFunction& f_;
  const std::vector<bool>& lane_;
  const std::vector<sdfg::Sort> sorts_;
  std::vector<std::optional<sdfg::IndexRange>> ranges_;
  std::vector<bool> by_lane_;
  std::vector<std::vector<VarId>> free_;
  std::vector<ExprId> binder_;
  std::vector<NodeId> done_;
  std::map<std::tuple<NodeId, NodeId, int64_t>, NodeId> sums_;
  std::map<int64_t, NodeId> constants_;
  Expression result_;
};

}  // namespace

absl::StatusOr<Expression> Lower(const sdfg::IndexFunction& function, int output,
                                 const std::vector<bool>& lane) {
  return Lowering(function, lane).Run(function.outputs[output].body);
}

}  // namespace planproof::runtime_check
