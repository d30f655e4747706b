#include "sdfg/declaration_check.h"

#include <set>
#include <string>
#include <vector>

#include "sdfg/declaration_expression_parser.h"
#include "sdfg/declaration_value.h"

namespace planproof::sdfg {
namespace {

using Kind = DimensionPattern::Kind;
using Names = std::set<std::string>;

// Names of indices and packs that are in scope.
struct Visible {
  Names indices;
  Names packs;
};

class DeclarationChecker {
 public:
  explicit DeclarationChecker(const Declaration& declaration) : d_(declaration) {}

  absl::Status Run() {
    if (d_.outputs.empty()) return Error(d_.position, "no output; expected '->'");
    for (auto check : {&DeclarationChecker::CheckSignature, &DeclarationChecker::CheckPlacements,
                       &DeclarationChecker::CheckOutputs, &DeclarationChecker::CheckDefinitions,
                       &DeclarationChecker::CheckBodies}) {
      absl::Status status = (this->*check)();
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Error(TextPosition at, const std::string& message) const {
    return absl::InvalidArgumentError(d_.Where(at) + ": " + message);
  }

  absl::Status Distinct(const std::string& name, TextPosition at) {
    if (ValueArithmetic::IsFunction(name) || name == "where" || name == "extent") {
      return Error(at, "'" + name + "' is a function of the language; expected another name");
    }
    if (!names_.insert(name).second) {
      return Error(at, "'" + name + "' is declared twice; expected distinct names");
    }
    return absl::OkStatus();
  }

  absl::Status CheckSignature() {
    Names attributes;
    for (const AttributeDeclaration& attribute : d_.attributes) {
      if (!attributes.insert(attribute.name).second) {
        return Error(attribute.position, "attribute '" + attribute.name + "' is declared twice");
      }
      // Others are not read: an operand may have the same name.
      if (attribute.kind != AttributeDeclaration::Kind::kValue) continue;
      absl::Status status = Distinct(attribute.name, attribute.position);
      if (!status.ok()) return status;
      attributes_.insert(attribute.name);
    }
    for (const OperandDeclaration& operand : d_.operands) {
      absl::Status status = Distinct(operand.pattern.name, operand.pattern.position);
      if (!status.ok()) return status;
      elementwise_ = elementwise_ || operand.pattern.elementwise;
      for (const DimensionPattern& dim : operand.pattern.dims) CollectDimension(dim);
    }
    for (const DefinitionClause& definition : d_.definitions) {
      absl::Status status = Distinct(definition.name, definition.position);
      if (!status.ok()) return status;
    }
    for (const std::string& name : operand_indices_.indices) {
      if (names_.count(name) != 0) {
        return Error(d_.position, "'" + name +
                                      "' is both an index and the name of an operand, "
                                      "attribute or definition; expected distinct names");
      }
    }
    for (const auto& [name, value] : d_.when) {
      if (attributes_.count(name) == 0) {
        return Error(d_.position, "'when' names " + name + ", which is no attribute");
      }
    }
    return absl::OkStatus();
  }

  void CollectDimension(const DimensionPattern& dim) {
    if (dim.kind == Kind::kIndex) operand_indices_.indices.insert(dim.name);
    if (dim.kind == Kind::kPack) operand_indices_.packs.insert(dim.name);
    for (const DimensionPattern& part : dim.parts) CollectDimension(part);
  }

  absl::Status CheckPlacements() {
    for (const PlacementClause& clause : d_.placements) {
      for (const std::string& attribute : {clause.attribute, clause.keep}) {
        if (!attribute.empty() && attributes_.count(attribute) == 0) {
          return Error(clause.position, "'" + attribute + "' is no attribute of the operator");
        }
      }
    }
    for (const OperandDeclaration& operand : d_.operands) {
      if (!operand.pattern.mixed) continue;
      const DimensionPattern& placed = operand.pattern.dims[1];
      bool found = false;
      for (const PlacementClause& clause : d_.placements) {
        if (clause.index != placed.name) continue;
        found = clause.pack == (placed.kind == Kind::kPack);
      }
      if (!found) {
        return Error(placed.position, "nothing says which dimensions are " + placed.name +
                                          "; expected 'where " + placed.name +
                                          (placed.kind == Kind::kPack ? ".." : "") +
                                          " at' and an attribute");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckOutputs() {
    Names outputs;
    for (const OutputDeclaration& output : d_.outputs) {
      const TensorPattern& pattern = output.pattern;
      if (!outputs.insert(pattern.name).second) {
        return Error(pattern.position, "output '" + pattern.name + "' is declared twice");
      }
      if (pattern.elementwise && !elementwise_) {
        return Error(pattern.position, "output '" + pattern.name +
                                           "' has no brackets, but no operand is elementwise; "
                                           "expected its dimensions");
      }
      if (!output.dtype_like.empty() && FindOperand(output.dtype_like) == nullptr) {
        return Error(pattern.position, "'" + output.dtype_like + "' is no operand");
      }
      for (const DimensionPattern& dim : pattern.dims) {
        if (dim.kind == Kind::kPack && operand_indices_.packs.count(dim.name) == 0) {
          return Error(dim.position, dim.name + ".. stands in no operand");
        }
        for (const DimensionPattern& part : dim.parts) {
          if (names_.count(part.name)) {
            return Error(part.position, "'" + part.name + "' is not the name of an index");
          }
        }
        if (dim.kind == Kind::kIndex && names_.count(dim.name)) {
          return Error(dim.position, "'" + dim.name + "' is not the name of an index");
        }
      }
    }
    return absl::OkStatus();
  }

  Visible OutputScope(const OutputDeclaration& output) const {
    Visible visible;
    for (const DimensionPattern& dim : output.pattern.dims) {
      if (dim.kind == Kind::kIndex) visible.indices.insert(dim.name);
      if (dim.kind == Kind::kPack) visible.packs.insert(dim.name);
      for (const DimensionPattern& part : dim.parts) {
        if (part.kind == Kind::kIndex) visible.indices.insert(part.name);
      }
    }
    return visible;
  }

  // A definition may use indices of any output; whether the output at hand has them shows when it
  // is used there.
  absl::Status CheckDefinitions() {
    Visible all;
    for (const OutputDeclaration& output : d_.outputs) {
      Visible visible = OutputScope(output);
      all.indices.insert(visible.indices.begin(), visible.indices.end());
      all.packs.insert(visible.packs.begin(), visible.packs.end());
    }
    for (size_t i = 0; i < d_.definitions.size(); ++i) {
      definitions_visible_ = i;
      Visible visible = all;
      visible.indices.insert(d_.definitions[i].parameters.begin(),
                             d_.definitions[i].parameters.end());
      absl::Status status = Check(d_.definitions[i].body, visible);
      if (!status.ok()) return status;
    }
    definitions_visible_ = d_.definitions.size();
    return absl::OkStatus();
  }

  absl::Status CheckBodies() {
    for (const OutputDeclaration& output : d_.outputs) {
      absl::Status status = Check(output.body, OutputScope(output));
      if (!status.ok()) return status;
    }
    for (const PremiseClause& premise : d_.premises) {
      absl::Status status = Check(premise.condition, OutputScope(d_.outputs[0]));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  const OperandDeclaration* FindOperand(const std::string& name) const {
    for (const OperandDeclaration& operand : d_.operands) {
      if (operand.pattern.name == name) return &operand;
    }
    return nullptr;
  }

  const DefinitionClause* FindDefinition(const std::string& name) const {
    for (size_t i = 0; i < definitions_visible_; ++i) {
      if (d_.definitions[i].name == name) return &d_.definitions[i];
    }
    return nullptr;
  }

  absl::Status Unknown(const Syntax& node, const std::string& expected, const Visible& visible) {
    std::vector<std::string> known(names_.begin(), names_.end());
    known.insert(known.end(), visible.indices.begin(), visible.indices.end());
    std::string near = Nearest(node.name, known);
    std::string message = "'" + node.name + "' is not known here; expected " + expected;
    if (!near.empty() && near != node.name) message += "; did you mean '" + near + "'?";
    return Error(node.position, message);
  }

  absl::Status Check(SyntaxId id, const Visible& visible) {
    const Syntax& node = d_.syntax[id];
    switch (node.kind) {
      case Syntax::Kind::kName:
        return CheckName(node, visible);
      case Syntax::Kind::kRead: {
        absl::Status status = CheckRead(node, visible);
        if (!status.ok()) return status;
        break;
      }
      case Syntax::Kind::kCall: {
        if (node.name == "extent") return CheckExtent(node);
        absl::Status status = CheckCall(node);
        if (!status.ok()) return status;
        break;
      }
      case Syntax::Kind::kReduce:
        return CheckReduce(node, visible);
      case Syntax::Kind::kInfinity:
      case Syntax::Kind::kNumber:
      case Syntax::Kind::kUnary:
      case Syntax::Kind::kBinary:
      case Syntax::Kind::kIverson:
        break;
    }
    for (SyntaxId child : node.children) {
      absl::Status status = Check(child, visible);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status CheckName(const Syntax& node, const Visible& visible) {
    if (visible.indices.count(node.name) != 0 || attributes_.count(node.name) != 0) {
      return absl::OkStatus();
    }
    if (const DefinitionClause* definition = FindDefinition(node.name)) {
      if (definition->parameters.empty()) return absl::OkStatus();
      return Error(node.position, "'" + node.name + "' needs its indices in brackets");
    }
    const OperandDeclaration* operand = FindOperand(node.name);
    if (operand != nullptr && operand->pattern.elementwise) {
      if (d_.outputs[0].pattern.elementwise) return absl::OkStatus();
      return Error(node.position, "operand '" + node.name +
                                      "' has no brackets, but the output has; expected both with "
                                      "brackets or both without");
    }
    if (operand != nullptr) {
      return Error(node.position, "operand '" + node.name + "' needs its indices in brackets");
    }
    if (operand_indices_.indices.count(node.name) != 0) {
      return Error(node.position, "index '" + node.name +
                                      "' is not a dimension of the output; expected it under sum, "
                                      "mean, max or min");
    }
    return Unknown(node, "an index, an attribute, an operand or a definition", visible);
  }

  absl::Status CheckRead(const Syntax& node, const Visible& visible) {
    for (const IndexItem& item : node.items) {
      if (item.kind == IndexItem::Kind::kPack && visible.packs.count(item.name) == 0) {
        return Error(item.position, item.name +
                                        ".. is not known here; expected a pack of the "
                                        "output or one bound by a reduction");
      }
      for (SyntaxId part : item.parts) {
        absl::Status status = Check(part, visible);
        if (!status.ok()) return status;
      }
    }
    if (const DefinitionClause* definition = FindDefinition(node.name)) {
      if (definition->parameters.size() == node.items.size()) return absl::OkStatus();
      return Error(node.position, "'" + node.name + "' is defined with " +
                                      std::to_string(definition->parameters.size()) + " indices");
    }
    const OperandDeclaration* operand = FindOperand(node.name);
    if (operand == nullptr) return Unknown(node, "an operand", visible);
    if (operand->pattern.elementwise) {
      return Error(node.position,
                   "operand '" + node.name + "' is declared without brackets; expected it without");
    }
    if (operand->pattern.mixed != node.mixed) {
      return Error(node.position, "operand '" + node.name + "' is declared with" +
                                      (node.mixed ? "out" : "") + " '|'; expected the same here");
    }
    bool open = false;
    for (const DimensionPattern& dim : operand->pattern.dims) open |= dim.kind == Kind::kPack;
    for (const IndexItem& item : node.items) open |= item.kind == IndexItem::Kind::kPack;
    if (open || operand->pattern.dims.size() == node.items.size()) return absl::OkStatus();
    return Error(node.position,
                 "operand '" + node.name + "' has " + std::to_string(operand->pattern.dims.size()) +
                     " dimensions, but is read with " + std::to_string(node.items.size()) +
                     " indices; expected one index for each dimension");
  }

  absl::Status CheckExtent(const Syntax& node) const {
    bool fits = node.children.size() == 1 &&
                d_.syntax[node.children[0]].kind == Syntax::Kind::kName &&
                operand_indices_.indices.count(d_.syntax[node.children[0]].name) != 0;
    if (fits) return absl::OkStatus();
    return Error(node.position, "expected extent(k) of an index k of an operand");
  }

  absl::Status CheckCall(const Syntax& node) {
    size_t count = node.children.size();
    if (node.name == "max" || node.name == "min") {
      if (count < 2) {
        return Error(node.position, "'" + node.name +
                                        "' of one value; expected two or more, or "
                                        "a reduction such as max(k: x[k])");
      }
      return NeedTie(node);
    }
    if (node.name == "where") {
      if (count == 3) return absl::OkStatus();
      return Error(node.position, "expected where(condition, value, value)");
    }
    if (node.name == "sum" || node.name == "mean") {
      return Error(node.position, "expected the indices of the reduction, such as sum(k: x[k])");
    }
    if (!ValueArithmetic::IsFunction(node.name)) {
      return Error(node.position,
                   "'" + node.name +
                       "' is no function; expected exp, log, sqrt, rsqrt, erf, tanh, sigmoid, sin, "
                       "cos, abs, max, min, where, extent, sum, mean");
    }
    if (count != 1) return Error(node.position, "'" + node.name + "' takes one value");
    return node.name == "abs" ? NeedTie(node) : absl::OkStatus();
  }

  absl::Status NeedTie(const Syntax& node) const {
    if (d_.tie != TieRule::kNone || d_.no_tie_rule) return absl::OkStatus();
    return Error(node.position, "'" + node.name +
                                    "' has a kink; expected a clause 'ties first', 'ties even', "
                                    "'ties all', 'ties zero' or 'ties none' (no derivative)");
  }

  absl::Status CheckReduce(const Syntax& node, const Visible& visible) {
    if (node.name != "sum" && node.name != "mean" && node.name != "max" && node.name != "min") {
      return Error(node.position,
                   "'" + node.name + "' is no reduction; expected sum, mean, max or min");
    }
    if (node.children.size() != 1) {
      return Error(node.position, "a reduction has one body; expected ')' after it");
    }
    if (node.name == "max" || node.name == "min") {
      absl::Status status = NeedTie(node);
      if (!status.ok()) return status;
    }
    Visible inner = visible;
    for (const Binder& binder : node.binders) {
      Names& scope = binder.pack ? inner.packs : inner.indices;
      if (!scope.insert(binder.name).second || names_.count(binder.name) != 0) {
        return Error(binder.position,
                     "'" + binder.name + "' already means something here; expected a new name");
      }
      if (binder.pack && operand_indices_.packs.count(binder.name) == 0 &&
          PacksAt(d_, node.children[0], binder.name).empty()) {
        return Error(binder.position, binder.name + ".. stands in no operand");
      }
    }
    return Check(node.children[0], inner);
  }

  const Declaration& d_;
  Names names_;       // operands, attributes, definitions
  Names attributes_;  // those that have a value
  Visible operand_indices_;
  bool elementwise_ = false;
  size_t definitions_visible_ = 0;
};

}  // namespace

absl::Status CheckDeclaration(const Declaration& declaration) {
  return DeclarationChecker(declaration).Run();
}

}  // namespace planproof::sdfg
