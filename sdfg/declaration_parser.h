// Parses operator declarations: text to trees, names not yet resolved.
#ifndef PLANPROOF_SDFG_DECLARATION_PARSER_H_
#define PLANPROOF_SDFG_DECLARATION_PARSER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/declaration_ast.h"

namespace planproof::sdfg {

// Parses a file of declarations. `file` is used in messages. On the first error:
// "FILE:LINE:COLUMN: what is wrong; what is expected". Nesting is limited, so hostile input cannot
// exhaust the stack.
absl::StatusOr<std::vector<Declaration>> ParseDeclarations(const std::string& text,
                                                           const std::string& file);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_DECLARATION_PARSER_H_
