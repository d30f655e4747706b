#include "generator/update.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "generator/gradient_norm.h"

namespace planproof::generator {
namespace {

class Update {
 public:
  Update(const TrainingConfig& training, const std::map<Value, LocalGradient>& gradients,
         Emitter* emitter)
      : training_(training), local_(gradients), emitter_(*emitter), trace_(*emitter->trace()) {}

  std::vector<UpdatedTensor> Run() {
    const std::vector<Value> parameters = trace_.parameters;
    for (Value parameter : parameters) ReduceGradient(parameter);
    WriteSquaredNorm(gradients_, &emitter_);
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

  // torch.nn.utils.clip_grad_norm_.
  void ClipCoefficient(int stage) {
    emitter_.SetStage(stage);
    const Value squared = emitter_.Adopt(kSquaredNorm, Scalar());
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

}  // namespace planproof::generator
