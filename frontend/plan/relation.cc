#include "frontend/plan/relation.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/plan/index_expression.h"
#include "frontend/plan/remedies.h"
#include "lineage/map_range.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

using lineage::IndexMap;
using sdfg::AxisId;

class Resolver {
 public:
  Resolver(const Relation& relation, const LogicalTensors& logical,
           const ProgramCoordinates& coordinates, const std::vector<AxisId>* tensor_axes,
           const sdfg::Shape* local)
      : relation_(relation),
        logical_(logical),
        coordinates_(coordinates),
        tensor_axes_(tensor_axes),
        known_local_(local) {}

  absl::StatusOr<ResolvedRelation> Run(const std::string& default_of) {
    const std::string& of = relation_.of().empty() ? default_of : relation_.of();
    const auto found = logical_.names->find(of);
    if (found == logical_.names->end()) {
      const std::string near = DidYouMean(of, NamesOf(*logical_.names));
      const char* remedy = of.rfind("grad.", 0) == 0 && near.empty()
                               ? "it derives gradients by its \"gradients\""
                               : "say which one with \"of\"";
      return absl::InvalidArgumentError(
          absl::StrCat("the specification has no tensor \"", of, "\"; ", remedy, near));
    }
    out_.logical = found->second;
    out_.overlap = relation_.overlap();
    shape_ = logical_.graph->tensors[out_.logical].shape;
    PLAN_RETURN_IF_ERROR(FindAxes());
    const std::vector<AxisId>& dims = tensor_axes_ != nullptr ? *tensor_axes_ : out_.axes;
    for (AxisId axis : out_.axes) {
      if (std::find(dims.begin(), dims.end(), axis) == dims.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("its relation names ", (*coordinates_.axes)[axis].name,
                         ", but the tensor is the same at every coordinate of ",
                         (*coordinates_.axes)[axis].name));
      }
    }
    dims_ = dims;
    PLAN_RETURN_IF_ERROR(relation_.has_map() ? GeneralMap() : ShardMap());
    PLAN_RETURN_IF_ERROR(CheckLocal());
    PLAN_RETURN_IF_ERROR(CheckBounds());
    PLAN_RETURN_IF_ERROR(FindPartial());
    out_.lineage.logical = out_.logical;
    return std::move(out_);
  }

 private:
  absl::StatusOr<AxisId> AxisNamed(const std::string& name) const {
    const AxisId axis = coordinates_.Find(name);
    if (axis != sdfg::kNone) return axis;
    return absl::InvalidArgumentError(coordinates_.NotInTheMesh(name));
  }
  int64_t ExtentOf(AxisId axis) const { return (*coordinates_.axes)[axis].extent; }
  int32_t DimOf(AxisId axis) const {
    return static_cast<int32_t>(std::find(dims_.begin(), dims_.end(), axis) - dims_.begin());
  }

  absl::Status FindAxes() {
    std::set<AxisId> axes;
    for (const ShardedDim& dim : relation_.dims()) {
      for (const std::string& name : dim.over()) {
        PLAN_ASSIGN_OR_RETURN(AxisId axis, AxisNamed(name));
        if (!coordinates_.fixed[axis].has_value()) axes.insert(axis);
      }
    }
    for (const std::string& expression : relation_.map()) {
      for (const std::string& name : NamesIn(expression)) {
        const AxisId axis = coordinates_.Find(name);
        if (axis != sdfg::kNone && !coordinates_.fixed[axis].has_value()) axes.insert(axis);
      }
    }
    out_.axes.assign(axes.begin(), axes.end());
    return absl::OkStatus();
  }

  absl::Status ShardMap() {
    out_.local = shape_;
    std::vector<IndexMap>& map = out_.lineage.map;
    map.assign(shape_.size(), {});
    std::set<int> seen;
    std::set<std::string> used;
    for (const ShardedDim& shard : relation_.dims()) {
      const int dim = shard.dim();
      if (dim < 0 || dim >= static_cast<int>(shape_.size())) {
        return absl::InvalidArgumentError(absl::StrCat("dimension ", dim, " of a tensor of shape ",
                                                       ShapeText(shape_), " does not exist"));
      }
      if (!seen.insert(dim).second) {
        return absl::InvalidArgumentError(absl::StrCat("dimension ", dim, " is cut twice"));
      }
      for (const std::string& name : shard.over()) {
        if (!used.insert(name).second) {
          return absl::InvalidArgumentError(
              absl::StrCat("axis ", name,
                           " cuts two dimensions; that is a diagonal, write it as a "
                           "map"));
        }
      }
      PLAN_RETURN_IF_ERROR(CutDim(shard, &map[dim]));
    }
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (out_.local[d] != 1) {
        map[d].terms.push_back({static_cast<int32_t>(dims_.size() + d), 1, 1, 0});
      }
    }
    return absl::OkStatus();
  }

  absl::Status CutDim(const ShardedDim& shard, IndexMap* map) {
    const int dim = shard.dim();
    const int64_t extent = shape_[dim];
    if (shard.over_size() == 0) {
      if (shard.start() < 0 || shard.stop() < shard.start() || shard.stop() > extent) {
        return absl::InvalidArgumentError(absl::StrCat("range [", shard.start(), ", ", shard.stop(),
                                                       ") lies outside dimension ", dim,
                                                       " of extent ", extent));
      }
      map->constant = shard.start();
      out_.local[dim] = shard.stop() - shard.start();
      return absl::OkStatus();
    }
    if (shard.sizes_size() > 0) return CutUneven(shard, map);
    int64_t parts = 1;
    for (const std::string& name : shard.over()) {
      PLAN_ASSIGN_OR_RETURN(AxisId axis, AxisNamed(name));
      if (__builtin_mul_overflow(parts, ExtentOf(axis), &parts)) {
        return absl::ResourceExhaustedError(
            "there are more than 2^63 shards (a limit of this program)");
      }
    }
    if (extent % parts != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", dim, " of extent ", extent, " does not divide into ", parts,
                       " = ", absl::StrJoin(shard.over(), " * "),
                       " equal shards; give \"sizes\" and one program per rank"));
    }
    int64_t scale = extent / parts;
    out_.local[dim] = scale;
    for (int i = shard.over_size(); i-- > 0;) {
      const AxisId axis = coordinates_.Find(shard.over(i));
      if (coordinates_.fixed[axis].has_value()) {
        map->constant += *coordinates_.fixed[axis] * scale;
      } else if (scale != 0) {
        map->terms.push_back({DimOf(axis), scale, 1, 0});
      }
      scale *= ExtentOf(axis);
    }
    return absl::OkStatus();
  }

  absl::Status CutUneven(const ShardedDim& shard, IndexMap* map) {
    PLAN_ASSIGN_OR_RETURN(AxisId axis, AxisNamed(shard.over(0)));
    const std::string& name = shard.over(0);
    if (shard.over_size() != 1 || shard.sizes_size() != ExtentOf(axis)) {
      return absl::InvalidArgumentError(absl::StrCat("\"sizes\" has ", shard.sizes_size(),
                                                     " entries, axis ", name, " has extent ",
                                                     ExtentOf(axis)));
    }
    int64_t total = 0;
    for (int64_t size : shard.sizes()) {
      if (size < 0 || __builtin_add_overflow(total, size, &total)) {
        return absl::InvalidArgumentError("\"sizes\" are out of range");
      }
    }
    if (total != shape_[shard.dim()]) {
      return absl::InvalidArgumentError(absl::StrCat("\"sizes\" add up to ", total, ", dimension ",
                                                     shard.dim(), " has extent ",
                                                     shape_[shard.dim()]));
    }
    if (!coordinates_.fixed[axis].has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("uneven shards over ", name, " need one program per coordinate of ", name));
    }
    const int64_t at = *coordinates_.fixed[axis];
    for (int64_t i = 0; i < at; ++i) map->constant += shard.sizes(static_cast<int>(i));
    out_.local[shard.dim()] = shard.sizes(static_cast<int>(at));
    return absl::OkStatus();
  }

  absl::Status GeneralMap() {
    if (relation_.map_size() != static_cast<int>(shape_.size())) {
      return absl::InvalidArgumentError(absl::StrCat("\"map\" has ", relation_.map_size(),
                                                     " expressions, the logical tensor has ",
                                                     shape_.size(), " dimensions"));
    }
    if (known_local_ != nullptr) {
      out_.local = *known_local_;
      if (relation_.has_shape() &&
          out_.local != sdfg::Shape(relation_.shape().begin(), relation_.shape().end())) {
        return absl::InvalidArgumentError(
            absl::StrCat("the local shape is ", ShapeText(out_.local), ", its relation says [",
                         absl::StrJoin(relation_.shape(), ", "), "]"));
      }
    } else if (relation_.has_shape()) {
      out_.local.assign(relation_.shape().begin(), relation_.shape().end());
    } else {
      return absl::InvalidArgumentError("a \"map\" of an input needs the local \"shape\"");
    }
    const NameResolver resolve = [&](const std::string& name) -> std::optional<NameMeaning> {
      const AxisId axis = coordinates_.Find(name);
      if (axis != sdfg::kNone) {
        if (coordinates_.fixed[axis].has_value()) {
          return NameMeaning{*coordinates_.fixed[axis], -1};
        }
        return NameMeaning{0, DimOf(axis)};
      }
      if (name.size() < 2 || name.size() > 3 || name[0] != 'i' ||
          name.find_first_not_of("0123456789", 1) != std::string::npos) {
        return std::nullopt;
      }
      const int dim = std::stoi(name.substr(1));
      if (dim >= static_cast<int>(out_.local.size())) return std::nullopt;
      return NameMeaning{0, static_cast<int32_t>(dims_.size()) + dim};
    };
    for (const std::string& expression : relation_.map()) {
      PLAN_ASSIGN_OR_RETURN(IndexMap map, ParseIndexExpression(expression, resolve));
      if (const absl::Status status = SettleGates(Extents(), &map); !status.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("expression \"", expression, "\": ", std::string(status.message())));
      }
      out_.lineage.map.push_back(std::move(map));
    }
    return absl::OkStatus();
  }

  absl::Status CheckLocal() const {
    if (known_local_ == nullptr || out_.local == *known_local_) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("shape mismatch: the tensor has local shape ", ShapeText(*known_local_),
                     ", its relation to ", logical_.graph->tensors[out_.logical].name,
                     ShapeText(shape_), " asks for ", ShapeText(out_.local)));
  }

  // Of the tensor, coordinates first.
  sdfg::Shape Extents() const {
    sdfg::Shape extents;
    for (AxisId axis : dims_) extents.push_back(ExtentOf(axis));
    extents.insert(extents.end(), out_.local.begin(), out_.local.end());
    return extents;
  }

  absl::Status CheckBounds() const {
    return lineage::CheckInside(out_.lineage.map, Extents(), shape_);
  }

  absl::Status FindPartial() {
    lineage::Lineage& lineage = out_.lineage;
    lineage.kind = lineage::LineageKind::kFull;
    if (relation_.partial_size() == 0) return absl::OkStatus();
    lineage.kind = relation_.partial_max() ? lineage::LineageKind::kPartialMax
                                           : lineage::LineageKind::kPartialSum;
    for (const std::string& name : relation_.partial()) {
      PLAN_ASSIGN_OR_RETURN(AxisId axis, AxisNamed(name));
      if (__builtin_mul_overflow(lineage.terms, ExtentOf(axis), &lineage.terms)) {
        return absl::ResourceExhaustedError(
            "there are more than 2^63 partial terms (a limit of this program)");
      }
      lineage.term = lineage.term * ExtentOf(axis) + coordinates_.fixed[axis].value_or(0);
    }
    return absl::OkStatus();
  }

  const Relation& relation_;
  const LogicalTensors& logical_;
  const ProgramCoordinates& coordinates_;
  const std::vector<AxisId>* tensor_axes_;
  const sdfg::Shape* known_local_;
  sdfg::Shape shape_;         // of the logical tensor
  std::vector<AxisId> dims_;  // leading dimensions of the map
  ResolvedRelation out_;
};

}  // namespace

sdfg::AxisId ProgramCoordinates::Find(const std::string& name) const {
  for (size_t i = 0; i < axes->size(); ++i) {
    if ((*axes)[i].name == name) return static_cast<sdfg::AxisId>(i);
  }
  return sdfg::kNone;
}

std::string ProgramCoordinates::NotInTheMesh(const std::string& name) const {
  std::vector<std::string> names;
  for (const sdfg::Axis& axis : *axes) names.push_back(axis.name);
  return absl::StrCat("axis \"", name, "\" is not in the mesh", Known("axes", names));
}

absl::StatusOr<ResolvedRelation> ResolveRelation(const Relation& relation,
                                                 const std::string& default_of,
                                                 const LogicalTensors& logical,
                                                 const ProgramCoordinates& coordinates,
                                                 const std::vector<AxisId>* tensor_axes,
                                                 const sdfg::Shape* local) {
  return Resolver(relation, logical, coordinates, tensor_axes, local).Run(default_of);
}

std::string ShapeText(const sdfg::Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace planproof::plan
