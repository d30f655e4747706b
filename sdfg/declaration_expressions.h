// Evaluates expressions of a declaration to nodes of an index function.
#ifndef PLANPROOF_SDFG_DECLARATION_EXPRESSIONS_H_
#define PLANPROOF_SDFG_DECLARATION_EXPRESSIONS_H_

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/declaration_instance.h"
#include "sdfg/declaration_value.h"

namespace planproof::sdfg {

class ExpressionEvaluator {
 public:
  using Values = absl::StatusOr<Value>;

  // Adds nodes to `instance`, which must outlive the evaluator.
  explicit ExpressionEvaluator(Instance* instance)
      : instance_(*instance),
        declaration_(instance->declaration),
        arithmetic_(&instance->builder) {}

  // Starts output `number`: definitions are evaluated in its scope from now on.
  void StartOutput(int number, const Scope& scope);
  Values Evaluate(SyntaxId id, const Scope& scope);
  ValueArithmetic& arithmetic() { return arithmetic_; }

 private:
  // Adds the place to the error of an arithmetic operation.
  Values At(TextPosition at, Values value) const;
  Values EvaluateNode(SyntaxId id, const Scope& scope);
  Values Name(const Syntax& node, const Scope& scope);
  std::optional<Value> Unread(size_t operand) const;
  Value ReadInput(size_t operand, const std::vector<ExprId>& indices);
  Values Elementwise(size_t operand, const Scope& scope);
  Values Read(const Syntax& node, const Scope& scope);
  absl::Status MixedIndices(const Syntax& node, const TensorPattern& pattern, const Scope& scope,
                            std::vector<ExprId>* indices);
  bool IsAlwaysZero(ExprId index) const;
  absl::Status Item(const IndexItem& item, const DimensionPattern* dim, const Scope& scope,
                    std::vector<ExprId>* indices);
  Values Definition(int number, const std::vector<ExprId>& arguments);
  Values Call(const Syntax& node, const Scope& scope);
  Values Reduce(const Syntax& node, const Scope& scope);

  Instance& instance_;
  const Declaration& declaration_;
  ValueArithmetic arithmetic_;
  int output_ = 0;
  int depth_ = 0;
  Scope output_scope_;
  // By output, number and arguments: a definition is evaluated once at the same arguments.
  std::map<std::tuple<int, int, std::vector<ExprId>>, Value> definitions_;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_DECLARATION_EXPRESSIONS_H_
