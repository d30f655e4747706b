#include "inference/index_solver.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace planproof::inference {

using solver::Affine;
using solver::Arena;
using solver::Atom;
using solver::AtomId;
using solver::AtomKind;
using solver::BoundVariable;
using solver::KindOf;
using solver::MonoId;
using solver::PolyId;
using solver::Symbol;
using solver::SymbolKind;

namespace {

constexpr int kMaxTries = 400;
constexpr size_t kMaxOccurrences = 400;
constexpr size_t kMaxSolutions = 24;
constexpr size_t kMaxAtoms = 4000;

// The sums around an atom.
class SumContexts {
 public:
  static constexpr uint32_t kOutside = 0;

  // In which the atom, met in `context`, is looked at: one that mentions no variable of a sum is
  // the same everywhere.
  static uint32_t Of(const Atom& atom, uint32_t context) {
    const auto bound = [](Symbol s) { return KindOf(s) == SymbolKind::kBound; };
    return std::any_of(atom.symbols.begin(), atom.symbols.end(), bound) ? context : kOutside;
  }
  uint32_t Within(const Atom& sum, uint32_t context) {
    contexts_.push_back({context, sum.domain});
    return static_cast<uint32_t>(contexts_.size() - 1);
  }
  // With each variable of a sum counted from where the sum begins; one that counts down, from
  // where it ends.
  Affine FromStart(const Affine& form, uint32_t context) const {
    Affine result = form;
    for (const auto& [symbol, c] : form.terms) {
      if (KindOf(symbol) != SymbolKind::kBound) continue;
      uint32_t at = context;
      for (uint32_t level = solver::BoundLevel(symbol); level > 0; --level) {
        at = contexts_[at].around;
      }
      const solver::Interval& range = contexts_[at].box[solver::BoundPosition(symbol)];
      result = result + Affine(c > 0 ? range.lo : range.hi - 1).Scaled(c);
      if (c < 0) result = result + Affine::Of(symbol, -2 * c);
    }
    return result;
  }

 private:
  struct Context {
    uint32_t around = kOutside;
    std::vector<solver::Interval> box;
  };
  std::vector<Context> contexts_ = {Context()};
};

bool HasForms(AtomKind kind) {
  return kind == AtomKind::kElement || kind == AtomKind::kIndicator || kind == AtomKind::kDelta ||
         kind == AtomKind::kPosition || kind == AtomKind::kOpaque;
}

// Visits every atom of a term once.
void VisitAtoms(const Arena& arena, PolyId term, const std::function<bool(const Atom&)>& visit) {
  std::vector<PolyId> polys = {term};
  std::vector<MonoId> monos;
  std::vector<AtomId> atoms;
  absl::flat_hash_set<uint32_t> seen_polys, seen_monos, seen_atoms;
  while (!polys.empty() || !monos.empty() || !atoms.empty()) {
    if (!polys.empty()) {
      const PolyId p = polys.back();
      polys.pop_back();
      if (!seen_polys.insert(p).second) continue;
      for (const solver::Term& t : arena.poly(p).terms) monos.push_back(t.mono);
    } else if (!monos.empty()) {
      const MonoId m = monos.back();
      monos.pop_back();
      if (!seen_monos.insert(m).second) continue;
      for (const solver::Factor& f : arena.mono(m).factors) atoms.push_back(f.atom);
    } else {
      const AtomId a = atoms.back();
      atoms.pop_back();
      if (!seen_atoms.insert(a).second) continue;
      const Atom& atom = arena.atom(a);
      if (!visit(atom)) return;
      for (const PolyId p : atom.polys) polys.push_back(p);
      if (atom.mono != solver::kUnitMono) monos.push_back(atom.mono);
      for (const Affine& form : atom.indices) {
        for (const auto& [symbol, coefficient] : form.terms) {
          if (KindOf(symbol) == SymbolKind::kIntAtom) {
            atoms.push_back(arena.AtomOfIntAtom(symbol));
          }
        }
      }
    }
  }
}

// Visits every atom of a term once in each context; of a long term some.
void VisitInContexts(
    const Arena& arena, PolyId term,
    const std::function<void(const Atom&, const SumContexts&, uint32_t context)>& visit) {
  SumContexts contexts;
  std::vector<std::pair<AtomId, uint32_t>> atoms;
  absl::flat_hash_set<std::pair<AtomId, uint32_t>> seen;
  const auto add_mono = [&](MonoId m, uint32_t context) {
    for (const solver::Factor& f : arena.mono(m).factors) atoms.emplace_back(f.atom, context);
  };
  const auto add_poly = [&](PolyId p, uint32_t context) {
    for (const solver::Term& t : arena.poly(p).terms) add_mono(t.mono, context);
  };
  add_poly(term, SumContexts::kOutside);
  while (!atoms.empty() && seen.size() < kMaxAtoms) {
    const AtomId a = atoms.back().first;
    const Atom& atom = arena.atom(a);
    const uint32_t context = SumContexts::Of(atom, atoms.back().second);
    atoms.pop_back();
    if (!seen.insert({a, context}).second) continue;
    visit(atom, contexts, context);
    const uint32_t inside = atom.domain.empty() ? context : contexts.Within(atom, context);
    for (size_t k = 0; k < atom.polys.size(); ++k) {
      // Of a function of a row, all but the row stands outside.
      add_poly(atom.polys[k], atom.kind == AtomKind::kOpaqueRow && k > 0 ? context : inside);
    }
    if (atom.mono != solver::kUnitMono) add_mono(atom.mono, inside);
    for (const Affine& form : atom.indices) {
      for (const auto& [symbol, coefficient] : form.terms) {
        if (KindOf(symbol) != SymbolKind::kIntAtom) continue;
        atoms.emplace_back(arena.AtomOfIntAtom(symbol), context);
      }
    }
  }
}

bool Divides(int64_t divisor, int64_t value) { return value % divisor == 0; }

// Without multiples of the step; from one of the first values, 0 to step - 1, on.
Affine RestOf(const Arena& arena, const Affine& form, int64_t step) {
  Affine rest(form.constant);
  for (const auto& [symbol, c] : form.terms) {
    if (!Divides(step, c)) rest = rest + Affine::Of(symbol, c);
  }
  const solver::IntRange range = arena.RangeOf(rest);
  const int64_t first = range.IsBounded() ? range.low : form.constant;
  return rest - Affine(solver::FloorDiv(first, step) * step);
}

}  // namespace

std::vector<Occurrence> OccurrencesIn(const Arena& arena, PolyId term) {
  std::vector<Occurrence> found;
  VisitAtoms(arena, term, [&](const Atom& atom) {
    if (HasForms(atom.kind) && !atom.indices.empty()) {
      found.push_back({atom.kind, atom.tag, atom.indices});
    }
    return found.size() < kMaxOccurrences;
  });
  return found;
}

std::vector<Occurrence> OccurrencesFromStart(const Arena& arena, PolyId term) {
  std::vector<Occurrence> found;
  VisitInContexts(arena, term, [&](const Atom& atom, const SumContexts& sums, uint32_t context) {
    if (!HasForms(atom.kind) || atom.indices.empty() || found.size() == kMaxOccurrences) return;
    Occurrence occurrence = {atom.kind, atom.tag, {}};
    for (const Affine& form : atom.indices) {
      occurrence.forms.push_back(sums.FromStart(form, context));
    }
    if (std::find(found.begin(), found.end(), occurrence) == found.end()) {
      found.push_back(std::move(occurrence));
    }
  });
  return found;
}

std::vector<uint32_t> TagsIn(const Arena& arena, PolyId term) {
  std::set<uint32_t> tags;
  VisitAtoms(arena, term, [&](const Atom& atom) {
    if (atom.kind == AtomKind::kElement) tags.insert(atom.tag);
    return true;
  });
  return {tags.begin(), tags.end()};
}

const BoundVariable* IndexSolver::UnknownOf(Symbol symbol) const {
  for (const BoundVariable& unknown : unknowns_) {
    if (unknown.symbol == symbol) return &unknown;
  }
  return nullptr;
}

// Solves definition = value for the unknowns of the definition: digits of a number, the most
// significant one first.
bool IndexSolver::UnifyForm(const Affine& definition, const Affine& value, Solution* solution) {
  if (definition.overflow || value.overflow) return false;
  Affine rest(value.constant - definition.constant);
  std::vector<std::pair<int64_t, const BoundVariable*>> unknown;  // by coefficient
  // The variables of a sum have no fixed order: by coefficient.
  std::map<int64_t, int> bound;
  int64_t step = 0;  // what all of the definition's variables are multiples of
  int ids = 0;
  for (const auto& [symbol, c] : value.terms) {
    if (KindOf(symbol) == SymbolKind::kBound) {
      ++bound[c];
    } else if (KindOf(symbol) == SymbolKind::kIntAtom) {
      ++ids;
    } else {
      rest = rest + Affine::Of(symbol, c);
    }
  }
  for (const auto& [symbol, c] : definition.terms) {
    if (KindOf(symbol) == SymbolKind::kBound) {
      --bound[c];
      step = std::gcd(step, c);
    } else if (KindOf(symbol) == SymbolKind::kIntAtom) {
      --ids;
    } else if (const auto known = solution->find(symbol); known != solution->end()) {
      rest = rest - known->second.Scaled(c);
    } else if (const BoundVariable* u = UnknownOf(symbol)) {
      unknown.push_back({c, u});
    } else {
      return false;
    }
  }
  if (sums_ == Sums::kNothing && !bound.empty()) return true;
  const bool same = std::all_of(bound.begin(), bound.end(), [](auto& b) { return b.second == 0; });
  if (ids != 0) return false;
  if (sums_ == Sums::kRestOfVariables && step > 0) {
    rest = RestOf(arena_, rest, step);
  } else if (!same) {
    return false;
  }
  std::sort(unknown.begin(), unknown.end(),
            [](auto& a, auto& b) { return std::abs(a.first) > std::abs(b.first); });
  for (size_t k = 0; k < unknown.size(); ++k) {
    const auto& [c, u] = unknown[k];
    const bool last = k + 1 == unknown.size();
    Affine digit;
    for (const auto& [symbol, coefficient] : rest.terms) {
      if (Divides(c, coefficient)) {
        digit = digit + Affine::Of(symbol, coefficient / c);
        continue;
      }
      const bool splits = std::abs(c) > std::abs(coefficient) && Divides(coefficient, c);
      const int64_t at = splits ? std::abs(c / coefficient) : 0;
      if (splits && arena_.RangeOf(symbol).high >= at && !split_.has_value()) {
        split_ = sdfg::SplitRequest{sdfg::SplitRequest::Kind::kDigit, symbol, at};
      }
    }
    digit = digit + Affine(last ? (Divides(c, rest.constant) ? rest.constant / c : 0)
                                : solver::FloorDiv(rest.constant, std::abs(c)) * (c < 0 ? -1 : 1));
    const solver::IntRange range = arena_.RangeOf(digit);
    if (!range.IsBounded() || range.low < u->domain.lo || range.high >= u->domain.hi) return false;
    rest = rest - digit.Scaled(c);
    solution->emplace(u->symbol, std::move(digit));
  }
  return rest.IsConstant() && rest.constant == 0;
}

bool IndexSolver::Unify(const Occurrence& definition, const Occurrence& value, Solution* solution) {
  if (definition.kind != value.kind || definition.forms.size() != value.forms.size()) return false;
  if (definition.kind == AtomKind::kElement && definition.tag != value.tag) return false;
  for (size_t i = 0; i < definition.forms.size(); ++i) {
    if (!UnifyForm(definition.forms[i], value.forms[i], solution)) return false;
  }
  return true;
}

void IndexSolver::Match(size_t next) {
  if (solution_.size() == unknowns_.size() || next == definition_.size()) {
    if (std::find(solutions_.begin(), solutions_.end(), solution_) == solutions_.end()) {
      solutions_.push_back(solution_);
    }
    return;
  }
  const Occurrence& occurrence = *definition_[next];
  bool matched = false;
  for (const Occurrence& value : *value_) {
    if (++tries_ > kMaxTries || solutions_.size() >= kMaxSolutions) return;
    Solution before = solution_;
    if (Unify(occurrence, value, &solution_)) {
      matched = true;
      Match(next + 1);
    }
    solution_ = std::move(before);
  }
  // Without a counterpart: the value may be written in another way.
  if (!matched) Match(next + 1);
}

std::vector<IndexSolver::Solution> IndexSolver::Solve(const std::vector<Occurrence>& definition,
                                                      const std::vector<Occurrence>& value) {
  definition_.clear();
  for (const Occurrence& occurrence : definition) {
    const bool mentions =
        std::any_of(occurrence.forms.begin(), occurrence.forms.end(), [this](const Affine& form) {
          return std::any_of(form.terms.begin(), form.terms.end(),
                             [this](auto& term) { return UnknownOf(term.first) != nullptr; });
        });
    if (mentions) definition_.push_back(&occurrence);
  }
  // Elements before conditions, and what is rare before what is frequent.
  const auto frequency = [&](const Occurrence* o) {
    return std::count_if(value.begin(), value.end(),
                         [o](const Occurrence& v) { return v.kind == o->kind && v.tag == o->tag; });
  };
  std::stable_sort(definition_.begin(), definition_.end(),
                   [&](const Occurrence* a, const Occurrence* b) {
                     const bool ea = a->kind == AtomKind::kElement;
                     const bool eb = b->kind == AtomKind::kElement;
                     return ea != eb ? ea : frequency(a) < frequency(b);
                   });
  value_ = &value;
  split_.reset();
  // Variables of sums may start elsewhere on the two sides: without them, if that is enough.
  complete_ = false;
  std::vector<Solution> partial;
  for (const Sums sums : {Sums::kNothing, Sums::kSameVariables, Sums::kRestOfVariables}) {
    sums_ = sums;
    solution_.clear();
    solutions_.clear();
    tries_ = 0;
    Match(0);
    const bool all = std::any_of(
        solutions_.begin(), solutions_.end(),
        [this](const Solution& solution) { return solution.size() == unknowns_.size(); });
    complete_ = all && sums == Sums::kNothing;
    if (all) return std::move(solutions_);
    if (sums == Sums::kSameVariables) partial = solutions_;
  }
  return partial;
}

}  // namespace planproof::inference
