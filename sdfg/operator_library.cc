#include "sdfg/operator_library.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "sdfg/builtin_declarations.h"
#include "sdfg/declaration_ast.h"
#include "sdfg/declaration_check.h"
#include "sdfg/declaration_instantiate.h"
#include "sdfg/declaration_parser.h"
#include "sdfg/limit.h"
#include "sdfg/native_operators.h"
#include "sdfg/operator_attributes.h"
#include "solver/check.h"

namespace planproof::sdfg {

// Alternatives of one name are tried in order; all but the last have a `when` clause.
struct OperatorLibrary::Impl {
  std::map<std::string, std::vector<Declaration>> declared;
  std::map<std::string, NativeOperator> native;
};

namespace {

using Alternatives = std::map<std::string, std::vector<Declaration>>;

absl::StatusOr<Alternatives> ReadDeclarations(const std::string& text, const std::string& file) {
  absl::StatusOr<std::vector<Declaration>> parsed = ParseDeclarations(text, file);
  if (!parsed.ok()) return parsed.status();
  Alternatives declared;
  for (const Declaration& declaration : *parsed) {
    absl::Status status = CheckDeclaration(declaration);
    if (!status.ok()) return status;
    std::vector<std::string> names = declaration.aliases;
    names.push_back(declaration.name);
    for (const std::string& name : names) {
      std::vector<Declaration>& alternatives = declared[name];
      if (!alternatives.empty() && alternatives.back().when.empty()) {
        return absl::InvalidArgumentError(
            declaration.Where(declaration.position) + ": operator '" + name +
            "' is already declared at " + alternatives.back().Where(alternatives.back().position) +
            "; expected another name, or a 'when' clause in the earlier one");
      }
      alternatives.push_back(declaration);
      alternatives.back().name = name;
    }
  }
  return declared;
}

// What the attribute is for this declaration: given or its default.
AttributeValue ValueOf(const Declaration& declaration, const std::string& name,
                       const Attributes& given) {
  if (auto it = given.find(name); it != given.end()) return it->second;
  for (const AttributeDeclaration& attribute : declaration.attributes) {
    if (attribute.name == name) return attribute.fallback;
  }
  return {};
}

// No alternative fits: the attribute by which they are chosen, and the values that it may have.
absl::Status NoneFits(const std::vector<Declaration>& alternatives, const Attributes& given) {
  const std::string& name = alternatives[0].name;
  std::map<std::string, std::vector<AttributeValue>> values;
  for (const Declaration& declaration : alternatives) {
    for (const auto& [attribute, value] : declaration.when) {
      std::vector<AttributeValue>& known = values[attribute];
      const bool listed = std::any_of(known.begin(), known.end(), [&, &v = value](const auto& k) {
        return SameAttribute(k, v);
      });
      if (!listed) known.push_back(value);
    }
  }
  std::string expected;
  for (const auto& [attribute, known] : values) {
    for (const AttributeDeclaration& declared : alternatives[0].attributes) {
      const auto it = given.find(attribute);
      if (declared.name != attribute || it == given.end()) continue;
      AttributeDeclaration closed = declared;
      if (values.size() == 1) closed.choices = known;
      const absl::StatusOr<AttributeValue> typed = TypedAttribute(name, closed, it->second);
      if (!typed.ok()) return typed.status();
    }
    expected += (expected.empty() ? "" : ", ") + attribute + " = " + ListOfValues(known);
  }
  return absl::InvalidArgumentError("operator " + name +
                                    ": no declaration fits these attributes; expected " + expected);
}

absl::StatusOr<const Declaration*> Choose(const std::vector<Declaration>& alternatives,
                                          const Attributes& given) {
  for (const Declaration& declaration : alternatives) {
    const bool fits =
        std::all_of(declaration.when.begin(), declaration.when.end(), [&](const auto& condition) {
          return SameAttribute(ValueOf(declaration, condition.first, given), condition.second);
        });
    if (fits) return &declaration;
  }
  return NoneFits(alternatives, given);
}

std::string Joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

absl::StatusOr<IndexFunction> InstantiateDeclared(const Declaration& declaration,
                                                  const std::vector<Operand>& operands,
                                                  const Attributes& given) {
  absl::StatusOr<Attributes> attributes =
      ResolveAttributes(declaration.name, declaration.attributes, given);
  if (!attributes.ok()) return attributes.status();
  std::vector<std::string> names;
  for (const OperandDeclaration& operand : declaration.operands) {
    names.push_back(operand.pattern.name + (operand.optional ? "?" : ""));
  }
  if (operands.size() > names.size()) {
    return absl::InvalidArgumentError("operator " + declaration.name + ": " +
                                      std::to_string(operands.size()) + " operands; expected " +
                                      std::to_string(names.size()) + ": " + Joined(names));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    bool absent = i >= operands.size() || operands[i].kind == Operand::Kind::kAbsent;
    if (absent && !declaration.operands[i].optional) {
      return absl::InvalidArgumentError("operator " + declaration.name + ": operand " + names[i] +
                                        " is missing; expected operands: " + Joined(names));
    }
  }
  return InstantiateDeclaration(declaration, operands, *attributes);
}

absl::StatusOr<IndexFunction> InstantiateNative(const NativeOperator& native,
                                                const std::vector<Operand>& operands,
                                                const Attributes& given) {
  absl::StatusOr<Attributes> attributes = ResolveAttributes(native.name, native.attributes, given);
  if (!attributes.ok()) return attributes.status();
  if (operands.size() < native.min_operands || operands.size() > native.max_operands) {
    return absl::InvalidArgumentError("operator " + native.name + ": " +
                                      std::to_string(operands.size()) + " operands; expected " +
                                      native.signature);
  }
  return native.instantiate({native.name, operands, *attributes});
}

// Extents and ranks that are beyond a limit are refused before anything is built from them.
absl::Status CheckOperands(const std::string& name, const std::vector<Operand>& operands) {
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string place = "operator " + name + ": operand " + std::to_string(i);
    if (operands[i].shape.size() > 32) {
      return BeyondLimit(place + ": dimensions", operands[i].shape.size(), 32);
    }
    for (int64_t extent : operands[i].shape) {
      if (extent < 0) return absl::InvalidArgumentError(place + " has a negative extent");
      if (extent > kMaxExtent) return BeyondLimit(place + ": extent", extent, "2^60");
    }
  }
  return absl::OkStatus();
}

}  // namespace

OperatorLibrary::OperatorLibrary() : impl_(std::make_shared<Impl>()) {}
OperatorLibrary::~OperatorLibrary() = default;
OperatorLibrary::OperatorLibrary(OperatorLibrary&&) = default;
OperatorLibrary& OperatorLibrary::operator=(OperatorLibrary&&) = default;

const OperatorLibrary& OperatorLibrary::BuiltIn() {
  static const OperatorLibrary* const library = [] {
    auto* built_in = new OperatorLibrary();
    std::vector<NativeOperator> operators;
    for (auto add : std::initializer_list<void (*)(std::vector<NativeOperator>*)>{
             AddMovementOperators, AddReshapeOperators, AddJoinOperators, AddConversionOperators,
             AddContractionOperators, AddRoutingOperators, AddConvolutionOperators,
             AddPoolingOperators, AddGatherOperators, AddScatterOperators, AddRangeOperators,
             AddOrderOperators}) {
      add(&operators);
    }
    for (NativeOperator& native : operators) {
      std::string name = native.name;
      bool fresh = built_in->impl_->native.emplace(name, std::move(native)).second;
      Check(fresh, "a native operator is registered twice");
    }
    for (const BuiltInDeclarations& file : BuiltInDeclarationFiles()) {
      absl::Status status = built_in->AddDeclarations(file.text, file.name);
      if (!status.ok()) FailCheck(std::string(status.message()));
    }
    return built_in;
  }();
  return *library;
}

OperatorLibrary OperatorLibrary::CopyOfBuiltIn() { return BuiltIn().Copy(); }

OperatorLibrary OperatorLibrary::Copy() const {
  OperatorLibrary copy;
  copy.impl_ = impl_;
  return copy;
}

absl::Status OperatorLibrary::AddDeclarations(const std::string& text, const std::string& file) {
  absl::StatusOr<Alternatives> declared = ReadDeclarations(text, file);
  if (!declared.ok()) return declared.status();
  for (const auto& [name, alternatives] : *declared) {
    const Declaration& first = alternatives.front();
    if (impl_->native.count(name) != 0) {
      return absl::InvalidArgumentError(first.Where(first.position) + ": operator '" + name +
                                        "' is built in; expected another name");
    }
    if (auto it = impl_->declared.find(name); it != impl_->declared.end()) {
      const Declaration& other = it->second.front();
      return absl::InvalidArgumentError(first.Where(first.position) + ": operator '" + name +
                                        "' is already declared at " + other.Where(other.position) +
                                        "; expected another name");
    }
  }
  if (impl_.use_count() > 1) impl_ = std::make_shared<Impl>(*impl_);
  for (auto& [name, alternatives] : *declared) {
    impl_->declared.emplace(name, std::move(alternatives));
  }
  return absl::OkStatus();
}

bool OperatorLibrary::Contains(const std::string& name) const {
  return impl_->declared.count(name) != 0 || impl_->native.count(name) != 0;
}

std::vector<std::string> OperatorLibrary::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, alternatives] : impl_->declared) names.push_back(name);
  for (const auto& [name, native] : impl_->native) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

const std::vector<Declaration>* OperatorLibrary::DeclarationsOf(const std::string& name) const {
  const auto found = impl_->declared.find(name);
  return found == impl_->declared.end() ? nullptr : &found->second;
}

const NativeOperator* OperatorLibrary::NativeOf(const std::string& name) const {
  const auto found = impl_->native.find(name);
  return found == impl_->native.end() ? nullptr : &found->second;
}

absl::StatusOr<IndexFunction> OperatorLibrary::Instantiate(const std::string& name,
                                                           const std::vector<Operand>& operands,
                                                           const Attributes& attributes) const {
  absl::Status status = CheckOperands(name, operands);
  if (!status.ok()) return status;
  if (auto it = impl_->declared.find(name); it != impl_->declared.end()) {
    absl::StatusOr<const Declaration*> declaration = Choose(it->second, attributes);
    if (!declaration.ok()) return declaration.status();
    return InstantiateDeclared(**declaration, operands, attributes);
  }
  if (auto it = impl_->native.find(name); it != impl_->native.end()) {
    return InstantiateNative(it->second, operands, attributes);
  }
  std::string message = "operator '" + name + "' is not declared";
  std::string near = Nearest(name, Names());
  message += near.empty() ? "; declare" : "; did you mean '" + near + "'? Otherwise declare";
  return absl::NotFoundError(message + " it in a file given with --operators");
}

std::vector<OperatorLibrary::NumericAttribute> OperatorLibrary::NumericAttributes(
    const std::string& name, const Attributes& attributes) const {
  const std::vector<AttributeDeclaration>* declared = nullptr;
  if (auto it = impl_->declared.find(name); it != impl_->declared.end()) {
    absl::StatusOr<const Declaration*> declaration = Choose(it->second, attributes);
    if (declaration.ok()) declared = &(*declaration)->attributes;
  } else if (auto native = impl_->native.find(name); native != impl_->native.end()) {
    declared = &native->second.attributes;
  }
  std::vector<NumericAttribute> numbers;
  if (declared == nullptr) return numbers;
  for (const AttributeDeclaration& attribute : *declared) {
    const bool whole = attribute.type == AttributeType::kInt;
    if (attribute.kind != AttributeDeclaration::Kind::kValue ||
        (!whole && attribute.type != AttributeType::kReal)) {
      continue;
    }
    NumericAttribute number{attribute.name, whole, std::nullopt};
    if (const auto* integer = std::get_if<int64_t>(&attribute.fallback)) {
      number.fallback = solver::Rational(*integer);
    } else if (const auto* real = std::get_if<solver::Rational>(&attribute.fallback)) {
      number.fallback = *real;
    }
    numbers.push_back(std::move(number));
  }
  return numbers;
}

bool OperatorLibrary::IsDataMovement(const IndexFunction& function) {
  for (const FunctionOutput& output : function.outputs) {
    if (output.body < 0) return false;
    Op op = function.nodes[output.body].op;
    if (op != Op::kElement && op != Op::kIntElement) return false;
    for (ExprId index : function.nodes[output.body].args) {
      std::vector<ExprId> pending = {index};  // an index read from a tensor is no plain movement
      while (!pending.empty()) {
        const Node& node = function.nodes[pending.back()];
        pending.pop_back();
        if (node.op == Op::kIntElement || node.op == Op::kOpaque) return false;
        pending.insert(pending.end(), node.args.begin(), node.args.end());
      }
    }
    if (function.nodes[output.body].input != function.nodes[function.outputs[0].body].input) {
      return false;
    }
  }
  return !function.outputs.empty();
}

}  // namespace planproof::sdfg
