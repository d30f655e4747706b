#include "sdfg/declaration_ast.h"

#include <algorithm>

namespace planproof::sdfg {

std::string Declaration::Where(TextPosition at) const {
  return file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

std::string AttributeText(const AttributeValue& value) {
  struct Printer {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t i) const { return std::to_string(i); }
    std::string operator()(const solver::Rational& r) const { return r.ToString(); }
    std::string operator()(const std::string& s) const { return "\"" + s + "\""; }
    std::string operator()(const std::vector<int64_t>& list) const {
      std::string out = "(";
      for (size_t i = 0; i < list.size(); ++i) {
        out += (i ? ", " : "") + std::to_string(list[i]);
      }
      return out + (list.size() == 1 ? ",)" : ")");
    }
  };
  return std::visit(Printer{}, value);
}

const char* TieRuleName(TieRule tie) {
  switch (tie) {
    case TieRule::kNone:
      return "none";
    case TieRule::kFirst:
      return "first";
    case TieRule::kEven:
      return "even";
    case TieRule::kAll:
      return "all";
    case TieRule::kZero:
      return "zero";
  }
  return "none";
}

namespace {

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1] ? 1 : 0)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Nearest(const std::string& name, const std::vector<std::string>& names) {
  std::string best;
  size_t best_distance = name.size() < 4 ? 2 : 3;  // strictly below is near
  if (name.size() > 64) return best;
  for (const std::string& candidate : names) {
    if (candidate.size() > 64) continue;
    size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::vector<std::string> PacksAt(const Declaration& declaration, SyntaxId expression,
                                 const std::string& name) {
  std::vector<std::string> packs;
  std::vector<SyntaxId> pending = {expression};
  while (!pending.empty()) {
    const Syntax& node = declaration.syntax[pending.back()];
    pending.pop_back();
    pending.insert(pending.end(), node.children.begin(), node.children.end());
    for (const OperandDeclaration& operand : declaration.operands) {
      const std::vector<DimensionPattern>& dims = operand.pattern.dims;
      if (operand.pattern.name != node.name || dims.size() != node.items.size()) continue;
      for (size_t k = 0; k < dims.size(); ++k) {
        if (node.items[k].kind == IndexItem::Kind::kPack && node.items[k].name == name &&
            dims[k].kind == DimensionPattern::Kind::kPack) {
          packs.push_back(dims[k].name);
        }
      }
    }
  }
  return packs;
}

}  // namespace planproof::sdfg
