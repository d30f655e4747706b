// Applies a declaration to concrete shapes and attributes, which gives its index function.
#ifndef PLANPROOF_SDFG_DECLARATION_INSTANTIATE_H_
#define PLANPROOF_SDFG_DECLARATION_INSTANTIATE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/declaration_ast.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {

// `attributes` are resolved (operator_attributes.h). Operands may be fewer than declared if the
// rest is optional. The declaration must have passed CheckDeclaration.
absl::StatusOr<IndexFunction> InstantiateDeclaration(const Declaration& declaration,
                                                     const std::vector<Operand>& operands,
                                                     const Attributes& attributes);

// The element type of a result of these operands: the widest floating type if there is one, else
// the widest integer type, else that of the first tensor.
DType PromotedType(const std::vector<Operand>& operands);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_DECLARATION_INSTANTIATE_H_
