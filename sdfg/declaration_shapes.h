// Matches the index names and packs of a declaration against concrete operand shapes, which gives
// extents.
#ifndef PLANPROOF_SDFG_DECLARATION_SHAPES_H_
#define PLANPROOF_SDFG_DECLARATION_SHAPES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/declaration_ast.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {

// Where an `at` clause puts its index: positions within the operand's dimensions.
struct Placement {
  std::vector<int> positions;  // ascending
  int rank = 0;                // of the operand
  bool kept = false;           // the output keeps these dimensions with extent 1
};

struct ShapeBinding {
  std::map<std::string, int64_t> extents;  // of indices
  std::map<std::string, std::vector<int64_t>> packs;
  std::map<std::string, Placement> placements;  // by placed index
  Shape broadcast;                              // of the elementwise operands
};

// Matches the operands (as many as declared; absent ones are skipped). InvalidArgument names
// operator, operand and the extents that disagree.
absl::StatusOr<ShapeBinding> BindShapes(const Declaration& declaration,
                                        const std::vector<Operand>& operands,
                                        const Attributes& attributes);

// An extent expression: integers, attributes and extent(k) under + - * // %.
absl::StatusOr<int64_t> EvaluateExtent(const Declaration& declaration, SyntaxId id,
                                       const Attributes& attributes, const ShapeBinding& binding);

// "[2, 3]".
std::string ShapeText(const Shape& shape);

// Dimension numbers of an attribute (an integer, a list, or none for all), counted from the end if
// negative, sorted. Errors: out of range, given twice.
absl::StatusOr<std::vector<int>> DimensionNumbers(const std::string& operator_name,
                                                  const std::string& attribute,
                                                  const AttributeValue& value, int rank);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_DECLARATION_SHAPES_H_
