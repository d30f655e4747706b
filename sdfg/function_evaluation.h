// Evaluates one application of an index function at symbolic output indices; internal to the
// evaluator.
#ifndef PLANPROOF_SDFG_FUNCTION_EVALUATION_H_
#define PLANPROOF_SDFG_FUNCTION_EVALUATION_H_

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sdfg/symbolic_evaluator.h"

namespace planproof::sdfg {

// The values of an application's variables and nodes. What ended applications leave behind is used
// by later ones, which then need no memory of their own.
struct EvaluationScratch {
  struct Node {
    uint64_t stamp = 0;
    bool valid = false;
    MaskedValue value;
    absl::InlinedVector<solver::PolyId, 2> guards;
  };
  std::vector<solver::Affine> vars;  // where bound
  std::vector<bool> bound;
  std::array<uint64_t, 64> epoch;
  std::vector<Node> nodes;
};

class FunctionEvaluation {
 public:
  using Coordinates = absl::InlinedVector<std::pair<AxisId, solver::Affine>, 2>;
  // `coordinates` are the values of the graph's axes at which a lifted operator is applied, by
  // axis.
  FunctionEvaluation(SymbolicEvaluator* evaluator, int32_t graph, const Operator& op,
                     Coordinates coordinates);
  ~FunctionEvaluation();
  FunctionEvaluation(const FunctionEvaluation&) = delete;
  FunctionEvaluation& operator=(const FunctionEvaluation&) = delete;

  std::optional<MaskedValue> Output(int output, const Indices& local);
  std::optional<solver::Affine> IntegerOutput(int output, const Indices& local);
  // The condition of a declared premise as an indicator, at an index of the output it is about.
  bool Premise(int premise, const Indices& local, solver::PolyId* holds);

 private:
  using Box = std::vector<solver::BoundVariable>;
  bool Bind(int output, const Indices& local);
  bool Real(ExprId id, MaskedValue* out);
  bool RealUncached(ExprId id, MaskedValue* out);
  bool Product(const Node& node, MaskedValue* out);
  bool Power(const Node& node, solver::PolyId* out);
  bool Function(const Node& node, solver::PolyId* out);
  bool Maximum(const Node& node, MaskedValue* out);
  bool Minimum(const Node& node, solver::PolyId* out);
  bool Choice(const Node& node, MaskedValue* out);
  bool OfInteger(ExprId id, solver::PolyId* out);
  bool Integer(ExprId id, solver::Affine* out);
  bool Condition(ExprId id, solver::PolyId* out);
  bool ConditionWhere(solver::PolyId guard, ExprId id, solver::PolyId* out);
  bool NotMasked(ExprId id, solver::PolyId* out);
  bool IsNumber(ExprId id);
  bool Comparable(ExprId a, ExprId b, MaskedValue* of_a, MaskedValue* of_b);
  solver::PolyId Less(const MaskedValue& a, const MaskedValue& b);
  bool InputIndices(const Node& node, size_t first, TensorRef* tensor, Indices* out);
  // Whether the enclosing selections hold: the product of their conditions.
  solver::PolyId Reached();
  // The operand of an operation that has this premise on it.
  solver::PolyId Operand(solver::PremiseKind premise, solver::PolyId value);
  bool GuardedInRange(const solver::Affine& index, int64_t extent);
  bool Compare(const solver::Affine& difference, bool equality, solver::PolyId* out);
  bool DeltaOf(const solver::Affine& e, solver::PolyId* out);
  bool Reduce(const Node& node, MaskedValue* out);
  bool ReducePiece(const Node& node, const Box& box, const solver::Affine& value,
                   std::vector<std::pair<Box, MaskedValue>>* pieces);
  bool Opaque(const Node& node, solver::AtomId* atom);
  void SetVar(VarId var, const solver::Affine& value);

  SymbolicEvaluator& e_;
  solver::Arena& arena_;
  int32_t graph_;
  const Operator& op_;
  const IndexFunction& f_;
  Coordinates coordinates_;
  std::unique_ptr<EvaluationScratch> scratch_;
  uint64_t clock_ = 0;
  const std::vector<uint64_t>& dependencies_;
  int depth_ = 0;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_FUNCTION_EVALUATION_H_
