#include "sdfg/declaration_instance.h"

#include "absl/status/status.h"

namespace planproof::sdfg {

absl::Status Instance::Error(TextPosition at, const std::string& message) const {
  return absl::InvalidArgumentError("operator " + declaration.name + ": " + declaration.Where(at) +
                                    ": " + message);
}

const Placement* Instance::PlacementOf(const std::string& index) const {
  auto it = binding.placements.find(index);
  return it == binding.placements.end() ? nullptr : &it->second;
}

absl::StatusOr<std::vector<int64_t>> Instance::DimensionSizes(const DimensionPattern& dim) const {
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
  auto known = binding.extents.find(dim.name);
  if (dim.size == kNoSyntax) {
    if (known == binding.extents.end()) {
      return Error(dim.position, "the extent of " + dim.name +
                                     " is not known; expected an operand with this index or an "
                                     "extent such as " +
                                     dim.name + ":2");
    }
    return std::vector<int64_t>{known->second};
  }
  absl::StatusOr<int64_t> size = EvaluateExtent(declaration, dim.size, attributes, binding);
  if (!size.ok()) return size.status();
  if (*size < 0 || (known != binding.extents.end() && known->second != *size)) {
    return Error(dim.position,
                 "index " + dim.name + " has extent " + std::to_string(*size) +
                     (*size < 0 ? "" : ", but the operands say " + std::to_string(known->second)));
  }
  return std::vector<int64_t>{*size};
}

absl::StatusOr<std::vector<int64_t>> Instance::BinderExtents(const Syntax& reduction,
                                                             const Binder& binder) const {
  if (binder.pack) {
    auto it = binding.packs.find(binder.name);
    if (it != binding.packs.end()) return it->second;
    for (const std::string& pack : PacksAt(declaration, reduction.children[0], binder.name)) {
      auto at = binding.packs.find(pack);
      if (at == binding.packs.end()) continue;
      if (it != binding.packs.end() && it->second != at->second) {
        return Error(binder.position,
                     binder.name + ".. has other extents at one place than at " + "another");
      }
      it = at;
    }
    if (it != binding.packs.end()) return it->second;
    return Error(binder.position, "the extents of " + binder.name + ".. are not known");
  }
  if (binder.bound != kNoSyntax) {
    absl::StatusOr<int64_t> bound = EvaluateExtent(declaration, binder.bound, attributes, binding);
    if (!bound.ok()) return bound.status();
    if (*bound < 0) return Error(binder.position, "the bound of " + binder.name + " is negative");
    return std::vector<int64_t>{*bound};
  }
  if (auto it = binding.extents.find(binder.name); it != binding.extents.end()) {
    return std::vector<int64_t>{it->second};
  }
  std::optional<int64_t> inferred;
  absl::Status status = InferExtent(reduction.children[0], binder, 0, &inferred);
  if (!status.ok()) return status;
  if (inferred) return std::vector<int64_t>{*inferred};
  return Error(binder.position, "the extent of " + binder.name +
                                    " is not known; expected it as an index of an operand in the "
                                    "sum, or a bound such as " +
                                    binder.name + " < n");
}

// The extent of the operand dimensions at which `binder` stands alone, below expression `id`.
absl::Status Instance::InferExtent(SyntaxId id, const Binder& binder, int depth,
                                   std::optional<int64_t>* extent) const {
  const Syntax& node = declaration.syntax[id];
  if (depth > 64) return absl::OkStatus();
  if (++inference_steps_ > 100000) {
    return Error(binder.position, "the extent of " + binder.name +
                                      " takes too long to find; expected a bound such as " +
                                      binder.name + " < n");
  }
  for (SyntaxId child : node.children) {
    absl::Status status = InferExtent(child, binder, depth + 1, extent);
    if (!status.ok()) return status;
  }
  for (size_t k = 0; k < node.items.size(); ++k) {
    for (size_t p = 0; p < node.items[k].parts.size(); ++p) {
      const Syntax& part = declaration.syntax[node.items[k].parts[p]];
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
absl::StatusOr<std::optional<int64_t>> Instance::ExtentAt(const Syntax& read, size_t item,
                                                          size_t part, int depth) const {
  for (const DefinitionClause& definition : declaration.definitions) {
    if (definition.name != read.name || item >= definition.parameters.size()) continue;
    Binder parameter;
    parameter.name = definition.parameters[item];
    parameter.position = definition.position;
    std::optional<int64_t> extent;
    absl::Status status = InferExtent(definition.body, parameter, depth + 1, &extent);
    if (!status.ok()) return status;
    return extent;
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    const TensorPattern& pattern = declaration.operands[i].pattern;
    if (pattern.name != read.name || item >= pattern.dims.size() ||
        pattern.dims.size() != read.items.size()) {
      continue;
    }
    const DimensionPattern* dim = &pattern.dims[item];
    if (read.items[item].kind == IndexItem::Kind::kComposite) {
      if (part >= dim->parts.size()) continue;
      dim = &dim->parts[part];
    }
    if (dim->kind == DimensionPattern::Kind::kLiteral) return std::optional<int64_t>(dim->literal);
    auto it = binding.extents.find(dim->name);
    if (it != binding.extents.end()) return std::optional<int64_t>(it->second);
  }
  return std::optional<int64_t>();
}

}  // namespace planproof::sdfg
