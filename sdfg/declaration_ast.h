// Represents a parsed operator declaration (docs/operator-language.md has the language).
//
// The tree is plain data: expressions live in one vector and refer to each other by position, so
// nothing here owns or walks pointers. Names are resolved by the checker (declaration_check.h) and
// given a meaning for concrete shapes by declaration_instantiate.h.
#ifndef PLANPROOF_SDFG_DECLARATION_AST_H_
#define PLANPROOF_SDFG_DECLARATION_AST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sdfg/index_function.h"
#include "sdfg/operator_library.h"
#include "sdfg/types.h"
#include "solver/rational.h"

namespace planproof::sdfg {

struct TextPosition {
  int line = 0;
  int column = 0;
};

using SyntaxId = int32_t;  // position in Declaration::syntax
inline constexpr SyntaxId kNoSyntax = -1;

// One entry of a bracket in an expression: x[b.., 2*i + 1, (h d 3)].
struct IndexItem {
  enum class Kind : uint8_t {
    kExpression,  // parts[0]
    kPack,        // name..
    kComposite,   // (parts[0] parts[1] ...), most significant first
  } kind = Kind::kExpression;
  std::string name;
  std::vector<SyntaxId> parts;
  TextPosition position;
};

// The index variables of a reduction: sum(k: ...), sum(r..: ...), sum(e < n: ...).
struct Binder {
  std::string name;
  bool pack = false;
  SyntaxId bound = kNoSyntax;  // explicit extent
  TextPosition position;
};

struct Syntax {
  enum class Kind : uint8_t {
    kNumber,    // number
    kInfinity,  // infinity; only -inf has a meaning
    kName,      // an index, an attribute, an elementwise operand or a definition
    kRead,      // name[items]; mixed if the bracket is "pack | item"
    kCall,      // name(children)
    kReduce,    // name(binders: children[0])
    kUnary,     // name is "-" or "not"
    kBinary,    // name is the operator's text
    kIverson,   // [children[0]]
  } kind = Kind::kNumber;
  TextPosition position;
  std::string name;
  solver::Rational number;
  std::vector<SyntaxId> children;
  std::vector<IndexItem> items;
  bool mixed = false;
  std::vector<Binder> binders;
};

// One dimension of an operand or output: k, b.., 2, c:2, (h d c:3).
struct DimensionPattern {
  enum class Kind : uint8_t { kIndex, kPack, kLiteral, kComposite } kind = Kind::kIndex;
  std::string name;                     // kIndex, kPack
  SyntaxId size = kNoSyntax;            // kIndex: declared extent
  int64_t literal = 0;                  // kLiteral
  std::vector<DimensionPattern> parts;  // kComposite: kIndex or kLiteral each
  TextPosition position;
};

struct TensorPattern {
  std::string name;
  bool elementwise = false;  // no brackets: any shape, broadcast against the others
  bool mixed = false;        // [pack | item]: dims[1] stands at positions told by an `at` clause
  std::vector<DimensionPattern> dims;
  TextPosition position;
};

struct OperandDeclaration {
  TensorPattern pattern;
  bool optional = false;
  solver::Rational default_value;  // what an absent optional operand reads as
  bool integer = false;            // declared `: int`
};

struct OutputDeclaration {
  TensorPattern pattern;
  DType dtype = DType::kUnknown;  // declared `: int64`; kUnknown: promoted from the operands
  std::string dtype_like;         // declared `: like x`
  SyntaxId body = kNoSyntax;
};

enum class AttributeType : uint8_t {
  kAny,
  kInt,
  kReal,
  kBool,
  kString,
  kInts,       // a single integer counts as a list of one
  kIntOrInts,  // a single integer is something else than a list of one
  kIntsOrString,
  kDType,   // the name of an element type; its value is DTypeName's
  kDevice,  // "cuda", "cuda:3", 3
  kDTypeOrDevice,
};

// low <= number, and number <= high if it ends `with_high`, else number < high.
struct NumberInterval {
  solver::Rational low;
  std::optional<solver::Rational> high;
  bool with_high = false;
};

struct AttributeDeclaration {
  enum class Kind : uint8_t {
    kValue,   // read by the declaration
    kIgnore,  // has no influence on the values computed
    kOnly,    // must have exactly the value `fallback`
  } kind = Kind::kValue;
  std::string name;
  AttributeType type = AttributeType::kAny;
  std::vector<AttributeValue> choices;     // a closed list; empty: every value of the type
  std::optional<NumberInterval> interval;  // of every number
  bool required = false;
  AttributeValue fallback;  // always accepted
  TextPosition position;
};

// where r.. at dim, kept if keepdim
struct PlacementClause {
  std::string index;
  bool pack = false;
  std::string attribute;
  std::string keep;  // attribute that keeps the dimensions with extent 1; empty: none
  TextPosition position;
};

struct DefinitionClause {  // let e[j] = ...
  std::string name;
  std::vector<std::string> parameters;
  SyntaxId body = kNoSyntax;
  TextPosition position;
};

struct PremiseClause {
  SyntaxId condition = kNoSyntax;
  std::string text;
  TextPosition position;
};

struct Declaration {
  std::string name;
  std::vector<std::string> aliases;
  std::string documentation;  // the ## lines before it
  std::string text;           // as written, for the reference page
  std::string file;
  TextPosition position;
  std::vector<OperandDeclaration> operands;
  std::vector<AttributeDeclaration> attributes;
  std::vector<std::pair<std::string, AttributeValue>> when;
  std::vector<PlacementClause> placements;
  std::vector<DefinitionClause> definitions;
  std::vector<PremiseClause> premises;
  std::vector<std::string> assumptions;
  std::vector<OutputDeclaration> outputs;
  TieRule tie = TieRule::kNone;
  bool no_tie_rule = false;  // `ties none`: it has a kink, and no derivative there
  bool stop_gradient = false;
  std::vector<Syntax> syntax;

  std::string Where(TextPosition at) const;  // FILE:LINE:COLUMN
};

// "dim = (1, 2)", "none", "true", "\"mean\"": an attribute value as the language writes it.
std::string AttributeText(const AttributeValue& value);
const char* TieRuleName(TieRule tie);
// Element of `names` nearest to `name` by spelling, or empty if none is near.
std::string Nearest(const std::string& name, const std::vector<std::string>& names);

// The packs of operands at which the pack `name` stands in reads below `expression`.
std::vector<std::string> PacksAt(const Declaration& declaration, SyntaxId expression,
                                 const std::string& name);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_DECLARATION_AST_H_
