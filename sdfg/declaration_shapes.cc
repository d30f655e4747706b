#include "sdfg/declaration_shapes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"

namespace planproof::sdfg {
namespace {

using Kind = DimensionPattern::Kind;

class ShapeBinder {
 public:
  ShapeBinder(const Declaration& declaration, const std::vector<Operand>& operands,
              const Attributes& attributes)
      : declaration_(declaration), operands_(operands), attributes_(attributes) {}

  absl::StatusOr<ShapeBinding> Run() {
    for (size_t i = 0; i < operands_.size(); ++i) {
      const TensorPattern& pattern = declaration_.operands[i].pattern;
      if (operands_[i].kind == Operand::Kind::kAbsent) continue;
      absl::Status status;
      if (pattern.elementwise) {
        status = operands_[i].kind == Operand::Kind::kTensor
                     ? Broadcast(pattern, operands_[i].shape)
                     : absl::OkStatus();
      } else if (operands_[i].kind != Operand::Kind::kTensor) {
        status = Error("operand " + pattern.name + " is a number; expected a tensor");
      } else {
        status = Tensor(pattern, operands_[i].shape);
      }
      if (!status.ok()) return status;
    }
    return std::move(binding_);
  }

 private:
  absl::Status Error(const std::string& message) const {
    return absl::InvalidArgumentError("operator " + declaration_.name + ": " + message);
  }

  static std::string Place(const TensorPattern& pattern, int dim) {
    return "operand " + pattern.name + " in dimension " + std::to_string(dim);
  }

  absl::Status Broadcast(const TensorPattern& pattern, const Shape& shape) {
    Shape& whole = binding_.broadcast;
    if (shape.size() > whole.size()) {
      size_t more = shape.size() - whole.size();
      whole.insert(whole.begin(), more, 1);
      broadcast_source_.insert(broadcast_source_.begin(), more, std::string());
    }
    size_t offset = whole.size() - shape.size();
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t& extent = whole[offset + d];
      if (shape[d] == 1 || shape[d] == extent) continue;
      if (extent != 1) {
        return Error("operand " + pattern.name + " has extent " + std::to_string(shape[d]) +
                     " in dimension " + std::to_string(d) + ", but " +
                     broadcast_source_[offset + d] + " has extent " + std::to_string(extent));
      }
      extent = shape[d];
      broadcast_source_[offset + d] = Place(pattern, static_cast<int>(d));
    }
    return absl::OkStatus();
  }

  absl::Status Index(const TensorPattern& pattern, int dim, const std::string& name,
                     int64_t extent) {
    auto [it, fresh] = binding_.extents.emplace(name, extent);
    if (fresh) {
      source_[name] = Place(pattern, dim);
      return absl::OkStatus();
    }
    if (it->second == extent) return absl::OkStatus();
    return Error("operand " + pattern.name + " has extent " + std::to_string(extent) +
                 " in dimension " + std::to_string(dim) + " (index " + name + "), but " +
                 source_[name] + " has extent " + std::to_string(it->second));
  }

  absl::Status Pack(const TensorPattern& pattern, int dim, const std::string& name,
                    const std::vector<int64_t>& extents) {
    auto [it, fresh] = binding_.packs.emplace(name, extents);
    if (fresh) {
      source_[name + ".."] = "operand " + pattern.name;
      return absl::OkStatus();
    }
    if (it->second.size() != extents.size()) {
      return Error("operand " + pattern.name + " has " + std::to_string(extents.size()) +
                   " dimensions in " + name + ".., but " + source_[name + ".."] + " has " +
                   std::to_string(it->second.size()));
    }
    for (size_t i = 0; i < extents.size(); ++i) {
      if (it->second[i] == extents[i]) continue;
      return Error("operand " + pattern.name + " has extent " + std::to_string(extents[i]) +
                   " in dimension " + std::to_string(dim + static_cast<int>(i)) + " (of " + name +
                   "..), but " + source_[name + ".."] + " has extent " +
                   std::to_string(it->second[i]));
    }
    return absl::OkStatus();
  }

  absl::Status Tensor(const TensorPattern& pattern, const Shape& shape) {
    if (pattern.mixed) return Mixed(pattern, shape);
    int fixed = 0;
    int known = 0;
    int unknown_packs = 0;
    for (const DimensionPattern& dim : pattern.dims) {
      if (dim.kind != Kind::kPack) {
        ++fixed;
      } else if (auto it = binding_.packs.find(dim.name); it != binding_.packs.end()) {
        known += static_cast<int>(it->second.size());
      } else {
        ++unknown_packs;
      }
    }
    int free = static_cast<int>(shape.size()) - fixed - known;
    if (unknown_packs > 1) {
      return Error("the dimensions of operand " + pattern.name +
                   " are ambiguous: two packs of unknown length");
    }
    if (free < 0 || (unknown_packs == 0 && free != 0)) {
      return Error("operand " + pattern.name + " has shape " + ShapeText(shape) + "; expected " +
                   (unknown_packs ? "at least " : "") + std::to_string(fixed + known) +
                   " dimensions");
    }
    int at = 0;
    for (const DimensionPattern& dim : pattern.dims) {
      absl::Status status;
      if (dim.kind == Kind::kPack) {
        auto it = binding_.packs.find(dim.name);
        int length = it == binding_.packs.end() ? free : static_cast<int>(it->second.size());
        status = Pack(pattern, at, dim.name, {shape.begin() + at, shape.begin() + at + length});
        at += length;
      } else {
        status = One(pattern, dim, at, shape[at]);
        ++at;
      }
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status One(const TensorPattern& pattern, const DimensionPattern& dim, int at,
                   int64_t extent) {
    if (dim.kind == Kind::kLiteral) {
      if (extent == dim.literal) return absl::OkStatus();
      return Error("operand " + pattern.name + " has extent " + std::to_string(extent) +
                   " in dimension " + std::to_string(at) + "; expected " +
                   std::to_string(dim.literal));
    }
    if (dim.kind == Kind::kComposite) return Composite(pattern, dim, at, extent);
    if (dim.size != kNoSyntax) {
      absl::StatusOr<int64_t> size = EvaluateExtent(declaration_, dim.size, attributes_, binding_);
      if (!size.ok()) return size.status();
      if (*size != extent) {
        return Error("operand " + pattern.name + " has extent " + std::to_string(extent) +
                     " in dimension " + std::to_string(at) + " (index " + dim.name +
                     "); expected " + std::to_string(*size));
      }
    }
    return Index(pattern, at, dim.name, extent);
  }

  absl::Status Composite(const TensorPattern& pattern, const DimensionPattern& dim, int at,
                         int64_t extent) {
    int64_t known = 1;
    const DimensionPattern* unknown = nullptr;
    for (const DimensionPattern& part : dim.parts) {
      int64_t size = part.literal;
      if (part.kind == Kind::kIndex) {
        auto it = binding_.extents.find(part.name);
        if (part.size != kNoSyntax) {
          absl::StatusOr<int64_t> value =
              EvaluateExtent(declaration_, part.size, attributes_, binding_);
          if (!value.ok()) return value.status();
          size = *value;
        } else if (it != binding_.extents.end()) {
          size = it->second;
        } else if (unknown == nullptr) {
          unknown = &part;
          continue;
        } else {
          return Error("operand " + pattern.name + ": the extents of " + unknown->name + " and " +
                       part.name + " in dimension " + std::to_string(at) +
                       " are both unknown; one is given, as (" + unknown->name + ":4 " + part.name +
                       ") or by an attribute, or by an operand before this one");
        }
        if (size < 1) {
          return Error("index " + part.name + " has extent " + std::to_string(size) +
                       "; expected at least 1 in a composite dimension");
        }
        absl::Status status = Index(pattern, at, part.name, size);
        if (!status.ok()) return status;
      }
      if (size < 1 || __builtin_mul_overflow(known, size, &known)) {
        return Error("operand " + pattern.name + ": dimension " + std::to_string(at) +
                     " is not a product of positive extents");
      }
    }
    if (unknown == nullptr ? known != extent : extent % known != 0) {
      return Error("operand " + pattern.name + " has extent " + std::to_string(extent) +
                   " in dimension " + std::to_string(at) + "; expected " +
                   (unknown == nullptr ? "" : "a multiple of ") + std::to_string(known));
    }
    if (unknown == nullptr) return absl::OkStatus();
    return Index(pattern, at, unknown->name, extent / known);
  }

  absl::Status Mixed(const TensorPattern& pattern, const Shape& shape) {
    const DimensionPattern& placed = pattern.dims[1];
    const PlacementClause* clause = nullptr;
    for (const PlacementClause& candidate : declaration_.placements) {
      if (candidate.index == placed.name) clause = &candidate;
    }
    if (clause == nullptr) return Error("no 'where " + placed.name + " at' clause");
    int rank = static_cast<int>(shape.size());
    const AttributeValue& value = attributes_.at(clause->attribute);
    absl::StatusOr<std::vector<int>> positions =
        DimensionNumbers(declaration_.name, clause->attribute, value, rank);
    if (!positions.ok()) return positions.status();
    // PyTorch takes an empty list for all dimensions.
    const auto* list = std::get_if<std::vector<int64_t>>(&value);
    if (clause->pack && list != nullptr && list->empty()) {
      return Error("attribute " + clause->attribute +
                   " names no dimension; expected dimensions, or none for all");
    }
    if (!clause->pack && positions->size() != 1) {
      return Error("attribute " + clause->attribute + " is " + AttributeText(value) +
                   "; expected one dimension");
    }
    Placement placement;
    placement.positions = *positions;
    placement.rank = rank;
    if (!clause->keep.empty()) {
      const bool* keep = std::get_if<bool>(&attributes_.at(clause->keep));
      if (keep == nullptr) {
        return Error("attribute " + clause->keep + " must be true or false");
      }
      placement.kept = *keep;
    }
    auto [it, fresh] = binding_.placements.emplace(placed.name, placement);
    if (!fresh && it->second.rank != rank) {
      return Error("operand " + pattern.name + " has " + std::to_string(rank) +
                   " dimensions; expected " + std::to_string(it->second.rank));
    }
    std::vector<int64_t> rest;
    std::vector<int64_t> chosen;
    for (int d = 0; d < rank; ++d) {
      bool is_chosen = std::binary_search(positions->begin(), positions->end(), d);
      (is_chosen ? chosen : rest).push_back(shape[d]);
    }
    absl::Status status = Pack(pattern, 0, pattern.dims[0].name, rest);
    if (!status.ok()) return status;
    if (clause->pack) return Pack(pattern, 0, placed.name, chosen);
    return Index(pattern, positions->front(), placed.name, chosen.front());
  }

  const Declaration& declaration_;
  const std::vector<Operand>& operands_;
  const Attributes& attributes_;
  ShapeBinding binding_;
  std::map<std::string, std::string> source_;  // where an extent came from
  std::vector<std::string> broadcast_source_;  // per broadcast dimension
};

absl::StatusOr<int64_t> Apply(const Declaration& declaration, const Syntax& node, int64_t a,
                              int64_t b) {
  int64_t result = 0;
  bool bad = false;
  if (node.name == "+") {
    bad = __builtin_add_overflow(a, b, &result);
  } else if (node.name == "-") {
    bad = __builtin_sub_overflow(a, b, &result);
  } else if (node.name == "*") {
    bad = __builtin_mul_overflow(a, b, &result);
  } else if (node.name == "//" || node.name == "%") {
    if (b <= 0 || a < 0) {
      return absl::InvalidArgumentError("operator " + declaration.name + ": " +
                                        declaration.Where(node.position) +
                                        ": division of extents needs a positive divisor");
    }
    result = node.name == "//" ? a / b : a % b;
  } else {
    return absl::InvalidArgumentError(declaration.Where(node.position) + ": '" + node.name +
                                      "' is no operation on extents; expected + - * // %");
  }
  if (bad) {
    return absl::ResourceExhaustedError(declaration.Where(node.position) +
                                        ": an extent is beyond 2^63 (a limit of this program)");
  }
  return result;
}

}  // namespace

std::string ShapeText(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

absl::StatusOr<std::vector<int>> DimensionNumbers(const std::string& operator_name,
                                                  const std::string& attribute,
                                                  const AttributeValue& value, int rank) {
  std::vector<int64_t> given;
  if (const int64_t* one = std::get_if<int64_t>(&value)) {
    given = {*one};
  } else if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    given = *list;
  } else if (std::holds_alternative<std::monostate>(value)) {
    for (int d = 0; d < rank; ++d) given.push_back(d);
  } else {
    return absl::InvalidArgumentError("operator " + operator_name + ": attribute " + attribute +
                                      " is " + AttributeText(value) +
                                      "; expected a dimension or a list of dimensions");
  }
  std::set<int> numbers;
  for (int64_t dim : given) {
    int64_t number = dim < 0 ? dim + rank : dim;
    if (number < 0 || number >= rank) {
      return absl::InvalidArgumentError(
          "operator " + operator_name + ": attribute " + attribute + " names dimension " +
          std::to_string(dim) + ", but the operand has " + std::to_string(rank) + " dimensions");
    }
    if (!numbers.insert(static_cast<int>(number)).second) {
      return absl::InvalidArgumentError("operator " + operator_name + ": attribute " + attribute +
                                        " names dimension " + std::to_string(number) + " twice");
    }
  }
  return std::vector<int>(numbers.begin(), numbers.end());
}

absl::StatusOr<int64_t> EvaluateExtent(const Declaration& declaration, SyntaxId id,
                                       const Attributes& attributes, const ShapeBinding& binding) {
  const Syntax& node = declaration.syntax[id];
  auto error = [&](const std::string& message) {
    return absl::InvalidArgumentError("operator " + declaration.name + ": " +
                                      declaration.Where(node.position) + ": " + message);
  };
  switch (node.kind) {
    case Syntax::Kind::kNumber: {
      int64_t value = 0;
      if (!node.number.ToInt64(&value)) return error("an extent must be an integer");
      return value;
    }
    case Syntax::Kind::kName: {
      auto it = attributes.find(node.name);
      if (it == attributes.end()) return error("'" + node.name + "' is no attribute");
      if (const int64_t* value = std::get_if<int64_t>(&it->second)) return *value;
      const auto* list = std::get_if<std::vector<int64_t>>(&it->second);
      if (list != nullptr && list->size() == 1) return list->front();
      return error("attribute " + node.name + " is " + AttributeText(it->second) +
                   "; expected an integer");
    }
    case Syntax::Kind::kCall: {
      const Syntax& argument = declaration.syntax[node.children[0]];
      auto it = binding.extents.find(argument.name);
      if (node.name != "extent" || it == binding.extents.end()) {
        return error("expected extent(k) of an index k of an operand");
      }
      return it->second;
    }
    case Syntax::Kind::kUnary:
    case Syntax::Kind::kBinary: {
      absl::StatusOr<int64_t> a =
          EvaluateExtent(declaration, node.children[0], attributes, binding);
      if (!a.ok()) return a;
      if (node.kind == Syntax::Kind::kUnary) {
        if (node.name != "-") return error("'not' is no operation on extents");
        if (*a == INT64_MIN) return error("overflow");
        return -*a;
      }
      absl::StatusOr<int64_t> b =
          EvaluateExtent(declaration, node.children[1], attributes, binding);
      if (!b.ok()) return b;
      return Apply(declaration, node, *a, *b);
    }
    default:
      return error("expected an extent: integers, attributes and extent(k) under + - * // %");
  }
}

absl::StatusOr<ShapeBinding> BindShapes(const Declaration& declaration,
                                        const std::vector<Operand>& operands,
                                        const Attributes& attributes) {
  return ShapeBinder(declaration, operands, attributes).Run();
}

}  // namespace planproof::sdfg
