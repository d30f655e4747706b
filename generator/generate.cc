#include "generator/generate.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/plan/write_file.h"
#include "generator/backward.h"
#include "generator/blocks.h"
#include "generator/deepseek.h"
#include "generator/emitter.h"
#include "generator/gpt.h"
#include "generator/gradient_norm.h"
#include "generator/llama.h"
#include "generator/tied.h"
#include "generator/update.h"
#include "sdfg/status_macros.h"

namespace planproof::generator {
namespace {

// Operators that the model needs beside the built-in ones.
constexpr char kDeclarations[] =
    "## Logit of the target. Source: torch.gather of the last dimension.\n"
    "op target_logit(logits[t.., v], target[t..]: int)\n"
    "  -> l[t..] = sum(v: [target[t..] == v] * logits[t.., v])\n";

Value Layer(const ModelConfig& model, const std::string& prefix, int64_t layer, Value x,
            Emitter* emitter) {
  switch (model.family) {
    case Family::kGpt:
      return GptFeedForward(model, prefix, GptAttention(model, prefix, x, emitter), emitter);
    case Family::kDeepSeek:
      x = LatentAttention(model, prefix, x, emitter);
      return layer < model.dense_layers ? LlamaFeedForward(model, prefix, x, emitter)
                                        : ExpertsFeedForward(model, prefix, x, emitter);
    case Family::kLlama:
      break;
  }
  return LlamaFeedForward(model, prefix, LlamaAttention(model, prefix, x, emitter), emitter);
}

// The forward pass; gives the loss (in a parallel plan: one term of it).
Value WriteForward(const ModelConfig& model, const Strategy& strategy, int64_t sequences,
                   const std::vector<int64_t>& stage_layers, Emitter* emitter) {
  const Layout& layout = emitter->layout();
  emitter->BeginChunk(0, 0);
  Declaration ids{
      "ids", plan::ROLE_INPUT, "int64", {layout.Batch(sequences), layout.Sequence(model.sequence)}};
  ids.below = model.vocabulary;
  const bool gpt = model.family == Family::kGpt;
  Value x = TokenEmbedding(model, "embedding", emitter->Read(ids), emitter);
  if (gpt) x = AddPositions(model, x, emitter);
  int64_t layer = 0;
  const auto stages = static_cast<int>(layout.stages());
  for (int virtual_stage = 0; virtual_stage < static_cast<int>(stage_layers.size());
       ++virtual_stage) {
    const int stage = virtual_stage % stages;
    emitter->BeginChunk(stage, virtual_stage / stages);
    x = emitter->MoveTo(stage, x);
    for (int64_t i = 0; i < stage_layers[virtual_stage]; ++i, ++layer) {
      const std::string prefix = absl::StrCat("layers.", layer, ".");
      const bool whole_sequence = strategy.NeedsWholeSequence(layer);
      if (strategy.recompute) emitter->BeginRecomputed();
      if (whole_sequence) x = emitter->GatherReplicated(x, 1);
      x = Layer(model, prefix, layer, x, emitter);
      if (whole_sequence) x = emitter->SplitReplicated(x, 1);
      if (strategy.recompute) emitter->EndRecomputed();
    }
  }
  const Value normed =
      gpt ? LayerNorm(model, "norm", x, emitter) : RmsNorm(model, "norm", x, emitter);
  return LanguageModelLoss(model, "head", model.tied_embedding ? "embedding" : "head", normed,
                           sequences, emitter);
}

void SetHeader(plan::PlanFile* file) {
  file->set_magic("planproof-plan");
  file->set_version(1);
}

void WriteDeclarations(const Trace& trace, plan::Specification* specification) {
  for (const Declaration& declaration : trace.declarations) {
    plan::TensorDeclaration* tensor = specification->add_tensors();
    tensor->set_name(declaration.name);
    tensor->set_role(declaration.role);
    tensor->set_dtype(declaration.dtype);
    for (const Dim& dim : declaration.dims) tensor->add_shape(dim.extent);
    if (!declaration.nonnegative && declaration.below == 0) continue;
    plan::Premise* premise = specification->add_premises();
    premise->set_tensor(declaration.name);
    premise->set_kind(declaration.nonnegative ? plan::Premise::NON_NEGATIVE
                                              : plan::Premise::INTEGER_RANGE);
    premise->set_high(declaration.below);
  }
}

plan::PlanFile LogicalFile(const ModelConfig& model, const TrainingConfig& training,
                           int64_t sequences) {
  Emitter emitter(Layout(), true);
  WriteForward(model, Strategy(), sequences, {model.layers}, &emitter);
  Trace& trace = *emitter.trace();
  plan::PlanFile file;
  SetHeader(&file);
  plan::Specification& specification = *file.mutable_specification();
  plan::Gradients* gradients = specification.add_gradients();
  gradients->set_loss("loss");
  for (Value parameter : trace.parameters) gradients->add_of(trace.values[parameter].name);
  for (const UpdatedTensor& update : WriteUpdates(training, {}, &emitter)) {
    plan::ParameterUpdate* added = specification.add_updates();
    added->set_parameter(update.name);
    added->set_updated(update.updated);
  }
  WriteDeclarations(trace, &specification);
  for (const char* output : {"loss", "grad_norm"}) {
    specification.add_outputs()->set_name(output);
    specification.mutable_outputs()->rbegin()->mutable_relation();
  }
  file.set_operators(absl::StrCat(kDeclarations, SumDeclarations(trace)));
  specification.mutable_operators()->Swap(trace.programs[0].mutable_operators());
  return file;
}

// The loss times the loss scale, of which the backward pass starts; from here on gradients are that
// many times the model's.
Value ScaledLoss(const Strategy& strategy, Value loss, Emitter* emitter) {
  if (strategy.loss_scale == "1") return loss;
  Trace& trace = *emitter->trace();
  trace.gradient_factor = strategy.loss_scale;
  trace.values[loss].gradient = "scaled.grad.loss";  // grad.loss is the seed
  const Axes partial = trace.values[loss].partial;
  return emitter->ApplyTerm({"mul", {loss, strategy.loss_scale}},
                            {"scaled_loss", {Layout::Whole(1)}, false, /*local=*/true}, partial);
}

// The stages' programs, as these ranks run them.
std::vector<plan::Program> ProgramsOf(const ModelConfig& model, const TrainingConfig& training,
                                      const Strategy& strategy,
                                      const std::vector<int64_t>& stage_layers,
                                      const Layout::Ranks& ranks) {
  Emitter emitter(Layout(strategy, ranks), false);
  const Value loss = WriteForward(model, strategy, strategy.Batch(), stage_layers, &emitter);
  Trace& trace = *emitter.trace();
  MarkTiedParameters(&trace);
  std::map<Value, LocalGradient> gradients =
      WriteBackward(&trace, ScaledLoss(strategy, loss, &emitter), "loss");
  for (int stage = 0; stage < trace.layout.stages(); ++stage) trace.BeginPhase(stage, kUpdatePhase);
  ReduceTiedGradients(&trace, &gradients);
  const Axes batch = trace.values[loss].partial;
  const int last = static_cast<int>(trace.layout.stages()) - 1;
  if (!batch.empty()) {
    trace.WriteAllReduce(last, batch, trace.values[loss].name, "loss");
    trace.WriteLineage(last, "loss", "loss", {Layout::Whole(1)}, {});
  }
  WriteUpdates(training, gradients, &emitter);
  if (strategy.schedule != lineage::PipelineSchedule::kAny) {
    WriteSchedule(strategy.schedule, strategy.virtual_stages, strategy.microbatches, trace.phases,
                  &trace.programs);
  }
  return std::move(trace.programs);
}

plan::PlanFile ParallelFile(const ModelConfig& model, const TrainingConfig& training,
                            const Strategy& strategy, const std::vector<int64_t>& stage_layers) {
  plan::PlanFile file;
  SetHeader(&file);
  plan::Plan& plan = *file.mutable_plan();
  const Layout layout(strategy);
  for (const auto& [axis, extent] : layout.mesh()) {
    plan::MeshAxis* added = plan.add_mesh();
    added->set_name(axis);
    added->set_extent(extent);
  }
  plan.set_microbatches(strategy.microbatches);
  for (const Layout::Ranks& ranks : layout.AllApart()) {
    for (plan::Program& program : ProgramsOf(model, training, strategy, stage_layers, ranks)) {
      plan.add_programs()->Swap(&program);
    }
  }
  return file;
}

Preset Run(const char* name, const char* model, int64_t dp, int64_t tp, int64_t pp,
           int64_t microbatches) {
  Preset preset{name, model, {}};
  preset.strategy.data_parallel = dp;
  preset.strategy.tensor_parallel = tp;
  preset.strategy.pipeline_parallel = pp;
  preset.strategy.microbatches = microbatches;
  return preset;
}

}  // namespace

absl::StatusOr<GeneratedPlans> Generate(const ModelConfig& configured,
                                        const TrainingConfig& training, const Strategy& strategy) {
  ModelConfig model = configured;
  model.dispatch = strategy.dispatch;
  PLAN_RETURN_IF_ERROR(Validate(model, strategy));
  PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> stage_layers, LayersPerStage(model, strategy));
  GeneratedPlans plans;
  plans.logical = LogicalFile(model, training, strategy.Batch());
  plans.parallel = ParallelFile(model, training, strategy, stage_layers);
  return plans;
}

// TrainVerify (SOSP '25), table of plans: degrees of the published runs.
const std::vector<Preset>& Presets() {
  static const auto* const presets = new std::vector<Preset>{
      Run("L1", "llama3-8b", 512, 1, 1, 1),        Run("L2", "llama3-70b", 16, 8, 4, 32),
      Run("L3", "llama3-405b", 64, 8, 16, 16),     Run("D1", "deepseek-v3-16b", 16, 4, 2, 16),
      Run("D2", "deepseek-v3-236b", 16, 8, 4, 16), Run("D3", "deepseek-v3-671b", 32, 8, 8, 16),
  };
  return *presets;
}

absl::Status WriteBinary(const plan::PlanFile& file, const std::string& path) {
  return plan::WriteFile(path, file.SerializeAsString());
}

}  // namespace planproof::generator
