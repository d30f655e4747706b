// Parses the expressions inside a declaration, and has the token cursor that the parser of
// declarations shares.
#ifndef PLANPROOF_SDFG_DECLARATION_EXPRESSION_PARSER_H_
#define PLANPROOF_SDFG_DECLARATION_EXPRESSION_PARSER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sdfg/declaration_ast.h"
#include "sdfg/declaration_lexer.h"

namespace planproof::sdfg {

class TokenCursor {
 public:
  TokenCursor(const std::vector<Token>& tokens, const std::string& file)
      : tokens_(tokens), file_(file) {}

  const Token& Peek(size_t ahead = 0) const;
  const Token& Take();
  bool IsSymbol(const char* symbol, size_t ahead = 0) const;
  bool IsKeyword(const char* keyword, size_t ahead = 0) const;
  bool TakeSymbol(const char* symbol);  // false, and nothing taken, if it is something else
  bool TakeKeyword(const char* keyword);
  absl::Status ExpectSymbol(const char* symbol, const std::string& purpose);
  absl::StatusOr<std::string> ExpectName(const std::string& purpose);
  // "FILE:LINE:COLUMN: MESSAGE" at the next token.
  absl::Status Error(const std::string& message) const;
  // "found X; expected PURPOSE" at the next token.
  absl::Status Unexpected(const std::string& purpose) const;
  size_t position() const { return at_; }
  void Rewind(size_t position) { at_ = position; }

 private:
  const std::vector<Token>& tokens_;
  const std::string& file_;
  size_t at_ = 0;
};

// Precedence, loosest first: or, and, not, comparison, + -, * / // %, unary -, ^.
class ExpressionParser {
 public:
  ExpressionParser(TokenCursor* cursor, std::vector<Syntax>* syntax)
      : cursor_(*cursor), syntax_(*syntax) {}

  absl::StatusOr<SyntaxId> Expression();  // any
  absl::StatusOr<SyntaxId> Sum();         // no comparison, as for extents
  absl::StatusOr<SyntaxId> Atom();        // a name, a number or a parenthesis

 private:
  absl::StatusOr<SyntaxId> Conjunction();
  absl::StatusOr<SyntaxId> Negation();
  absl::StatusOr<SyntaxId> Comparison();
  absl::StatusOr<SyntaxId> Product();
  absl::StatusOr<SyntaxId> Unary();
  absl::StatusOr<SyntaxId> Power();
  absl::StatusOr<SyntaxId> Named();
  absl::StatusOr<SyntaxId> Read(const Token& name);
  absl::StatusOr<IndexItem> Item();
  // True if "binders :" follows; they are then in `binders`. Otherwise nothing was taken.
  absl::StatusOr<bool> Binders(std::vector<Binder>* binders);
  absl::StatusOr<SyntaxId> BinaryChain(const std::vector<const char*>& operators,
                                       absl::StatusOr<SyntaxId> (ExpressionParser::*operand)());
  absl::StatusOr<SyntaxId> Add(Syntax node);

  TokenCursor& cursor_;
  std::vector<Syntax>& syntax_;
  int depth_ = 0;
};

bool IsReservedWord(const std::string& name);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_DECLARATION_EXPRESSION_PARSER_H_
