#include "lineage/folding/instances.h"

#include <algorithm>

#include "lineage/folding/digits.h"

namespace planproof::lineage::folding {

using sdfg::AxisId;
using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::kNone;
using sdfg::Node;
using sdfg::Op;
using sdfg::Shape;
using sdfg::Tensor;
using sdfg::VarId;

namespace {

// Ranks that read one source at ranks that one expression gives.
struct Piece {
  int source = 0;
  std::vector<int64_t> ranks;
  sdfg::IndexMap at;  // of the rank
};

std::vector<Piece> PiecesOf(const std::vector<Instance>& instances,
                            const std::vector<InstanceSource>& sources) {
  std::vector<Piece> pieces;
  for (size_t s = 0; s < sources.size(); ++s) {
    std::vector<int64_t> ranks, at;
    bool own = true;
    for (size_t r = 0; r < instances.size(); ++r) {
      if (instances[r].tensor != sources[s].tensor) continue;
      ranks.push_back(static_cast<int64_t>(r));
      at.push_back(std::max(instances[r].rank, 0));
      own = own && at.back() == ranks.back();
    }
    const int source = static_cast<int>(s);
    if (own || sources[s].rank_dim < 0) {
      pieces.push_back({source, ranks, {0, {{0, 1, 1, 0, 0}}}});
      continue;
    }
    std::optional<sdfg::IndexMap> form;
    if (ranks.size() == instances.size()) form = FitDigits(at, 0);
    if (form.has_value()) {
      pieces.push_back({source, ranks, *form});
      continue;
    }
    for (size_t i = 0; i < ranks.size(); ++i) pieces.push_back({source, {ranks[i]}, {at[i], {}}});
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.ranks.size() > b.ranks.size(); });
  return pieces;
}

}  // namespace

absl::StatusOr<InstanceFunction> MakeInstances(const sdfg::Graph& graph,
                                               const std::vector<Instance>& instances,
                                               const std::vector<AxisId>& rank_axes, AxisId axis,
                                               std::vector<AxisId>* axes) {
  InstanceFunction made;
  axes->clear();
  if (axis != kNone) axes->push_back(axis);
  const Tensor& first = graph.tensors[instances[0].tensor];
  const Shape local(first.shape.begin() + static_cast<std::ptrdiff_t>(first.axes.size()),
                    first.shape.end());
  for (size_t i = 0; i < instances.size(); ++i) {
    const Tensor& t = graph.tensors[instances[i].tensor];
    if (Shape(t.shape.begin() + static_cast<std::ptrdiff_t>(t.axes.size()), t.shape.end()) !=
            local ||
        t.dtype != first.dtype) {
      return absl::InvalidArgumentError("instances differ in shape or type");
    }
    const bool listed = std::any_of(made.sources.begin(), made.sources.end(),
                                    [&](const auto& s) { return s.tensor == instances[i].tensor; });
    if (listed) continue;
    InstanceSource source{instances[i].tensor, -1};
    for (size_t a = 0; a < t.axes.size(); ++a) {
      if (instances[i].rank != kNone && t.axes[a] == rank_axes[i]) {
        source.rank_dim = static_cast<int>(a);
      } else if (t.axes[a] == axis) {
        return absl::InvalidArgumentError("an instance varies over the rank's axis itself");
      } else {
        axes->push_back(t.axes[a]);
      }
    }
    made.sources.push_back(source);
  }
  std::sort(axes->begin(), axes->end());
  axes->erase(std::unique(axes->begin(), axes->end()), axes->end());

  IndexFunctionBuilder builder(axis == kNone ? "instance" : "instances");
  for (size_t s = 0; s < made.sources.size(); ++s) {
    builder.AddInput("x" + std::to_string(s), graph.tensors[made.sources[s].tensor].shape,
                     first.dtype);
  }
  Shape whole;
  for (AxisId a : *axes) whole.push_back(graph.axes[a].extent);
  whole.insert(whole.end(), local.begin(), local.end());
  const int y = builder.AddOutput("y", whole, first.dtype);
  std::vector<ExprId> indices;
  for (VarId var : std::vector<VarId>(builder.OutputDims(y))) indices.push_back(builder.Index(var));
  const auto of_axis = [&](AxisId a) {
    return indices[std::find(axes->begin(), axes->end(), a) - axes->begin()];
  };
  const ExprId rank = axis == kNone ? builder.Int(0) : of_axis(axis);
  const auto read = [&](const Piece& piece) {
    const InstanceSource& source = made.sources[piece.source];
    const Tensor& t = graph.tensors[source.tensor];
    std::vector<ExprId> at;
    for (size_t a = 0; a < t.axes.size(); ++a) {
      at.push_back(static_cast<int>(a) == source.rank_dim ? Express(piece.at, rank, &builder)
                                                          : of_axis(t.axes[a]));
    }
    at.insert(at.end(), indices.begin() + static_cast<std::ptrdiff_t>(axes->size()), indices.end());
    return sdfg::IsInteger(first.dtype) ? builder.IntElement(piece.source, at)
                                        : builder.Element(piece.source, at);
  };
  const std::vector<Piece> pieces = PiecesOf(instances, made.sources);
  ExprId body = read(pieces[0]);
  for (size_t p = 1; p < pieces.size(); ++p) {
    ExprId inside = sdfg::kNoExpr;
    for (int64_t r : pieces[p].ranks) {
      const ExprId equal = builder.Binary(Op::kIntEq, rank, builder.Int(r));
      inside = inside == sdfg::kNoExpr ? equal : builder.Binary(Op::kOr, inside, equal);
    }
    body = builder.Select(inside, read(pieces[p]), body);
  }
  builder.SetBody(y, body);
  if (absl::Status status = builder.Finish(&made.function); !status.ok()) return status;
  return made;
}

namespace {

// Integer and boolean expressions of the rank alone.
std::optional<int64_t> ValueOf(const IndexFunction& f, ExprId id, VarId rank_var, int64_t rank) {
  const Node& node = f.nodes[id];
  const auto arg = [&](size_t i) { return ValueOf(f, node.args[i], rank_var, rank); };
  switch (node.op) {
    case Op::kIntConst:
      return node.value;
    case Op::kIndex:
      if (node.var == rank_var) return rank;
      return std::nullopt;
    case Op::kIntScale:
      if (const auto a = arg(0)) return node.value * *a;
      return std::nullopt;
    case Op::kIntDiv:
      if (const auto a = arg(0)) return *a / node.value;
      return std::nullopt;
    case Op::kIntMod:
      if (const auto a = arg(0)) return *a % node.value;
      return std::nullopt;
    case Op::kIntAdd:
    case Op::kIntEq:
    case Op::kOr: {
      const auto a = arg(0), b = arg(1);
      if (!a.has_value() || !b.has_value()) return std::nullopt;
      if (node.op == Op::kIntAdd) return *a + *b;
      return node.op == Op::kIntEq ? *a == *b : *a != 0 || *b != 0;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Instance> InstanceAt(const sdfg::Graph& graph, const InstanceFunction& made,
                                   const std::vector<AxisId>& axes, int axis_dim, int64_t rank) {
  const IndexFunction& f = made.function;
  const std::vector<VarId>& dims = f.outputs[0].dims;
  const VarId rank_var = axis_dim < 0 ? -1 : dims[axis_dim];
  ExprId at = f.outputs[0].body;
  while (f.nodes[at].op == Op::kSelect) {
    const std::optional<int64_t> inside = ValueOf(f, f.nodes[at].args[0], rank_var, rank);
    if (!inside.has_value()) return std::nullopt;
    at = f.nodes[at].args[*inside != 0 ? 1 : 2];
  }
  const Node& read = f.nodes[at];
  if (read.op != Op::kElement && read.op != Op::kIntElement) return std::nullopt;
  const InstanceSource& source = made.sources[read.input];
  const Tensor& from = graph.tensors[source.tensor];
  if (from.local_rank() != static_cast<int>(dims.size() - axes.size())) return std::nullopt;
  Instance found{source.tensor, kNone};
  for (size_t i = 0; i < read.args.size(); ++i) {
    if (static_cast<int>(i) == source.rank_dim) {
      const std::optional<int64_t> value = ValueOf(f, read.args[i], rank_var, rank);
      if (!value.has_value() || *value < 0 || *value >= from.shape[i]) return std::nullopt;
      found.rank = static_cast<int32_t>(*value);
      continue;
    }
    // The result's own index: of the same axis, or of the same local dimension.
    const bool local = i >= from.axes.size();
    const auto dim = local ? static_cast<std::ptrdiff_t>(axes.size() + i - from.axes.size())
                           : std::find(axes.begin(), axes.end(), from.axes[i]) - axes.begin();
    const Node& index = f.nodes[read.args[i]];
    const bool own = index.op == Op::kIndex && dim < static_cast<std::ptrdiff_t>(dims.size()) &&
                     index.var == dims[dim] && dim != axis_dim;
    if (!own || (!local && dim >= static_cast<std::ptrdiff_t>(axes.size()))) return std::nullopt;
  }
  return found;
}

}  // namespace planproof::lineage::folding
