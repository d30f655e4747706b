// Parses the attributes of a declaration:
//   {dim: ints = none, reduction in ("none", "mean", "sum") = "mean", p: real in [0, 1) = 0.5}
#ifndef PLANPROOF_SDFG_ATTRIBUTE_PARSER_H_
#define PLANPROOF_SDFG_ATTRIBUTE_PARSER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/declaration_ast.h"
#include "sdfg/declaration_expression_parser.h"

namespace planproof::sdfg {

class AttributeParser {
 public:
  explicit AttributeParser(TokenCursor* cursor) : cursor_(*cursor) {}

  // What stands after '{', up to and with '}'.
  absl::StatusOr<std::vector<AttributeDeclaration>> List();
  // 2, 1e-5, "mean", true, none or (1, 2).
  absl::StatusOr<AttributeValue> Value();

 private:
  absl::StatusOr<AttributeDeclaration> One();
  absl::Status Type(AttributeType* type);
  absl::Status Choices(AttributeDeclaration* attribute);
  absl::StatusOr<solver::Rational> SignedNumber();

  TokenCursor& cursor_;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_ATTRIBUTE_PARSER_H_
