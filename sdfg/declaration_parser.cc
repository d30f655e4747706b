#include "sdfg/declaration_parser.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "sdfg/attribute_parser.h"
#include "sdfg/declaration_expression_parser.h"
#include "sdfg/declaration_lexer.h"

namespace planproof::sdfg {
namespace {

constexpr size_t kMaxDeclarations = 4096;
constexpr size_t kMaxList = 64;

class Parser {
 public:
  Parser(const std::vector<Token>& tokens, const std::string& text, const std::string& file)
      : text_(text), file_(file), cursor_(tokens, file) {}

  absl::StatusOr<std::vector<Declaration>> File() {
    std::vector<Declaration> declarations;
    while (true) {
      std::string documentation;
      while (cursor_.Peek().kind == Token::Kind::kDocument) {
        documentation += cursor_.Take().text + "\n";
      }
      if (cursor_.Peek().kind == Token::Kind::kEnd) return declarations;
      if (declarations.size() >= kMaxDeclarations) {
        return cursor_.Error("too many declarations; expected at most 4096 in a file");
      }
      current_ = Declaration();
      current_.documentation = documentation;
      absl::Status status = One();
      if (!status.ok()) return status;
      declarations.push_back(std::move(current_));
    }
  }

 private:
  ExpressionParser Expressions() { return ExpressionParser(&cursor_, &current_.syntax); }

  absl::Status One() {
    size_t begin = cursor_.Peek().begin;
    current_.file = file_;
    current_.position = cursor_.Peek().position;
    if (!cursor_.TakeKeyword("op")) return cursor_.Unexpected("'op' to start a declaration");
    absl::StatusOr<std::string> name = OperatorName();
    if (!name.ok()) return name.status();
    current_.name = *name;
    while (current_.aliases.size() < kMaxList && cursor_.TakeSymbol(",")) {
      name = OperatorName();
      if (!name.ok()) return name.status();
      current_.aliases.push_back(*name);
    }
    absl::Status status = Operands();
    if (!status.ok()) return status;
    if (cursor_.TakeSymbol("{")) {
      absl::StatusOr<std::vector<AttributeDeclaration>> attributes =
          AttributeParser(&cursor_).List();
      if (!attributes.ok()) return attributes.status();
      current_.attributes = *std::move(attributes);
    }
    while (!cursor_.IsSymbol("->")) {
      status = Clause();
      if (!status.ok()) return status;
    }
    size_t end = begin;
    while (cursor_.TakeSymbol("->")) {
      status = Output();
      if (!status.ok()) return status;
      end = cursor_.Peek().begin;
    }
    if (!cursor_.IsKeyword("op") && cursor_.Peek().kind != Token::Kind::kEnd &&
        cursor_.Peek().kind != Token::Kind::kDocument) {
      return cursor_.Unexpected("an operator of the expression, '->' or the next 'op'");
    }
    current_.text = Source(begin, end);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> OperatorName() {
    if (cursor_.Peek().kind != Token::Kind::kString) {
      return cursor_.ExpectName("the operator's name");
    }
    if (cursor_.Peek().text.empty()) return cursor_.Error("the operator's name is empty");
    return cursor_.Take().text;
  }

  // The text of the declaration without trailing blanks and comment lines.
  std::string Source(size_t begin, size_t end) const {
    std::string out;
    size_t at = begin;
    while (at < end) {
      size_t line_end = text_.find('\n', at);
      if (line_end == std::string::npos || line_end > end) line_end = end;
      std::string line = text_.substr(at, line_end - at);
      size_t first = line.find_first_not_of(" \t\r");
      if (first != std::string::npos && line[first] != '#') {
        line.erase(line.find_last_not_of(" \t\r") + 1);
        out += (out.empty() ? "" : "\n") + line;
      }
      at = line_end + 1;
    }
    return out;
  }

  absl::Status Operands() {
    absl::Status status = cursor_.ExpectSymbol("(", "before the operands");
    if (!status.ok()) return status;
    if (cursor_.TakeSymbol(")")) return absl::OkStatus();
    do {
      OperandDeclaration operand;
      status = Tensor("an operand's name", &operand.pattern);
      if (!status.ok()) return status;
      if (cursor_.TakeSymbol(":")) {
        if (!cursor_.TakeKeyword("int")) return cursor_.Unexpected("'int' after ':'");
        operand.integer = true;
      }
      if (cursor_.TakeSymbol("?")) {
        operand.optional = true;
        if (cursor_.TakeSymbol("=")) {
          bool negative = cursor_.TakeSymbol("-");
          if (cursor_.Peek().kind != Token::Kind::kNumber) {
            return cursor_.Unexpected("the number that an absent operand reads as");
          }
          solver::Rational value = cursor_.Take().number;
          operand.default_value = negative ? -value : value;
        }
      } else if (!current_.operands.empty() && current_.operands.back().optional) {
        return cursor_.Error("operand '" + operand.pattern.name +
                             "' is not optional but follows an optional one; expected '?'");
      }
      current_.operands.push_back(std::move(operand));
    } while (current_.operands.size() < kMaxList && cursor_.TakeSymbol(","));
    return cursor_.ExpectSymbol(")", "or ',' after an operand");
  }

  absl::Status Tensor(const std::string& purpose, TensorPattern* pattern) {
    pattern->position = cursor_.Peek().position;
    absl::StatusOr<std::string> name = cursor_.ExpectName(purpose);
    if (!name.ok()) return name.status();
    pattern->name = *name;
    pattern->elementwise = !cursor_.TakeSymbol("[");
    if (pattern->elementwise || cursor_.TakeSymbol("]")) return absl::OkStatus();
    do {
      DimensionPattern dim;
      absl::Status status = Dimension(&dim);
      if (!status.ok()) return status;
      pattern->dims.push_back(std::move(dim));
      if (pattern->dims.size() == 1 && cursor_.IsSymbol("|")) {
        if (pattern->dims[0].kind != DimensionPattern::Kind::kPack) {
          return cursor_.Error("expected a pack such as i.. before '|'");
        }
        cursor_.Take();
        pattern->mixed = true;
        DimensionPattern placed;
        status = Dimension(&placed);
        if (!status.ok()) return status;
        if (placed.kind != DimensionPattern::Kind::kPack &&
            placed.kind != DimensionPattern::Kind::kIndex) {
          return cursor_.Error("expected an index or a pack after '|'");
        }
        pattern->dims.push_back(std::move(placed));
        break;
      }
    } while (pattern->dims.size() < kMaxList && cursor_.TakeSymbol(","));
    return cursor_.ExpectSymbol("]", "or ',' after a dimension of '" + pattern->name + "'");
  }

  absl::Status Dimension(DimensionPattern* dim) {
    dim->position = cursor_.Peek().position;
    if (cursor_.Peek().kind == Token::Kind::kNumber) {
      dim->kind = DimensionPattern::Kind::kLiteral;
      if (!cursor_.Peek().number.ToInt64(&dim->literal)) {
        return cursor_.Error("an extent must be an integer");
      }
      cursor_.Take();
      return absl::OkStatus();
    }
    if (cursor_.TakeSymbol("(")) {
      dim->kind = DimensionPattern::Kind::kComposite;
      while (!cursor_.IsSymbol(")") && dim->parts.size() < kMaxList) {
        DimensionPattern part;
        if (cursor_.IsSymbol("(")) return cursor_.Unexpected("an index in a composite dimension");
        absl::Status status = Dimension(&part);
        if (!status.ok()) return status;
        if (part.kind == DimensionPattern::Kind::kPack) {
          return cursor_.Error("a composite dimension cannot hold a pack; expected an index");
        }
        dim->parts.push_back(std::move(part));
      }
      if (dim->parts.empty()) return cursor_.Unexpected("an index in a composite dimension");
      return cursor_.ExpectSymbol(")", "to close the composite dimension");
    }
    absl::StatusOr<std::string> name =
        cursor_.ExpectName("an index, a pack such as b.., an extent or '('");
    if (!name.ok()) return name.status();
    dim->name = *name;
    if (cursor_.TakeSymbol("..")) {
      dim->kind = DimensionPattern::Kind::kPack;
      return absl::OkStatus();
    }
    if (cursor_.TakeSymbol(":")) {
      absl::StatusOr<SyntaxId> size = Expressions().Atom();
      if (!size.ok()) return size.status();
      dim->size = *size;
    }
    return absl::OkStatus();
  }

  absl::Status Clause() {
    TextPosition position = cursor_.Peek().position;
    if (current_.placements.size() + current_.definitions.size() + current_.premises.size() +
            current_.assumptions.size() + current_.when.size() >
        kMaxList) {
      return cursor_.Error("too many clauses; expected '->'");
    }
    if (cursor_.TakeKeyword("where")) return Placement(position);
    if (cursor_.TakeKeyword("let")) return Definition(position);
    if (cursor_.TakeKeyword("when")) return When();
    if (cursor_.TakeKeyword("ties")) return Ties();
    if (cursor_.TakeKeyword("stop_gradient")) {
      current_.stop_gradient = true;
      return absl::OkStatus();
    }
    if (cursor_.TakeKeyword("assume")) {
      if (cursor_.Peek().kind != Token::Kind::kString) return cursor_.Unexpected("a string");
      current_.assumptions.push_back(cursor_.Take().text);
      return absl::OkStatus();
    }
    if (cursor_.TakeKeyword("premise")) {
      PremiseClause premise;
      premise.position = position;
      absl::StatusOr<SyntaxId> condition = Expressions().Expression();
      if (!condition.ok()) return condition.status();
      premise.condition = *condition;
      if (cursor_.Peek().kind != Token::Kind::kString) {
        return cursor_.Unexpected("a string that says what the premise means");
      }
      premise.text = cursor_.Take().text;
      current_.premises.push_back(std::move(premise));
      return absl::OkStatus();
    }
    return cursor_.Unexpected(
        "'->' and the output, or a clause (where, when, let, ties, premise, assume)");
  }

  absl::Status Placement(TextPosition position) {
    PlacementClause clause;
    clause.position = position;
    absl::StatusOr<std::string> name = cursor_.ExpectName("an index or a pack");
    if (!name.ok()) return name.status();
    clause.index = *name;
    clause.pack = cursor_.TakeSymbol("..");
    if (!cursor_.TakeKeyword("at")) return cursor_.Unexpected("'at' and an attribute's name");
    name = cursor_.ExpectName("an attribute's name");
    if (!name.ok()) return name.status();
    clause.attribute = *name;
    if (cursor_.IsSymbol(",") && cursor_.IsKeyword("kept", 1)) {
      cursor_.Take();
      cursor_.Take();
      if (!cursor_.TakeKeyword("if")) return cursor_.Unexpected("'if' and an attribute's name");
      name = cursor_.ExpectName("an attribute's name");
      if (!name.ok()) return name.status();
      clause.keep = *name;
    }
    current_.placements.push_back(std::move(clause));
    return absl::OkStatus();
  }

  absl::Status Definition(TextPosition position) {
    DefinitionClause clause;
    clause.position = position;
    absl::StatusOr<std::string> name = cursor_.ExpectName("a name to define");
    if (!name.ok()) return name.status();
    clause.name = *name;
    if (cursor_.TakeSymbol("[")) {
      do {
        name = cursor_.ExpectName("a parameter");
        if (!name.ok()) return name.status();
        clause.parameters.push_back(*name);
      } while (clause.parameters.size() < kMaxList && cursor_.TakeSymbol(","));
      absl::Status status = cursor_.ExpectSymbol("]", "or ',' after a parameter");
      if (!status.ok()) return status;
    }
    absl::Status status = cursor_.ExpectSymbol("=", "and the definition");
    if (!status.ok()) return status;
    absl::StatusOr<SyntaxId> body = Expressions().Expression();
    if (!body.ok()) return body.status();
    clause.body = *body;
    current_.definitions.push_back(std::move(clause));
    return absl::OkStatus();
  }

  absl::Status When() {
    do {
      absl::StatusOr<std::string> name = cursor_.ExpectName("an attribute's name");
      if (!name.ok()) return name.status();
      absl::Status status = cursor_.ExpectSymbol("=", "and a value");
      if (!status.ok()) return status;
      absl::StatusOr<AttributeValue> value = AttributeParser(&cursor_).Value();
      if (!value.ok()) return value.status();
      current_.when.emplace_back(*name, *value);
    } while (current_.when.size() < kMaxList && cursor_.TakeSymbol(","));
    return absl::OkStatus();
  }

  absl::Status Ties() {
    for (TieRule tie : {TieRule::kFirst, TieRule::kEven, TieRule::kAll, TieRule::kZero}) {
      if (cursor_.TakeKeyword(TieRuleName(tie))) {
        current_.tie = tie;
        return absl::OkStatus();
      }
    }
    if (cursor_.TakeKeyword("none")) {
      current_.no_tie_rule = true;
      return absl::OkStatus();
    }
    return cursor_.Unexpected("a tie rule: first, even, all, zero or none");
  }

  absl::Status Output() {
    if (current_.outputs.size() >= kMaxList) {
      return cursor_.Error("too many outputs; expected at most 64");
    }
    OutputDeclaration output;
    absl::Status status = Tensor("an output's name", &output.pattern);
    if (!status.ok()) return status;
    if (cursor_.TakeSymbol(":")) {
      if (cursor_.TakeKeyword("like")) {
        absl::StatusOr<std::string> name = cursor_.ExpectName("an operand's name");
        if (!name.ok()) return name.status();
        output.dtype_like = *name;
      } else {
        output.dtype = cursor_.Peek().kind == Token::Kind::kName
                           ? DTypeFromName(cursor_.Peek().text)
                           : DType::kUnknown;
        if (output.dtype == DType::kUnknown) {
          return cursor_.Unexpected("an element type such as int64, or 'like' and an operand");
        }
        cursor_.Take();
      }
    }
    status = cursor_.ExpectSymbol("=", "and the output's elements");
    if (!status.ok()) return status;
    absl::StatusOr<SyntaxId> body = Expressions().Expression();
    if (!body.ok()) return body.status();
    output.body = *body;
    current_.outputs.push_back(std::move(output));
    return absl::OkStatus();
  }

  const std::string& text_;
  const std::string& file_;
  TokenCursor cursor_;
  Declaration current_;
};

}  // namespace

absl::StatusOr<std::vector<Declaration>> ParseDeclarations(const std::string& text,
                                                           const std::string& file) {
  absl::StatusOr<std::vector<Token>> tokens = Tokenize(text, file);
  if (!tokens.ok()) return tokens.status();
  return Parser(*tokens, text, file).File();
}

}  // namespace planproof::sdfg
