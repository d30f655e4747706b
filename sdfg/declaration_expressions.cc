#include "sdfg/declaration_expressions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "sdfg/index_digits.h"
#include "sdfg/index_range.h"
#include "sdfg/whole_numbers.h"

namespace planproof::sdfg {
namespace {

constexpr size_t kMaxInstanceNodes = 200000;  // of one instance: hostile definitions end here
constexpr int kMaxInstanceDepth = 1000;

}  // namespace

void ExpressionEvaluator::StartOutput(int number, const Scope& scope) {
  output_ = number;
  output_scope_ = scope;
}

ExpressionEvaluator::Values ExpressionEvaluator::At(TextPosition at, Values value) const {
  if (value.ok()) return value;
  std::string message(value.status().message());
  if (message.rfind("operator ", 0) == 0) return value;
  return instance_.Error(at, message);
}

ExpressionEvaluator::Values ExpressionEvaluator::Evaluate(SyntaxId id, const Scope& scope) {
  if (depth_ > kMaxInstanceDepth) {
    return instance_.Error(declaration_.syntax[id].position, "definitions nest too deeply");
  }
  ++depth_;
  Values value = EvaluateNode(id, scope);
  --depth_;
  return value;
}

ExpressionEvaluator::Values ExpressionEvaluator::EvaluateNode(SyntaxId id, const Scope& scope) {
  const Syntax& node = declaration_.syntax[id];
  if (instance_.builder.function().nodes.size() > kMaxInstanceNodes) {
    return instance_.Error(node.position,
                           "the instance has too many terms; expected at most 200000");
  }
  switch (node.kind) {
    case Syntax::Kind::kNumber:
      return ValueArithmetic::Constant(node.number);
    case Syntax::Kind::kInfinity:
      return instance_.Error(node.position, "only -inf is a value");
    case Syntax::Kind::kName:
      return Name(node, scope);
    case Syntax::Kind::kRead:
      return Read(node, scope);
    case Syntax::Kind::kCall:
      return Call(node, scope);
    case Syntax::Kind::kReduce:
      return Reduce(node, scope);
    case Syntax::Kind::kUnary: {
      const Syntax& child = declaration_.syntax[node.children[0]];
      if (node.name == "-" && child.kind == Syntax::Kind::kInfinity) {
        return ValueArithmetic::NegInf();
      }
      Values value = Evaluate(node.children[0], scope);
      if (!value.ok()) return value;
      return At(node.position,
                node.name == "-" ? arithmetic_.Negate(*value) : arithmetic_.Not(*value));
    }
    case Syntax::Kind::kBinary: {
      Values a = Evaluate(node.children[0], scope);
      if (!a.ok()) return a;
      Values b = Evaluate(node.children[1], scope);
      if (!b.ok()) return b;
      return At(node.position, arithmetic_.Binary(node.name, *a, *b));
    }
    case Syntax::Kind::kIverson: {
      Values value = Evaluate(node.children[0], scope);
      if (!value.ok()) return value;
      if (value->sort == Value::Sort::kTruth) return ValueArithmetic::Constant(value->truth);
      absl::StatusOr<ExprId> condition = arithmetic_.ToBool(*value);
      if (!condition.ok())
        return instance_.Error(node.position, std::string(condition.status().message()));
      return ValueArithmetic::Real(instance_.builder.Unary(Op::kIndicator, *condition));
    }
  }
  return instance_.Error(node.position, "unknown expression");
}

ExpressionEvaluator::Values ExpressionEvaluator::Name(const Syntax& node, const Scope& scope) {
  if (auto it = scope.indices.find(node.name); it != scope.indices.end()) {
    const Node& index = instance_.builder.node(it->second);
    if (index.op == Op::kIntConst) return ValueArithmetic::Constant(index.value);
    return ValueArithmetic::Int(it->second);
  }
  for (size_t i = 0; i < declaration_.definitions.size(); ++i) {
    if (declaration_.definitions[i].name == node.name) return Definition(static_cast<int>(i), {});
  }
  if (auto it = instance_.attributes.find(node.name); it != instance_.attributes.end()) {
    if (const auto* integer = std::get_if<int64_t>(&it->second)) {
      return ValueArithmetic::Constant(*integer);
    }
    if (const auto* real = std::get_if<solver::Rational>(&it->second)) {
      return ValueArithmetic::Constant(*real);
    }
    if (const auto* truth = std::get_if<bool>(&it->second)) {
      return ValueArithmetic::Truth(*truth);
    }
    return instance_.Error(node.position, "attribute " + node.name + " is " +
                                              AttributeText(it->second) + "; expected a number");
  }
  for (size_t i = 0; i < declaration_.operands.size(); ++i) {
    if (declaration_.operands[i].pattern.name == node.name) return Elementwise(i, scope);
  }
  return instance_.Error(node.position, "'" + node.name + "' is not known here");
}

std::optional<Value> ExpressionEvaluator::Unread(size_t operand) const {
  if (operand >= instance_.operands.size() ||
      instance_.operands[operand].kind == Operand::Kind::kAbsent) {
    return ValueArithmetic::Constant(declaration_.operands[operand].default_value);
  }
  if (instance_.operands[operand].kind == Operand::Kind::kLiteral) {
    return ValueArithmetic::Constant(instance_.operands[operand].literal);
  }
  return std::nullopt;
}

Value ExpressionEvaluator::ReadInput(size_t operand, const std::vector<ExprId>& indices) {
  if (declaration_.operands[operand].integer || IsInteger(instance_.operands[operand].dtype)) {
    return ValueArithmetic::Int(instance_.builder.IntElement(instance_.inputs[operand], indices));
  }
  return ValueArithmetic::Real(instance_.builder.Element(instance_.inputs[operand], indices));
}

ExpressionEvaluator::Values ExpressionEvaluator::Elementwise(size_t operand, const Scope& scope) {
  if (std::optional<Value> value = Unread(operand)) return *value;
  const std::vector<ExprId>& all = scope.packs.at("");
  const Shape& shape = instance_.operands[operand].shape;
  size_t offset = all.size() - shape.size();
  std::vector<ExprId> indices;
  for (size_t d = 0; d < shape.size(); ++d) {
    bool repeated = shape[d] == 1 && instance_.binding.broadcast[offset + d] != 1;
    indices.push_back(repeated ? instance_.builder.Int(0) : all[offset + d]);
  }
  return ReadInput(operand, indices);
}

ExpressionEvaluator::Values ExpressionEvaluator::Read(const Syntax& node, const Scope& scope) {
  for (size_t i = 0; i < declaration_.definitions.size(); ++i) {
    if (declaration_.definitions[i].name != node.name) continue;
    std::vector<ExprId> arguments;
    for (const IndexItem& item : node.items) {
      absl::Status status = Item(item, nullptr, scope, &arguments);
      if (!status.ok()) return status;
    }
    return Definition(static_cast<int>(i), arguments);
  }
  size_t operand = 0;
  while (operand < declaration_.operands.size() &&
         declaration_.operands[operand].pattern.name != node.name) {
    ++operand;
  }
  if (operand == declaration_.operands.size()) {
    return instance_.Error(node.position, "'" + node.name + "' is no operand");
  }
  if (std::optional<Value> value = Unread(operand)) return *value;
  const TensorPattern& pattern = declaration_.operands[operand].pattern;
  std::vector<ExprId> indices;
  if (node.mixed) {
    absl::Status status = MixedIndices(node, pattern, scope, &indices);
    if (!status.ok()) return status;
  } else {
    for (size_t k = 0; k < node.items.size(); ++k) {
      const DimensionPattern* dim =
          node.items.size() == pattern.dims.size() ? &pattern.dims[k] : nullptr;
      absl::Status status = Item(node.items[k], dim, scope, &indices);
      if (!status.ok()) return status;
    }
  }
  if (indices.size() != instance_.operands[operand].shape.size()) {
    return instance_.Error(node.position, "operand " + node.name + " is read with " +
                                              std::to_string(indices.size()) +
                                              " indices, but has shape " +
                                              ShapeText(instance_.operands[operand].shape));
  }
  return ReadInput(operand, indices);
}

absl::Status ExpressionEvaluator::MixedIndices(const Syntax& node, const TensorPattern& pattern,
                                               const Scope& scope, std::vector<ExprId>* indices) {
  const Placement* placement = instance_.PlacementOf(pattern.dims[1].name);
  std::vector<ExprId> rest;
  std::vector<ExprId> placed;
  absl::Status status = Item(node.items[0], nullptr, scope, &rest);
  if (!status.ok()) return status;
  status = Item(node.items[1], nullptr, scope, &placed);
  if (!status.ok()) return status;
  if (placement == nullptr || placed.size() != placement->positions.size() ||
      rest.size() + placed.size() != static_cast<size_t>(placement->rank)) {
    return instance_.Error(node.position,
                           "the indices of " + node.name + " do not fit its dimensions");
  }
  size_t next_rest = 0;
  size_t next_placed = 0;
  for (int dim = 0; dim < placement->rank; ++dim) {
    bool here = std::binary_search(placement->positions.begin(), placement->positions.end(), dim);
    indices->push_back(here ? placed[next_placed++] : rest[next_rest++]);
  }
  return absl::OkStatus();
}

absl::Status ExpressionEvaluator::Item(const IndexItem& item, const DimensionPattern* dim,
                                       const Scope& scope, std::vector<ExprId>* indices) {
  if (item.kind == IndexItem::Kind::kPack) {
    auto it = scope.packs.find(item.name);
    if (it == scope.packs.end())
      return instance_.Error(item.position, item.name + ".. is not known here");
    indices->insert(indices->end(), it->second.begin(), it->second.end());
    return absl::OkStatus();
  }
  std::vector<ExprId> parts;
  for (SyntaxId id : item.parts) {
    Values value = Evaluate(id, scope);
    if (!value.ok()) return value.status();
    absl::StatusOr<ExprId> index = arithmetic_.ToInt(*value);
    if (!index.ok()) return instance_.Error(item.position, std::string(index.status().message()));
    parts.push_back(*index);
  }
  if (item.kind == IndexItem::Kind::kExpression) {
    indices->push_back(parts[0]);
    return absl::OkStatus();
  }
  std::vector<int64_t> sizes;
  if (dim != nullptr && dim->parts.size() == parts.size()) {
    absl::StatusOr<std::vector<int64_t>> known = instance_.DimensionSizes(*dim);
    if (!known.ok()) return known.status();
    sizes = *known;
  } else {
    for (SyntaxId id : item.parts) {
      auto it = instance_.binding.extents.find(declaration_.syntax[id].name);
      if (it == instance_.binding.extents.end()) {
        return instance_.Error(
            item.position,
            "the extents of this composite index are not known; expected the parts in "
            "which the operand is declared");
      }
      sizes.push_back(it->second);
    }
  }
  for (size_t k = 0; k < parts.size(); ++k) {
    if (sizes[k] == 1 && !IsAlwaysZero(parts[k])) {
      return instance_.Error(item.position, "part " + std::to_string(k) +
                                                " of this composite index has extent 1 and is not "
                                                "always 0; expected an index of that extent");
    }
  }
  indices->push_back(JoinDigits(&instance_.builder, parts, sizes));
  return absl::OkStatus();
}

// For all values of the variables, as far as intervals tell.
bool ExpressionEvaluator::IsAlwaysZero(ExprId index) const {
  const IndexFunction& function = instance_.builder.function();
  std::vector<std::optional<IndexRange>> ranges(index + 1);
  for (ExprId id = 0; id <= index; ++id) {
    if (!IntRangeOf(function.nodes[id], function.vars, ranges, &ranges[id])) return false;
  }
  return ranges[index].has_value() && ranges[index]->low == 0 && ranges[index]->high == 0;
}

// The value of definition `number` at these arguments; evaluated in the scope of the output,
// once.
ExpressionEvaluator::Values ExpressionEvaluator::Definition(int number,
                                                            const std::vector<ExprId>& arguments) {
  auto key = std::make_tuple(output_, number, arguments);
  auto it = definitions_.find(key);
  if (it != definitions_.end()) return it->second;
  const DefinitionClause& definition = declaration_.definitions[number];
  if (definition.parameters.size() != arguments.size()) {
    return instance_.Error(definition.position, definition.name + " takes " +
                                                    std::to_string(definition.parameters.size()) +
                                                    " indices, found " +
                                                    std::to_string(arguments.size()));
  }
  Scope scope = output_scope_;
  for (size_t i = 0; i < arguments.size(); ++i) {
    scope.indices[definition.parameters[i]] = arguments[i];
  }
  Values value = Evaluate(definition.body, scope);
  if (value.ok()) definitions_[key] = *value;
  return value;
}

ExpressionEvaluator::Values ExpressionEvaluator::Call(const Syntax& node, const Scope& scope) {
  if (node.name == "extent") {
    absl::StatusOr<int64_t> extent =
        EvaluateExtent(declaration_, static_cast<SyntaxId>(&node - declaration_.syntax.data()),
                       instance_.attributes, instance_.binding);
    if (!extent.ok()) return extent.status();
    return ValueArithmetic::Constant(*extent);
  }
  std::vector<Value> arguments;
  for (SyntaxId child : node.children) {
    Values value = Evaluate(child, scope);
    if (!value.ok()) return value;
    arguments.push_back(*value);
  }
  if (node.name == "where") {
    return At(node.position, arithmetic_.Select(arguments[0], arguments[1], arguments[2]));
  }
  if (node.name == "max" || node.name == "min") {
    Values value = arguments[0];
    for (size_t i = 1; i < arguments.size() && value.ok(); ++i) {
      value = arithmetic_.Extremum(node.name == "max", *value, arguments[i], declaration_.tie);
    }
    return At(node.position, value);
  }
  return At(node.position, arithmetic_.Function(node.name, arguments[0], declaration_.tie));
}

ExpressionEvaluator::Values ExpressionEvaluator::Reduce(const Syntax& node, const Scope& scope) {
  std::vector<std::vector<int64_t>> extents;  // by binder
  std::vector<int64_t> all;
  int64_t count = 1;
  for (const Binder& binder : node.binders) {
    absl::StatusOr<std::vector<int64_t>> known = instance_.BinderExtents(node, binder);
    if (!known.ok()) return known.status();
    for (int64_t extent : *known) {
      all.push_back(extent);
      if (__builtin_mul_overflow(count, extent, &count)) {
        return absl::ResourceExhaustedError(std::string(
            instance_
                .Error(binder.position, "there are more than 2^63 terms (a limit of this program)")
                .message()));
      }
    }
    extents.push_back(std::move(*known));
  }
  // An even share among all elements that tie is no nest of even shares: one variable then.
  bool extremum = node.name == "max" || node.name == "min";
  std::vector<VarId> vars;
  std::vector<ExprId> indices;
  if (extremum && declaration_.tie == TieRule::kEven && all.size() > 1 && count > 0) {
    vars.push_back(instance_.builder.AddVar("r", count));
    indices = SplitDigits(&instance_.builder, instance_.builder.Index(vars[0]), all);
  }
  Scope inner = scope;
  size_t next = 0;
  for (size_t k = 0; k < node.binders.size(); ++k) {
    const Binder& binder = node.binders[k];
    std::vector<ExprId> bound;
    for (size_t i = 0; i < extents[k].size(); ++i, ++next) {
      if (next >= indices.size()) {
        std::string name = binder.pack ? binder.name + std::to_string(i) : binder.name;
        vars.push_back(instance_.builder.AddVar(name, extents[k][i]));
        indices.push_back(instance_.builder.Index(vars.back()));
      }
      bound.push_back(indices[next]);
    }
    if (binder.pack) {
      inner.packs[binder.name] = bound;
    } else {
      inner.indices[binder.name] = bound[0];
    }
  }
  Values body = Evaluate(node.children[0], inner);
  if (!body.ok()) return body;
  absl::StatusOr<ExprId> term = arithmetic_.ToReal(*body);
  if (!term.ok()) return instance_.Error(node.position, std::string(term.status().message()));
  Op op = node.name == "max" ? Op::kReduceMax : node.name == "min" ? Op::kReduceMin : Op::kSum;
  ExprId result = *term;
  for (size_t i = vars.size(); i-- > 0;) {
    result = instance_.builder.Reduce(op, vars[i], result,
                                      op == Op::kSum ? TieRule::kNone : declaration_.tie);
  }
  if (node.name == "mean") {
    const IndexFunction& function = instance_.builder.function();
    if (IsWhole(function, *term) && ReadsIntegers(function, *term)) {
      return instance_.Error(node.position,
                             "the mean of integers is not taken; convert them first, e.g. with "
                             "\"float\"");
    }
    if (count == 0) return instance_.Error(node.position, "the mean of no elements is undefined");
    return arithmetic_.Binary("*", ValueArithmetic::Real(result),
                              ValueArithmetic::Constant(solver::Rational(1, count)));
  }
  return ValueArithmetic::Real(result);
}

}  // namespace planproof::sdfg
