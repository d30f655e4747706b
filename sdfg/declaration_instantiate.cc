#include "sdfg/declaration_instantiate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "sdfg/declaration_shapes.h"
#include "sdfg/declaration_value.h"
#include "sdfg/index_digits.h"

namespace planproof::sdfg {
namespace {

constexpr size_t kMaxNodes = 200000;  // of one instance: hostile definitions end here

// What the names of indices and packs stand for at one place of an expression.
struct Scope {
  std::map<std::string, ExprId> indices;
  std::map<std::string, std::vector<ExprId>> packs;
};

class Instantiation {
 public:
  Instantiation(const Declaration& declaration, const std::vector<Operand>& operands,
                const Attributes& attributes)
      : d_(declaration),
        operands_(operands),
        attributes_(attributes),
        builder_(declaration.name),
        arithmetic_(&builder_) {}

  absl::StatusOr<IndexFunction> Run() {
    absl::StatusOr<ShapeBinding> binding = BindShapes(d_, operands_, attributes_);
    if (!binding.ok()) return binding.status();
    binding_ = std::move(*binding);
    AddInputs();
    for (const std::string& text : d_.assumptions) builder_.AddAssumption(text);
    for (size_t o = 0; o < d_.outputs.size(); ++o) {
      absl::Status status = AddOutput(static_cast<int>(o));
      if (!status.ok()) return status;
    }
    IndexFunction function;
    absl::Status status = builder_.Finish(&function);
    if (!status.ok()) return status;
    return function;
  }

 private:
  using Values = absl::StatusOr<Value>;

  absl::Status Error(TextPosition at, const std::string& message) const {
    return absl::InvalidArgumentError("operator " + d_.name + ": " + d_.Where(at) + ": " + message);
  }

  // Adds the place to the error of an arithmetic operation.
  Values At(TextPosition at, Values value) const {
    if (value.ok()) return value;
    std::string message(value.status().message());
    if (message.rfind("operator ", 0) == 0) return value;
    return Error(at, message);
  }

  void AddInputs() {
    for (size_t i = 0; i < d_.operands.size(); ++i) {
      inputs_.push_back(-1);
      if (i >= operands_.size() || operands_[i].kind != Operand::Kind::kTensor) continue;
      DType dtype = operands_[i].dtype;
      if (d_.operands[i].integer && dtype == DType::kUnknown) dtype = DType::kInt64;
      inputs_.back() = builder_.AddInput(d_.operands[i].pattern.name, operands_[i].shape, dtype);
    }
  }

  // --- outputs ---------------------------------------------------------------------------------

  absl::Status AddOutput(int number) {
    const OutputDeclaration& output = d_.outputs[number];
    Scope scope;
    std::vector<VarId> dims;
    if (output.pattern.elementwise) {
      int next = 0;
      std::vector<ExprId>& elements = scope.packs[""];
      for (int64_t extent : binding_.broadcast) {
        dims.push_back(builder_.AddVar("i" + std::to_string(next++), extent));
        elements.push_back(builder_.Index(dims.back()));
      }
    } else {
      absl::Status status = OutputDims(output.pattern, &dims, &scope);
      if (!status.ok()) return status;
    }
    int added = builder_.AddOutput(output.pattern.name, dims, ResultType(output));
    output_ = number;
    output_scope_ = scope;
    Values value = Evaluate(output.body, scope);
    if (!value.ok()) return value.status();
    absl::StatusOr<ExprId> body = value->sort == Value::Sort::kInt
                                      ? absl::StatusOr<ExprId>(value->id)
                                      : arithmetic_.ToReal(*value);
    bool integer_constant = value->sort == Value::Sort::kConstant && value->constant.IsInteger() &&
                            IsInteger(output.dtype);
    if (integer_constant) body = arithmetic_.ToInt(*value);
    if (!body.ok()) {
      return Error(d_.syntax[output.body].position, std::string(body.status().message()));
    }
    builder_.SetBody(added, *body);
    if (d_.stop_gradient) builder_.SetStopGradient(added);
    return number == 0 ? Premises(added, scope) : absl::OkStatus();
  }

  DType ResultType(const OutputDeclaration& output) const {
    if (output.dtype != DType::kUnknown) return output.dtype;
    if (!output.dtype_like.empty()) {
      for (size_t i = 0; i < d_.operands.size(); ++i) {
        if (d_.operands[i].pattern.name == output.dtype_like && i < operands_.size()) {
          return operands_[i].dtype;
        }
      }
    }
    std::vector<Operand> numbers;  // identifiers do not take part in the promotion
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!d_.operands[i].integer) numbers.push_back(operands_[i]);
    }
    return PromotedType(numbers.empty() ? operands_ : numbers);
  }

  absl::Status Premises(int output, const Scope& scope) {
    for (const PremiseClause& premise : d_.premises) {
      Values value = Evaluate(premise.condition, scope);
      if (!value.ok()) return value.status();
      absl::StatusOr<ExprId> condition = arithmetic_.ToBool(*value);
      if (!condition.ok()) {
        return Error(premise.position, std::string(condition.status().message()));
      }
      builder_.AddPremise(output, *condition, premise.text);
    }
    return absl::OkStatus();
  }

  const Placement* PlacementOf(const std::string& name) const {
    auto it = binding_.placements.find(name);
    return it == binding_.placements.end() ? nullptr : &it->second;
  }

  // The dimensions that a kept placement leaves in an output [i..], or null.
  const Placement* KeptPlacement(const TensorPattern& pattern) const {
    if (pattern.mixed || pattern.dims.size() != 1 ||
        pattern.dims[0].kind != DimensionPattern::Kind::kPack) {
      return nullptr;
    }
    for (const OperandDeclaration& operand : d_.operands) {
      if (!operand.pattern.mixed || operand.pattern.dims[0].name != pattern.dims[0].name) continue;
      const Placement* placement = PlacementOf(operand.pattern.dims[1].name);
      if (placement != nullptr && placement->kept) return placement;
    }
    return nullptr;
  }

  absl::Status OutputDims(const TensorPattern& pattern, std::vector<VarId>* dims, Scope* scope) {
    if (pattern.mixed) return MixedOutputDims(pattern, dims, scope);
    if (const Placement* kept = KeptPlacement(pattern)) {
      const std::vector<int64_t>& extents = binding_.packs.at(pattern.dims[0].name);
      std::vector<ExprId>& pack = scope->packs[pattern.dims[0].name];
      size_t next = 0;
      for (int dim = 0; dim < kept->rank; ++dim) {
        bool one = std::binary_search(kept->positions.begin(), kept->positions.end(), dim);
        dims->push_back(builder_.AddVar("i" + std::to_string(dim), one ? 1 : extents[next++]));
        if (!one) pack.push_back(builder_.Index(dims->back()));
      }
      return absl::OkStatus();
    }
    for (const DimensionPattern& dim : pattern.dims) {
      if (dim.kind == DimensionPattern::Kind::kPack) {
        absl::Status status = OutputPack(dim, dims, scope);
        if (!status.ok()) return status;
        continue;
      }
      absl::StatusOr<std::vector<int64_t>> sizes = DimensionSizes(dim);
      if (!sizes.ok()) return sizes.status();
      int64_t extent = 1;
      for (int64_t size : *sizes) {
        if (__builtin_mul_overflow(extent, size, &extent)) {
          return Error(dim.position, "the extent of the dimension overflows");
        }
      }
      dims->push_back(builder_.AddVar(dim.name.empty() ? "d" : dim.name, extent));
      ExprId value = builder_.Index(dims->back());
      if (dim.kind == DimensionPattern::Kind::kIndex) scope->indices[dim.name] = value;
      if (dim.kind != DimensionPattern::Kind::kComposite) continue;
      for (int64_t size : *sizes) {
        if (size < 1) return Error(dim.position, "a composite dimension has an extent below 1");
      }
      std::vector<ExprId> digits = SplitDigits(&builder_, value, *sizes);
      for (size_t k = 0; k < digits.size(); ++k) {
        if (!dim.parts[k].name.empty()) scope->indices[dim.parts[k].name] = digits[k];
      }
    }
    return absl::OkStatus();
  }

  absl::Status OutputPack(const DimensionPattern& dim, std::vector<VarId>* dims, Scope* scope) {
    auto it = binding_.packs.find(dim.name);
    if (it == binding_.packs.end()) {
      return Error(dim.position, "the extents of " + dim.name + ".. are not known");
    }
    int next = 0;
    std::vector<ExprId>& pack = scope->packs[dim.name];
    for (int64_t extent : it->second) {
      dims->push_back(builder_.AddVar(dim.name + std::to_string(next++), extent));
      pack.push_back(builder_.Index(dims->back()));
    }
    return absl::OkStatus();
  }

  absl::Status MixedOutputDims(const TensorPattern& pattern, std::vector<VarId>* dims,
                               Scope* scope) {
    const DimensionPattern& rest = pattern.dims[0];
    const DimensionPattern& placed = pattern.dims[1];
    const Placement* placement = PlacementOf(placed.name);
    auto extents = binding_.packs.find(rest.name);
    if (placement == nullptr || extents == binding_.packs.end()) {
      return Error(pattern.position, "the place of " + placed.name + " is not known");
    }
    bool pack = placed.kind == DimensionPattern::Kind::kPack;
    std::vector<int64_t> chosen = pack ? binding_.packs.at(placed.name)
                                       : std::vector<int64_t>{binding_.extents.at(placed.name)};
    size_t next_rest = 0;
    size_t next_chosen = 0;
    std::vector<ExprId>& rest_indices = scope->packs[rest.name];
    for (int dim = 0; dim < placement->rank; ++dim) {
      bool here = std::binary_search(placement->positions.begin(), placement->positions.end(), dim);
      int64_t extent = here ? chosen[next_chosen++] : extents->second[next_rest++];
      dims->push_back(
          builder_.AddVar((here ? placed.name : rest.name) + std::to_string(dim), extent));
      ExprId index = builder_.Index(dims->back());
      if (!here) {
        rest_indices.push_back(index);
      } else if (pack) {
        scope->packs[placed.name].push_back(index);
      } else {
        scope->indices[placed.name] = index;
      }
    }
    return absl::OkStatus();
  }

  // Extents of a dimension's parts (one for an index or a literal).
  absl::StatusOr<std::vector<int64_t>> DimensionSizes(const DimensionPattern& dim) const {
    if (dim.kind == DimensionPattern::Kind::kLiteral) return std::vector<int64_t>{dim.literal};
    std::vector<int64_t> sizes;
    if (dim.kind == DimensionPattern::Kind::kComposite) {
      for (const DimensionPattern& part : dim.parts) {
        absl::StatusOr<std::vector<int64_t>> size = DimensionSizes(part);
        if (!size.ok()) return size;
        sizes.push_back(size->front());
      }
      return sizes;
    }
    auto known = binding_.extents.find(dim.name);
    if (dim.size == kNoSyntax) {
      if (known == binding_.extents.end()) {
        return Error(dim.position, "the extent of " + dim.name +
                                       " is not known; expected an operand with this index or an "
                                       "extent such as " +
                                       dim.name + ":2");
      }
      return std::vector<int64_t>{known->second};
    }
    absl::StatusOr<int64_t> size = EvaluateExtent(d_, dim.size, attributes_, binding_);
    if (!size.ok()) return size.status();
    if (*size < 0 || (known != binding_.extents.end() && known->second != *size)) {
      return Error(
          dim.position,
          "index " + dim.name + " has extent " + std::to_string(*size) +
              (*size < 0 ? "" : ", but the operands say " + std::to_string(known->second)));
    }
    return std::vector<int64_t>{*size};
  }

  // --- expressions -----------------------------------------------------------------------------

  Values Evaluate(SyntaxId id, const Scope& scope) {
    const Syntax& node = d_.syntax[id];
    if (builder_.function().nodes.size() > kMaxNodes) {
      return Error(node.position, "the instance has too many terms; expected at most 200000");
    }
    switch (node.kind) {
      case Syntax::Kind::kNumber:
        return ValueArithmetic::Constant(node.number);
      case Syntax::Kind::kInfinity:
        return Error(node.position, "only -inf is a value");
      case Syntax::Kind::kName:
        return Name(node, scope);
      case Syntax::Kind::kRead:
        return Read(node, scope);
      case Syntax::Kind::kCall:
        return Call(node, scope);
      case Syntax::Kind::kReduce:
        return Reduce(node, scope);
      case Syntax::Kind::kUnary: {
        const Syntax& child = d_.syntax[node.children[0]];
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
        if (!condition.ok()) return Error(node.position, std::string(condition.status().message()));
        return ValueArithmetic::Real(builder_.Unary(Op::kIndicator, *condition));
      }
    }
    return Error(node.position, "unknown expression");
  }

  Values Name(const Syntax& node, const Scope& scope) {
    if (auto it = scope.indices.find(node.name); it != scope.indices.end()) {
      const Node& index = builder_.node(it->second);
      if (index.op == Op::kIntConst) return ValueArithmetic::Constant(index.value);
      return ValueArithmetic::Int(it->second);
    }
    for (size_t i = 0; i < d_.definitions.size(); ++i) {
      if (d_.definitions[i].name == node.name) return Definition(static_cast<int>(i), {});
    }
    if (auto it = attributes_.find(node.name); it != attributes_.end()) {
      if (const auto* integer = std::get_if<int64_t>(&it->second)) {
        return ValueArithmetic::Constant(*integer);
      }
      if (const auto* real = std::get_if<solver::Rational>(&it->second)) {
        return ValueArithmetic::Constant(*real);
      }
      if (const auto* truth = std::get_if<bool>(&it->second)) {
        return ValueArithmetic::Truth(*truth);
      }
      return Error(node.position, "attribute " + node.name + " is " + AttributeText(it->second) +
                                      "; expected a number");
    }
    for (size_t i = 0; i < d_.operands.size(); ++i) {
      if (d_.operands[i].pattern.name == node.name) return Elementwise(i, scope);
    }
    return Error(node.position, "'" + node.name + "' is not known here");
  }

  std::optional<Value> Unread(size_t operand) const {
    if (operand >= operands_.size() || operands_[operand].kind == Operand::Kind::kAbsent) {
      return ValueArithmetic::Constant(d_.operands[operand].default_value);
    }
    if (operands_[operand].kind == Operand::Kind::kLiteral) {
      return ValueArithmetic::Constant(operands_[operand].literal);
    }
    return std::nullopt;
  }

  Value ReadInput(size_t operand, const std::vector<ExprId>& indices) {
    if (d_.operands[operand].integer || IsInteger(operands_[operand].dtype)) {
      return ValueArithmetic::Int(builder_.IntElement(inputs_[operand], indices));
    }
    return ValueArithmetic::Real(builder_.Element(inputs_[operand], indices));
  }

  Values Elementwise(size_t operand, const Scope& scope) {
    if (std::optional<Value> value = Unread(operand)) return *value;
    const std::vector<ExprId>& all = scope.packs.at("");
    const Shape& shape = operands_[operand].shape;
    size_t offset = all.size() - shape.size();
    std::vector<ExprId> indices;
    for (size_t d = 0; d < shape.size(); ++d) {
      bool repeated = shape[d] == 1 && binding_.broadcast[offset + d] != 1;
      indices.push_back(repeated ? builder_.Int(0) : all[offset + d]);
    }
    return ReadInput(operand, indices);
  }

  Values Read(const Syntax& node, const Scope& scope) {
    for (size_t i = 0; i < d_.definitions.size(); ++i) {
      if (d_.definitions[i].name != node.name) continue;
      std::vector<ExprId> arguments;
      for (const IndexItem& item : node.items) {
        absl::Status status = Item(item, nullptr, scope, &arguments);
        if (!status.ok()) return status;
      }
      return Definition(static_cast<int>(i), arguments);
    }
    size_t operand = 0;
    while (operand < d_.operands.size() && d_.operands[operand].pattern.name != node.name) {
      ++operand;
    }
    if (operand == d_.operands.size()) {
      return Error(node.position, "'" + node.name + "' is no operand");
    }
    if (std::optional<Value> value = Unread(operand)) return *value;
    const TensorPattern& pattern = d_.operands[operand].pattern;
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
    if (indices.size() != operands_[operand].shape.size()) {
      return Error(node.position, "operand " + node.name + " is read with " +
                                      std::to_string(indices.size()) + " indices, but has shape " +
                                      ShapeText(operands_[operand].shape));
    }
    return ReadInput(operand, indices);
  }

  absl::Status MixedIndices(const Syntax& node, const TensorPattern& pattern, const Scope& scope,
                            std::vector<ExprId>* indices) {
    const Placement* placement = PlacementOf(pattern.dims[1].name);
    std::vector<ExprId> rest;
    std::vector<ExprId> placed;
    absl::Status status = Item(node.items[0], nullptr, scope, &rest);
    if (!status.ok()) return status;
    status = Item(node.items[1], nullptr, scope, &placed);
    if (!status.ok()) return status;
    if (placement == nullptr || placed.size() != placement->positions.size() ||
        rest.size() + placed.size() != static_cast<size_t>(placement->rank)) {
      return Error(node.position, "the indices of " + node.name + " do not fit its dimensions");
    }
    size_t next_rest = 0;
    size_t next_placed = 0;
    for (int dim = 0; dim < placement->rank; ++dim) {
      bool here = std::binary_search(placement->positions.begin(), placement->positions.end(), dim);
      indices->push_back(here ? placed[next_placed++] : rest[next_rest++]);
    }
    return absl::OkStatus();
  }

  absl::Status Item(const IndexItem& item, const DimensionPattern* dim, const Scope& scope,
                    std::vector<ExprId>* indices) {
    if (item.kind == IndexItem::Kind::kPack) {
      auto it = scope.packs.find(item.name);
      if (it == scope.packs.end()) return Error(item.position, item.name + ".. is not known here");
      indices->insert(indices->end(), it->second.begin(), it->second.end());
      return absl::OkStatus();
    }
    std::vector<ExprId> parts;
    for (SyntaxId id : item.parts) {
      Values value = Evaluate(id, scope);
      if (!value.ok()) return value.status();
      absl::StatusOr<ExprId> index = arithmetic_.ToInt(*value);
      if (!index.ok()) return Error(item.position, std::string(index.status().message()));
      parts.push_back(*index);
    }
    if (item.kind == IndexItem::Kind::kExpression) {
      indices->push_back(parts[0]);
      return absl::OkStatus();
    }
    std::vector<int64_t> sizes;
    if (dim != nullptr && dim->parts.size() == parts.size()) {
      absl::StatusOr<std::vector<int64_t>> known = DimensionSizes(*dim);
      if (!known.ok()) return known.status();
      sizes = *known;
    } else {
      for (SyntaxId id : item.parts) {
        auto it = binding_.extents.find(d_.syntax[id].name);
        if (it == binding_.extents.end()) {
          return Error(item.position,
                       "the extents of this composite index are not known; expected the parts in "
                       "which the operand is declared");
        }
        sizes.push_back(it->second);
      }
    }
    indices->push_back(JoinDigits(&builder_, parts, sizes));
    return absl::OkStatus();
  }

  // The value of definition `number` at these arguments; evaluated in the scope of the output,
  // once.
  Values Definition(int number, const std::vector<ExprId>& arguments) {
    auto key = std::make_tuple(output_, number, arguments);
    auto it = definitions_.find(key);
    if (it != definitions_.end()) return it->second;
    const DefinitionClause& definition = d_.definitions[number];
    if (definition.parameters.size() != arguments.size()) {
      return Error(definition.position, definition.name + " takes " +
                                            std::to_string(definition.parameters.size()) +
                                            " indices, found " + std::to_string(arguments.size()));
    }
    Scope scope = output_scope_;
    for (size_t i = 0; i < arguments.size(); ++i) {
      scope.indices[definition.parameters[i]] = arguments[i];
    }
    Values value = Evaluate(definition.body, scope);
    if (value.ok()) definitions_[key] = *value;
    return value;
  }

  Values Call(const Syntax& node, const Scope& scope) {
    if (node.name == "extent") {
      absl::StatusOr<int64_t> extent = EvaluateExtent(
          d_, static_cast<SyntaxId>(&node - d_.syntax.data()), attributes_, binding_);
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
        value = arithmetic_.Extremum(node.name == "max", *value, arguments[i], d_.tie);
      }
      return At(node.position, value);
    }
    return At(node.position, arithmetic_.Function(node.name, arguments[0], d_.tie));
  }

  // --- reductions ------------------------------------------------------------------------------

  Values Reduce(const Syntax& node, const Scope& scope) {
    Scope inner = scope;
    std::vector<VarId> vars;
    int64_t count = 1;
    for (const planproof::sdfg::Binder& binder : node.binders) {
      std::vector<int64_t> extents;
      absl::Status status = BinderExtents(node, binder, &extents);
      if (!status.ok()) return status;
      std::vector<ExprId> indices;
      for (size_t i = 0; i < extents.size(); ++i) {
        std::string name = binder.pack ? binder.name + std::to_string(i) : binder.name;
        vars.push_back(builder_.AddVar(name, extents[i]));
        indices.push_back(builder_.Index(vars.back()));
        if (__builtin_mul_overflow(count, extents[i], &count)) {
          return Error(binder.position, "the number of terms overflows");
        }
      }
      if (binder.pack) {
        inner.packs[binder.name] = indices;
      } else {
        inner.indices[binder.name] = indices[0];
      }
    }
    Values body = Evaluate(node.children[0], inner);
    if (!body.ok()) return body;
    absl::StatusOr<ExprId> term = arithmetic_.ToReal(*body);
    if (!term.ok()) return Error(node.position, std::string(term.status().message()));
    Op op = node.name == "max" ? Op::kReduceMax : node.name == "min" ? Op::kReduceMin : Op::kSum;
    ExprId result = *term;
    for (size_t i = vars.size(); i-- > 0;) {
      result = builder_.Reduce(op, vars[i], result, op == Op::kSum ? TieRule::kNone : d_.tie);
    }
    if (node.name == "mean") {
      if (count == 0) return Error(node.position, "the mean of no elements is undefined");
      return arithmetic_.Binary("*", ValueArithmetic::Real(result),
                                ValueArithmetic::Constant(solver::Rational(1, count)));
    }
    return ValueArithmetic::Real(result);
  }

  absl::Status BinderExtents(const Syntax& node, const planproof::sdfg::Binder& binder,
                             std::vector<int64_t>* extents) {
    if (binder.pack) {
      auto it = binding_.packs.find(binder.name);
      if (it == binding_.packs.end()) {
        return Error(binder.position, "the extents of " + binder.name + ".. are not known");
      }
      *extents = it->second;
      return absl::OkStatus();
    }
    if (binder.bound != kNoSyntax) {
      absl::StatusOr<int64_t> bound = EvaluateExtent(d_, binder.bound, attributes_, binding_);
      if (!bound.ok()) return bound.status();
      if (*bound < 0) return Error(binder.position, "the bound of " + binder.name + " is negative");
      *extents = {*bound};
      return absl::OkStatus();
    }
    if (auto it = binding_.extents.find(binder.name); it != binding_.extents.end()) {
      *extents = {it->second};
      return absl::OkStatus();
    }
    std::optional<int64_t> inferred;
    absl::Status status = InferExtent(node.children[0], binder, 0, &inferred);
    if (!status.ok()) return status;
    if (!inferred) {
      return Error(binder.position, "the extent of " + binder.name +
                                        " is not known; expected it as an index of an operand in "
                                        "the sum, or a bound such as " +
                                        binder.name + " < n");
    }
    *extents = {*inferred};
    return absl::OkStatus();
  }

  // The extent of the operand dimensions at which `binder` stands alone, below expression `id`.
  absl::Status InferExtent(SyntaxId id, const planproof::sdfg::Binder& binder, int depth,
                           std::optional<int64_t>* extent) {
    const Syntax& node = d_.syntax[id];
    if (depth > 64) return absl::OkStatus();
    for (SyntaxId child : node.children) {
      absl::Status status = InferExtent(child, binder, depth + 1, extent);
      if (!status.ok()) return status;
    }
    for (size_t k = 0; k < node.items.size(); ++k) {
      for (size_t p = 0; p < node.items[k].parts.size(); ++p) {
        const Syntax& part = d_.syntax[node.items[k].parts[p]];
        if (part.kind != Syntax::Kind::kName || part.name != binder.name) {
          absl::Status status = InferExtent(node.items[k].parts[p], binder, depth + 1, extent);
          if (!status.ok()) return status;
          continue;
        }
        absl::StatusOr<std::optional<int64_t>> found = ExtentAt(node, k, p, depth);
        if (!found.ok()) return found.status();
        if (!*found) continue;
        if (*extent && **extent != **found) {
          return Error(binder.position, "index " + binder.name + " has extent " +
                                            std::to_string(**extent) + " at one place and " +
                                            std::to_string(**found) + " at another");
        }
        *extent = **found;
      }
    }
    return absl::OkStatus();
  }

  // Extent of the place `part` of item `item` of a read.
  absl::StatusOr<std::optional<int64_t>> ExtentAt(const Syntax& read, size_t item, size_t part,
                                                  int depth) {
    for (const DefinitionClause& definition : d_.definitions) {
      if (definition.name != read.name || item >= definition.parameters.size()) continue;
      planproof::sdfg::Binder parameter;
      parameter.name = definition.parameters[item];
      parameter.position = definition.position;
      std::optional<int64_t> extent;
      absl::Status status = InferExtent(definition.body, parameter, depth + 1, &extent);
      if (!status.ok()) return status;
      return extent;
    }
    for (size_t i = 0; i < operands_.size(); ++i) {
      const TensorPattern& pattern = d_.operands[i].pattern;
      if (pattern.name != read.name || item >= pattern.dims.size() ||
          pattern.dims.size() != read.items.size()) {
        continue;
      }
      const DimensionPattern* dim = &pattern.dims[item];
      if (read.items[item].kind == IndexItem::Kind::kComposite) {
        if (part >= dim->parts.size()) continue;
        dim = &dim->parts[part];
      }
      if (dim->kind == DimensionPattern::Kind::kLiteral)
        return std::optional<int64_t>(dim->literal);
      auto it = binding_.extents.find(dim->name);
      if (it != binding_.extents.end()) return std::optional<int64_t>(it->second);
    }
    return std::optional<int64_t>();
  }

  const Declaration& d_;
  const std::vector<Operand>& operands_;
  const Attributes& attributes_;
  IndexFunctionBuilder builder_;
  ValueArithmetic arithmetic_;
  ShapeBinding binding_;
  std::vector<int> inputs_;  // function input of each operand, or -1
  int output_ = 0;
  Scope output_scope_;
  std::map<std::tuple<int, int, std::vector<ExprId>>, Value> definitions_;
};

int Width(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kInt64:
      return 64;
    case DType::kFloat32:
    case DType::kInt32:
      return 32;
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kInt16:
      return 16;
    default:
      return 8;
  }
}

}  // namespace

DType PromotedType(const std::vector<Operand>& operands) {
  DType best = DType::kUnknown;
  int best_rank = -1;
  for (const Operand& operand : operands) {
    if (operand.kind != Operand::Kind::kTensor) continue;
    if (operand.dtype == DType::kUnknown) return DType::kUnknown;
    int rank = Width(operand.dtype) + (IsFloating(operand.dtype)  ? 1000
                                       : IsInteger(operand.dtype) ? 100
                                                                  : 0);
    if (rank == best_rank && best != operand.dtype && Width(best) == 16) {
      best = DType::kFloat32;  // float16 with bfloat16
      best_rank = 1032;
    } else if (rank > best_rank) {
      best = operand.dtype;
      best_rank = rank;
    }
  }
  return best;
}

absl::StatusOr<IndexFunction> InstantiateDeclaration(const Declaration& declaration,
                                                     const std::vector<Operand>& operands,
                                                     const Attributes& attributes) {
  return Instantiation(declaration, operands, attributes).Run();
}

}  // namespace planproof::sdfg
