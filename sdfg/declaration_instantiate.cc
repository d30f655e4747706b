#include "sdfg/declaration_instantiate.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "sdfg/declaration_expressions.h"
#include "sdfg/declaration_instance.h"
#include "sdfg/declaration_shapes.h"
#include "sdfg/index_digits.h"
#include "sdfg/narrow_types.h"
#include "sdfg/whole_numbers.h"

namespace planproof::sdfg {
namespace {

class Instantiation {
 public:
  Instantiation(const Declaration& declaration, const std::vector<Operand>& operands,
                const Attributes& attributes)
      : d_(declaration), instance_(declaration, operands, attributes), expressions_(&instance_) {}

  absl::StatusOr<IndexFunction> Run() {
    absl::StatusOr<ShapeBinding> binding = BindShapes(d_, instance_.operands, instance_.attributes);
    if (!binding.ok()) return binding.status();
    instance_.binding = std::move(*binding);
    AddInputs();
    for (const std::string& text : d_.assumptions) instance_.builder.AddAssumption(text);
    for (size_t o = 0; o < d_.outputs.size(); ++o) {
      absl::Status status = AddOutput(static_cast<int>(o));
      if (!status.ok()) return status;
    }
    IndexFunction function;
    absl::Status status = instance_.builder.Finish(&function);
    if (!status.ok()) return status;
    return function;
  }

 private:
  void AddInputs() {
    for (size_t i = 0; i < d_.operands.size(); ++i) {
      instance_.inputs.push_back(-1);
      if (i >= instance_.operands.size()) continue;
      const Operand& operand = instance_.operands[i];
      if (operand.kind != Operand::Kind::kTensor) continue;
      DType dtype = operand.dtype;
      if (d_.operands[i].integer && dtype == DType::kUnknown) dtype = DType::kInt64;
      instance_.inputs.back() =
          instance_.builder.AddInput(d_.operands[i].pattern.name, operand.shape, dtype);
    }
  }

  absl::Status AddOutput(int number) {
    const OutputDeclaration& output = d_.outputs[number];
    Scope scope;
    std::vector<VarId> dims;
    if (output.pattern.elementwise) {
      int next = 0;
      std::vector<ExprId>& elements = scope.packs[""];
      for (int64_t extent : instance_.binding.broadcast) {
        dims.push_back(instance_.builder.AddVar("i" + std::to_string(next++), extent));
        elements.push_back(instance_.builder.Index(dims.back()));
      }
    } else {
      absl::Status status = OutputDims(output.pattern, &dims, &scope);
      if (!status.ok()) return status;
    }
    expressions_.StartOutput(number, scope);
    absl::StatusOr<Value> value = expressions_.Evaluate(output.body, scope);
    if (!value.ok()) return value.status();
    const absl::StatusOr<DType> type = TypeOf(output, *value);
    if (!type.ok()) return type.status();
    // The sort of the body and the element type agree: integers are read as indices elsewhere.
    const DType dtype = *type;
    bool keep = IsInteger(dtype) || (dtype == DType::kUnknown && value->sort == Value::Sort::kInt);
    absl::StatusOr<ExprId> body = keep && value->sort == Value::Sort::kReal
                                      ? instance_.builder.Unary(Op::kWhole, value->id)
                                  : keep ? expressions_.arithmetic().ToInt(*value)
                                         : expressions_.arithmetic().ToReal(*value);
    if (!body.ok()) {
      return instance_.Error(d_.syntax[output.body].position, std::string(body.status().message()));
    }
    if (IsInteger(dtype) && !Keeps(dtype, *value) &&
        ReadsIntegers(instance_.builder.function(), *body)) {
      instance_.builder.AddAssumption(kNoOverflow);
    }
    int added = instance_.builder.AddOutput(output.pattern.name, dims, dtype);
    instance_.builder.SetBody(added, *body);
    if (d_.stop_gradient) instance_.builder.SetStopGradient(added);
    return number == 0 ? Premises(added, scope) : absl::OkStatus();
  }

  // The element type of the output, whose elements are this: what is stated, or that of the
  // operands as PyTorch promotes it.
  absl::StatusOr<DType> TypeOf(const OutputDeclaration& output, const Value& value) const {
    const DType dtype = ResultType(output);
    const bool whole = IsWholeValue(value);
    const bool stated = output.dtype != DType::kUnknown || !output.dtype_like.empty();
    // Reductions of one tensor count in 64 bits.
    const bool reduces = !output.pattern.elementwise && TensorOperands() == 1;
    if (IsNarrow(dtype) && !Keeps(dtype, value)) {
      if (output.dtype != DType::kUnknown ||
          (!reduces && !LiteralPromotes(dtype) && (stated || !Leaves(dtype, value)))) {
        return instance_.Error(
            d_.syntax[output.body].position,
            std::string("the result would be computed in ") + DTypeName(dtype) +
                (dtype == DType::kBool ? ", where 1 + 1 is 1" : ", which may wrap around") +
                "; convert an operand first, e.g. with \"long\" or \"float\"");
      }
      return whole ? DType::kInt64 : DType::kFloat32;
    }
    if (!IsInteger(dtype)) return dtype;
    if (!whole && stated) {
      return instance_.Error(d_.syntax[output.body].position,
                             std::string("the elements of output ") + output.pattern.name +
                                 " are real numbers; expected integers for " + DTypeName(dtype));
    }
    if (!whole) return DType::kFloat32;  // as PyTorch divides integers
    const bool counts = !stated && reduces && value.sort == Value::Sort::kReal &&
                        AddsUp(instance_.builder.function(), value.id);
    return counts ? DType::kInt64 : dtype;
  }

  bool IsWholeValue(const Value& value) const {
    switch (value.sort) {
      case Value::Sort::kInt:
        return true;
      case Value::Sort::kConstant:
        return value.constant.IsInteger();
      case Value::Sort::kReal:
        return IsWhole(instance_.builder.function(), value.id);
      default:
        return false;
    }
  }

  size_t TensorOperands() const {
    return static_cast<size_t>(
        std::count_if(instance_.operands.begin(), instance_.operands.end(),
                      [](const Operand& o) { return o.kind == Operand::Kind::kTensor; }));
  }

  // A number among the operands makes the result of a wider type than the tensors have: any number
  // beside truth values, a fraction beside integers.
  bool LiteralPromotes(DType dtype) const {
    return std::any_of(instance_.operands.begin(), instance_.operands.end(),
                       [dtype](const Operand& o) {
                         return o.kind == Operand::Kind::kLiteral &&
                                (dtype == DType::kBool || !o.literal.IsInteger());
                       });
  }

  // Nothing is computed in the narrow type.
  bool Keeps(DType dtype, const Value& value) const {
    switch (value.sort) {
      case Value::Sort::kTruth:
      case Value::Sort::kBool:
        return true;
      case Value::Sort::kConstant:
        return NarrowHolds(dtype, value.constant);
      case Value::Sort::kNegInf:
        return false;
      default:
        return KeepsNarrow(instance_.builder.function(), value.id, dtype, [this](int input) {
          return instance_.builder.function().inputs[input].dtype;
        });
    }
  }

  // What is computed is computed in real numbers.
  bool Leaves(DType dtype, const Value& value) const {
    return value.sort == Value::Sort::kReal &&
           LeavesNarrow(instance_.builder.function(), value.id, dtype, [this](int input) {
             return instance_.builder.function().inputs[input].dtype;
           });
  }

  DType ResultType(const OutputDeclaration& output) const {
    if (output.dtype != DType::kUnknown) return output.dtype;
    if (!output.dtype_like.empty()) {
      for (size_t i = 0; i < d_.operands.size(); ++i) {
        if (d_.operands[i].pattern.name == output.dtype_like && i < instance_.operands.size()) {
          return instance_.operands[i].dtype;
        }
      }
    }
    std::vector<Operand> numbers;  // identifiers do not take part in the promotion
    for (size_t i = 0; i < instance_.operands.size(); ++i) {
      if (!d_.operands[i].integer) numbers.push_back(instance_.operands[i]);
    }
    return PromotedType(numbers.empty() ? instance_.operands : numbers);
  }

  absl::Status Premises(int output, const Scope& scope) {
    for (const PremiseClause& premise : d_.premises) {
      absl::StatusOr<Value> value = expressions_.Evaluate(premise.condition, scope);
      if (!value.ok()) return value.status();
      absl::StatusOr<ExprId> condition = expressions_.arithmetic().ToBool(*value);
      if (!condition.ok()) {
        return instance_.Error(premise.position, std::string(condition.status().message()));
      }
      instance_.builder.AddPremise(output, *condition, premise.text);
    }
    return absl::OkStatus();
  }

  // The dimensions that a kept placement leaves in an output [i..], or null.
  const Placement* KeptPlacement(const TensorPattern& pattern) const {
    if (pattern.mixed || pattern.dims.size() != 1 ||
        pattern.dims[0].kind != DimensionPattern::Kind::kPack) {
      return nullptr;
    }
    for (const OperandDeclaration& operand : d_.operands) {
      if (!operand.pattern.mixed || operand.pattern.dims[0].name != pattern.dims[0].name) continue;
      const Placement* placement = instance_.PlacementOf(operand.pattern.dims[1].name);
      if (placement != nullptr && placement->kept) return placement;
    }
    return nullptr;
  }

  absl::Status OutputDims(const TensorPattern& pattern, std::vector<VarId>* dims, Scope* scope) {
    if (pattern.mixed) return MixedOutputDims(pattern, dims, scope);
    if (const Placement* kept = KeptPlacement(pattern)) {
      const std::vector<int64_t>& extents = instance_.binding.packs.at(pattern.dims[0].name);
      std::vector<ExprId>& pack = scope->packs[pattern.dims[0].name];
      size_t next = 0;
      for (int dim = 0; dim < kept->rank; ++dim) {
        bool one = std::binary_search(kept->positions.begin(), kept->positions.end(), dim);
        dims->push_back(
            instance_.builder.AddVar("i" + std::to_string(dim), one ? 1 : extents[next++]));
        if (!one) pack.push_back(instance_.builder.Index(dims->back()));
      }
      return absl::OkStatus();
    }
    for (const DimensionPattern& dim : pattern.dims) {
      if (dim.kind == DimensionPattern::Kind::kPack) {
        absl::Status status = OutputPack(dim, dims, scope);
        if (!status.ok()) return status;
        continue;
      }
      absl::StatusOr<std::vector<int64_t>> sizes = instance_.DimensionSizes(dim);
      if (!sizes.ok()) return sizes.status();
      int64_t extent = 1;
      for (int64_t size : *sizes) {
        if (__builtin_mul_overflow(extent, size, &extent)) {
          return absl::ResourceExhaustedError(std::string(
              instance_.Error(dim.position, "the extent is beyond 2^63 (a limit of this program)")
                  .message()));
        }
      }
      dims->push_back(instance_.builder.AddVar(dim.name.empty() ? "d" : dim.name, extent));
      ExprId value = instance_.builder.Index(dims->back());
      if (dim.kind == DimensionPattern::Kind::kIndex) scope->indices[dim.name] = value;
      if (dim.kind != DimensionPattern::Kind::kComposite) continue;
      for (int64_t size : *sizes) {
        if (size < 1)
          return instance_.Error(dim.position, "a composite dimension has an extent below 1");
      }
      std::vector<ExprId> digits = SplitDigits(&instance_.builder, value, *sizes);
      for (size_t k = 0; k < digits.size(); ++k) {
        if (!dim.parts[k].name.empty()) scope->indices[dim.parts[k].name] = digits[k];
      }
    }
    return absl::OkStatus();
  }

  absl::Status OutputPack(const DimensionPattern& dim, std::vector<VarId>* dims, Scope* scope) {
    auto it = instance_.binding.packs.find(dim.name);
    if (it == instance_.binding.packs.end()) {
      return instance_.Error(dim.position, "the extents of " + dim.name + ".. are not known");
    }
    int next = 0;
    std::vector<ExprId>& pack = scope->packs[dim.name];
    for (int64_t extent : it->second) {
      dims->push_back(instance_.builder.AddVar(dim.name + std::to_string(next++), extent));
      pack.push_back(instance_.builder.Index(dims->back()));
    }
    return absl::OkStatus();
  }

  absl::Status MixedOutputDims(const TensorPattern& pattern, std::vector<VarId>* dims,
                               Scope* scope) {
    const DimensionPattern& rest = pattern.dims[0];
    const DimensionPattern& placed = pattern.dims[1];
    const Placement* placement = instance_.PlacementOf(placed.name);
    auto extents = instance_.binding.packs.find(rest.name);
    if (placement == nullptr || extents == instance_.binding.packs.end()) {
      return instance_.Error(pattern.position, "the place of " + placed.name + " is not known");
    }
    bool pack = placed.kind == DimensionPattern::Kind::kPack;
    std::vector<int64_t> chosen =
        pack ? instance_.binding.packs.at(placed.name)
             : std::vector<int64_t>{instance_.binding.extents.at(placed.name)};
    size_t next_rest = 0;
    size_t next_chosen = 0;
    std::vector<ExprId>& rest_indices = scope->packs[rest.name];
    for (int dim = 0; dim < placement->rank; ++dim) {
      bool here = std::binary_search(placement->positions.begin(), placement->positions.end(), dim);
      int64_t extent = here ? chosen[next_chosen++] : extents->second[next_rest++];
      dims->push_back(
          instance_.builder.AddVar((here ? placed.name : rest.name) + std::to_string(dim), extent));
      ExprId index = instance_.builder.Index(dims->back());
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

  const Declaration& d_;
  Instance instance_;
  ExpressionEvaluator expressions_;
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
