#include "shape_reduction/index_form.h"

#include <algorithm>
#include <cstdlib>

namespace planproof::shape_reduction {

using sdfg::ExprId;
using sdfg::IndexVariable;
using sdfg::Node;
using sdfg::Op;
using sdfg::VarId;

namespace {

// Numbers in forms stay below this, so that sums and products of two of them do not overflow.
constexpr int64_t kHuge = int64_t{1} << 60;
// Bounds of what forms are compared with.
constexpr int64_t kMaxFormValue = int64_t{1} << 62;

// *sum += a * b; false if it does not fit.
bool AddProduct(int64_t a, int64_t b, int64_t* sum) {
  int64_t product;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*sum, product, sum);
}

// floor(var / div) mod extent is the whole rest of var above div.
bool IsTop(const DigitTerm& t, const std::vector<IndexVariable>& vars) {
  const int64_t n = vars[t.var].extent;
  return t.extent >= (n + t.div - 1) / t.div;
}

// Splits t at q (q | extent, or t is a top digit): t = q * high + low.
bool SplitTerm(const DigitTerm& t, int64_t q, const std::vector<IndexVariable>& vars,
               DigitTerm* high, DigitTerm* low) {
  if (q <= 1 || q >= t.extent) return false;
  if (t.extent % q != 0 && !IsTop(t, vars)) return false;
  int64_t div, scale;
  if (__builtin_mul_overflow(t.div, q, &div) || __builtin_mul_overflow(t.scale, q, &scale)) {
    return false;
  }
  *high = {t.var, div, (t.extent + q - 1) / q, scale};
  *low = {t.var, t.div, q, t.scale};
  return true;
}

// Adds up terms of the same digit and joins neighbouring digits: 4 (v div 4) + v mod 4 = v. False
// if a scale does not fit.
bool MergeTerms(std::vector<DigitTerm>* terms, const std::vector<IndexVariable>& vars) {
  if (terms->size() < 2) {
    if (terms->size() == 1 && ((*terms)[0].scale == 0 || (*terms)[0].extent <= 1)) terms->clear();
    return true;
  }
  // Split overlapping digits of one variable at each other's bounds.
  for (size_t round = 0; round < 64; ++round) {
    bool changed = false;
    for (size_t i = 0; i < terms->size() && !changed; ++i) {
      for (size_t j = 0; j < terms->size() && !changed; ++j) {
        if (i == j || (*terms)[i].var != (*terms)[j].var) continue;
        const DigitTerm t = (*terms)[i];
        for (int64_t bound : {(*terms)[j].div, (*terms)[j].div * (*terms)[j].extent}) {
          DigitTerm high, low;
          if (bound <= t.div || bound % t.div != 0) continue;
          if (!SplitTerm(t, bound / t.div, vars, &high, &low)) continue;
          (*terms)[i] = high;
          terms->push_back(low);
          changed = true;
          break;
        }
      }
    }
    if (!changed) break;
  }
  std::sort(terms->begin(), terms->end(), [](const DigitTerm& a, const DigitTerm& b) {
    if (a.var != b.var) return a.var < b.var;
    if (a.div != b.div) return a.div < b.div;
    return a.extent < b.extent;
  });
  std::vector<DigitTerm> merged;
  for (const DigitTerm& t : *terms) {
    if (!merged.empty() && merged.back().var == t.var && merged.back().div == t.div &&
        merged.back().extent == t.extent) {
      if (!AddProduct(t.scale, 1, &merged.back().scale)) return false;
      if (merged.back().scale == 0) merged.pop_back();
    } else if (t.scale != 0 && t.extent > 1) {
      merged.push_back(t);
    }
  }
  terms->clear();
  for (const DigitTerm& t : merged) {
    if (!terms->empty() && terms->back().var == t.var &&
        terms->back().div * terms->back().extent == t.div &&
        terms->back().scale * terms->back().extent == t.scale) {
      terms->back().extent *= t.extent;
      // A top digit reaches no further than the variable.
      const int64_t n = vars[t.var].extent;
      terms->back().extent =
          std::min(terms->back().extent, (n + terms->back().div - 1) / terms->back().div);
    } else {
      terms->push_back(t);
    }
  }
  return true;
}

bool TooLarge(const IndexForm& e) {
  if (e.overflow || e.constant > kHuge || e.constant < -kHuge) return true;
  for (const DigitTerm& t : e.terms) {
    int64_t reach;
    if (__builtin_mul_overflow(t.scale, t.extent, &reach) || reach > kHuge || reach < -kHuge) {
      return true;
    }
  }
  return false;
}

IndexForm AtomForm(ExprId id) {
  IndexForm form;
  form.atoms.push_back({1, id});
  return form;
}

}  // namespace

bool IndexForm::Uses(VarId var) const {
  return std::any_of(terms.begin(), terms.end(), [&](const DigitTerm& t) { return t.var == var; });
}

IndexForm VariableForm(VarId var, const std::vector<IndexVariable>& vars) {
  IndexForm form;
  if (vars[var].extent > 1) form.terms.push_back({var, 1, vars[var].extent, 1});
  return form;
}

IndexForm AddForms(const IndexForm& a, const IndexForm& b, int64_t b_scale,
                   const std::vector<IndexVariable>& vars) {
  IndexForm sum = a;
  sum.overflow |= b.overflow || !AddProduct(b.constant, b_scale, &sum.constant);
  for (DigitTerm t : b.terms) {
    sum.overflow |= __builtin_mul_overflow(t.scale, b_scale, &t.scale);
    sum.terms.push_back(t);
  }
  if (sum.overflow) return sum;
  if (!b.terms.empty()) sum.overflow |= !MergeTerms(&sum.terms, vars);
  for (const auto& [scale, atom] : b.atoms) {
    auto same = std::find_if(sum.atoms.begin(), sum.atoms.end(),
                             [&, id = atom](const auto& x) { return x.second == id; });
    if (same == sum.atoms.end()) same = sum.atoms.insert(same, {0, atom});
    sum.overflow |= !AddProduct(scale, b_scale, &same->first);
    if (same->first == 0) sum.atoms.erase(same);
  }
  return sum;
}

bool DivideForm(const IndexForm& e, int64_t c, const std::vector<IndexVariable>& vars,
                IndexForm* quotient, IndexForm* remainder) {
  *quotient = IndexForm();
  *remainder = IndexForm();
  if (e.overflow) return false;
  quotient->constant = FloorDiv(e.constant, c);
  remainder->constant = e.constant - c * quotient->constant;
  for (const auto& [scale, atom] : e.atoms) {
    if (scale % c != 0) return false;
    quotient->atoms.push_back({scale / c, atom});
  }
  for (const DigitTerm& t : e.terms) {
    DigitTerm high, low = t;
    if (t.scale % c == 0) {
      high = t;
      high.scale /= c;
      quotient->terms.push_back(high);
      continue;
    }
    if (t.scale > 0 && c % t.scale == 0 && t.extent - 1 >= c / t.scale &&
        SplitTerm(t, c / t.scale, vars, &high, &low)) {
      high.scale /= c;
      quotient->terms.push_back(high);
    }
    remainder->terms.push_back(low);
  }
  // With negative terms or a carry, moving a multiple of c may still put the rest into [0, c).
  int64_t low = 0, high = 0;
  if (!FormRange(*remainder, &low, &high)) return false;
  const int64_t shift = FloorDiv(low, c);
  if (high - shift * c >= c) return false;
  quotient->constant += shift;
  remainder->constant -= shift * c;
  return MergeTerms(&quotient->terms, vars) && MergeTerms(&remainder->terms, vars);
}

bool FormRange(const IndexForm& e, int64_t* low, int64_t* high) {
  __int128 least = e.constant, most = e.constant;
  for (const DigitTerm& t : e.terms) {
    (t.scale > 0 ? most : least) += static_cast<__int128>(t.scale) * (t.extent - 1);
  }
  *low = static_cast<int64_t>(std::clamp<__int128>(least, -kMaxFormValue, kMaxFormValue));
  *high = static_cast<int64_t>(std::clamp<__int128>(most, -kMaxFormValue, kMaxFormValue));
  return e.atoms.empty() && !e.overflow && least >= -kMaxFormValue && most <= kMaxFormValue;
}

IndexForm FormOf(const Node& node, ExprId id, const std::vector<IndexForm>& forms,
                 const std::vector<IndexVariable>& vars) {
  IndexForm form;
  switch (node.op) {
    case Op::kIntConst:
      form.constant = node.value;
      break;
    case Op::kIndex:
      form = VariableForm(node.var, vars);
      break;
    case Op::kIntAdd:
      form = AddForms(forms[node.args[0]], forms[node.args[1]], 1, vars);
      break;
    case Op::kIntScale:
      if (node.value > kHuge || node.value < -kHuge) return AtomForm(id);
      form = AddForms(IndexForm(), forms[node.args[0]], node.value, vars);
      break;
    case Op::kIntDiv:
    case Op::kIntMod: {
      IndexForm quotient, remainder;
      if (node.value <= 0 ||
          !DivideForm(forms[node.args[0]], node.value, vars, &quotient, &remainder)) {
        return AtomForm(id);
      }
      form = node.op == Op::kIntDiv ? quotient : remainder;
      break;
    }
    case Op::kWhole:
    case Op::kIntElement:
    case Op::kSelect:  // of integers; of reals nobody asks
      return AtomForm(id);
    case Op::kOpaque:
      return node.int_valued ? AtomForm(id) : IndexForm();
    default:
      break;
  }
  return TooLarge(form) ? AtomForm(id) : form;
}

VariablePartitions::VariablePartitions(const std::vector<IndexVariable>& vars) : vars_(vars) {
  partitions_.reserve(vars.size());
  for (const IndexVariable& var : vars) partitions_.push_back(DimPartition(var.extent));
}

void VariablePartitions::RefineVariable(VarId var, const DimPartition& partition) {
  partitions_[var] = partitions_[var].Refine(partition);
}

void VariablePartitions::PullExact(const IndexForm& e) {
  for (const DigitTerm& t : e.terms) {
    if (IsTop(t, vars_) && t.div == 1) {
      RefineVariable(t.var, DimPartition::Full(vars_[t.var].extent));
      continue;
    }
    if (t.extent > DimPartition::kMaxBlocks) {
      RefineVariable(t.var, DimPartition::Full(vars_[t.var].extent));  // too fine
      continue;
    }
    std::vector<int64_t> cuts(t.extent);
    for (int64_t i = 0; i < t.extent; ++i) cuts[i] = i;
    RefineVariable(t.var, DimPartition::WithDigitCuts(vars_[t.var].extent, t.div, t.extent, cuts));
  }
}

void VariablePartitions::PullCuts(const IndexForm& e, const std::vector<int64_t>& cuts) {
  if (e.terms.empty() || cuts.empty()) return;
  std::vector<DigitTerm> terms = e.terms;
  std::vector<int64_t> points;
  int64_t least = 0, most = 0, span = 0;
  IndexForm alone = e;
  alone.atoms.clear();
  if (!FormRange(alone, &least, &most) || __builtin_sub_overflow(most, least, &span)) {
    return PullExact(e);
  }
  for (const int64_t c : cuts) {
    if (c > least && c <= most) points.push_back(c);  // what is left needs no more than 62 bits
  }
  if (points.empty()) return;
  const auto size = [](const DigitTerm& t) { return std::abs(t.scale); };
  std::sort(terms.begin(), terms.end(),
            [&](const DigitTerm& a, const DigitTerm& b) { return size(a) > size(b); });
  int64_t below = 0;  // the largest sum of the less significant terms
  bool nested = true;
  for (size_t k = terms.size(); nested && k-- > 0;) {
    nested = below < size(terms[k]);
    below += size(terms[k]) * (terms[k].extent - 1);
  }
  if (!nested) {
    IndexForm bare;
    bare.terms = terms;
    PullExact(bare);
    return;
  }
  // A digit that counts negatively is read from its other end, where the form is least.
  std::vector<std::vector<int64_t>> digit_cuts(terms.size());
  for (int64_t c : points) {
    int64_t target = c - least;
    for (size_t k = 0; k < terms.size() && target > 0; ++k) {
      const int64_t value = target / size(terms[k]);
      target -= value * size(terms[k]);
      const auto cut = [&](int64_t at) {
        digit_cuts[k].push_back(terms[k].scale > 0 ? at : terms[k].extent - at);
      };
      cut(value);
      if (target > 0) cut(value + 1);
      if (value >= terms[k].extent) break;
    }
  }
  for (size_t k = 0; k < terms.size(); ++k) {
    if (digit_cuts[k].empty()) continue;
    RefineVariable(terms[k].var,
                   DimPartition::WithDigitCuts(vars_[terms[k].var].extent, terms[k].div,
                                               terms[k].extent, digit_cuts[k]));
  }
}

void VariablePartitions::PullDigits(const IndexForm& e, const DimPartition& dim,
                                    size_t first_digit) {
  IndexForm rest = e;
  for (size_t k = first_digit; k < dim.digits().size(); ++k) {
    const Digit& digit = dim.digits()[k];
    int64_t stride = 1;
    bool lower_cuts = false;
    for (size_t j = k + 1; j < dim.digits().size(); ++j) {
      stride *= dim.digits()[j].extent;
      lower_cuts |= dim.digits()[j].starts.size() > 1;
    }
    std::vector<int64_t> cuts(digit.starts.begin() + 1, digit.starts.end());
    if (!lower_cuts) {
      for (int64_t& cut : cuts) cut *= stride;
      PullCuts(rest, cuts);
      return;
    }
    IndexForm quotient, remainder;
    if (!DivideForm(rest, stride, vars_, &quotient, &remainder)) {
      PullExact(rest);
      return;
    }
    PullCuts(quotient, cuts);
    rest = remainder;
  }
}

void VariablePartitions::PullBlock(const IndexForm& e, const DimPartition& dim,
                                   const std::function<void(ExprId)>& exact_atom) {
  int64_t low = 0, high = 0;
  const bool bounded = FormRange(e, &low, &high);
  const bool inside = bounded && low >= 0 && high < dim.extent();
  if (dim.IsWhole() && inside) return;
  if (!bounded) {
    for (const auto& atom : e.atoms) exact_atom(atom.second);
    PullExact(e);
    return;
  }
  if (!inside) PullCuts(e, {0, dim.extent()});
  if (dim.too_fine()) {
    PullExact(e);
    return;
  }
  if (!dim.IsWhole()) PullDigits(e, dim, 0);
}

}  // namespace planproof::shape_reduction
