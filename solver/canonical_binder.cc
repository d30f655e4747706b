// Order, shift, sign and digits of bound variables, decided by structure alone.
#include <algorithm>
#include <numeric>
#include <optional>

#include "solver/hash_mix.h"
#include "solver/summation.h"

namespace planproof::solver {
namespace {

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
      Structure::CollectOccurrences(&arena_, f.atom, colours, &out);
      const Atom& atom = arena_.atom(f.atom);
      for (uint64_t place = 0; from < out.size(); ++from, ++place) {
        // An element's place does not depend on what else the body is made of.
        const uint64_t path =
            atom.kind == AtomKind::kElement ? MixHash(atom.tag, place) : out[from].path;
        out[from].path =
            MixHash(MixHash(path, f.exponent.num), f.exponent.den) >> 2 | Priority(atom.kind) << 62;
      }
    }
  }
  for (size_t i = 0; i < parts.polys.size(); ++i) {
    size_t from = out.size();
    Structure::CollectOccurrencesInPoly(&arena_, parts.polys[i], colours, &out);
    for (; from < out.size(); ++from) out[from].path = MixHash(out[from].path, i);
  }
  return out;
}

uint64_t Summation::HashParts(const Parts& parts, const Colouring& colours) {
  uint64_t h = 0;
  if (parts.factors != nullptr) {
    for (const Factor& f : *parts.factors) {
      h += MixHash(MixHash(Structure::HashAtom(&arena_, f.atom, colours), f.exponent.num),
                   f.exponent.den);
    }
  }
  for (size_t i = 0; i < parts.polys.size(); ++i) {
    h += MixHash(Structure::HashPoly(&arena_, parts.polys[i], colours), i);
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

namespace {

constexpr size_t kMaxVariables = 4096;  // of one binder: positions of bound symbols have 12 bits

// In which order the variables' starts and signs are chosen, and numbered.
void PutInOrder(const std::vector<BoundVariable>& vars, const Colouring& colours,
                std::vector<size_t>* order) {
  std::sort(order->begin(), order->end(), [&](size_t a, size_t b) {
    if (colours[a].second != colours[b].second) return colours[a].second < colours[b].second;
    return vars[a].domain < vars[b].domain;
  });
}

// A variable is sign * (bound - shift).
struct Gauge {
  int64_t shift = 0;
  int sign = 1;
};

// Where a variable begins by one of its occurrences.
struct Start {
  uint64_t path = 0;
  bool forwards = false;
  int64_t at = 0;
  int64_t period = 0;  // of a digit beside larger ones that are free; 0: none

  bool Before(const Start& other) const {
    if (path != other.path) return path < other.path;
    if (forwards != other.forwards) return forwards;
    return at != other.at ? at < other.at : period > other.period;
  }
};

// Nothing where the occurrence is too far out.
std::optional<Start> StartBy(const Structure::Occurrence& occurrence, Symbol symbol,
                             const std::vector<BoundVariable>& vars,
                             const std::vector<Gauge>& gauges) {
  const int64_t c = occurrence.expression.Coefficient(symbol);
  __int128 shifted = occurrence.expression.constant;
  for (size_t k = 0; k < vars.size(); ++k) {
    shifted -= static_cast<__int128>(occurrence.expression.Coefficient(vars[k].symbol)) *
               gauges[k].sign * gauges[k].shift;
  }
  if (shifted < -kAffineLimit || shifted > kAffineLimit) return std::nullopt;
  int64_t constant = static_cast<int64_t>(shifted);
  // What is a whole multiple of a larger stride belongs to the digit of that stride.
  int64_t larger = 0;
  bool bound_digit = false;
  for (const auto& [other, k] : occurrence.expression.terms) {
    if (other == symbol || std::abs(k) <= std::abs(c)) continue;
    larger = std::gcd(larger, std::abs(k));
    bound_digit |= std::any_of(vars.begin(), vars.end(),
                               [other = other](const auto& v) { return v.symbol == other; });
  }
  if (larger > 0) constant = FloorMod(constant, larger);
  const bool periodic = !bound_digit && larger % std::abs(c) == 0;
  return Start{.path = occurrence.path,
               .forwards = c > 0,
               .at = FloorDiv(constant, std::abs(c)),
               .period = periodic ? larger / std::abs(c) : 0};
}

// The chosen occurrence becomes |c| * bound + (constant mod |c|). A variable that stands as a
// number stays as it is.
Gauge GaugeOf(const BoundVariable& variable, const std::vector<BoundVariable>& vars,
              const std::vector<Structure::Occurrence>& occurrences,
              const std::vector<Gauge>& gauges, bool align_digits) {
  std::optional<Start> best;
  for (const Structure::Occurrence& occurrence : occurrences) {
    if (occurrence.expression.Coefficient(variable.symbol) == 0) continue;
    if (occurrence.is_position) return {};
    const std::optional<Start> start = StartBy(occurrence, variable.symbol, vars, gauges);
    if (start && (!best || start->Before(*best))) best = start;
  }
  if (!best) return {};
  Gauge gauge{.shift = best->at, .sign = best->forwards ? 1 : -1};
  // A digit beside digits that are free lies within the first of its periods.
  const Interval& d = variable.domain;
  if (!align_digits || best->period == 0 || d.length() > best->period) return gauge;
  const int64_t start = (gauge.sign < 0 ? -(d.hi - 1) : d.lo) + gauge.shift;
  const int64_t first = FloorDiv(start, best->period);
  if (first == FloorDiv(start + d.length() - 1, best->period)) gauge.shift -= first * best->period;
  return gauge;
}

}  // namespace

// Rules shift, reflect and label.
void Summation::Canonicalise(Vars* vars, const Parts& parts, SymbolMap* map) {
  const size_t n = vars->size();
  if (n > kMaxVariables) arena_.exhausted_ = true;
  Colouring colours;
  for (const BoundVariable& v : *vars) colours.emplace_back(v.symbol, 1);
  for (int round = 0; n > 1 && round < 3; ++round) {
    Colouring refined = colours;
    for (size_t i = 0; i < n; ++i) {
      Colouring marked = colours;
      marked[i].second = MixHash(marked[i].second, 0x5e1f);
      refined[i].second = MixHash(HashParts(parts, marked), colours[i].second);
    }
    colours = refined;
  }
  const auto occurrences = Occurrences(parts, colours);
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  PutInOrder(*vars, colours, &order);
  std::vector<Gauge> gauges(n);
  for (size_t i : order)
    gauges[i] = GaugeOf((*vars)[i], *vars, occurrences, gauges, arena_.align_digits_);
  for (size_t i = 0; i < n; ++i) {
    Interval& d = (*vars)[i].domain;
    if (gauges[i].sign < 0) d = Interval{-(d.hi - 1), -d.lo + 1};
    d.lo += gauges[i].shift;
    d.hi += gauges[i].shift;
  }
  PutInOrder(*vars, colours, &order);
  Vars sorted;
  map->shift_bound = 1;
  for (const size_t i : order) {
    const Affine bound = Affine::Of(BoundSymbol(0, static_cast<uint32_t>(sorted.size())));
    map->pairs.emplace_back((*vars)[i].symbol,
                            (bound - Affine(gauges[i].shift)).Scaled(gauges[i].sign));
    sorted.push_back((*vars)[i]);
  }
  *vars = std::move(sorted);
}

}  // namespace planproof::solver
