#include "solver/rewriter.h"

#include "solver/summation.h"

namespace planproof::solver {
namespace {

constexpr uint32_t kMaxLevels = (1u << 18) - 2;  // of nested binders, as bound symbols count them

}  // namespace

bool Rewriter::Affected(const Symbols& symbols) const {
  for (Symbol s : symbols) {
    if (map_.shift_bound != 0 && KindOf(s) == SymbolKind::kBound) return true;
    for (const auto& [from, to] : map_.pairs) {
      if (from == s) return true;
    }
  }
  return false;
}

Affine Rewriter::OfAffine(const Affine& e) {
  Affine out(e.constant);
  out.overflow = e.overflow;
  for (const auto& [s, c] : e.terms) {
    bool replaced = false;
    for (const auto& [from, to] : map_.pairs) {
      if (from == s) {
        out = out + to.Scaled(c);
        replaced = true;
        break;
      }
    }
    if (replaced) continue;
    if (KindOf(s) == SymbolKind::kBound && map_.shift_bound != 0) {
      if (map_.shift_bound > 0 && BoundLevel(s) >= kMaxLevels) arena_.exhausted_ = true;
      out = out + Affine::Of(BoundSymbol(BoundLevel(s) + map_.shift_bound, BoundPosition(s)), c);
    } else if (KindOf(s) == SymbolKind::kIntAtom) {
      AtomId atom = arena_.AtomOfIntAtom(s);
      if (arena_.atom(atom).tag == kWholeNumberTag) {
        out = out + arena_.WholeNumber(Poly(arena_.atom(atom).polys[0])).Scaled(c);
        continue;
      }
      IntRange range = arena_.RangeOf(s);
      PolyId rewritten = OfAtom(atom);
      const Polynomial& p = arena_.poly(rewritten);
      if (p.terms.empty()) {  // past the limits
        arena_.exhausted_ = true;
        return out;
      }
      // Integer atoms are elements or opaque functions; those rewrite to a single atom.
      out =
          out + Affine::Of(arena_.IntAtom(arena_.mono(p.terms[0].mono).factors[0].atom, range), c);
    } else {
      out = out + Affine::Of(s, c);
    }
  }
  return out;
}

PolyId Rewriter::Poly(PolyId p) {
  if (!Affected(arena_.poly(p).symbols)) return p;
  PolyId result = kZeroPoly;
  const Terms& terms = arena_.poly(p).terms;  // stays where it is
  for (const Term& t : terms) {
    if (arena_.exhausted()) return kZeroPoly;
    result = arena_.Add(result, arena_.Scale(Mono(t.mono), t.coefficient));
  }
  return result;
}

PolyId Rewriter::Mono(MonoId m) {
  if (!Affected(arena_.mono(m).symbols)) return arena_.OfMono(m, Rational(1));
  return OfFactors(arena_.mono(m).factors);
}

PolyId Rewriter::OfFactors(const Factors& factors) {
  Factors kept;
  PolyId product = arena_.One();
  for (const Factor& f : factors) {
    if (!Affected(arena_.atom(f.atom).symbols)) {
      kept.push_back(f);
      continue;
    }
    PolyId p = OfAtom(f.atom);
    if (f.exponent == Exponent{}) {
      product = arena_.Mul(product, p);
    } else if (arena_.atom(f.atom).kind == AtomKind::kBase) {
      // The stored base is the radicand or denominator itself.
      product = arena_.Mul(product, arena_.Power(p, f.exponent));
    } else {
      product = arena_.Mul(product, arena_.Power(p, f.exponent));
    }
  }
  if (kept.empty()) return product;
  return arena_.Mul(arena_.ProductOf(std::move(kept), Rational(1)), product);
}

PolyId Rewriter::OfAtom(AtomId atom) {
  if (!Affected(arena_.atom(atom).symbols)) return arena_.OfAtom(atom);
  auto it = memo_.find(atom);
  if (it != memo_.end()) return it->second;
  if (depth_ > 64) {
    arena_.exhausted_ = true;
    return kZeroPoly;
  }
  ++depth_;
  PolyId result = Rebuild(atom);
  --depth_;
  memo_[atom] = result;
  return result;
}

std::vector<BoundVariable> Rewriter::Open(ScratchSymbols* scratch, const Atom& atom,
                                          SymbolMap* map) {
  std::vector<BoundVariable> vars;
  map->shift_bound = -1;
  for (size_t i = 0; i < atom.domain.size(); ++i) {
    const Symbol symbol = scratch->Take(atom.domain[i]);
    vars.push_back({symbol, atom.domain[i]});
    map->pairs.emplace_back(BoundSymbol(0, static_cast<uint32_t>(i)), Affine::Of(symbol));
  }
  return vars;
}

PolyId Rewriter::Rebuild(AtomId id) {
  constexpr int64_t kAsManyNodes = 8;
  arena_.ChargeVisits(kAsManyNodes);
  if (arena_.exhausted()) return kZeroPoly;
  const Atom& a = arena_.atom(id);  // stays where it is
  std::vector<Affine> indices;
  for (const Affine& e : a.indices) indices.push_back(OfAffine(e));
  if (a.kind == AtomKind::kSum || a.kind == AtomKind::kReduceMax ||
      a.kind == AtomKind::kOpaqueRow) {
    SymbolMap opening;
    ScratchSymbols scratch(&arena_);
    std::vector<BoundVariable> vars = Open(&scratch, a, &opening);
    Rewriter open(&arena_, opening);
    Summation summation(&arena_);
    if (a.kind == AtomKind::kSum) {
      return scratch.Close(summation.SumProduct(vars, Poly(open.Mono(a.mono))));
    }
    std::vector<PolyId> polys;
    for (PolyId p : a.polys) polys.push_back(Poly(open.Poly(p)));
    if (a.kind == AtomKind::kReduceMax) {
      return scratch.Close(summation.Maximum(vars, polys[0], polys[1]));
    }
    PolyId body = polys[0];
    polys.erase(polys.begin());
    return scratch.Close(arena_.OfAtom(
        arena_.OpaqueRowAtom(a.tag, vars[0], body, std::move(indices), std::move(polys))));
  }
  std::vector<PolyId> polys;
  for (PolyId p : a.polys) polys.push_back(Poly(p));
  const PolyId argument = a.kind == AtomKind::kExp ? Mono(a.mono) : kZeroPoly;
  return Function(&arena_, a, std::move(indices), std::move(polys), argument);
}

PolyId Rewriter::Function(Arena* arena, const Atom& a, std::vector<Affine> indices,
                          std::vector<PolyId> polys, PolyId argument) {
  switch (a.kind) {
    case AtomKind::kElement:
      return arena->Element(a.tag, std::move(indices));
    case AtomKind::kExp:
      return arena->Exp(arena->Scale(argument, a.number));
    case AtomKind::kBase:
      return polys[0];
    case AtomKind::kLog:
      return arena->Log(polys[0]);
    case AtomKind::kErf:
    case AtomKind::kSin:
    case AtomKind::kCos:
      return arena->Unary(a.kind, polys[0]);
    case AtomKind::kAbs:
      return arena->Abs(polys[0]);
    case AtomKind::kMax: {
      PolyId m = polys[0];
      for (size_t i = 1; i < polys.size(); ++i) m = arena->Max(m, polys[i]);
      return m;
    }
    case AtomKind::kPosition:
      return arena->Position(indices[0]);
    case AtomKind::kIndicator:
      return arena->Indicator(indices[0]);
    case AtomKind::kDelta:
      return arena->Delta(indices[0]);
    case AtomKind::kRealPositive:
      return arena->RealPositive(polys[0]);
    case AtomKind::kRealZero:
      return arena->RealZero(polys[0]);
    case AtomKind::kOpaque:
      return arena->Opaque(a.tag, std::move(indices), std::move(polys));
    default:
      return arena->OfAtom(arena->InternAtom(a));
  }
}

PolyId Arena::Substitute(PolyId p, const Substitution& s) {
  SymbolMap map;
  map.pairs = s;
  return Rewriter(this, std::move(map)).Poly(p);
}

}  // namespace planproof::solver
