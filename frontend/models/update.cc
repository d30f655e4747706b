#include "frontend/models/update.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace planproof::models {
namespace {

constexpr char kSumOf[] = "sum_of_";

Dims Scalar() { return {Layout::Whole(1)}; }

class Update {
 public:
  Update(const TrainingConfig& training, const std::map<Value, LocalGradient>& gradients,
         Emitter* emitter)
      : training_(training), local_(gradients), emitter_(*emitter), trace_(*emitter->trace()) {}

  std::vector<UpdatedTensor> Run() {
    const std::vector<Value> parameters = trace_.parameters;
    for (Value parameter : parameters) ReduceGradient(parameter);
    if (trace_.logical) {
      LogicalNorm(parameters);
    } else {
      ParallelNorm(parameters);
    }
    for (int stage = 0; stage < trace_.layout.stages(); ++stage) ClipCoefficient(stage);
    for (Value parameter : parameters) Step(parameter);
    return updated_;
  }

 private:
  // The parameter as its optimizer states lie: a shard where they are cut.
  Dims StateDims(const ValueInfo& parameter) const {
    if (trace_.layout.ShardsParameters()) return parameter.dims;
    return trace_.layout.StateDims(parameter.dims);
  }

  // The whole gradient of a parameter, as its optimizer states lie.
  void ReduceGradient(Value parameter) {
    const ValueInfo info = trace_.values[parameter];
    emitter_.SetStage(info.stage);
    const std::string logical = absl::StrCat("grad.", info.name);
    const Dims dims = StateDims(info);
    const bool cut = AxesOf(dims) != AxesOf(info.dims);
    std::string name = logical;
    if (!trace_.logical) {
      const LocalGradient& local = local_.at(parameter);
      name = local.name;
      Axes partial = local.partial;
      const Axes ranks = trace_.layout.state_axes();
      const bool scatter = cut && trace_.layout.ScattersGradients();
      if (scatter) {  // each microbatch's
        const std::string shard = absl::StrCat(logical, ".scattered");
        trace_.WriteAlong(info.stage, "reduce_scatter", ranks, trace_.layout.StateDim(info.dims),
                          name, shard);
        name = shard;
        partial = Minus(partial, ranks);
        trace_.WriteLineage(info.stage, name, logical, dims, partial);
      }
      if (!partial.empty()) {
        trace_.WriteAllReduce(info.stage, partial, name, logical);
        name = logical;
        trace_.WriteLineage(info.stage, name, logical, scatter ? dims : info.dims, {});
      }
      if (cut && !scatter) name = Shard(info, name, logical, dims);
    }
    gradients_[parameter] = Unscaled(emitter_.Adopt(name, logical, dims), info.name);
  }

  // A gradient divided by the scale of the loss.
  Value Unscaled(Value gradient, const std::string& parameter) {
    const std::string scale = std::exchange(trace_.gradient_factor, "");
    if (scale.empty()) return gradient;
    const ValueInfo info = trace_.values[gradient];
    const Value unscaled = emitter_.Apply(
        {"div", {gradient, scale}},
        {info.logical, info.dims, false, false, absl::StrCat("unscaled.", parameter)});
    trace_.gradient_factor = scale;
    return unscaled;
  }

  // The part of a tensor that lies as the parameter does whose states this rank holds.
  std::string Shard(const ValueInfo& parameter, const std::string& name, const std::string& logical,
                    const Dims& dims) {
    std::string shard = absl::StrCat(name, ".shard");
    trace_.WriteAlong(parameter.stage, "chunk", trace_.layout.state_axes(),
                      trace_.layout.StateDim(parameter.dims), name, shard);
    trace_.WriteLineage(parameter.stage, shard, logical, dims, {});
    return shard;
  }

  Value SquareOf(Value parameter) {
    const ValueInfo info = trace_.values[parameter];
    emitter_.SetStage(info.stage);
    return emitter_.ApplyTerm({"grad_norm", {gradients_.at(parameter)}},
                              {absl::StrCat("square.", info.name), Scalar()},
                              AxesOf(StateDims(info)));
  }

  // Sums by layer, then over the layers: "layers.3.attention.q.weight" belongs to "layers.3".
  void LogicalNorm(const std::vector<Value>& parameters) {
    std::vector<std::pair<std::string, std::vector<Argument>>> groups;
    for (Value parameter : parameters) {
      const std::string& name = trace_.values[parameter].name;
      std::string group = "others";
      if (absl::StartsWith(name, "layers.")) group = name.substr(0, name.find('.', 7));
      size_t at = 0;
      while (at < groups.size() && groups[at].first != group) ++at;
      if (at == groups.size()) groups.push_back({group, {}});
      groups[at].second.push_back(SquareOf(parameter));
    }
    std::vector<Argument> sums;
    for (const auto& [group, squares] : groups) {
      const std::string name = absl::StrCat("squares.", group);
      LogicalSum(squares, name);
      sums.push_back(emitter_.Adopt(name, Scalar()));
    }
    LogicalSum(std::move(sums), "grad_norm.squared");
  }

  // A tree of sums: a declaration has a bounded number of operands.
  void LogicalSum(std::vector<Argument> terms, const std::string& name) {
    constexpr size_t kMostTerms = 32;
    for (int level = 0; terms.size() > kMostTerms; ++level) {
      std::vector<Argument> sums;
      for (size_t i = 0; i < terms.size(); i += kMostTerms) {
        const std::vector<Argument> some(terms.begin() + i,
                                         terms.begin() + std::min(terms.size(), i + kMostTerms));
        sums.push_back(
            emitter_.Apply({absl::StrCat(kSumOf, some.size()), some},
                           {absl::StrCat(name, ".", level, ".", sums.size()), Scalar()}));
      }
      terms = std::move(sums);
    }
    emitter_.Apply({absl::StrCat(kSumOf, terms.size()), terms}, {name, Scalar()});
  }

  // Each rank sums the squares of what it holds; what all ranks of tp hold counts once.
  void ParallelNorm(const std::vector<Value>& parameters) {
    const int stages = static_cast<int>(trace_.layout.stages());
    const std::string total = "grad_norm.squared";
    std::vector<std::string> participants;
    for (int stage = 0; stage < stages; ++stage) {
      std::map<Axes, std::vector<std::string>> by_cut;
      for (Value parameter : parameters) {
        if (trace_.values[parameter].stage != stage) continue;
        if (trace_.values[parameter].counted_elsewhere) continue;
        const Axes cut = AxesOf(StateDims(trace_.values[parameter]));
        by_cut[cut].push_back(trace_.values[SquareOf(parameter)].name);
      }
      std::vector<std::string> sums;
      for (const auto& [cut, squares] : by_cut) {
        const std::string name = absl::StrCat("squares.held.", sums.size());
        trace_.WriteSum(stage, squares, name);
        sums.push_back(name);
        if (cut.empty()) continue;
        sums.back() = absl::StrCat("squares.", sums.size());
        trace_.WriteAllReduce(stage, cut, name, sums.back());
      }
      const std::string own = stages == 1 ? total : "squares.stage";
      trace_.WriteSum(stage, sums, own);
      participants.push_back(absl::StrCat(trace_.StageName(stage), ":", own));
    }
    for (int stage = 0; stage < stages; ++stage) {
      if (stages > 1) {
        trace_.Write(stage, "all_reduce", participants, total)->mutable_collective();
      }
      trace_.WriteLineage(stage, total, total, Scalar(), {});
    }
  }

  // torch.nn.utils.clip_grad_norm_.
  void ClipCoefficient(int stage) {
    emitter_.SetStage(stage);
    const Value squared = emitter_.Adopt("grad_norm.squared", Scalar());
    const Value norm = emitter_.Apply({"sqrt", {squared}}, {"grad_norm", Scalar()});
    const Value shifted = emitter_.Apply({"add", {norm, "1e-6"}}, {"clip.norm", Scalar()});
    const Value ratio =
        emitter_.Apply({"div", {training_.clip_norm, shifted}}, {"clip.ratio", Scalar()});
    coefficient_.push_back(
        emitter_.Apply({"clamp", {ratio}, {{"max", Number{"1"}}}}, {"clip.coefficient", Scalar()}));
  }

  void Step(Value parameter) {
    const ValueInfo info = trace_.values[parameter];
    emitter_.SetStage(info.stage);
    const Dims dims = StateDims(info);
    const bool cut = AxesOf(dims) != AxesOf(info.dims);
    const Value clipped =
        emitter_.Apply({"mul", {gradients_.at(parameter), coefficient_[info.stage]}},
                       {absl::StrCat("clipped.", info.name), dims});
    const Value own =
        cut ? emitter_.Adopt(Shard(info, info.name, info.name, dims), info.name, dims) : parameter;
    Declaration first{info.name + ".exp_avg", plan::ROLE_BUFFER, "float32", dims};
    Declaration second{info.name + ".exp_avg_sq", plan::ROLE_BUFFER, "float32", dims};
    second.nonnegative = true;
    for (const std::string& name : {info.name, first.name, second.name}) {
      if (seen_.insert(name).second) updated_.push_back({name, name + ".new"});
    }
    const std::string updated = info.name + ".new";
    const std::string result = cut ? updated + ".shard" : updated;
    emitter_.Apply({"adamw",
                    {own, clipped, emitter_.Read(first), emitter_.Read(second)},
                    {{"lr", Number{training_.learning_rate}},
                     {"beta1", Number{training_.beta1}},
                     {"beta2", Number{training_.beta2}},
                     {"eps", Number{training_.epsilon}},
                     {"weight_decay", Number{training_.weight_decay}},
                     {"step", training_.step}}},
                   {{updated, dims, false, false, result},
                    {first.name + ".new", dims},
                    {second.name + ".new", dims}});
    if (!cut) return;
    trace_.WriteAlong(info.stage, "all_gather", trace_.layout.state_axes(),
                      trace_.layout.StateDim(info.dims), result, updated);
    trace_.WriteLineage(info.stage, updated, updated, info.dims, {});
  }

  const TrainingConfig& training_;
  const std::map<Value, LocalGradient>& local_;
  Emitter& emitter_;
  Trace& trace_;
  std::map<Value, Value> gradients_;  // whole gradient of each parameter
  std::vector<Value> coefficient_;    // by stage
  std::vector<UpdatedTensor> updated_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<UpdatedTensor> WriteUpdates(const TrainingConfig& training,
                                        const std::map<Value, LocalGradient>& gradients,
                                        Emitter* emitter) {
  return Update(training, gradients, emitter).Run();
}

std::string SumDeclarations(const Trace& trace) {
  std::set<std::string> names;
  std::string text;
  for (const plan::Program& program : trace.programs) {
    for (const plan::Operator& op : program.operators()) {
      if (!absl::StartsWith(op.op(), kSumOf) || !names.insert(op.op()).second) continue;
      absl::StrAppend(&text, "op ", op.op(), "(");
      for (int i = 0; i < op.inputs_size(); ++i) absl::StrAppend(&text, i ? ", x" : "x", i);
      absl::StrAppend(&text, ") -> y = ");
      for (int i = 0; i < op.inputs_size(); ++i) absl::StrAppend(&text, i ? " + x" : "x", i);
      absl::StrAppend(&text, "\n");
    }
  }
  return text;
}

}  // namespace planproof::models
