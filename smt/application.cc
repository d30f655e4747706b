#include "smt/application.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace planproof::smt {

using sdfg::ExprId;
using sdfg::Node;
using sdfg::Op;
using solver::RawId;
using solver::RawOp;

namespace {

constexpr int kMaxNesting = 3000;
constexpr int64_t kMaxRow = 512;
constexpr int64_t kUnbounded = int64_t{1} << 60;
constexpr int kManySums = 1000;  // counted no further

}  // namespace

SmtApplication::SmtApplication(SmtEvaluation* evaluation, bool parallel, const sdfg::Tensor& t,
                               const std::vector<SmtIndex>& index)
    : e_(*evaluation),
      parallel_(parallel),
      op_((parallel ? e_.problem_.parallel : e_.problem_.logical).operators[t.producer]),
      f_(*op_.function),
      local_(index),
      vars_(f_.vars.size()),
      changed_(f_.vars.size(), 0),
      cache_(f_.nodes.size()),
      dependencies_(e_.Dependencies(f_)) {
  if (op_.lifted) {
    for (size_t a = 0; a < t.axes.size(); ++a) coordinates_.emplace_back(t.axes[a], index[a]);
    local_.erase(local_.begin(), local_.begin() + static_cast<int64_t>(t.axes.size()));
  }
}

void SmtApplication::Set(sdfg::VarId var, SmtIndex value) {
  vars_[var] = std::move(value);
  changed_[var] = ++clock_;
}

bool SmtApplication::Bind(int output) {
  const sdfg::FunctionOutput& o = f_.outputs[output];
  if (o.dims.size() != local_.size()) return e_.Fail("an index does not fit an operator's output");
  for (size_t d = 0; d < local_.size(); ++d) Set(o.dims[d], local_[d]);
  return true;
}

bool SmtApplication::Premises(int output) {
  for (const sdfg::FunctionPremise& p : f_.premises) {
    if (p.output != output) continue;
    if (e_.guards_ > 0) {  // it holds only where the branch is taken
      e_.skips_premises_ = true;
      return true;
    }
    Truth truth;
    if (!EvalTruth(p.condition, &truth)) return false;
    if (truth.decided && !truth.value) return e_.Fail("a premise never holds: " + p.text);
    if (!truth.decided) e_.premises_.push_back(truth.term);
  }
  return true;
}

bool SmtApplication::Real(int output, SmtValue* out) {
  return Bind(output) && Premises(output) && Eval(f_.outputs[output].body, out);
}

bool SmtApplication::Integer(int output, SmtIndex* out) {
  return Bind(output) && Premises(output) && EvalInteger(f_.outputs[output].body, out);
}

bool SmtApplication::IsInteger(ExprId id) const {
  const Node& n = f_.nodes[id];
  if (n.op == Op::kSelect) return IsInteger(n.args[1]);
  return n.op <= Op::kIntElement || (n.op == Op::kOpaque && n.int_valued);
}

bool SmtApplication::InputIndex(const Node& node, std::vector<SmtIndex>* out) {
  if (op_.lifted) {
    const sdfg::Graph& graph = parallel_ ? e_.problem_.parallel : e_.problem_.logical;
    for (sdfg::AxisId axis : graph.tensors[op_.inputs[node.input]].axes) {
      auto it = std::find_if(coordinates_.begin(), coordinates_.end(),
                             [&](const auto& c) { return c.first == axis; });
      if (it == coordinates_.end()) {
        return e_.Fail("an input varies over an axis that the output lacks");
      }
      out->push_back(it->second);
    }
  }
  for (ExprId a : node.args) {
    SmtIndex i;
    if (!EvalInteger(a, &i)) return false;
    out->push_back(std::move(i));
  }
  return true;
}

bool SmtApplication::Eval(ExprId id, SmtValue* out) {
  if (++e_.steps_ > e_.limits_.max_steps || e_.arena_.size() > e_.limits_.max_terms) {
    return e_.Fail("the raw terms are too large");
  }
  Cached& cached = cache_[id];
  bool valid = cached.time >= 0;
  for (sdfg::VarId v : dependencies_[id]) valid = valid && changed_[v] <= cached.time;
  if (valid) {
    *out = cached.value;
    return true;
  }
  if (++e_.nesting_ > kMaxNesting) return e_.Fail("expressions are nested too deeply");
  const bool ok = EvalUncached(f_.nodes[id], out);
  --e_.nesting_;
  if (ok && e_.guards_ == 0) cache_[id] = {clock_, *out};
  return ok;
}

bool SmtApplication::EvalUncached(const Node& n, SmtValue* out) {
  *out = SmtValue{};
  SmtValue a, b;
  auto unary = [&](RawOp op) {
    if (!Eval(n.args[0], &a)) return false;
    e_.polynomial_ = false;
    if (a.masked) {
      if (op != RawOp::kExp) return e_.Fail("-infinity where it has no meaning");
      out->term = e_.arena_.Constant(0);
      return true;
    }
    out->term = e_.arena_.Make(op, {a.term});
    out->sums = a.sums;
    return true;
  };
  switch (n.op) {
    case Op::kReal:
      out->term = e_.arena_.Constant(n.real);
      return true;
    case Op::kNegInf:
      out->masked = true;
      return true;
    case Op::kElement: {
      std::vector<SmtIndex> index;
      return InputIndex(n, &index) && e_.Element(parallel_, op_.inputs[n.input], index, out);
    }
    case Op::kPosition: {
      SmtIndex i;
      if (!EvalInteger(n.args[0], &i)) return false;
      out->term =
          i.symbolic ? e_.arena_.Make(RawOp::kToReal, {i.term}) : e_.arena_.Constant(e_.Exact(i));
      return true;
    }
    case Op::kIndicator: {
      Truth c;
      if (!EvalTruth(n.args[0], &c)) return false;
      const RawId one = e_.arena_.Constant(1), zero = e_.arena_.Constant(0);
      out->term =
          c.decided ? (c.value ? one : zero) : e_.arena_.Make(RawOp::kIte, {c.term, one, zero});
      return true;
    }
    case Op::kAdd:
      if (!Eval(n.args[0], &a) || !Eval(n.args[1], &b)) return false;
      out->masked = a.masked || b.masked;
      if (!out->masked) out->term = e_.arena_.Make(RawOp::kAdd, {a.term, b.term});
      out->sums = std::max(a.sums, b.sums);
      return true;
    case Op::kMul:
      return Product(n, out);
    case Op::kNeg:
      if (!Eval(n.args[0], &a)) return false;
      if (a.masked) return e_.Fail("+infinity");
      out->term = e_.arena_.Make(RawOp::kNeg, {a.term});
      out->sums = a.sums;
      return true;
    case Op::kDiv:
      if (!Eval(n.args[0], &a) || !Eval(n.args[1], &b)) return false;
      if (b.masked) return e_.Fail("-infinity in a denominator");
      if (a.masked) {
        const solver::RawTerm& t = e_.arena_[b.term];
        out->masked = true;
        return (t.op == RawOp::kRational && t.value.Sign() > 0) ||
               e_.Fail("-infinity over a value that may be negative");
      }
      if (const solver::RawTerm& t = e_.arena_[b.term];
          t.op != RawOp::kRational || t.value.IsZero()) {
        e_.polynomial_ = false;
      }
      out->term = e_.arena_.Make(RawOp::kDiv, {a.term, b.term});
      out->sums = std::min(a.sums + b.sums, kManySums);
      return true;
    case Op::kPow: {
      if (!Eval(n.args[0], &a)) return false;
      if (a.masked) return e_.Fail("a power of -infinity");
      int64_t k;
      if (!n.real.ToInt64(&k) || k < 0 || k > 64) {
        e_.polynomial_ = false;
        k = 1;
      }
      out->term = e_.arena_.Add({RawOp::kPow, n.real, "", 0, 0, {a.term}});
      out->sums = std::min(static_cast<int>(k) * a.sums, kManySums);
      return true;
    }
    case Op::kExp:
      return unary(RawOp::kExp);
    case Op::kLog:
      return unary(RawOp::kLog);
    case Op::kErf:
      return unary(RawOp::kErf);
    case Op::kSin:
      return unary(RawOp::kSin);
    case Op::kCos:
      return unary(RawOp::kCos);
    case Op::kAbs:
      return unary(RawOp::kAbs);
    case Op::kMax:
    case Op::kMin:
      return Eval(n.args[0], &a) && Eval(n.args[1], &b) && Extreme(a, b, n.op == Op::kMax, out);
    case Op::kSelect:
      return Selection(n, out);
    case Op::kSum:
      return Sum(n, out);
    case Op::kReduceMax:
    case Op::kReduceMin:
      return Reduce(n, out);
    case Op::kOpaque:
      return Opaque(n, &out->term);
    default:
      return e_.Fail("a real expression of an unknown kind");
  }
}

// A factor that is an indicator known to be 0 makes the product 0 without a look at the other.
bool SmtApplication::Product(const Node& n, SmtValue* out) {
  for (int k = 0; k < 2; ++k) {
    if (f_.nodes[n.args[k]].op != Op::kIndicator) continue;
    Truth c;
    if (!EvalTruth(f_.nodes[n.args[k]].args[0], &c)) return false;
    if (c.decided && !c.value) {
      out->term = e_.arena_.Constant(0);
      return true;
    }
  }
  SmtValue a, b;
  if (!Eval(n.args[0], &a) || !Eval(n.args[1], &b)) return false;
  if (a.masked || b.masked) {
    const SmtValue& factor = a.masked ? b : a;
    const solver::RawTerm& t = e_.arena_[factor.term];
    out->masked = true;
    return (!factor.masked && t.op == RawOp::kRational && t.value.Sign() > 0) ||
           e_.Fail("-infinity times a value that may not be positive");
  }
  out->term = e_.arena_.Make(RawOp::kMul, {a.term, b.term});
  out->sums = std::min(a.sums + b.sums, kManySums);
  return true;
}

bool SmtApplication::Selection(const Node& n, SmtValue* out) {
  Truth c;
  if (!EvalTruth(n.args[0], &c)) return false;
  if (c.decided) return Eval(n.args[c.value ? 1 : 2], out);
  SmtValue a, b;
  ++e_.guards_;
  const bool ok = Eval(n.args[1], &a) && Eval(n.args[2], &b);
  --e_.guards_;
  if (!ok) return false;
  if (a.masked || b.masked) return e_.Fail("-infinity under a condition on data");
  e_.polynomial_ = false;
  out->term = e_.arena_.Make(RawOp::kIte, {c.term, a.term, b.term});
  out->sums = std::max(a.sums, b.sums);
  return true;
}

bool SmtApplication::Extreme(SmtValue a, SmtValue b, bool max, SmtValue* out) {
  if (a.masked || b.masked) {
    if (!max) return e_.Fail("a minimum with -infinity");
    *out = a.masked ? b : a;
    return true;
  }
  ++e_.maxima_;
  e_.polynomial_ = false;
  out->term = e_.arena_.Make(max ? RawOp::kMax : RawOp::kMin, {a.term, b.term});
  out->sums = std::max(a.sums, b.sums);
  return true;
}

bool SmtApplication::ForEachRun(sdfg::VarId var, const std::function<bool()>& visit,
                                const std::function<bool(int64_t)>& closed) {
  const int64_t extent = f_.vars[var].extent;
  if (extent > 1) e_.binds_ = true;
  for (int64_t value = 0; value < extent;) {
    const int loop = e_.Open(value, extent);
    Set(var, e_.LoopIndex(loop));
    if (!visit()) return false;
    const int64_t end = e_.End(loop);
    e_.Close();
    if (!closed(end - value)) return false;
    value = end;
  }
  return true;
}

// sum(v: [v == id] f(v)) with an id that is not known: [0 <= id < n] f(id). Evaluated run by run,
// every value of v would be a run of its own.
bool SmtApplication::SumAtUnknown(const Node& n, SmtValue* out, bool* done) {
  std::vector<ExprId> factors = {n.args[0]};
  for (size_t k = 0; k < factors.size(); ++k) {
    const Node& factor = f_.nodes[factors[k]];
    if (factor.op == Op::kMul) {
      factors.insert(factors.end(), factor.args.begin(), factor.args.end());
    }
    if (factor.op != Op::kIndicator || f_.nodes[factor.args[0]].op != Op::kIntEq) continue;
    const auto& sides = f_.nodes[factor.args[0]].args;
    for (int side = 0; side < 2; ++side) {
      const Node& variable = f_.nodes[sides[side]];
      const auto& others = dependencies_[sides[1 - side]];
      if (variable.op != Op::kIndex || variable.var != n.var) continue;
      if (std::find(others.begin(), others.end(), n.var) != others.end()) continue;
      SmtIndex id;
      if (!EvalInteger(sides[1 - side], &id)) return false;
      if (!id.symbolic) continue;
      *done = true;
      e_.reads_integers_ = true;
      Set(n.var, id);
      SmtValue value;
      ++e_.guards_;
      const bool ok = Eval(n.args[0], &value);
      --e_.guards_;
      if (!ok) return false;
      if (value.masked) return e_.Fail("-infinity in a sum");
      const RawId below = e_.arena_.Make(RawOp::kIntLessEq, {e_.arena_.Integer(0), id.term});
      const RawId above =
          e_.arena_.Make(RawOp::kIntLess, {id.term, e_.arena_.Integer(f_.vars[n.var].extent)});
      const RawId inside = e_.arena_.Make(RawOp::kAnd, {below, above});
      out->term = e_.arena_.Make(RawOp::kIte, {inside, value.term, e_.arena_.Constant(0)});
      out->sums = value.sums + 1;
      e_.polynomial_ = false;
      return true;
    }
  }
  return true;
}

bool SmtApplication::Sum(const Node& n, SmtValue* out) {
  bool done = false;
  if (!SumAtUnknown(n, out, &done)) return false;
  if (done) return true;
  std::vector<RawId> summands;
  SmtValue body;
  int sums = 0;
  const bool ok = ForEachRun(
      n.var, [&] { return Eval(n.args[0], &body); },
      [&](int64_t weight) {
        if (body.masked) return e_.Fail("-infinity in a sum");
        sums = std::max(sums, body.sums);
        const solver::RawTerm& t = e_.arena_[body.term];
        if (t.op == RawOp::kRational && t.value.IsZero()) return true;
        summands.push_back(
            weight == 1 ? body.term
                        : e_.arena_.Make(RawOp::kMul, {e_.arena_.Constant(weight), body.term}));
        return true;
      });
  if (!ok) return false;
  out->term = summands.empty() ? e_.arena_.Constant(0) : e_.arena_.Make(RawOp::kAdd, summands);
  out->sums = std::min(sums + 1, kManySums);
  return true;
}

bool SmtApplication::Reduce(const Node& n, SmtValue* out) {
  if (f_.vars[n.var].extent > 1) e_.polynomial_ = false;
  SmtValue body;
  bool first = true;
  const bool ok = ForEachRun(
      n.var, [&] { return Eval(n.args[0], &body); },
      [&](int64_t) {
        if (first) {
          *out = body;
        } else {
          SmtValue so_far = *out;
          *out = SmtValue{};
          if (!Extreme(so_far, body, n.op == Op::kReduceMax, out)) return false;
        }
        first = false;
        return true;
      });
  if (first && ok) return e_.Fail("a maximum of nothing");
  ++out->sums;
  return ok;
}

bool SmtApplication::Opaque(const Node& n, RawId* out) {
  e_.polynomial_ = false;
  solver::RawTerm apply;
  const bool row = n.var >= 0;
  const int64_t extent = row ? f_.vars[n.var].extent : 0;
  if (extent > 1) e_.binds_ = true;
  apply.op = n.int_valued ? RawOp::kIntApply : RawOp::kApply;
  apply.name = row ? absl::StrCat(n.name, ".", extent) : n.name;
  if (n.int_valued) apply.high = row ? std::max<int64_t>(extent - 1, 0) : kUnbounded;
  if (extent > kMaxRow) return e_.Fail("a row of an opaque function is too long");
  auto scalar = [&](ExprId id) {
    if (IsInteger(id)) {
      SmtIndex i;
      if (!EvalInteger(id, &i)) return false;
      apply.args.push_back(e_.IntegerTerm(i));
      return true;
    }
    SmtValue v;
    if (!Eval(id, &v)) return false;
    if (v.masked) return e_.Fail("-infinity in an opaque function");
    apply.args.push_back(v.term);
    return true;
  };
  for (size_t k = 0; k < n.args.size(); ++k) {
    if (!row || k > 0) {
      if (!scalar(n.args[k])) return false;
      continue;
    }
    for (int64_t value = 0; value < extent; ++value) {
      SmtIndex i;
      i.constant = value;
      Set(n.var, i);
      if (!scalar(n.args[0])) return false;
    }
  }
  *out = e_.arena_.Add(std::move(apply));
  return true;
}

}  // namespace planproof::smt
