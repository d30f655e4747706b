// Checks a parsed declaration statically: every name means something, every read fits its operand.
#ifndef PLANPROOF_SDFG_DECLARATION_CHECK_H_
#define PLANPROOF_SDFG_DECLARATION_CHECK_H_

#include "absl/status/status.h"
#include "sdfg/declaration_ast.h"

namespace planproof::sdfg {

// What instantiation may rely on: operands, attributes, definitions and indices have distinct
// names; definitions use earlier ones only; reads have the number of indices that the operand has
// (where no pack leaves it open); calls have the right number of arguments; tie rules are declared
// where a derivative needs one. Error: "FILE:LINE:COLUMN: what is wrong; what is expected".
absl::Status CheckDeclaration(const Declaration& declaration);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_DECLARATION_CHECK_H_
