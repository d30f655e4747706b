// Builds operators that are no expression of the declaration language, because the shape of their
// index expressions depends on attributes: view, concat, matmul by rank, einsum, windows, top-k
// routing.
//
// They are instantiated by C++ code, have the same interface and the same reference page, and are
// registered under their name.
#ifndef PLANPROOF_SDFG_NATIVE_OPERATORS_H_
#define PLANPROOF_SDFG_NATIVE_OPERATORS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/declaration_ast.h"
#include "sdfg/index_function.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {

// One application: what an instantiator gets. Attributes are resolved.
struct NativeCall {
  std::string name;
  std::vector<Operand> operands;
  Attributes attributes;

  absl::Status Error(const std::string& message) const;
  // The shape of operand `index`; an error if it is no tensor.
  absl::StatusOr<Shape> TensorShape(size_t index, const std::string& operand_name) const;
  int64_t Int(const std::string& attribute) const;                // declared int
  bool Bool(const std::string& attribute) const;                  // declared bool
  std::vector<int64_t> Ints(const std::string& attribute) const;  // declared ints
  std::string Text(const std::string& attribute) const;           // declared string
  solver::Rational Real(const std::string& attribute) const;      // declared real
  bool IsNone(const std::string& attribute) const;
};

struct NativeOperator {
  std::string name;
  std::string signature;  // in the manner of a declaration, for people
  std::string documentation;
  size_t min_operands = 1;
  size_t max_operands = 1;  // SIZE_MAX: any number
  std::vector<AttributeDeclaration> attributes;
  std::function<absl::StatusOr<IndexFunction>(const NativeCall&)> instantiate;
};

// "dim: int = -1, ignore inplace, only rounding_mode = none" as in a declaration.
std::vector<AttributeDeclaration> ParseAttributes(const std::string& text);

// All of them, by family.
void AddMovementOperators(std::vector<NativeOperator>* operators);
void AddReshapeOperators(std::vector<NativeOperator>* operators);
void AddJoinOperators(std::vector<NativeOperator>* operators);
void AddConversionOperators(std::vector<NativeOperator>* operators);
void AddContractionOperators(std::vector<NativeOperator>* operators);
void AddRoutingOperators(std::vector<NativeOperator>* operators);
void AddConvolutionOperators(std::vector<NativeOperator>* operators);
void AddPoolingOperators(std::vector<NativeOperator>* operators);
void AddGatherOperators(std::vector<NativeOperator>* operators);
void AddScatterOperators(std::vector<NativeOperator>* operators);
void AddRangeOperators(std::vector<NativeOperator>* operators);
void AddOrderOperators(std::vector<NativeOperator>* operators);

// What has been built, or why it is no index function.
absl::StatusOr<IndexFunction> Finish(IndexFunctionBuilder* builder);

// Reads an element of `input` as its element type says: an integer for integer tensors, else a
// real.
ExprId ReadElement(IndexFunctionBuilder* builder, int input, const std::vector<ExprId>& indices);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_NATIVE_OPERATORS_H_
