// Represents raw terms: what a claim's two sides say, written down as it is evaluated, for an SMT
// solver.
//
// Nothing is rewritten: x * y / y stays what it is. Equal nodes of one arena share an id, to keep a
// term as small as the graph it comes from; two sides of a claim never share an arena. A term may
// be evaluated in floating point (to confirm a difference that a solver reports) and written as
// text for the Z3 module (z3_solver.h).
#ifndef PLANPROOF_SOLVER_SMT_TERM_H_
#define PLANPROOF_SOLVER_SMT_TERM_H_

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "solver/rational.h"

namespace planproof::solver {

using RawId = int32_t;  // position in its arena; operands have smaller ids

enum class RawOp : uint8_t {
  // Reals
  kRational,  // value
  kVariable,  // name; low: 0 any, 1 positive, 2 not negative, 3 not zero
  kToReal,    // of an integer
  kAdd,       // of any number
  kMul,       // of two
  kNeg,
  kDiv,
  kPow,  // args[0] ^ value
  kExp,
  kLog,
  kErf,
  kSin,
  kCos,
  kAbs,
  kMax,
  kMin,
  kIte,    // args[0] (boolean), args[1], args[2] of one sort, real
  kApply,  // uninterpreted real function `name` of any arguments
  // Integers
  kInteger,      // low
  kIntVariable,  // name, low <= it <= high
  kIntAdd,
  kIntScale,  // low * args[0]
  kIntDiv,    // floor(args[0] / low), low > 0
  kIntMod,
  kIntIte,
  kIntApply,  // uninterpreted, with values in [low, high]
  // Booleans
  kLess,
  kLessEq,
  kEq,  // of two reals
  kIntLess,
  kIntLessEq,
  kIntEq,
  kAnd,
  kOr,
  kNot,
  kTrue,
};

struct RawTerm {
  RawOp op = RawOp::kRational;
  Rational value;
  std::string name;
  int64_t low = 0, high = 0;
  std::vector<RawId> args;
};

class RawArena {
 public:
  RawId Add(RawTerm term);
  RawId Make(RawOp op, std::vector<RawId> args) { return Add({op, {}, "", 0, 0, std::move(args)}); }
  RawId Constant(Rational value) { return Add({RawOp::kRational, std::move(value), "", 0, 0, {}}); }
  RawId Integer(int64_t value) { return Add({RawOp::kInteger, {}, "", value, 0, {}}); }
  const RawTerm& operator[](RawId id) const { return terms_[id]; }
  size_t size() const { return terms_.size(); }

 private:
  std::vector<RawTerm> terms_;
  std::unordered_map<std::string, RawId> ids_;
};

bool IsReal(const RawTerm& term);

// Whether two terms are the same, node by node.
bool SameRawTerm(const RawArena& a, RawId x, const RawArena& b, RawId y);

// Values of variables, by name.
using RawValues = std::unordered_map<std::string, double>;

struct RawNumber {
  bool defined = false;  // no premise on the way was violated, and the value is finite
  bool opaque = false;   // an uninterpreted function took part (its value is a hash)
  double value = 0;
  double magnitude = 0;  // largest intermediate value, for judging rounding
};
// The value in (extended) floating point. Variables without a value count as 1.
RawNumber EvaluateRaw(const RawArena& arena, RawId root, const RawValues& values);

// The nodes below the roots, one per line: "op low high value name|args", ids counted from 0; the
// names are escaped. `ids` receives the new ids of the roots.
std::string RawText(const RawArena& arena, const std::vector<RawId>& roots, int first_id,
                    std::vector<int>* ids, int* next_id);

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_SMT_TERM_H_
