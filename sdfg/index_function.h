// Represents an operator application as an index expression: the single currency of all operators.
//
// Every operator instance, whether it was written in the declaration language (linear, softmax), is
// a C++ class (view, concat), a collective, or was derived by differentiation, becomes an
// IndexFunction: for each output one scalar expression over the output's index variables, in which
// the inputs' elements are read at integer index expressions. Ranks and extents are concrete. The
// evaluators (symbolic, numeric, interval, modular, SMT), the differentiator and the Z3 export all
// work on this and nothing else.
//
// It is not a program: there is no order of evaluation and no storage. Values are exact reals.
#ifndef PLANPROOF_SDFG_INDEX_FUNCTION_H_
#define PLANPROOF_SDFG_INDEX_FUNCTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "sdfg/types.h"
#include "solver/rational.h"

namespace planproof::sdfg {

using ExprId = int32_t;  // position in IndexFunction::nodes; children have smaller ids
using VarId = int32_t;   // position in IndexFunction::vars
inline constexpr ExprId kNoExpr = -1;

// Sorts: I integer, R real, B boolean. In comments, (a, b) are `args`.
enum class Op : uint8_t {
  // Integer expressions
  kIntConst,    // I: value
  kIndex,       // I: the index variable `var`
  kIntAdd,      // I: args[0] + args[1]
  kIntScale,    // I: value * args[0]
  kIntDiv,      // I: floor(args[0] / value), value > 0
  kIntMod,      // I: args[0] - value * floor(args[0] / value), value > 0
  kWhole,       // I: the real args[0], which is a whole number by its form (whole_numbers.h)
  kIntElement,  // I: element of the integer input `input` at indices args
  // Real expressions
  kReal,       // R: constant `real`
  kNegInf,     // R: -infinity; legal only under max, exp and as a summand of those (a mask)
  kElement,    // R: element of input `input` at indices args (sort I each)
  kPosition,   // R: the integer args[0] as a real number
  kIndicator,  // R: 1 if the boolean args[0] holds, else 0
  kAdd,
  kMul,  // R: args[0] op args[1]
  kNeg,  // R: -args[0]
  kDiv,  // R: args[0] / args[1]; premise args[1] != 0
  kPow,  // R: args[0] ^ real, a rational constant exponent; premise: > 0 (>= 0) if not integer
  kExp,
  kLog,  // R: log has the premise args[0] > 0
  kErf,
  kSin,
  kCos,  // R
  kAbs,  // R
  kMax,
  kMin,     // R: of two; `tie` says how a derivative treats equality
  kSelect,  // R or I: args[0] (sort B) ? args[1] : args[2], branches of one sort; only the
            // branch taken has to be defined (an index may be out of range in the other)
  kSum,     // R: sum over `var` of args[0]
  kReduceMax,
  kReduceMin,  // R: max/min over `var` of args[0]; `tie` for the derivative
  kOpaque,     // R or I (see int_valued): uninterpreted function `name`; see Node::opaque
  // Boolean expressions
  kIntLess,
  kIntLessEq,
  kIntEq,  // B: comparisons of two I
  kRealLess,
  kRealLessEq,
  kRealEq,   // B: comparisons of two R
  kNonzero,  // B: args[0] (R or I) != 0, for boolean masks
  kAnd,
  kOr,  // B: the second operand has to be defined only where the first does not decide
  kNot,
};

// How the derivative of max, relu, abs, clamp is shared among operands that tie.
enum class TieRule : uint8_t { kNone, kFirst, kEven, kAll, kZero };

struct Node {
  Op op;
  TieRule tie = TieRule::kNone;
  bool int_valued = false;  // kOpaque: sort I
  VarId var = -1;           // kIndex, kSum, kReduceMax, kReduceMin; kOpaque: row variable or -1
  int32_t input = -1;       // kElement, kIntElement
  int64_t value = 0;        // kIntConst, kIntScale, kIntDiv, kIntMod
  solver::Rational real;    // kReal, kPow
  // kOpaque: function name with every attribute that matters spelled out, e.g.
  // "topk_index(k=2,groups=8,topk_groups=4)". Its value depends on: this name, the extent of `var`,
  // and args: args[0] is the row body (a function of `var`) when var >= 0, further args (or all,
  // when var < 0) are scalars of sort R or I.
  std::string name;
  absl::InlinedVector<ExprId, 3> args;
};

// An index variable; it ranges over [0, extent). Each variable is either one dimension of one
// output, or bound by exactly one kSum/kReduceMax/kReduceMin/kOpaque node.
struct IndexVariable {
  std::string name;
  int64_t extent = 0;
};

struct FunctionInput {
  std::string name;  // operand name of the declaration, e.g. "x"
  Shape shape;
  DType dtype = DType::kUnknown;
};

struct FunctionOutput {
  std::string name;
  std::vector<VarId> dims;  // one variable per dimension; its extent is the dimension's
  DType dtype = DType::kUnknown;
  ExprId body = kNoExpr;  // sort R, or I for integer-valued outputs
  // The output counts as a constant for differentiation (detach): its gradient goes nowhere.
  bool stop_gradient = false;
  Shape shape(const std::vector<IndexVariable>& vars) const;
};

// A condition under which the operator is defined, over the same variables as output `output`
// (for all index values), beside those that its nodes imply (a denominator is not 0).
struct FunctionPremise {
  int output = 0;
  ExprId condition = kNoExpr;  // sort B
  std::string text;
};

struct IndexFunction {
  std::string operator_name;  // "linear", "linear.backward", "all_reduce", ...
  std::vector<FunctionInput> inputs;
  std::vector<IndexVariable> vars;
  std::vector<Node> nodes;
  std::vector<FunctionOutput> outputs;
  std::vector<FunctionPremise> premises;
  // Assumptions under which the declaration stands for the framework's operator, for the report
  // ("dropout is the identity").
  std::vector<std::string> assumptions;

  // Canonical bytes of all of the above except names of variables: equal strings, equal functions.
  std::string Serialize() const;
};

// Builds nodes with light sharing (identical nodes get one id). Extents are checked by Validate.
class IndexFunctionBuilder {
 public:
  explicit IndexFunctionBuilder(std::string operator_name);
  int AddInput(std::string name, Shape shape, DType dtype);
  VarId AddVar(std::string name, int64_t extent);
  // Adds an output whose dimensions are fresh variables of the given extents; returns the output
  // number. Set its body later with SetBody.
  int AddOutput(std::string name, const Shape& shape, DType dtype);
  int AddOutput(std::string name, std::vector<VarId> dims, DType dtype);
  const std::vector<VarId>& OutputDims(int output) const;
  void SetBody(int output, ExprId body);
  void SetStopGradient(int output) { function_.outputs.at(output).stop_gradient = true; }
  void AddPremise(int output, ExprId condition, std::string text);
  void AddAssumption(std::string text);

  ExprId Int(int64_t value);
  ExprId Index(VarId var);
  ExprId IntAdd(ExprId a, ExprId b);
  ExprId IntSub(ExprId a, ExprId b);
  ExprId IntScale(int64_t factor, ExprId a);
  ExprId IntDiv(ExprId a, int64_t divisor);
  ExprId IntMod(ExprId a, int64_t divisor);
  ExprId IntElement(int input, const std::vector<ExprId>& indices);
  ExprId Real(solver::Rational value);
  ExprId NegInf();
  ExprId Element(int input, const std::vector<ExprId>& indices);
  ExprId Unary(Op op, ExprId a, TieRule tie = TieRule::kNone);
  ExprId Binary(Op op, ExprId a, ExprId b, TieRule tie = TieRule::kNone);
  ExprId Pow(ExprId a, solver::Rational exponent);
  ExprId Select(ExprId cond, ExprId a, ExprId b);
  ExprId Reduce(Op op, VarId var, ExprId body, TieRule tie = TieRule::kNone);
  ExprId Opaque(std::string name, bool int_valued, VarId row, const std::vector<ExprId>& args);
  ExprId AddNode(Node node);
  const Node& node(ExprId id) const;

  const IndexFunction& function() const { return function_; }
  // Checks well-formedness (sorts, ranks, variable scopes, every index within its dimension where
  // that is decidable) and gives the function away.
  absl::Status Finish(IndexFunction* out);

 private:
  IndexFunction function_;
  struct Sharing;
  std::shared_ptr<Sharing> sharing_;
};

// Whether some node is undefined for some operand values: a division, a logarithm, a root.
bool CanBeUndefined(const IndexFunction& function);

// Visits the expressions that `root` consists of, each after its arguments; gives what `visit`
// makes of `root`. `done` holds what it made of earlier ones, kNoExpr for what is not part of
// `root`.
ExprId FromLeavesUp(const IndexFunction& function, ExprId root,
                    absl::FunctionRef<ExprId(ExprId id, const std::vector<ExprId>& done)> visit);

// Human-readable form, for reports and tests: "y[b, n] = sum(k: x[b, k] * w[n, k])".
std::string ToString(const IndexFunction& function);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_INDEX_FUNCTION_H_
