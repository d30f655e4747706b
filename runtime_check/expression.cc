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
    solved_.resize(f_.vars.size());
    order_ = Order(body);
    FindVariables();
    if (SolveSums()) {
      order_ = Order(body);
      FindVariables();
    }
    if (!FindRanges()) return IndexTooLarge();
    done_.assign(f_.nodes.size(), kNoNode);
    result_.binder.assign(f_.vars.size(), kNoNode);
    for (const ExprId id : order_) done_[id] = LowerNode(id);
    if (!fits_) return IndexTooLarge();
    MarkGuarded();
    return std::move(result_);
  }

 private:
  absl::Status IndexTooLarge() const {
    return absl::UnimplementedError(
        absl::StrCat("operator ", f_.operator_name, ": an index does not fit into 64 bits"));
  }

  // An element of the sum that a flat offset is.
  struct Term {
    ExprId atom;
    int64_t factor = 0;
  };
  // The only value of a summation variable that counts.
  struct Solution {
    int64_t constant = 0;
    std::vector<Term> terms;
  };

  bool IsEmpty(const sdfg::Node& node) const {
    return IsReduction(node.op) && f_.vars[node.var].extent == 0;
  }

  // What must be known before the node is.
  std::vector<ExprId> NeededBy(ExprId id) const {
    const sdfg::Node& node = f_.nodes[id];
    if (IsEmpty(node)) return {};
    std::vector<ExprId> needed(node.args.begin(), node.args.end());
    if (node.var >= 0 && solved_[node.var]) {
      for (const Term& term : solved_[node.var]->terms) needed.push_back(term.atom);
    }
    return needed;
  }

  // All that the body consists of, each node after what it needs.
  std::vector<ExprId> Order(ExprId body) const {
    std::vector<ExprId> order;
    std::vector<uint8_t> state(f_.nodes.size(), 0);  // 1: entered, 2: done
    std::vector<ExprId> stack = {body};
    while (!stack.empty()) {
      const ExprId id = stack.back();
      if (state[id] != 0) {
        stack.pop_back();
        if (state[id] == 1) order.push_back(id);
        state[id] = 2;
        continue;
      }
      state[id] = 1;
      for (const ExprId needed : NeededBy(id)) {
        if (state[needed] == 0) stack.push_back(needed);
      }
    }
    return order;
  }

  // A variable that has a solution has it in all lanes, also where it is outside of the range, and
  // the sum therefore 0: nothing is known of it.
  bool FindRanges() {
    ranges_.assign(f_.nodes.size(), std::nullopt);
    return std::all_of(order_.begin(), order_.end(), [&](ExprId id) {
      const sdfg::Node& node = f_.nodes[id];
      if (IsEmpty(node) || (node.op == Op::kIndex && solved_[node.var])) return true;
      return sdfg::IntRangeOf(node, f_.vars, ranges_, &ranges_[id]);
    });
  }

  void FindVariables() {
    by_lane_.assign(f_.nodes.size(), false);
    free_.assign(f_.nodes.size(), {});
    binder_.assign(f_.vars.size(), std::numeric_limits<ExprId>::max());
    for (const ExprId id : order_) {
      const sdfg::Node& node = f_.nodes[id];
      std::vector<VarId>& free = free_[id];
      for (const ExprId needed : NeededBy(id))
        free.insert(free.end(), free_[needed].begin(), free_[needed].end());
      if (node.op == Op::kIndex) {
        if (!solved_[node.var]) free.push_back(node.var);
      } else if (node.var >= 0) {
        std::erase(free, node.var);
        if (!solved_[node.var]) binder_[node.var] = id;
      }
      std::sort(free.begin(), free.end());
      free.erase(std::unique(free.begin(), free.end()), free.end());
      by_lane_[id] = std::any_of(free.begin(), free.end(), [&](VarId var) { return lane_[var]; });
    }
  }

  // Finds sums of which one summand counts.
  bool SolveSums() {
    bool any = false;
    for (const ExprId id : order_) {
      const sdfg::Node& node = f_.nodes[id];
      if (node.op != Op::kSum || IsEmpty(node)) continue;
      std::vector<ExprId> factors = {node.args[0]};
      while (!factors.empty() && !solved_[node.var]) {
        const ExprId factor = factors.back();
        factors.pop_back();
        const Op op = f_.nodes[factor].op;
        if (op == Op::kIntEq) {
          solved_[node.var] = SolveFor(node.var, f_.nodes[factor]);
        } else if (op == Op::kMul || op == Op::kAnd || op == Op::kIndicator || op == Op::kNeg) {
          factors.insert(factors.end(), f_.nodes[factor].args.begin(), f_.nodes[factor].args.end());
        }
      }
      any |= solved_[node.var].has_value();
    }
    return any;
  }

  // The value of the variable for which the two sides of an equation are equal.
  std::optional<Solution> SolveFor(VarId var, const sdfg::Node& equation) const {
    Solution sum;
    if (!AddTerms(equation.args[0], 1, &sum.constant, &sum.terms) ||
        !AddTerms(equation.args[1], -1, &sum.constant, &sum.terms)) {
      return {};
    }
    int64_t factor = 0;
    for (const Term& term : sum.terms) {
      if (!std::binary_search(free_[term.atom].begin(), free_[term.atom].end(), var)) continue;
      if (f_.nodes[term.atom].op != Op::kIndex) return {};
      if (term.factor != 1 && term.factor != -1) return {};
      factor = term.factor;
    }
    if (factor == 0) return {};
    Solution solution;
    if (__builtin_mul_overflow(-factor, sum.constant, &solution.constant)) return {};
    for (const Term& term : sum.terms) {
      const sdfg::Node& atom = f_.nodes[term.atom];
      if (atom.op == Op::kIndex && atom.var == var) continue;
      Term moved{term.atom};
      if (__builtin_mul_overflow(-factor, term.factor, &moved.factor)) return {};
      solution.terms.push_back(moved);
    }
    return solution;
  }

  NodeId ValueOf(const Solution& solution) {
    NodeId sum = Constant(solution.constant);
    for (const Term& term : solution.terms) sum = MultiplyAdd(sum, done_[term.atom], term.factor);
    return sum;
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

  // Adds the terms of factor * id; false if 64 bits do not suffice.
  bool AddTerms(ExprId id, int64_t factor, int64_t* constant, std::vector<Term>* terms) const {
    std::vector<Term> work = {{id, factor}};
    while (!work.empty()) {
      const Term term = work.back();
      work.pop_back();
      const sdfg::Node& node = f_.nodes[term.atom];
      if (node.op == Op::kIntConst) {
        int64_t product = 0;
        if (__builtin_mul_overflow(term.factor, node.value, &product) ||
            __builtin_add_overflow(*constant, product, constant)) {
          return false;
        }
      } else if (node.op == Op::kIntAdd) {
        work.push_back({node.args[0], term.factor});
        work.push_back({node.args[1], term.factor});
      } else if (node.op == Op::kIntScale) {
        Term scaled{node.args[0]};
        if (__builtin_mul_overflow(term.factor, node.value, &scaled.factor)) return false;
        work.push_back(scaled);
      } else {
        const auto known = std::find_if(terms->begin(), terms->end(),
                                        [&](const Term& other) { return other.atom == term.atom; });
        if (known == terms->end()) {
          terms->push_back(term);
        } else if (__builtin_add_overflow(known->factor, term.factor, &known->factor)) {
          return false;
        }
      }
    }
    return true;
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
    for (size_t d = shape.size(); d-- > 0;) {
      fits_ &= AddTerms(node.args[d], stride, &constant, &terms) &&
               !__builtin_mul_overflow(stride, shape[d], &stride);
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

  // `value` where the condition holds, else 0.
  NodeId Where(NodeId condition, NodeId value) {
    if (zero_ == kNoNode) zero_ = Add({.op = Op::kReal});
    return Add({.op = Op::kSelect, .args = {condition, value, zero_}});
  }

  // A summation variable with one value that counts, or the sum over it.
  NodeId LowerSolved(const sdfg::Node& node) {
    const NodeId value = ValueOf(*solved_[node.var]);
    if (node.op == Op::kIndex) return value;
    const NodeId within = Add({.form = Form::kWithin,
                               .sort = Sort::kTruth,
                               .value = f_.vars[node.var].extent,
                               .args = {value}});
    return Where(within, done_[node.args[0]]);
  }

  NodeId LowerNode(ExprId id) {
    const sdfg::Node& node = f_.nodes[id];
    if (node.op == Op::kElement || node.op == Op::kIntElement) return Read(id);
    if (node.var >= 0 && solved_[node.var]) return LowerSolved(node);
    if (node.op == Op::kMul) {
      for (const size_t i : {0, 1}) {
        const sdfg::Node& factor = f_.nodes[node.args[i]];
        if (factor.op == Op::kIndicator)
          return Where(done_[factor.args[0]], done_[node.args[1 - i]]);
      }
    }
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
  std::vector<std::optional<Solution>> solved_;  // by variable
  std::vector<ExprId> order_;
  std::vector<bool> by_lane_;
  std::vector<std::vector<VarId>> free_;
  std::vector<ExprId> binder_;
  std::vector<NodeId> done_;
  std::map<std::tuple<NodeId, NodeId, int64_t>, NodeId> sums_;
  std::map<int64_t, NodeId> constants_;
  NodeId zero_ = kNoNode;
  bool fits_ = true;  // flat offsets, into 64 bits
  Expression result_;
};

}  // namespace

absl::StatusOr<Expression> Lower(const sdfg::IndexFunction& function, int output,
                                 const std::vector<bool>& lane) {
  return Lowering(function, lane).Run(function.outputs[output].body);
}

}  // namespace planproof::runtime_check
