// Order, shift, sign and digits of bound variables, decided by structure alone.
#include <algorithm>
#include <numeric>

#include "solver/summation.h"

namespace planproof::solver {
namespace {

uint64_t Mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdull;
  return h ^ (h >> 33);
}

// Which factors decide where a variable starts: elements first, conditions and inner sums last.
// Those are what becomes simpler over a part of a range, and the parts should line up.
uint64_t Priority(AtomKind kind) {
  switch (kind) {
    case AtomKind::kElement:
      return 0;
    case AtomKind::kIndicator:
    case AtomKind::kDelta:
    case AtomKind::kSum:
    case AtomKind::kBase:
      return 2;
    default:
      return 1;
  }
}

}  // namespace

std::vector<Structure::Occurrence> Summation::Occurrences(const Parts& parts,
                                                          const Colouring& colours) {
  std::vector<Structure::Occurrence> out;
  if (parts.factors != nullptr) {
    for (const Factor& f : *parts.factors) {
      size_t from = out.size();
      Structure::CollectOccurrences(arena_, f.atom, colours, &out);
      const Atom& atom = arena_.atom(f.atom);
      for (uint64_t place = 0; from < out.size(); ++from, ++place) {
        // An element's place does not depend on what else the body is made of.
        const uint64_t path =
            atom.kind == AtomKind::kElement ? Mix(atom.tag, place) : out[from].path;
        out[from].path = Mix(Mix(path, f.exponent.num), f.exponent.den) >> 2 | Priority(atom.kind)
                                                                                   << 62;
      }
    }
  }
  for (size_t i = 0; i < parts.polys.size(); ++i) {
    size_t from = out.size();
    Structure::CollectOccurrencesInPoly(arena_, parts.polys[i], colours, &out);
    for (; from < out.size(); ++from) out[from].path = Mix(out[from].path, i);
  }
  return out;
}

uint64_t Summation::HashParts(const Parts& parts, const Colouring& colours) {
  uint64_t h = 0;
  if (parts.factors != nullptr) {
    for (const Factor& f : *parts.factors) {
      h += Mix(Mix(Structure::HashAtom(arena_, f.atom, colours), f.exponent.num), f.exponent.den);
    }
  }
  for (size_t i = 0; i < parts.polys.size(); ++i) {
    h += Mix(Structure::HashPoly(arena_, parts.polys[i], colours), i);
  }
  return h;
}

bool Summation::FindDigits(const Vars& vars, const Parts& parts, size_t* high, size_t* low,
                           int64_t* stride) {
  Colouring colours;
  for (const BoundVariable& v : vars) colours.emplace_back(v.symbol, 1);
  const auto occurrences = Occurrences(parts, colours);
  for (size_t j = 0; j < vars.size(); ++j) {
    const int64_t length = vars[j].domain.length();
    for (size_t i = 0; i < vars.size(); ++i) {
      if (i == j) continue;
      bool forwards = true, backwards = true, seen = false;
      for (const auto& o : occurrences) {
        const int64_t ci = o.expression.Coefficient(vars[i].symbol);
        const int64_t cj = o.expression.Coefficient(vars[j].symbol);
        if (ci == 0 && cj == 0) continue;
        seen = true;
        const __int128 scaled = static_cast<__int128>(length) * cj;
        forwards &= cj != 0 && ci == scaled;
        backwards &= cj != 0 && ci == -scaled;
        if (!forwards && !backwards) break;
      }
      if (seen && (forwards || backwards)) {
        *high = i;
        *low = j;
        *stride = forwards ? length : -length;
        return true;
      }
    }
  }
  return false;
}

void Summation::Canonicalise(Vars* vars, const Parts& parts, SymbolMap* map) {
  const size_t n = vars->size();
  Colouring colours;
  for (const BoundVariable& v : *vars) colours.emplace_back(v.symbol, 1);
  for (int round = 0; n > 1 && round < 3; ++round) {
    Colouring refined = colours;
    for (size_t i = 0; i < n; ++i) {
      Colouring marked = colours;
      marked[i].second = Mix(marked[i].second, 0x5e1f);
      refined[i].second = Mix(HashParts(parts, marked), colours[i].second);
    }
    colours = refined;
  }
  // Shift and sign, variables in order of colour.
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (colours[a].second != colours[b].second) return colours[a].second < colours[b].second;
    return (*vars)[a].domain < (*vars)[b].domain;
  });
  const auto occurrences = Occurrences(parts, colours);
  std::vector<int64_t> shift(n, 0);
  std::vector<int> sign(n, 1);
  for (size_t i : order) {
    const Symbol s = (*vars)[i].symbol;
    bool pinned = false;
    const Structure::Occurrence* best = nullptr;
    int64_t best_constant = 0;
    int64_t period = 0;
    for (const auto& o : occurrences) {
      const int64_t c = o.expression.Coefficient(s);
      if (c == 0) continue;
      if (o.is_position) pinned = true;
      __int128 shifted = o.expression.constant;
      for (size_t k = 0; k < n; ++k) {
        shifted -=
            static_cast<__int128>(o.expression.Coefficient((*vars)[k].symbol)) * sign[k] * shift[k];
      }
      if (shifted < -kAffineLimit || shifted > kAffineLimit) continue;  // no place to begin
      int64_t constant = static_cast<int64_t>(shifted);
      // What is a whole multiple of a larger stride belongs to the digit of that stride.
      int64_t larger = 0;
      bool bound_digit = false;
      for (const auto& [other, k] : o.expression.terms) {
        if (other == s || std::abs(k) <= std::abs(c)) continue;
        larger = std::gcd(larger, std::abs(k));
        bound_digit |= std::any_of(vars->begin(), vars->end(),
                                   [other = other](const auto& v) { return v.symbol == other; });
      }
      if (larger > 0) constant = FloorMod(constant, larger);
      const int64_t start = FloorDiv(constant, std::abs(c));
      const int64_t own_period =
          bound_digit || larger % std::abs(c) != 0 ? 0 : larger / std::abs(c);
      const bool better =
          best == nullptr || o.path < best->path ||
          (o.path == best->path && (c > 0) > (best->expression.Coefficient(s) > 0)) ||
          (o.path == best->path && (c > 0) == (best->expression.Coefficient(s) > 0) &&
           (start != best_constant ? start < best_constant : own_period > period));
      if (better) {
        best = &o;
        best_constant = start;
        period = own_period;
      }
    }
    if (pinned || best == nullptr) continue;
    // s = sign * (bound - shift): the chosen occurrence becomes |c| * bound + (constant mod |c|).
    sign[i] = best->expression.Coefficient(s) > 0 ? 1 : -1;
    shift[i] = best_constant;
    // A digit beside digits that are free lies within the first of its periods.
    const Interval& d = (*vars)[i].domain;
    if (!arena_.align_digits_ || period == 0 || d.length() > period) continue;
    const int64_t start = (sign[i] < 0 ? -(d.hi - 1) : d.lo) + shift[i];
    const int64_t first = FloorDiv(start, period);
    if (first == FloorDiv(start + d.length() - 1, period)) shift[i] -= first * period;
  }
  for (size_t i = 0; i < n; ++i) {
    Interval& d = (*vars)[i].domain;
    if (sign[i] < 0) d = Interval{-(d.hi - 1), -d.lo + 1};
    d.lo += shift[i];
    d.hi += shift[i];
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (colours[a].second != colours[b].second) return colours[a].second < colours[b].second;
    return (*vars)[a].domain < (*vars)[b].domain;
  });
  Vars sorted;
  map->shift_bound = 1;
  for (size_t label = 0; label < n; ++label) {
    const size_t i = order[label];
    sorted.push_back((*vars)[i]);
    Affine bound = Affine::Of(BoundSymbol(0, static_cast<uint32_t>(label)));
    map->pairs.emplace_back((*vars)[i].symbol, (bound - Affine(shift[i])).Scaled(sign[i]));
  }
  *vars = std::move(sorted);
}

}  // namespace planproof::solver
