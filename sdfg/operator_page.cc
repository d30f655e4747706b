// Reference pages of operators, in Markdown.
#include <set>
#include <string>
#include <vector>

#include "sdfg/declaration_ast.h"
#include "sdfg/native_operators.h"
#include "sdfg/operator_attributes.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {
namespace {

void AddAttributes(const std::vector<AttributeDeclaration>& attributes, std::string* page) {
  if (attributes.empty()) return;
  *page += "\n| attribute | values | default | |\n| --- | --- | --- | --- |\n";
  for (const AttributeDeclaration& attribute : attributes) {
    std::string note;
    if (attribute.kind == AttributeDeclaration::Kind::kIgnore) note = "no influence on the result";
    if (attribute.kind == AttributeDeclaration::Kind::kOnly) note = "no other value is declared";
    std::string fallback = attribute.required ? "required" : AttributeText(attribute.fallback);
    if (attribute.kind == AttributeDeclaration::Kind::kIgnore) fallback = "";
    *page += "| `" + attribute.name + "` | " + AttributeExpectation(attribute) + " | " + fallback +
             " | " + note + " |\n";
  }
}

void AddOperands(const std::vector<OperandDeclaration>& operands, std::string* page) {
  for (const OperandDeclaration& operand : operands) {
    *page += "- `" + operand.pattern.name + "`: ";
    *page += operand.pattern.elementwise ? "any shape, broadcast; may be a number" : "tensor";
    if (operand.integer) *page += " of integers";
    if (operand.optional) {
      *page += "; optional, absent reads as " + operand.default_value.ToString();
    }
    *page += "\n";
  }
}

std::string DeclaredPage(const std::vector<Declaration>& alternatives) {
  const Declaration& first = alternatives.front();
  std::string page = "## " + first.name + "\n\n";
  std::set<std::string> seen;
  for (const Declaration& declaration : alternatives) {
    if (!declaration.documentation.empty() && seen.insert(declaration.documentation).second) {
      page += declaration.documentation + "\n";
    }
    page += "```\n" + declaration.text + "\n```\n\n";
    AddOperands(declaration.operands, &page);
    AddAttributes(declaration.attributes, &page);
    page += "\n";
    for (const PremiseClause& premise : declaration.premises) {
      page += "Premise: " + premise.text + ".\n\n";
    }
    for (const std::string& assumption : declaration.assumptions) {
      page += "Assumption: " + assumption + ".\n\n";
    }
    if (declaration.tie != TieRule::kNone) {
      page += std::string("Ties in derivatives: ") + TieRuleName(declaration.tie) + ".\n\n";
    }
  }
  page += first.stop_gradient
              ? "Derivative: zero, by declaration.\n\n"
              : "Derivative: by reverse-mode differentiation of the declaration.\n\n";
  page += "Declared in " + first.file + ".\n";
  return page;
}

std::string NativePage(const NativeOperator& native) {
  std::string page = "## " + native.name + "\n\n" + native.documentation + "\n\n```\n" +
                     native.signature + "\n```\n";
  AddAttributes(native.attributes, &page);
  page += "\nDerivative: by reverse-mode differentiation of the index function.\n\n";
  page += "Instantiated by C++ (sdfg/native_operators*.cc).\n";
  return page;
}

}  // namespace

std::string OperatorLibrary::Page(const std::string& name) const {
  if (const auto* declarations = DeclarationsOf(name)) return DeclaredPage(*declarations);
  if (const NativeOperator* native = NativeOf(name)) return NativePage(*native);
  return "";
}

}  // namespace planproof::sdfg
