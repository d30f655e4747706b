// Decides whether a polynomial is identically zero where the normal form leaves it open. Internal
// to Arena::IsZero.
#ifndef PLANPROOF_SOLVER_ZERO_TEST_H_
#define PLANPROOF_SOLVER_ZERO_TEST_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "solver/term.h"

namespace planproof::solver {

class ZeroTest {
 public:
  explicit ZeroTest(Arena* arena) : arena_(*arena) {}

  // True: it is zero.
  bool Run(PolyId p);

 private:
  // Bounds of sums, in order: those with one body, by dimension; or all of them, in one list.
  using Cuts = std::map<std::pair<MonoId, size_t>, std::vector<int64_t>>;
  // zero_test.cc
  bool Test(PolyId p);
  bool ZeroInAllCases(PolyId p, bool edges, int symbols);
  std::vector<Interval> CasesOf(PolyId p, bool edges, Symbol* symbol) const;
  PolyId UnifyConditions(PolyId p);
  bool RefinedIsZero(PolyId p);
  static void AddFactor(AtomId atom, Factors* factors);
  std::vector<AtomId> Cells(const Atom& a, const Cuts& cuts);
  PolyId Total(std::vector<PolyId> parts);

  // Rows whose largest element is found block by block (largest_of_blocks.cc).
  bool ZeroInAllBlocks(PolyId p);
  std::vector<Symbol> LargestPlaces(PolyId p) const;
  std::vector<Affine> PlacesByBlock(Symbol whole, Symbol among, const std::vector<Symbol>& places);
  bool IsBlockOfRow(Symbol block, Symbol whole, int64_t begin);
  PolyId LargestOfRow(Symbol place);
  PolyId ElementOfRow(Symbol place, const Affine& index);

  // Sums over one box (bodies_of_sums.cc).
  // A term, its sum in whose body there are denominators, and the dimensions that these depend on.
  struct DividingSum {
    Term term;
    AtomId sum;
    std::vector<uint32_t> dims;
  };
  bool BodiesAreZero(PolyId p);
  std::vector<uint32_t> DividingDimensions(AtomId sum) const;
  std::vector<uint32_t> DividingInOrder(AtomId sum) const;
  PolyId BodiesIn(const std::vector<Interval>& box, const std::vector<DividingSum>& sums);
  std::optional<AtomId> DividingSumOf(const Term& term) const;
  PolyId WithoutFactor(const Term& term, AtomId atom);
  PolyId BodyOf(const Atom& sum, const std::vector<uint32_t>& dims, const std::vector<Symbol>& at);

  // Sums in pieces (zero_test_pieces.cc).
  // A part of a sum: over a box, and there over every step-th index from `at` on in the dimensions
  // that have a step.
  struct Piece {
    Atom sum;
    struct Step {
      int64_t step = 1, at = 0;
    };
    std::vector<Step> steps = {};  // by dimension; none: every index of the box
  };
  using Pieces = std::vector<Piece>;
  using PiecesOf = std::function<Pieces(const Atom& sum)>;
  static std::pair<MonoId, size_t> KeyOf(const Atom& sum, size_t dim, bool by_body);
  Cuts CutsOf(const Terms& terms, bool by_body) const;
  PolyId SplitAtCuts(PolyId p, bool by_body);
  PolyId SplitAtElements(PolyId p);
  PolyId SpreadShortDimensions(PolyId p);
  std::optional<std::vector<PolyId>> InPieces(PolyId p, const PiecesOf& pieces_of,
                                              int32_t most_copies = 1,
                                              bool within_functions = false);
  PolyId SumOfPieces(const Pieces& pieces);
  PolyId SumOfPiece(const Piece& piece);
  static Pieces ByRemainder(const Atom& sum, const std::vector<int64_t>& steps);
  std::optional<PolyId> FunctionInPieces(const Factor& factor, const PiecesOf& pieces_of);
  std::optional<PolyId> ValueInPieces(const Atom& a, const PiecesOf& pieces_of);
  PolyId SplitByRemainder(PolyId p);
  Pieces Slices(const Atom& sum) const;
  bool CountsBlocks(const Atom& sum, size_t d) const;
  bool IsPlainSum(const Factor& f) const;
  static Pieces Boxes(const Atom& sum, const std::vector<std::vector<int64_t>>& all);

  // Sums in denominators under names of their own (solve_denominators.cc).
  struct Solution {
    AtomId base;     // the denominator
    AtomId atom;     // what is replaced
    Term summand;    // of the denominator, in which that stands
    int others = 0;  // denominators in which it stands, too
  };
  std::vector<AtomId> IntegerDenominators(PolyId p) const;
  bool IsReplaceable(PolyId p, AtomId atom) const;
  std::optional<Solution> ChooseSolution(PolyId p) const;
  PolyId Solved(PolyId p, const Solution& solution);
  PolyId NameOf(PolyId number);
  bool IsName(AtomId atom) const;
  PolyId Replaced(PolyId p, const std::map<AtomId, PolyId>& forms);
  void CollectSums(PolyId p, std::set<AtomId>* atoms) const;
  PolyId WithNamedPieces(PolyId p);
  PolyId SolveDenominators(PolyId p, bool in_pieces);
  std::optional<Symbol> ShortSymbolOfDenominators(PolyId p) const;
  bool NamedIsZero(PolyId p);
  bool NamedIsZeroAtEachValue(PolyId p);
  bool ZeroWithNamedDenominators(PolyId p);

  // Products written out (zero_test_products.cc).
  int64_t SizeCleared(const Terms& terms, AtomId base, int32_t raise);
  PolyId ClearDenominators(PolyId p);
  PolyId ClearSums(PolyId p);
  PolyId TimesSums(PolyId p, size_t most_sums);
  static int64_t TimesVolume(int64_t size, const Atom& a);
  // With sums over a few points written out, also those in denominators; p itself if that would
  // grow too long.
  PolyId ExpandShortSums(PolyId p);
  bool IsShort(AtomId atom) const;
  bool HasShortSum(PolyId p) const;
  PolyId PointByPoint(const Atom& sum);
  std::optional<PolyId> Expanded(const Factor& factor);

  Arena& arena_;
  // Functions and sums with their sums in pieces, or nothing where there are none to cut.
  std::map<AtomId, std::optional<PolyId>> in_pieces_;
  bool within_bodies_ = false;  // bodies of bodies are not compared
  PolyId pieces_ = kZeroPoly;   // what was tested last, cut at the bounds of all its sums
};

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_ZERO_TEST_H_
