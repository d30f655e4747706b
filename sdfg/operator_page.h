// Reference pages of operators, in Markdown.
#ifndef PLANPROOF_SDFG_OPERATOR_PAGE_H_
#define PLANPROOF_SDFG_OPERATOR_PAGE_H_

#include <string>
#include <vector>

#include "sdfg/declaration_ast.h"
#include "sdfg/native_operators.h"

namespace planproof::sdfg {

// The page of a declared operator with all its alternatives.
std::string DeclaredPage(const std::vector<Declaration>& alternatives);
std::string NativePage(const NativeOperator& native);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_OPERATOR_PAGE_H_
