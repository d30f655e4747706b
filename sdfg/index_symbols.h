// Makes the index variables of symbolic evaluation, by name.
//
// A variable is made once for a place (a dimension of a cell, a binder at some depth) and a range,
// and is the same one wherever that place and range occur again: in the next cell, in the next sum
// at that depth. So an element that is read at the same indices in many cells is evaluated once.
// Two variables that are in use at the same time differ in place or in range.
#ifndef PLANPROOF_SDFG_INDEX_SYMBOLS_H_
#define PLANPROOF_SDFG_INDEX_SYMBOLS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "solver/term.h"

namespace planproof::sdfg {

// A decision that needs a narrower range of a symbol.
struct SplitRequest {
  enum class Kind : uint8_t {
    kNone,
    kCut,    // split the range at `at`: [low, at) and [at, high]
    kDigit,  // write the symbol as at * high_digit + low_digit
  } kind = Kind::kNone;
  solver::Symbol symbol = 0;
  int64_t at = 0;
};

// What replaces a variable over a part of its range: an expression over variables of its own.
struct SplitPart {
  solver::Affine replacement;
  std::vector<solver::BoundVariable> variables;
};

class IndexSymbols {
 public:
  explicit IndexSymbols(solver::Arena* arena) : arena_(*arena) {}

  // Runs along a dimension of the tensor that is evaluated.
  solver::Symbol OfDimension(size_t dimension, solver::Interval range);
  // Is bound by a reduction or by the row of an opaque function, within so many others.
  solver::Symbol OfBinder(int depth, solver::Interval range);
  // The parts into which the request about a variable of this range divides it; they are disjoint
  // and cover it.
  std::vector<SplitPart> Split(const SplitRequest& request, solver::Interval range);

 private:
  enum class Origin : uint8_t { kDimension, kBinder, kHighDigit, kLowDigit, kForeign };
  using Name = uint32_t;
  Name NameOf(Origin origin, uint32_t of, int64_t stride = 0);
  Name NameOf(solver::Symbol symbol);
  // Adds stride times a variable of this name; of one value it is none.
  void Add(Name name, solver::Interval range, int64_t stride, SplitPart* part);
  solver::Symbol Named(Name name, solver::Interval range);

  solver::Arena& arena_;
  absl::flat_hash_map<std::pair<uint64_t, int64_t>, Name> names_;
  absl::flat_hash_map<std::pair<Name, std::pair<int64_t, int64_t>>, solver::Symbol> symbols_;
  absl::flat_hash_map<solver::Symbol, Name> name_of_;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_INDEX_SYMBOLS_H_
