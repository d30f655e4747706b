// Decides whether a premise holds wherever others do: a plan may be undefined only where its
// specification is.
//
// Each rule is an implication over the reals for all values of elements and of free symbols in
// their ranges. It is no decision procedure: "not shown" is always a correct answer.
#ifndef PLANPROOF_SOLVER_IMPLICATION_H_
#define PLANPROOF_SOLVER_IMPLICATION_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "solver/term.h"

namespace planproof::solver {

class Implication {
 public:
  explicit Implication(Arena* arena) : arena_(*arena) {}

  // A premise that holds for all values of its free symbols in their ranges.
  void Assume(PremiseKind kind, PolyId poly);
  // Whether the premise holds, for all values of its free symbols in their ranges, wherever all
  // that was assumed does. Premises that the arena records meanwhile are instances of what was
  // assumed, and none of the caller's.
  bool Follows(PremiseKind kind, PolyId poly);

 private:
  // An index of an atom: which atom, by what makes two comparable, and the expression.
  struct IndexAt {
    AtomKind kind;
    uint32_t tag;
    size_t position;
    Affine expression;
  };
  using Binding = Arena::Substitution;
  struct Fact {
    PremiseKind kind;
    PolyId poly;
    std::vector<Symbol> free;
    std::vector<IndexAt> indices;
  };

  bool Shown(PremiseKind kind, PolyId poly, int depth);
  bool FollowsAsProduct(PremiseKind kind, const Term& term, int depth);
  bool FollowsAsSum(PremiseKind kind, PolyId poly, int depth);
  bool FollowsAsInstance(PremiseKind kind, PolyId poly);
  // Extends the binding until it binds all free symbols of the fact; true if an instance shows it.
  bool Instantiate(const Fact& fact, const std::vector<IndexAt>& indices, PremiseKind kind,
                   PolyId poly, Binding* binding);
  std::optional<Affine> ValueFor(const Affine& expression, const Affine& other, const Fact& fact,
                                 const Binding& binding, std::optional<Symbol>* symbol) const;
  std::optional<Affine> ExactValueFor(const Affine& expression, const Affine& other,
                                      const Fact& fact, const Binding& binding,
                                      std::optional<Symbol>* symbol) const;
  bool IsInstance(const Fact& fact, const Binding& binding, PremiseKind kind, PolyId poly);
  bool Implies(PremiseKind known, PolyId fact, PremiseKind kind, PolyId poly) const;
  bool IsLooserBound(PolyId fact, PolyId poly) const;
  bool SameUpToFactor(PolyId fact, PolyId poly, bool any_sign) const;
  PolyId BaseOf(AtomId atom);
  std::vector<IndexAt> IndicesOf(PolyId poly) const;
  std::vector<Symbol> FreeSymbolsOf(PolyId poly) const;

  Arena& arena_;
  std::vector<Fact> facts_;
  absl::flat_hash_set<std::pair<int, PolyId>> known_;
  absl::flat_hash_map<std::pair<int, PolyId>, bool> decided_;
  int attempts_ = 0;
};

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_IMPLICATION_H_
