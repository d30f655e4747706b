// Reads the relations of a plan file as lineage: which slice of which logical tensor a tensor of a
// program is.
#ifndef PLANPROOF_FRONTEND_PLAN_RELATION_H_
#define PLANPROOF_FRONTEND_PLAN_RELATION_H_

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"
#include "lineage/lineage.h"
#include "sdfg/graph.h"

namespace planproof::plan {

// What a program knows about coordinates: each mesh axis and the microbatch either varies within
// the program's group of devices or is fixed.
struct ProgramCoordinates {
  const std::vector<sdfg::Axis>* axes = nullptr;
  std::vector<std::optional<int64_t>> fixed;  // per axis

  // The axis of that name, or kNone.
  sdfg::AxisId Find(const std::string& name) const;
  // "axis \"NAME\" is not in the mesh", and which axes are.
  std::string NotInTheMesh(const std::string& name) const;
};

struct LogicalTensors {
  const sdfg::Graph* graph = nullptr;
  const std::unordered_map<std::string, sdfg::TensorId>* names = nullptr;
};

struct ResolvedRelation {
  sdfg::TensorId logical = sdfg::kNone;
  std::vector<sdfg::AxisId> axes;  // that the map mentions, ascending
  sdfg::Shape local;               // local shape
  bool overlap = false;
  lineage::Lineage lineage;  // over (`tensor_axes` or else `axes`) first, then local dimensions
};

// `default_of` names the logical tensor if the relation does not. With `tensor_axes` the relation
// is about a tensor with these axes and local shape `*local`; without, both follow from the
// relation. Errors (InvalidArgument, without position): unknown names, extents that do not divide,
// local shapes that differ, an index outside the logical tensor.
absl::StatusOr<ResolvedRelation> ResolveRelation(const Relation& relation,
                                                 const std::string& default_of,
                                                 const LogicalTensors& logical,
                                                 const ProgramCoordinates& coordinates,
                                                 const std::vector<sdfg::AxisId>* tensor_axes,
                                                 const sdfg::Shape* local);

std::string ShapeText(const sdfg::Shape& shape);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_RELATION_H_
