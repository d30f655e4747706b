#include "sdfg/index_inversion.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

namespace planproof::sdfg {
namespace {

struct IndexEquation {
  ExprId left = kNoExpr;
  ExprId right = kNoExpr;
};

// A summand of an equation that contains unknowns: coefficient * atom, 0 <= atom < size.
struct OpenTerm {
  ExprId atom = kNoExpr;
  int64_t coefficient = 1;
  int64_t size = 0;
};

class Solver {
 public:
  Solver(AdjointExpressions* expressions, const VarSet& unknowns)
      : e_(*expressions), x_(expressions->index()), unknowns_(unknowns) {}

  void Add(ExprId left, ExprId right) { pending_.push_back({left, right}); }

  IndexSolution Run() {
    for (VarId var : VarSet(unknowns_)) {
      if (Extent(var) == 1) Assign(var, e_.builder().Int(0));
    }
    while (!e_.failed() && (DropSettled() || SolveByRadix() || SolveByRotation() ||
                            SolveByDigits() || SolveByDifference())) {
    }
    for (const IndexEquation& equation : pending_) {
      solution_.equations.push_back(e_.builder().Binary(Op::kIntEq, equation.left, equation.right));
    }
    solution_.summed = UnionOf(unknowns_, fresh_);
    return std::move(solution_);
  }

 private:
  int64_t Extent(VarId var) { return e_.builder().function().vars[var].extent; }
  bool IsOpen(ExprId id) { return Intersects(x_.Free(id), unknowns_); }

  // left - right as constant and known terms on one side, open terms on the other:
  // sum of open = known.
  void Separate(const IndexEquation& equation, std::vector<OpenTerm>* open, AffineIndex* known) {
    const AffineIndex form = x_.Sum(x_.ToAffine(equation.left), x_.ToAffine(equation.right), -1);
    known->constant = form.constant;
    for (const auto& [atom, coefficient] : form.terms) {
      if (IsOpen(atom)) {
        open->push_back({atom, coefficient, AtomSize(atom)});
      } else {
        known->terms.push_back({atom, coefficient});
      }
    }
    *known = x_.Sum(AffineIndex(), *known, -1);
  }

  // Number of values of an atom that ranges from 0, or 0 if it is of another kind.
  int64_t AtomSize(ExprId atom) {
    const Op op = e_.builder().node(atom).op;
    if (op != Op::kIndex && op != Op::kIntDiv && op != Op::kIntMod) return 0;
    const std::optional<IndexRange> range = x_.Range(atom);
    return range && range->low >= 0 ? range->high + 1 : 0;
  }

  // Demands low <= value < high, unless that is known.
  void Guard(ExprId value, int64_t low, int64_t high) {
    const std::optional<IndexRange> range = x_.Range(value);
    IndexFunctionBuilder& b = e_.builder();
    if (!range || range->low < low) {
      solution_.guards.push_back(b.Binary(Op::kIntLessEq, b.Int(low), value));
    }
    if (!range || range->high >= high) {
      solution_.guards.push_back(b.Binary(Op::kIntLess, value, b.Int(high)));
    }
  }
  void GuardEqual(ExprId a, ExprId b) {
    const ExprId condition = e_.builder().Binary(Op::kIntEq, a, b);
    if (x_.Decide(condition) != true) solution_.guards.push_back(condition);
  }

  // var := value, everywhere.
  void Assign(VarId var, ExprId value) {
    Guard(value, 0, Extent(var));
    const Substitution one = {{var, value}};
    for (IndexEquation& equation : pending_) {
      equation.left = e_.Substitute(equation.left, one);
      equation.right = e_.Substitute(equation.right, one);
    }
    for (auto& entry : solution_.values) entry.second = e_.Substitute(entry.second, one);
    for (ExprId& guard : solution_.guards) guard = e_.Substitute(guard, one);
    solution_.values[var] = value;
    unknowns_ = Without(unknowns_, {var});
  }

  void Remove(size_t equation) { pending_.erase(pending_.begin() + equation); }

  // Equations without unknowns become guards.
  bool DropSettled() {
    for (size_t i = 0; i < pending_.size(); ++i) {
      if (IsOpen(pending_[i].left) || IsOpen(pending_[i].right)) continue;
      const IndexEquation equation = pending_[i];
      Remove(i);
      GuardEqual(equation.left, equation.right);
      return true;
    }
    return false;
  }

  // One plain variable, or several terms whose coefficients are the place values of a mixed radix
  // (12 a + 4 b + c with b < 3, c < 4): each term is a digit of the known side.
  bool SolveByRadix() {
    // Plain renamings first: the other equations get simpler.
    for (const size_t most_terms : {size_t{1}, size_t{1000000}}) {
      for (size_t i = 0; i < pending_.size(); ++i) {
        std::vector<OpenTerm> open;
        AffineIndex known;
        Separate(pending_[i], &open, &known);
        if (open.size() > most_terms || IsLoneDigit(open)) continue;
        std::sort(open.begin(), open.end(), [](const OpenTerm& a, const OpenTerm& b) {
          return std::abs(a.coefficient) < std::abs(b.coefficient);
        });
        if (!IsRadix(open)) continue;
        Remove(i);
        SplitByRadix(open, std::move(known));
        return true;
      }
    }
    return false;
  }

  // atom = known with an atom that is no variable: left to SolveByDigits.
  bool IsLoneDigit(const std::vector<OpenTerm>& open) {
    return open.size() == 1 && std::abs(open[0].coefficient) == 1 &&
           e_.builder().node(open[0].atom).op != Op::kIndex;
  }

  static bool IsRadix(const std::vector<OpenTerm>& open) {
    for (size_t k = 0; k < open.size(); ++k) {
      if (open[k].size == 0) return false;
      if (k + 1 == open.size()) break;
      const int64_t low = std::abs(open[k].coefficient);
      const int64_t high = std::abs(open[k + 1].coefficient);
      if (high % low != 0 || high / low < open[k].size) return false;
    }
    return !open.empty();
  }

  void SplitByRadix(const std::vector<OpenTerm>& open, AffineIndex known) {
    // -c a = c (size - 1 - a) - c (size - 1): count a from its end.
    for (const OpenTerm& term : open) {
      if (term.coefficient < 0) known.constant -= term.coefficient * (term.size - 1);
    }
    IndexFunctionBuilder& b = e_.builder();
    // unit * q = known. Where known = j - 1, say that j has the remainder 1: both have the same
    // quotients by multiples of the unit.
    const int64_t unit = std::abs(open[0].coefficient);
    const int64_t remainder = -known.constant - unit * FloorDiv(-known.constant, unit);
    known.constant += remainder;
    const ExprId value = x_.FromAffine(std::move(known));
    if (unit > 1) GuardEqual(x_.Mod(value, unit), b.Int(remainder));
    std::vector<std::pair<VarId, ExprId>> values;
    for (size_t k = 0; k < open.size(); ++k) {
      const int64_t place = std::abs(open[k].coefficient);
      ExprId digit = x_.Div(value, place);
      if (k + 1 < open.size()) {
        digit = x_.Mod(digit, std::abs(open[k + 1].coefficient) / place);
      }
      if (open[k].coefficient < 0) digit = x_.Subtract(b.Int(open[k].size - 1), digit);
      const Node node = b.node(open[k].atom);
      if (node.op == Op::kIndex) {
        values.push_back({node.var, digit});
      } else {
        Add(open[k].atom, digit);  // before the assignments, which may concern the atom
      }
    }
    for (const auto& [var, digit] : values) Assign(var, digit);
  }

  // (v + known) mod n = r, v having at most n values: v = (r - known) mod n.
  bool SolveByRotation() {
    for (size_t i = 0; i < pending_.size(); ++i) {
      ExprId right = kNoExpr;
      Digit digit;
      if (!AsDigitEquation(pending_[i], &digit, &right)) continue;
      if (digit.low != 1 || digit.size == 0 || CountDigitsOf(digit.base) != 1) continue;
      std::vector<OpenTerm> open;
      AffineIndex known;  // open = known, for base = 0
      Separate({digit.base, e_.builder().Int(0)}, &open, &known);
      if (open.size() != 1 || std::abs(open[0].coefficient) != 1) continue;
      const Node node = e_.builder().node(open[0].atom);
      if (node.op != Op::kIndex || Extent(node.var) > digit.size) continue;
      Remove(i);
      Guard(right, 0, digit.size);
      const AffineIndex shifted = x_.Sum(x_.ToAffine(right), known, 1);
      const ExprId value = x_.FromAffine(x_.Sum(AffineIndex(), shifted, open[0].coefficient));
      Assign(node.var, x_.Mod(value, digit.size));
      return true;
    }
    return false;
  }

  // Is the equation digit = right, the digit being the only open term?
  bool AsDigitEquation(const IndexEquation& equation, Digit* digit, ExprId* right) {
    std::vector<OpenTerm> open;
    AffineIndex known;
    Separate(equation, &open, &known);
    if (!IsLoneDigit(open)) return false;
    *digit = x_.AsDigit(open[0].atom);
    if (digit->base == open[0].atom) return false;  // an element, a selection
    *right = x_.FromAffine(x_.Sum(AffineIndex(), known, open[0].coefficient));
    return true;
  }

  int CountDigitsOf(ExprId base) {
    int count = 0;
    for (const IndexEquation& equation : pending_) {
      Digit digit;
      ExprId right = kNoExpr;
      if (AsDigitEquation(equation, &digit, &right) && digit.base == base) ++count;
    }
    return count;
  }

  ExprId FreshTerm(int64_t extent, int64_t scale) {
    if (extent == 1) return e_.builder().Int(0);
    const VarId var = e_.builder().AddVar("w", extent);
    fresh_ = UnionOf(fresh_, {var});
    return x_.Scale(scale, e_.builder().Index(var));
  }

  // Known digits of one value, u div 12 = r, (u div 4) mod 3 = s: u = 12 r + 4 s + w, where w < 4
  // runs over what the digits leave open.
  bool SolveByDigits() {
    for (const IndexEquation& first : pending_) {
      Digit wanted;
      ExprId unused = kNoExpr;
      if (!AsDigitEquation(first, &wanted, &unused) || !x_.Range(wanted.base)) continue;
      struct Part {
        Digit digit;
        ExprId right;
      };
      std::vector<Part> parts;
      std::vector<IndexEquation> others;
      for (const IndexEquation& equation : pending_) {
        Part part;
        if (AsDigitEquation(equation, &part.digit, &part.right) && part.digit.base == wanted.base) {
          parts.push_back(part);
        } else {
          others.push_back(equation);
        }
      }
      std::stable_sort(parts.begin(), parts.end(),
                       [](const Part& a, const Part& b) { return a.digit.low < b.digit.low; });
      bool chain = true;
      int64_t place = 1;  // of the next digit; 0 after the highest one
      for (const Part& part : parts) {
        chain = chain && place > 0 && part.digit.low % place == 0;
        if (!chain || __builtin_mul_overflow(part.digit.low, part.digit.size, &place)) {
          chain = false;
          break;
        }
      }
      if (!chain) continue;
      pending_ = std::move(others);
      place = 1;
      ExprId value = e_.builder().Int(0);
      for (const Part& part : parts) {
        value = x_.Add(value, FreshTerm(part.digit.low / place, place));
        value = x_.Add(value, x_.Scale(part.digit.low, part.right));
        if (part.digit.size != 0) Guard(part.right, 0, part.digit.size);
        place = part.digit.low * part.digit.size;
      }
      if (place > 0) {
        const IndexRange range = *x_.Range(wanted.base);
        const int64_t lowest = FloorDiv(range.low, place);
        const int64_t extent = FloorDiv(range.high, place) - lowest + 1;
        value = x_.Add(value, e_.builder().Int(lowest * place));
        value = x_.Add(value, FreshTerm(extent, place));
      }
      Add(wanted.base, value);
      return true;
    }
    return false;
  }

  // A variable with coefficient 1 or -1 that occurs nowhere else in the equation is determined by
  // the other unknowns.
  bool SolveByDifference() {
    for (size_t i = 0; i < pending_.size(); ++i) {
      std::vector<OpenTerm> open;
      AffineIndex known;
      Separate(pending_[i], &open, &known);
      for (size_t k = 0; k < open.size(); ++k) {
        const Node node = e_.builder().node(open[k].atom);
        if (node.op != Op::kIndex || std::abs(open[k].coefficient) != 1) continue;
        AffineIndex value = known;
        bool alone = true;
        for (size_t other = 0; other < open.size(); ++other) {
          if (other == k) continue;
          alone = alone && !Contains(x_.Free(open[other].atom), node.var);
          value = x_.Sum(value, x_.ToAffine(open[other].atom), -open[other].coefficient);
        }
        if (!alone) continue;
        Remove(i);
        Assign(node.var, x_.FromAffine(x_.Sum(AffineIndex(), value, open[k].coefficient)));
        return true;
      }
    }
    return false;
  }

  AdjointExpressions& e_;
  IndexAlgebra& x_;
  VarSet unknowns_;
  VarSet fresh_;
  std::vector<IndexEquation> pending_;
  IndexSolution solution_;
};

}  // namespace

IndexSolution SolveIndices(AdjointExpressions* expressions, const VarSet& unknowns,
                           const std::vector<ExprId>& left, const std::vector<ExprId>& right) {
  Solver solver(expressions, unknowns);
  for (size_t d = 0; d < left.size(); ++d) solver.Add(left[d], right[d]);
  return solver.Run();
}

}  // namespace planproof::sdfg
