#include "solver/structure.h"

#include <algorithm>

#include "solver/hash_mix.h"

namespace planproof::solver {
namespace {

bool IsBinder(AtomKind kind) {
  return kind == AtomKind::kSum || kind == AtomKind::kReduceMax || kind == AtomKind::kOpaqueRow;
}

void AddSymbol(Symbol s, Symbols* out) { out->push_back(s); }

void AddSymbols(const Symbols& from, bool below_binder, Symbols* out) {
  for (Symbol s : from) {
    if (below_binder && KindOf(s) == SymbolKind::kBound) {
      if (BoundLevel(s) == 0) continue;
      s = BoundSymbol(BoundLevel(s) - 1, BoundPosition(s));
    }
    out->push_back(s);
  }
}

void AddAffine(const Arena& arena, const Affine& e, Symbols* out) {
  for (const auto& [s, c] : e.terms) {
    AddSymbol(s, out);
    if (KindOf(s) == SymbolKind::kIntAtom) {
      AddSymbols(arena.atom(arena.AtomOfIntAtom(s)).symbols, false, out);
    }
  }
}

// Colours of symbols at a nesting depth below the point where the colouring was given.
class Walker {
 public:
  Walker(Arena* arena, StructureHashes* hashes, const Colouring& colours)
      : arena_(*arena), hashes_(*hashes), colours_(colours) {}
  ~Walker() { Pay(); }
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  // `inner` colours the binders entered, innermost last.
  using Inner = std::vector<std::vector<uint64_t>>;

  bool Coloured(Symbol s, const Inner& inner, uint64_t* colour) const {
    Symbol at_top = s;
    if (KindOf(s) == SymbolKind::kBound) {
      uint32_t level = BoundLevel(s);
      if (level < inner.size()) {
        const auto& binder = inner[inner.size() - 1 - level];
        *colour = BoundPosition(s) < binder.size() ? binder[BoundPosition(s)] : 0;
        return false;
      }
      at_top = BoundSymbol(level - static_cast<uint32_t>(inner.size()), BoundPosition(s));
    }
    for (const auto& [t, c] : colours_) {
      if (t == at_top) {
        *colour = c;
        return true;
      }
    }
    *colour = MixHash(0xabcdef, at_top);
    return false;
  }

  bool MentionsColoured(const Affine& e, const Inner& inner) const {
    uint64_t ignored;
    for (const auto& [s, c] : e.terms) {
      if (Coloured(s, inner, &ignored)) return true;
      if (KindOf(s) == SymbolKind::kBound && BoundLevel(s) < inner.size()) continue;
      if (KindOf(s) == SymbolKind::kIntAtom) continue;
    }
    return false;
  }

  uint64_t HashAffine(const Affine& e, const Inner& inner) const {
    uint64_t sum = 0;
    bool shifted = false;
    for (const auto& [s, c] : e.terms) {
      uint64_t colour;
      if (KindOf(s) == SymbolKind::kIntAtom) {
        colour = Hash(arena_.AtomOfIntAtom(s), inner);
      } else {
        bool coloured = Coloured(s, inner, &colour);
        shifted |= coloured || (KindOf(s) == SymbolKind::kBound && BoundLevel(s) < inner.size());
      }
      // Sign of the coefficient is a gauge freedom of a coloured variable.
      sum += MixHash(MixHash(colour, 0x5ca1e), shifted ? static_cast<uint64_t>(std::abs(c)) : c);
    }
    return MixHash(sum, shifted ? 0 : static_cast<uint64_t>(e.constant));
  }

  uint64_t Hash(AtomId id, const Inner& inner) const {
    if (!Visit()) return 0;
    const Atom& a = arena_.atom(id);
    uint64_t colours;
    if (!AnyInteresting(a.symbols, inner, &colours))
      return MixHash(KindHash(a), MixHash(0xa70a, id));
    if (a.polys.empty() && a.mono == kUnitMono) return HashAnew(a, inner);  // nothing nested
    return Remembered({StructureHashes::Part::kAtom, id, colours},
                      [&] { return HashAnew(a, inner); });
  }

  static uint64_t KindHash(const Atom& a) {
    return MixHash(static_cast<uint64_t>(a.kind) + 1, a.tag);
  }

  uint64_t HashAnew(const Atom& a, const Inner& inner) const {
    uint64_t h = KindHash(a);
    for (const Affine& e : a.indices) h = MixHash(h, HashAffine(e, inner));
    if (a.kind == AtomKind::kNumber) h = MixHash(h, a.number.HashBits());
    if (!IsBinder(a.kind)) {
      uint64_t polys = 0;
      for (PolyId p : a.polys) polys += HashPoly(p, inner);  // max is a set
      return MixHash(MixHash(h, polys), HashMono(a.mono, inner));
    }
    Inner deeper = inner;
    deeper.push_back(std::vector<uint64_t>(a.domain.size(), 1));
    for (int round = 0; round < (a.domain.size() > 1 ? 2 : 1); ++round) {
      std::vector<uint64_t> refined(a.domain.size());
      for (size_t i = 0; i < a.domain.size(); ++i) {
        std::vector<uint64_t> saved = deeper.back();
        deeper.back()[i] = MixHash(saved[i], 0x5e1f);
        refined[i] = MixHash(BodyHash(a, deeper), a.domain.size() > 1 ? 3 : 0);
        deeper.back() = saved;
      }
      deeper.back() = refined;
    }
    uint64_t domains = 0;
    for (size_t i = 0; i < a.domain.size(); ++i) {
      domains += MixHash(MixHash(deeper.back()[i], a.domain[i].lo), a.domain[i].hi);
    }
    return MixHash(MixHash(h, BodyHash(a, deeper)), domains);
  }

  uint64_t BodyHash(const Atom& a, const Inner& inner) const {
    uint64_t h = HashMono(a.mono, inner);
    for (PolyId p : a.polys) h = MixHash(h, HashPoly(p, inner));
    return h;
  }

  uint64_t HashMono(MonoId id, const Inner& inner) const {
    uint64_t h = 0;
    for (const Factor& f : arena_.mono(id).factors) {
      h += MixHash(MixHash(Hash(f.atom, inner), f.exponent.num), f.exponent.den);
    }
    return MixHash(h, 0x30);
  }

  uint64_t HashPoly(PolyId id, const Inner& inner) const {
    const Polynomial& p = arena_.poly(id);
    uint64_t colours;
    if (!AnyInteresting(p.symbols, inner, &colours)) return MixHash(0x901, id);
    return Remembered({StructureHashes::Part::kPoly, id, colours}, [&] {
      uint64_t h = 0;
      for (const Term& t : p.terms) h += MixHash(HashMono(t.mono, inner), t.coefficient.HashBits());
      return MixHash(h, 0x31);
    });
  }

  // A hash depends on the part and on the colours of the symbols that the part mentions: on no
  // other binder or colour around it.
  template <typename Compute>
  uint64_t Remembered(const StructureHashes::Key& key, const Compute& compute) const {
    if (const uint64_t* known = hashes_.Find(key)) return *known;
    const uint64_t hash = compute();
    if (!arena_.exhausted()) hashes_.Remember(key, hash);
    return hash;
  }

  // Whether one of the symbols is coloured or bound here; `hash` tells their colours apart.
  bool AnyInteresting(const Symbols& symbols, const Inner& inner, uint64_t* hash) const {
    bool any = false;
    *hash = 0;
    for (Symbol s : symbols) {
      if (KindOf(s) == SymbolKind::kIntAtom) continue;  // what it mentions is in the list
      uint64_t colour;
      const bool interesting = Coloured(s, inner, &colour) ||
                               (KindOf(s) == SymbolKind::kBound && BoundLevel(s) < inner.size());
      any |= interesting;
      *hash = MixHash(*hash, MixHash(colour, interesting));
    }
    return any;
  }

  void Occurrences(AtomId id, uint64_t path, const Inner& inner,
                   std::vector<Structure::Occurrence>* out) const {
    if (!Visit()) return;
    const Atom& a = arena_.atom(id);
    uint64_t ignored;
    if (!AnyInteresting(a.symbols, inner, &ignored)) return;
    uint64_t here = MixHash(path, Hash(id, inner));
    for (size_t i = 0; i < a.indices.size(); ++i) {
      const Affine& e = a.indices[i];
      if (MentionsColoured(e, inner)) {
        out->push_back({MixHash(here, i), e, a.kind == AtomKind::kPosition});
      }
      for (const auto& [s, c] : e.terms) {
        if (KindOf(s) == SymbolKind::kIntAtom) {
          Occurrences(arena_.AtomOfIntAtom(s), MixHash(here, 0x1a + i), inner, out);
        }
      }
    }
    Inner deeper = inner;
    if (IsBinder(a.kind)) deeper.push_back(std::vector<uint64_t>(a.domain.size(), 7));
    MonoOccurrences(a.mono, here, deeper, out);
    for (PolyId p : a.polys) PolyOccurrences(p, here, deeper, out);
  }

  void MonoOccurrences(MonoId id, uint64_t path, const Inner& inner,
                       std::vector<Structure::Occurrence>* out) const {
    for (const Factor& f : arena_.mono(id).factors) {
      Occurrences(f.atom, MixHash(MixHash(path, f.exponent.num), f.exponent.den), inner, out);
    }
  }

  void PolyOccurrences(PolyId id, uint64_t path, const Inner& inner,
                       std::vector<Structure::Occurrence>* out) const {
    for (const Term& t : arena_.poly(id).terms) {
      MonoOccurrences(t.mono, MixHash(path, t.coefficient.HashBits()), inner, out);
    }
  }

 private:
  // False when the work limit is met: what comes out is then worth nothing.
  bool Visit() const {
    if (++visits_ >= kVisitsAtOnce) Pay();
    return !arena_.exhausted();
  }
  void Pay() const {
    arena_.ChargeVisits(visits_);
    visits_ = 0;
  }

  static constexpr int64_t kVisitsAtOnce = 4096;
  Arena& arena_;
  StructureHashes& hashes_;
  const Colouring& colours_;
  mutable int64_t visits_ = 0;
};

}  // namespace

void Structure::CollectSymbols(const Arena& arena, Atom* atom) {
  Symbols out;
  for (const Affine& e : atom->indices) AddAffine(arena, e, &out);
  const bool binder = IsBinder(atom->kind);
  AddSymbols(arena.mono(atom->mono).symbols, binder, &out);
  for (PolyId p : atom->polys) AddSymbols(arena.poly(p).symbols, binder, &out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  atom->symbols = std::move(out);
}

uint64_t Structure::HashAtom(Arena* arena, AtomId atom, const Colouring& colours) {
  return Walker(arena, &arena->structure_hashes_, colours).Hash(atom, {});
}

uint64_t Structure::HashPoly(Arena* arena, PolyId poly, const Colouring& colours) {
  return Walker(arena, &arena->structure_hashes_, colours).HashPoly(poly, {});
}

void Structure::CollectOccurrences(Arena* arena, AtomId atom, const Colouring& colours,
                                   std::vector<Occurrence>* out) {
  Walker(arena, &arena->structure_hashes_, colours).Occurrences(atom, 0, {}, out);
}

void Structure::CollectOccurrencesInPoly(Arena* arena, PolyId poly, const Colouring& colours,
                                         std::vector<Occurrence>* out) {
  Walker(arena, &arena->structure_hashes_, colours).PolyOccurrences(poly, 0, {}, out);
}

}  // namespace planproof::solver
