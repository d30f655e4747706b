// Splits the declaration language into tokens.
#ifndef PLANPROOF_SDFG_DECLARATION_LEXER_H_
#define PLANPROOF_SDFG_DECLARATION_LEXER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/declaration_ast.h"
#include "solver/rational.h"

namespace planproof::sdfg {

struct Token {
  enum class Kind : uint8_t {
    kName,      // identifier or keyword
    kNumber,    // 12, 0.5, 1e-5
    kString,    // "text"
    kSymbol,    // ( ) [ ] { } , : = -> .. + - * / // % ^ < <= > >= == != ? |
    kDocument,  // a line that starts with ##; text without the marks
    kEnd,
  } kind = Kind::kEnd;
  std::string text;
  solver::Rational number;
  TextPosition position;
  size_t begin = 0;  // byte offsets in the source
  size_t end = 0;
};

// Splits `text` into tokens; the last one is kEnd. `# ...` is a comment. Errors name file, line and
// column. The text may have at most 1 MiB.
absl::StatusOr<std::vector<Token>> Tokenize(const std::string& text, const std::string& file);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_DECLARATION_LEXER_H_
