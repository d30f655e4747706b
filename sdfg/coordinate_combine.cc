// CombineByCoordinate: one function from its instances at every coordinate.
//
// Instances that agree but for constants form a group; within a group an integer constant becomes
// an affine expression of the coordinates where that fits exactly, else a selection. Simplification
// at construction (i + 0 is i) can put coordinate 0 into a group of its own; a group whose
// instances a larger group reproduces when its coordinates are substituted is absorbed by it.
#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sdfg/coordinate_functions.h"
#include "sdfg/status_macros.h"

namespace planproof::sdfg {
namespace {

using Point = std::vector<int64_t>;

bool IsConstant(const Node& node) { return node.op == Op::kIntConst || node.op == Op::kReal; }

// Everything but the values of constants, and where every node stands: members of a group are
// compared node by node, and equal expressions may have been built in different order.
std::string Structure(const IndexFunction& function) {
  IndexFunction copy = function;
  std::string places;
  for (Node& node : copy.nodes) {
    if (node.op == Op::kIntConst) node.value = 0;
    if (node.op == Op::kReal) node.real = solver::Rational();
    absl::StrAppend(&places, static_cast<int>(node.op), "(", absl::StrJoin(node.args, ","), ")");
  }
  for (const FunctionOutput& output : copy.outputs) absl::StrAppend(&places, output.body, ";");
  for (const FunctionPremise& premise : copy.premises) {
    absl::StrAppend(&places, premise.condition, ";");
  }
  return absl::StrCat(places, "|", copy.Serialize());
}

struct Group {
  std::vector<int> members;   // into variants; they agree but for constants
  std::vector<int> absorbed;  // those of smaller groups that what fits the members reproduces
  std::vector<int> All() const {
    std::vector<int> all = members;
    all.insert(all.end(), absorbed.begin(), absorbed.end());
    return all;
  }
};

// Rebuilds one expression of `source` in `builder`.
class Copier {
 public:
  Copier(const IndexFunction& source, IndexFunctionBuilder* builder)
      : source_(source), builder_(builder), vars_(source.vars.size(), -1) {}

  void MapVar(VarId from, VarId to) { vars_[from] = to; }
  // Coordinates to read input `input` at, before its local indices.
  void SetCoordinates(std::vector<std::vector<ExprId>> coordinates) {
    coordinates_ = std::move(coordinates);
  }
  void Override(ExprId node, ExprId by) { overrides_[node] = by; }

  ExprId Copy(ExprId root) {
    return FromLeavesUp(source_, root, [this](ExprId id, const std::vector<ExprId>& done) {
      return CopyNode(id, done);
    });
  }

 private:
  ExprId CopyNode(ExprId id, const std::vector<ExprId>& done) {
    if (const auto found = overrides_.find(id); found != overrides_.end()) return found->second;
    Node node = source_.nodes[id];
    for (ExprId& arg : node.args) arg = done[arg];
    if (node.var >= 0) {
      if (vars_[node.var] < 0) {
        const IndexVariable& var = source_.vars[node.var];
        vars_[node.var] = builder_->AddVar(var.name, var.extent);
      }
      node.var = vars_[node.var];
    }
    switch (node.op) {
      case Op::kIntAdd:
        return builder_->IntAdd(node.args[0], node.args[1]);
      case Op::kIntScale:
        return builder_->IntScale(node.value, node.args[0]);
      case Op::kIntDiv:
        return builder_->IntDiv(node.args[0], node.value);
      case Op::kIntMod:
        return builder_->IntMod(node.args[0], node.value);
      case Op::kElement:
      case Op::kIntElement:
        if (!coordinates_.empty()) {
          const std::vector<ExprId>& at = coordinates_[node.input];
          node.args.insert(node.args.begin(), at.begin(), at.end());
        }
        return builder_->AddNode(std::move(node));
      default:
        return builder_->AddNode(std::move(node));
    }
  }

  const IndexFunction& source_;
  IndexFunctionBuilder* builder_;
  std::vector<VarId> vars_;
  std::vector<std::vector<ExprId>> coordinates_;
  std::map<ExprId, ExprId> overrides_;
};

// value = base + sum of steps[a] * point[a] at every member, or false.
bool FitAffine(const std::vector<Point>& points, const std::vector<int64_t>& values, int64_t* base,
               std::vector<int64_t>* steps) {
  const size_t rank = points[0].size();
  steps->assign(rank, 0);
  for (size_t axis = 0; axis < rank; ++axis) {
    for (size_t i = 1; i < points.size(); ++i) {
      bool only = points[i][axis] != points[0][axis];
      for (size_t b = 0; b < rank; ++b) only = only && (b == axis || points[i][b] == points[0][b]);
      if (!only) continue;
      const int64_t distance = points[i][axis] - points[0][axis];
      if ((values[i] - values[0]) % distance != 0) return false;
      (*steps)[axis] = (values[i] - values[0]) / distance;
      break;
    }
  }
  *base = values[0];
  for (size_t axis = 0; axis < rank; ++axis) *base -= (*steps)[axis] * points[0][axis];
  for (size_t i = 0; i < points.size(); ++i) {
    int64_t value = *base;
    for (size_t axis = 0; axis < rank; ++axis) value += (*steps)[axis] * points[i][axis];
    if (value != values[i]) return false;
  }
  return true;
}

class Combiner {
 public:
  Combiner(const std::vector<IndexFunction>& variants, const std::vector<Axis>& axes,
           const AxisList& special, const std::vector<AxisList>& input_axes,
           const AxisList& output_axes, bool affine)
      : variants_(variants),
        axes_(axes),
        special_(special),
        input_axes_(input_axes),
        output_axes_(output_axes),
        affine_(affine) {}

  absl::StatusOr<IndexFunction> Run() {
    PLAN_RETURN_IF_ERROR(CheckShapes());
    MakePoints();
    MakeGroups();
    const IndexFunction& first = variants_[0];
    IndexFunctionBuilder builder(first.operator_name);
    for (size_t i = 0; i < first.inputs.size(); ++i) {
      Shape shape = Extents(input_axes_[i]);
      shape.insert(shape.end(), first.inputs[i].shape.begin(), first.inputs[i].shape.end());
      builder.AddInput(first.inputs[i].name, std::move(shape), first.inputs[i].dtype);
    }
    for (const FunctionOutput& output : first.outputs) {
      Shape shape = Extents(output_axes_);
      const Shape local = output.shape(first.vars);
      shape.insert(shape.end(), local.begin(), local.end());
      builder.AddOutput(output.name, shape, output.dtype);
    }
    for (size_t o = 0; o < first.outputs.size(); ++o) AddOutput(static_cast<int>(o), &builder);
    for (const std::string& text : first.assumptions) builder.AddAssumption(text);
    IndexFunction out;
    PLAN_RETURN_IF_ERROR(builder.Finish(&out));
    return out;
  }

 private:
  Shape Extents(const AxisList& list) const {
    Shape shape;
    for (AxisId axis : list) shape.push_back(axes_[axis].extent);
    return shape;
  }

  absl::Status CheckShapes() const {
    const IndexFunction& first = variants_[0];
    for (const IndexFunction& other : variants_) {
      bool same = other.inputs.size() == first.inputs.size() &&
                  other.outputs.size() == first.outputs.size();
      for (size_t i = 0; same && i < first.outputs.size(); ++i) {
        same = other.outputs[i].shape(other.vars) == first.outputs[i].shape(first.vars) &&
               other.outputs[i].dtype == first.outputs[i].dtype;
      }
      for (size_t i = 0; same && i < first.inputs.size(); ++i) {
        same = other.inputs[i].shape == first.inputs[i].shape;
      }
      if (!same) {
        return absl::InvalidArgumentError(
            "the shape of an output depends on the coordinate; uneven shapes need one program per "
            "rank");
      }
    }
    return absl::OkStatus();
  }

  void MakePoints() {
    Point point(special_.size(), 0);
    for (size_t i = 0; i < variants_.size(); ++i) {
      points_.push_back(point);
      for (size_t axis = special_.size(); axis-- > 0;) {
        if (++point[axis] < axes_[special_[axis]].extent) break;
        point[axis] = 0;
      }
    }
  }

  void MakeGroups() {
    std::map<std::string, size_t> by_structure;
    for (size_t i = 0; i < variants_.size(); ++i) {
      const auto [at, added] = by_structure.try_emplace(Structure(variants_[i]), groups_.size());
      if (added) groups_.emplace_back();
      groups_[at->second].members.push_back(static_cast<int>(i));
    }
    std::stable_sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
      return a.members.size() > b.members.size();
    });
    for (size_t big = 0; big < groups_.size(); ++big) {
      if (groups_[big].members.size() < 2) continue;
      for (size_t small = big + 1; small < groups_.size();) {
        const std::vector<int> members = groups_[small].All();
        const bool absorbed = std::all_of(members.begin(), members.end(),
                                          [&](int member) { return Reproduces(big, member); });
        if (absorbed) {
          groups_[big].absorbed.insert(groups_[big].absorbed.end(), members.begin(), members.end());
          groups_.erase(groups_.begin() + small);
        } else {
          ++small;
        }
      }
    }
  }

  // Constants of the group's template that differ among members, as affine forms.
  struct AffineConstant {
    ExprId node;
    int64_t base;
    std::vector<int64_t> steps;
  };
  bool AffineConstants(const Group& group, std::vector<AffineConstant>* out) const {
    const IndexFunction& model = variants_[group.members[0]];
    std::vector<Point> points;
    for (int member : group.members) points.push_back(points_[member]);
    for (size_t id = 0; id < model.nodes.size(); ++id) {
      if (!Differs(group, id)) continue;
      if (!affine_ || model.nodes[id].op != Op::kIntConst) return false;
      std::vector<int64_t> values;
      for (int member : group.members) values.push_back(variants_[member].nodes[id].value);
      AffineConstant constant{static_cast<ExprId>(id), 0, {}};
      if (!FitAffine(points, values, &constant.base, &constant.steps)) return false;
      out->push_back(std::move(constant));
    }
    return true;
  }

  bool Differs(const Group& group, size_t id) const {
    const Node& model = variants_[group.members[0]].nodes[id];
    if (!IsConstant(model)) return false;
    return std::any_of(group.members.begin(), group.members.end(), [&](int member) {
      const Node& node = variants_[member].nodes[id];
      return node.value != model.value || !(node.real == model.real);
    });
  }

  // Rebuilds a whole function alone, with some integer constants replaced.
  std::string Rebuild(const IndexFunction& source,
                      const std::map<ExprId, int64_t>& constants) const {
    IndexFunctionBuilder builder(source.operator_name);
    for (const FunctionInput& input : source.inputs) {
      builder.AddInput(input.name, input.shape, input.dtype);
    }
    for (const FunctionOutput& output : source.outputs) {
      builder.AddOutput(output.name, output.shape(source.vars), output.dtype);
    }
    std::vector<Copier> copiers;
    for (size_t o = 0; o < source.outputs.size(); ++o) {
      Copier& copier = copiers.emplace_back(source, &builder);
      const std::vector<VarId> dims = builder.OutputDims(static_cast<int>(o));
      for (size_t d = 0; d < dims.size(); ++d) copier.MapVar(source.outputs[o].dims[d], dims[d]);
      for (const auto& [node, value] : constants) copier.Override(node, builder.Int(value));
      builder.SetBody(static_cast<int>(o), copier.Copy(source.outputs[o].body));
    }
    for (const FunctionPremise& premise : source.premises) {
      builder.AddPremise(premise.output, copiers[premise.output].Copy(premise.condition),
                         premise.text);
    }
    IndexFunction out;
    if (!builder.Finish(&out).ok()) return std::string();
    return out.Serialize();
  }

  bool Reproduces(size_t big, int member) const {
    const Group& group = groups_[big];
    std::vector<AffineConstant> constants;
    if (!AffineConstants(group, &constants)) return false;
    std::map<ExprId, int64_t> values;
    for (const AffineConstant& constant : constants) {
      int64_t value = constant.base;
      for (size_t a = 0; a < constant.steps.size(); ++a) {
        value += constant.steps[a] * points_[member][a];
      }
      values[constant.node] = value;
    }
    const std::string model = Rebuild(variants_[group.members[0]], values);
    return !model.empty() && model == Rebuild(variants_[member], {});
  }

  // Where the members are a range of the only coordinate: that it lies in there. kNoExpr otherwise.
  ExprId InRange(const std::vector<int>& members, const std::vector<ExprId>& special,
                 IndexFunctionBuilder* builder) const {
    if (special.size() != 1) return kNoExpr;
    const auto [first, last] = std::minmax_element(members.begin(), members.end());
    const int64_t low = points_[*first][0], high = points_[*last][0];
    if (high - low + 1 != static_cast<int64_t>(members.size()))
      return kNoExpr;  // each is there once
    if (low == high) return kNoExpr;
    const ExprId from = builder->Binary(Op::kIntLessEq, builder->Int(low), special[0]);
    const ExprId to = builder->Binary(Op::kIntLessEq, special[0], builder->Int(high));
    if (low == 0) return to;
    if (high + 1 == axes_[special_[0]].extent) return from;
    return builder->Binary(Op::kAnd, from, to);
  }

  void AddOutput(int o, IndexFunctionBuilder* builder) {
    const std::vector<VarId> dims = builder->OutputDims(o);
    std::vector<ExprId> coordinate;  // per output axis
    for (size_t a = 0; a < output_axes_.size(); ++a) coordinate.push_back(builder->Index(dims[a]));
    const auto of_axis = [&](AxisId axis) {
      const auto at = std::find(output_axes_.begin(), output_axes_.end(), axis);
      return coordinate[at - output_axes_.begin()];
    };
    std::vector<ExprId> special;
    for (AxisId axis : special_) special.push_back(of_axis(axis));
    std::vector<std::vector<ExprId>> input_coordinates(input_axes_.size());
    for (size_t i = 0; i < input_axes_.size(); ++i) {
      for (AxisId axis : input_axes_[i]) input_coordinates[i].push_back(of_axis(axis));
    }
    // Groups from the last (smallest) to the first; the first needs no condition.
    struct Part {
      ExprId inside;  // kNoExpr: everywhere else
      ExprId body;
    };
    std::vector<Part> parts;
    const auto add = [&](const IndexFunction& source, const std::vector<AffineConstant>& constants,
                         ExprId inside) {
      Copier copier(source, builder);
      copier.SetCoordinates(input_coordinates);
      for (size_t d = 0; d < source.outputs[o].dims.size(); ++d) {
        copier.MapVar(source.outputs[o].dims[d], dims[output_axes_.size() + d]);
      }
      for (const AffineConstant& constant : constants) {
        ExprId value = builder->Int(constant.base);
        for (size_t a = 0; a < special.size(); ++a) {
          value = builder->IntAdd(value, builder->IntScale(constant.steps[a], special[a]));
        }
        copier.Override(constant.node, value);
      }
      parts.push_back({inside, copier.Copy(source.outputs[o].body)});
      for (const FunctionPremise& premise : source.premises) {
        if (premise.output != o) continue;
        ExprId condition = copier.Copy(premise.condition);
        if (inside != kNoExpr) {
          condition = builder->Binary(Op::kOr, builder->Unary(Op::kNot, inside), condition);
        }
        builder->AddPremise(o, condition, premise.text);
      }
    };
    const auto inside_of = [&](const std::vector<int>& members) {
      if (const ExprId range = InRange(members, special, builder); range != kNoExpr) return range;
      ExprId any = kNoExpr;
      for (int member : members) {
        ExprId all = kNoExpr;
        for (size_t a = 0; a < special.size(); ++a) {
          const ExprId equal =
              builder->Binary(Op::kIntEq, special[a], builder->Int(points_[member][a]));
          all = all == kNoExpr ? equal : builder->Binary(Op::kAnd, all, equal);
        }
        any = any == kNoExpr ? all : builder->Binary(Op::kOr, any, all);
      }
      return any;
    };
    for (const Group& group : groups_) {
      std::vector<AffineConstant> constants;
      if (AffineConstants(group, &constants)) {
        const bool only = groups_.size() == 1;
        add(variants_[group.members[0]], constants, only ? kNoExpr : inside_of(group.All()));
        continue;
      }
      for (int member : group.members) {
        add(variants_[member], {}, inside_of({member}));
      }
    }
    ExprId body = parts.front().body;
    for (size_t p = 1; p < parts.size(); ++p) {
      body = builder->Select(parts[p].inside, parts[p].body, body);
    }
    builder->SetBody(o, body);
  }

  const std::vector<IndexFunction>& variants_;
  const std::vector<Axis>& axes_;
  const AxisList& special_;
  const std::vector<AxisList>& input_axes_;
  const AxisList& output_axes_;
  const bool affine_;
  std::vector<Point> points_;
  std::vector<Group> groups_;
};

}  // namespace

absl::StatusOr<IndexFunction> CombineByCoordinate(const std::vector<IndexFunction>& variants,
                                                  const std::vector<Axis>& axes,
                                                  const AxisList& special,
                                                  const std::vector<AxisList>& input_axes,
                                                  const AxisList& output_axes, bool affine) {
  if (variants.empty()) return absl::InvalidArgumentError("no coordinate");
  return Combiner(variants, axes, special, input_axes, output_axes, affine).Run();
}

}  // namespace planproof::sdfg
