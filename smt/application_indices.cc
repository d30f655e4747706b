// SmtApplication: integer expressions and conditions.
#include "smt/application.h"

namespace planproof::smt {

using sdfg::ExprId;
using sdfg::Node;
using sdfg::Op;
using solver::RawId;
using solver::RawOp;

namespace {

constexpr int64_t kUnboundedIndex = int64_t{1} << 60;

}  // namespace

bool SmtApplication::EvalInteger(ExprId id, SmtIndex* out) {
  const Node& n = f_.nodes[id];
  SmtIndex a, b;
  switch (n.op) {
    case Op::kIntConst:
      *out = SmtIndex{};
      out->constant = n.value;
      return true;
    case Op::kIndex:
      *out = vars_[n.var];
      return true;
    case Op::kIntAdd:
      if (!EvalInteger(n.args[0], &a) || !EvalInteger(n.args[1], &b)) return false;
      *out = e_.Sum(a, b);
      return true;
    case Op::kIntScale:
      if (!EvalInteger(n.args[0], &a)) return false;
      *out = e_.Scaled(a, n.value);
      return true;
    case Op::kIntDiv:
      return EvalInteger(n.args[0], &a) && e_.DivMod(a, n.value, out, &b);
    case Op::kIntMod:
      return EvalInteger(n.args[0], &a) && e_.DivMod(a, n.value, &b, out);
    case Op::kWhole: {
      SmtValue value;
      if (!Eval(n.args[0], &value)) return false;
      const solver::RawTerm& term = e_.arena_[value.term];
      if (value.masked || term.op != RawOp::kToReal) return e_.Fail("arithmetic of integers");
      *out = e_.Symbolic(term.args[0]);
      return true;
    }
    case Op::kIntElement: {
      std::vector<SmtIndex> index;
      return InputIndex(n, &index) && e_.IntegerElement(parallel_, op_.inputs[n.input], index, out);
    }
    case Op::kSelect: {
      Truth c;
      if (!EvalTruth(n.args[0], &c)) return false;
      if (c.decided) return EvalInteger(n.args[c.value ? 1 : 2], out);
      ++e_.guards_;
      const bool ok = EvalInteger(n.args[1], &a) && EvalInteger(n.args[2], &b);
      --e_.guards_;
      if (!ok) return false;
      *out = e_.Symbolic(
          e_.arena_.Make(RawOp::kIntIte, {c.term, e_.IntegerTerm(a), e_.IntegerTerm(b)}));
      return true;
    }
    case Op::kOpaque: {
      RawId term;
      if (!Opaque(n, &term)) return false;
      *out = e_.Symbolic(term);
      return true;
    }
    default:
      return e_.Fail("an integer expression of an unknown kind");
  }
}

bool SmtApplication::CompareIntegers(const Node& node, Truth* out) {
  SmtIndex a, b;
  if (!EvalInteger(node.args[0], &a)) return false;
  if (node.op != Op::kNonzero && !EvalInteger(node.args[1], &b)) return false;
  if (a.symbolic || b.symbolic) {
    const RawOp op = node.op == Op::kIntLess     ? RawOp::kIntLess
                     : node.op == Op::kIntLessEq ? RawOp::kIntLessEq
                                                 : RawOp::kIntEq;
    out->decided = false;
    out->term = e_.arena_.Make(op, {e_.IntegerTerm(a), e_.IntegerTerm(b)});
    if (node.op == Op::kNonzero) out->term = e_.arena_.Make(RawOp::kNot, {out->term});
    return true;
  }
  const SmtIndex difference = e_.Sum(a, e_.Scaled(b, -1));
  const int64_t d = e_.Low(difference);
  if (node.op == Op::kIntLess || node.op == Op::kIntLessEq) {
    const int64_t bound = node.op == Op::kIntLess ? 0 : 1;
    out->value = d < bound;
    e_.Guard(difference, d < bound ? -kUnboundedIndex : bound, d < bound ? bound : kUnboundedIndex);
  } else {
    out->value = (d == 0) != (node.op == Op::kNonzero);
    e_.Guard(difference,
             d < 0    ? -kUnboundedIndex
             : d == 0 ? 0
                      : 1,
             d < 0    ? 0
             : d == 0 ? 1
                      : kUnboundedIndex);
  }
  return true;
}

bool SmtApplication::EvalTruth(ExprId id, Truth* out) {
  const Node& n = f_.nodes[id];
  *out = Truth{};
  switch (n.op) {
    case Op::kIntLess:
    case Op::kIntLessEq:
    case Op::kIntEq:
      return CompareIntegers(n, out);
    case Op::kNonzero:
      if (IsInteger(n.args[0])) return CompareIntegers(n, out);
      [[fallthrough]];
    case Op::kRealLess:
    case Op::kRealLessEq:
    case Op::kRealEq: {
      SmtValue a, b;
      if (!Eval(n.args[0], &a)) return false;
      b.term = e_.arena_.Constant(0);
      if (n.op != Op::kNonzero && !Eval(n.args[1], &b)) return false;
      if (a.masked || b.masked) return e_.Fail("a comparison with -infinity");
      const RawOp op = n.op == Op::kRealLess     ? RawOp::kLess
                       : n.op == Op::kRealLessEq ? RawOp::kLessEq
                                                 : RawOp::kEq;
      e_.polynomial_ = false;
      out->decided = false;
      out->term = e_.arena_.Make(op, {a.term, b.term});
      if (n.op == Op::kNonzero) out->term = e_.arena_.Make(RawOp::kNot, {out->term});
      return true;
    }
    case Op::kAnd:
    case Op::kOr: {
      const bool decisive = n.op == Op::kOr;
      Truth a, b;
      if (!EvalTruth(n.args[0], &a)) return false;
      if (a.decided) {
        if (a.value != decisive) return EvalTruth(n.args[1], out);
        *out = a;
        return true;
      }
      if (!EvalTruth(n.args[1], &b)) return false;
      if (b.decided) {
        *out = b.value == decisive ? b : a;
        return true;
      }
      out->decided = false;
      out->term = e_.arena_.Make(n.op == Op::kAnd ? RawOp::kAnd : RawOp::kOr, {a.term, b.term});
      return true;
    }
    case Op::kNot: {
      if (!EvalTruth(n.args[0], out)) return false;
      out->value = !out->value;
      if (!out->decided) out->term = e_.arena_.Make(RawOp::kNot, {out->term});
      return true;
    }
    default:
      return e_.Fail("a condition of an unknown kind");
  }
}

}  // namespace planproof::smt
