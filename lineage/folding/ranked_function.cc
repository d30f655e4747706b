#include "lineage/folding/ranked_function.h"

#include <algorithm>
#include <map>
#include <string>

#include "lineage/folding/digits.h"

namespace planproof::lineage::folding {

using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::IndexMap;
using sdfg::kNoExpr;
using sdfg::Node;
using sdfg::Op;
using sdfg::Shape;
using sdfg::VarId;

namespace {

constexpr int kMaxTried = 16;

// Copies expressions of one function into another one, from the leaves up.
class Copier {
 public:
  Copier(const IndexFunction& source, IndexFunctionBuilder* builder)
      : source_(source), builder_(*builder), vars_(source.vars.size(), -1) {}
  virtual ~Copier() = default;

  void MapVar(VarId from, VarId to) { vars_[from] = to; }

  // kNoExpr where an expression has no counterpart.
  ExprId Copy(ExprId root) {
    return sdfg::FromLeavesUp(source_, root, [this](ExprId id, const std::vector<ExprId>& done) {
      return CopyNode(id, done);
    });
  }

 protected:
  // A counterpart that is no copy.
  virtual std::optional<ExprId> Instead(ExprId) { return std::nullopt; }
  // What the indices `args` of an element become; `done` has the copies of them.
  virtual bool Indices(const Node& node, const std::vector<ExprId>& done,
                       absl::InlinedVector<ExprId, 3>* args) {
    for (ExprId arg : node.args) args->push_back(done[arg]);
    return true;
  }

  const IndexFunction& source_;
  IndexFunctionBuilder& builder_;

 private:
  ExprId CopyNode(ExprId id, const std::vector<ExprId>& done) {
    if (const std::optional<ExprId> other = Instead(id)) return *other;
    Node node = source_.nodes[id];
    node.args.clear();
    const bool element = node.op == Op::kElement || node.op == Op::kIntElement;
    if (element) {
      if (!Indices(source_.nodes[id], done, &node.args)) return kNoExpr;
    } else {
      for (ExprId arg : source_.nodes[id].args) node.args.push_back(done[arg]);
    }
    if (std::find(node.args.begin(), node.args.end(), kNoExpr) != node.args.end()) return kNoExpr;
    if (node.var >= 0) {
      if (vars_[node.var] < 0) {
        const sdfg::IndexVariable& var = source_.vars[node.var];
        vars_[node.var] = builder_.AddVar(var.name, var.extent);
      }
      node.var = vars_[node.var];
    }
    switch (node.op) {
      case Op::kIntAdd:
        return builder_.IntAdd(node.args[0], node.args[1]);
      case Op::kIntScale:
        return builder_.IntScale(node.value, node.args[0]);
      case Op::kIntDiv:
        return builder_.IntDiv(node.args[0], node.value);
      case Op::kIntMod:
        return builder_.IntMod(node.args[0], node.value);
      default:
        return builder_.AddNode(std::move(node));
    }
  }

  std::vector<VarId> vars_;
};

// Reads operands at coordinates, too, and constants by the rank.
class RankedCopier : public Copier {
 public:
  RankedCopier(const IndexFunction& source, IndexFunctionBuilder* builder,
               const CoordinateLayout& layout, std::vector<ExprId> coordinates,
               const std::map<ExprId, IndexMap>& constants)
      : Copier(source, builder),
        layout_(layout),
        coordinates_(std::move(coordinates)),
        constants_(constants) {}

 protected:
  std::optional<ExprId> Instead(ExprId id) override {
    const auto found = constants_.find(id);
    if (found == constants_.end()) return std::nullopt;
    return Express(found->second, coordinates_.back(), &builder_);
  }
  bool Indices(const Node& node, const std::vector<ExprId>& done,
               absl::InlinedVector<ExprId, 3>* args) override {
    Copier::Indices(node, done, args);
    for (const auto& [position, coordinate] : layout_.inputs[node.input]) {
      if (position > static_cast<int>(args->size())) return false;
      args->insert(args->begin() + position, coordinates_[coordinate]);
    }
    return true;
  }

 private:
  const CoordinateLayout& layout_;
  const std::vector<ExprId> coordinates_;
  const std::map<ExprId, IndexMap>& constants_;
};

// The reverse: the rank is a number, the other coordinates are gone.
class InstanceCopier : public Copier {
 public:
  InstanceCopier(const IndexFunction& source, IndexFunctionBuilder* builder,
                 const CoordinateLayout& layout, std::vector<VarId> coordinates, int64_t rank)
      : Copier(source, builder),
        layout_(layout),
        coordinates_(std::move(coordinates)),
        rank_(rank) {}

 protected:
  std::optional<ExprId> Instead(ExprId id) override {
    const Node& node = source_.nodes[id];
    if (node.op != Op::kIndex) return std::nullopt;
    const auto found = std::find(coordinates_.begin(), coordinates_.end(), node.var);
    if (found == coordinates_.end()) return std::nullopt;
    return found + 1 == coordinates_.end() ? builder_.Int(rank_) : kNoExpr;
  }
  bool Indices(const Node& node, const std::vector<ExprId>& done,
               absl::InlinedVector<ExprId, 3>* args) override {
    std::vector<bool> dropped(node.args.size(), false);
    for (const auto& [position, coordinate] : layout_.inputs[node.input]) {
      if (position >= static_cast<int>(node.args.size())) return false;
      const Node& at = source_.nodes[node.args[position]];
      if (at.op != Op::kIndex || at.var != coordinates_[coordinate]) return false;
      dropped[position] = true;
    }
    for (size_t i = 0; i < node.args.size(); ++i) {
      if (!dropped[i]) args->push_back(done[node.args[i]]);
    }
    return true;
  }

 private:
  const CoordinateLayout& layout_;
  const std::vector<VarId> coordinates_;
  const int64_t rank_;
};

absl::Status Mismatch() { return absl::InvalidArgumentError("reads what is at another rank"); }

absl::StatusOr<IndexFunction> Finish(IndexFunctionBuilder* builder) {
  IndexFunction function;
  if (absl::Status status = builder->Finish(&function); !status.ok()) return status;
  return function;
}

// Outputs, bodies and premises of `from`, each by a copier that `make` gives for an output.
template <typename MakeCopier>
absl::StatusOr<IndexFunction> CopyAll(const IndexFunction& from, IndexFunctionBuilder* builder,
                                      MakeCopier make) {
  std::vector<std::unique_ptr<Copier>> copiers;
  for (size_t o = 0; o < from.outputs.size(); ++o) {
    copiers.push_back(make(static_cast<int>(o)));
    const ExprId body = copiers.back()->Copy(from.outputs[o].body);
    if (body == kNoExpr) return Mismatch();
    builder->SetBody(static_cast<int>(o), body);
    if (from.outputs[o].stop_gradient) builder->SetStopGradient(static_cast<int>(o));
  }
  for (const sdfg::FunctionPremise& premise : from.premises) {
    const ExprId condition = copiers[premise.output]->Copy(premise.condition);
    if (condition == kNoExpr) return Mismatch();
    builder->AddPremise(premise.output, condition, premise.text);
  }
  for (const std::string& text : from.assumptions) builder->AddAssumption(text);
  return Finish(builder);
}

absl::StatusOr<IndexFunction> Ranked(const IndexFunction& model, const CoordinateLayout& layout,
                                     const std::map<ExprId, IndexMap>& constants) {
  IndexFunctionBuilder builder(model.operator_name);
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    Shape shape = model.inputs[i].shape;
    for (const auto& [position, coordinate] : layout.inputs[i]) {
      if (position > static_cast<int>(shape.size())) return Mismatch();
      shape.insert(shape.begin() + position, layout.extents[coordinate]);
    }
    builder.AddInput(model.inputs[i].name, std::move(shape), model.inputs[i].dtype);
  }
  for (const sdfg::FunctionOutput& output : model.outputs) {
    Shape shape = output.shape(model.vars);
    for (size_t c = 0; c < layout.output.size(); ++c) {
      if (layout.output[c] > static_cast<int>(shape.size())) return Mismatch();
      shape.insert(shape.begin() + layout.output[c], layout.extents[c]);
    }
    builder.AddOutput(output.name, shape, output.dtype);
  }
  return CopyAll(model, &builder, [&](int o) {
    std::vector<VarId> dims = builder.OutputDims(o);
    std::vector<ExprId> coordinates;
    for (int position : layout.output) coordinates.push_back(builder.Index(dims[position]));
    for (size_t c = layout.output.size(); c-- > 0;) dims.erase(dims.begin() + layout.output[c]);
    auto copier =
        std::make_unique<RankedCopier>(model, &builder, layout, std::move(coordinates), constants);
    for (size_t d = 0; d < dims.size(); ++d) copier->MapVar(model.outputs[o].dims[d], dims[d]);
    return copier;
  });
}

// The same nodes but for values of integer constants.
bool SameStructure(const IndexFunction& a, const IndexFunction& b) {
  if (a.nodes.size() != b.nodes.size() || a.vars.size() != b.vars.size()) return false;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    if (a.nodes[i].op != b.nodes[i].op || a.nodes[i].args != b.nodes[i].args) return false;
  }
  return true;
}

// What a constant is at a rank whose variant has another structure than the model: building a
// function simplifies what is 0.
enum class Missing : uint8_t { kGoesOn, kZero };

// Constants that differ among the variants of the model's structure, by what they are at each rank.
std::optional<std::map<ExprId, IndexMap>> FitConstants(
    const std::vector<const IndexFunction*>& variants, const IndexFunction& model,
    const std::vector<int64_t>& known, Missing missing) {
  std::map<ExprId, IndexMap> constants;
  for (size_t id = 0; id < model.nodes.size(); ++id) {
    if (model.nodes[id].op != Op::kIntConst) continue;
    const auto at = [&](int64_t r) { return variants[r]->nodes[id].value; };
    const int64_t first = known[0], second = known[1];
    if (std::all_of(known.begin(), known.end(), [&](int64_t r) { return at(r) == at(first); })) {
      continue;
    }
    int64_t step = 0;
    if (__builtin_sub_overflow(at(second), at(first), &step)) return std::nullopt;
    step /= second - first;
    std::vector<int64_t> values(variants.size(), 0);
    for (size_t r = 0; r < variants.size(); ++r) {
      const auto rank = static_cast<int64_t>(r);
      int64_t distance = 0;
      if (std::binary_search(known.begin(), known.end(), rank)) {
        values[r] = at(rank);
      } else if (missing == Missing::kGoesOn &&
                 (__builtin_mul_overflow(step, rank - first, &distance) ||
                  __builtin_add_overflow(at(first), distance, &values[r]))) {
        return std::nullopt;
      }
    }
    const std::optional<IndexMap> form = FitDigits(values, 0);
    if (!form.has_value()) return std::nullopt;
    constants[static_cast<ExprId>(id)] = *form;
  }
  return constants;
}

// Whether the index `var` stands anywhere but at a coordinate's position of an element.
bool StandsElsewhere(const IndexFunction& function, const CoordinateLayout& layout, VarId var) {
  const auto is_var = [&](ExprId id) {
    return function.nodes[id].op == Op::kIndex && function.nodes[id].var == var;
  };
  for (const Node& node : function.nodes) {
    const bool element = node.op == Op::kElement || node.op == Op::kIntElement;
    for (size_t i = 0; i < node.args.size(); ++i) {
      if (!is_var(node.args[i])) continue;
      const bool coordinate =
          element && std::any_of(layout.inputs[node.input].begin(), layout.inputs[node.input].end(),
                                 [&](const auto& at) { return at.first == static_cast<int>(i); });
      if (!coordinate) return true;
    }
  }
  return std::any_of(function.outputs.begin(), function.outputs.end(),
                     [&](const auto& output) { return is_var(output.body); });
}

bool GivesBack(const IndexFunction& folded, const std::vector<const IndexFunction*>& variants,
               const CoordinateLayout& layout) {
  std::map<const IndexFunction*, std::string> expected;
  bool any_rank = false;
  for (size_t r = 0; r < variants.size(); ++r) {
    if (any_rank && variants[r] == variants[r - 1]) continue;
    std::string& wanted = expected[variants[r]];
    if (wanted.empty()) {
      const absl::StatusOr<IndexFunction> plain = Rebuilt(*variants[r]);
      if (!plain.ok()) return false;
      wanted = ContentOf(*plain);
    }
    absl::StatusOr<IndexFunction> instance =
        InstanceOf(folded, layout, static_cast<int64_t>(r), &any_rank);
    if (!instance.ok() || ContentOf(*std::move(instance)) != wanted) return false;
  }
  return true;
}

void AssumeAll(const std::vector<const IndexFunction*>& variants, IndexFunction* folded) {
  std::vector<std::string>& all = folded->assumptions;
  for (const IndexFunction* variant : variants) {
    for (const std::string& text : variant->assumptions) {
      if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
    }
  }
}

}  // namespace

std::optional<IndexFunction> FoldRanks(const std::vector<const IndexFunction*>& variants,
                                       const CoordinateLayout& layout) {
  const IndexFunction* model = variants[0];
  for (const IndexFunction* variant : variants) {
    if (variant->nodes.size() > model->nodes.size()) model = variant;
  }
  const auto fold = [&](const std::map<ExprId, IndexMap>& constants) {
    absl::StatusOr<IndexFunction> folded = Ranked(*model, layout, constants);
    if (!folded.ok() || !GivesBack(*folded, variants, layout))
      return std::optional<IndexFunction>();
    AssumeAll(variants, &*folded);
    return std::optional<IndexFunction>(*std::move(folded));
  };
  std::vector<int64_t> known;
  for (size_t r = 0; r < variants.size(); ++r) {
    if (variants[r]->outputs.size() != model->outputs.size() ||
        variants[r]->inputs.size() != model->inputs.size()) {
      return std::nullopt;
    }
    if (SameStructure(*variants[r], *model)) known.push_back(static_cast<int64_t>(r));
  }
  if (known.size() > 1) {
    for (Missing missing : {Missing::kGoesOn, Missing::kZero}) {
      const auto constants = FitConstants(variants, *model, known, missing);
      if (!constants.has_value()) continue;
      if (std::optional<IndexFunction> folded = fold(*constants)) return folded;
      if (known.size() == variants.size()) break;
    }
    return std::nullopt;
  }
  // One variant alone has this structure: some constant of it is 0 at the other ranks.
  int tried = 0;
  for (size_t id = 0; id < model->nodes.size() && tried < kMaxTried; ++id) {
    if (model->nodes[id].op != Op::kIntConst || model->nodes[id].value == 0) continue;
    std::vector<int64_t> values(variants.size(), 0);
    values[known[0]] = model->nodes[id].value;
    const std::optional<IndexMap> form = FitDigits(values, 0);
    if (!form.has_value()) return std::nullopt;
    ++tried;
    if (std::optional<IndexFunction> folded = fold({{static_cast<ExprId>(id), *form}})) {
      return folded;
    }
  }
  return std::nullopt;
}

absl::StatusOr<IndexFunction> InstanceOf(const IndexFunction& folded,
                                         const CoordinateLayout& layout, int64_t rank,
                                         bool* any_rank) {
  IndexFunctionBuilder builder(folded.operator_name);
  if (folded.inputs.size() != layout.inputs.size()) return Mismatch();
  for (size_t i = 0; i < folded.inputs.size(); ++i) {
    Shape shape = folded.inputs[i].shape;
    for (size_t c = layout.inputs[i].size(); c-- > 0;) {
      const auto [position, coordinate] = layout.inputs[i][c];
      if (position >= static_cast<int>(shape.size()) ||
          shape[position] != layout.extents[coordinate]) {
        return Mismatch();
      }
      shape.erase(shape.begin() + position);
    }
    builder.AddInput(folded.inputs[i].name, std::move(shape), folded.inputs[i].dtype);
  }
  std::vector<std::vector<VarId>> kept, dropped;
  for (const sdfg::FunctionOutput& output : folded.outputs) {
    std::vector<VarId> dims = output.dims, coordinates;
    for (size_t c = layout.output.size(); c-- > 0;) {
      const int position = layout.output[c];
      if (position >= static_cast<int>(dims.size()) ||
          folded.vars[dims[position]].extent != layout.extents[c]) {
        return Mismatch();
      }
      coordinates.insert(coordinates.begin(), dims[position]);
      dims.erase(dims.begin() + position);
    }
    Shape shape;
    for (VarId var : dims) shape.push_back(folded.vars[var].extent);
    builder.AddOutput(output.name, shape, output.dtype);
    kept.push_back(std::move(dims));
    dropped.push_back(std::move(coordinates));
  }
  if (any_rank != nullptr) {
    *any_rank = std::none_of(dropped.begin(), dropped.end(), [&](const auto& coordinates) {
      return StandsElsewhere(folded, layout, coordinates.back());
    });
  }
  return CopyAll(folded, &builder, [&](int o) {
    auto copier = std::make_unique<InstanceCopier>(folded, &builder, layout, dropped[o], rank);
    const std::vector<VarId>& dims = builder.OutputDims(o);
    for (size_t d = 0; d < dims.size(); ++d) copier->MapVar(kept[o][d], dims[d]);
    return copier;
  });
}

absl::StatusOr<IndexFunction> Rebuilt(const IndexFunction& function) {
  CoordinateLayout none;
  none.inputs.resize(function.inputs.size());
  return Ranked(function, none, {});
}

std::string ContentOf(IndexFunction function) {
  function.assumptions.clear();
  return function.Serialize();
}

bool AssumesAllOf(const IndexFunction& folded, const IndexFunction& one) {
  const std::vector<std::string>& all = folded.assumptions;
  return std::all_of(one.assumptions.begin(), one.assumptions.end(), [&](const std::string& text) {
    return std::find(all.begin(), all.end(), text) != all.end();
  });
}

}  // namespace planproof::lineage::folding
