// Holds the declared operators, and instantiates them to index functions.
//
// A declaration is one line of text (docs/operators.md has the language). Built-in declarations
// stand in sdfg/operators/*.op and are compiled in; a user's file adds more at run time. Operators
// that are no index expression in that language (view, concat, embedding by id, top-k) are C++
// instantiators registered under their name, with the same interface.
#ifndef PLANPROOF_SDFG_OPERATOR_LIBRARY_H_
#define PLANPROOF_SDFG_OPERATOR_LIBRARY_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sdfg/index_function.h"
#include "sdfg/types.h"
#include "solver/rational.h"

namespace planproof::sdfg {

struct Declaration;
struct NativeOperator;

// An attribute of an operator instance. Real numbers are exact.
using AttributeValue = std::variant<std::monostate, bool, int64_t, solver::Rational, std::string,
                                    std::vector<int64_t>>;
using Attributes = std::map<std::string, AttributeValue>;

// One actual operand: a tensor, a literal number, or absent (an optional operand left out).
struct Operand {
  enum class Kind : uint8_t { kTensor, kLiteral, kAbsent } kind = Kind::kTensor;
  Shape shape;                    // kTensor
  DType dtype = DType::kUnknown;  // kTensor
  solver::Rational literal;       // kLiteral
};

class OperatorLibrary {
 public:
  // The compiled-in operators. Parsed once, on first use.
  static const OperatorLibrary& BuiltIn();
  // A library that also knows what BuiltIn knows.
  static OperatorLibrary CopyOfBuiltIn();
  // A library that knows what this one knows.
  OperatorLibrary Copy() const;

  OperatorLibrary();
  ~OperatorLibrary();
  OperatorLibrary(OperatorLibrary&&);
  OperatorLibrary& operator=(OperatorLibrary&&);

  // Parses declarations. On error: "FILE:LINE:COLUMN: what is wrong; what is expected", and nothing
  // was added. Redefining a built-in name is an error.
  absl::Status AddDeclarations(const std::string& text, const std::string& file);

  bool Contains(const std::string& name) const;
  std::vector<std::string> Names() const;  // sorted
  // Reference page of one operator in Markdown: declaration, operands, attributes with defaults,
  // tie rule, derivative, source of the semantics. Empty if unknown.
  std::string Page(const std::string& name) const;

  // The index function of the operator applied to these operands. Only tensor operands become
  // inputs, in order; literals are built into its body. Errors: NotFound for an unknown operator;
  // InvalidArgument with operator, operand and the two extents that disagree for shapes.
  absl::StatusOr<IndexFunction> Instantiate(const std::string& name,
                                            const std::vector<Operand>& operands,
                                            const Attributes& attributes) const;

  // The attributes whose values are single numbers, of the declaration that these attributes
  // choose; empty if there is none.
  struct NumericAttribute {
    std::string name;
    bool whole = true;                         // an integer
    std::optional<solver::Rational> fallback;  // if it may be left out
  };
  std::vector<NumericAttribute> NumericAttributes(const std::string& name,
                                                  const Attributes& attributes) const;

  // True for operators that only rename, rearrange or copy elements of one input (identity,
  // transpose, view, slice): derived from the instantiated function, not declared.
  static bool IsDataMovement(const IndexFunction& function);

 private:
  // Null if there is none.
  const std::vector<Declaration>* DeclarationsOf(const std::string& name) const;
  const NativeOperator* NativeOf(const std::string& name) const;

  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared by copies until one of them changes
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_OPERATOR_LIBRARY_H_
