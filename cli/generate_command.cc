#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "generator/generate.h"
#include "generator/schedule.h"

namespace planproof::cli {
namespace {

struct GenerateArguments {
  std::string preset;
  std::string model;
  std::string output;
  generator::ModelSizes sizes;
  generator::Strategy strategy;
  generator::TrainingConfig training;
};

int RejectUsage(const std::string& message) {
  std::fprintf(stderr, "planproof: %s\n", message.c_str());
  return kUsageError;
}

int RunGenerate(const GenerateArguments& arguments) {
  std::string name = arguments.model;
  generator::Strategy strategy = arguments.strategy;
  if (!arguments.preset.empty()) {
    const generator::Preset* chosen = nullptr;
    std::vector<std::string> known;
    for (const generator::Preset& preset : generator::Presets()) {
      known.push_back(preset.name);
      if (preset.name == arguments.preset) chosen = &preset;
    }
    if (chosen == nullptr) {
      return RejectUsage(absl::StrCat("no preset '", arguments.preset, "'; there are ",
                                      absl::StrJoin(known, ", ")));
    }
    name = chosen->model;
    // What is not a degree can be combined with a published run.
    for (const auto& [degree, published] :
         {std::pair{&strategy.data_parallel, chosen->strategy.data_parallel},
          {&strategy.tensor_parallel, chosen->strategy.tensor_parallel},
          {&strategy.pipeline_parallel, chosen->strategy.pipeline_parallel},
          {&strategy.microbatches, chosen->strategy.microbatches}}) {
      *degree = published;
    }
  }
  if (name.empty()) return RejectUsage("give --preset or --model");
  absl::StatusOr<generator::ModelConfig> model = generator::NamedModel(name);
  if (!model.ok()) return RejectUsage(std::string(model.status().message()));
  model = generator::Resized(*model, arguments.sizes);
  if (!model.ok()) return RejectUsage(std::string(model.status().message()));
  const absl::StatusOr<generator::GeneratedPlans> plans =
      generator::Generate(*model, arguments.training, strategy);
  if (!plans.ok()) return RejectUsage(std::string(plans.status().message()));
  std::error_code error;
  std::filesystem::create_directories(arguments.output, error);
  for (const auto& [file, path] :
       {std::pair{&plans->logical, "/logical.plan"}, {&plans->parallel, "/parallel.plan"}}) {
    const absl::Status written = generator::WriteBinary(*file, arguments.output + path);
    if (!written.ok()) return RejectUsage(std::string(written.message()));
  }
  std::printf("%s/logical.plan: %d operators before differentiation\n", arguments.output.c_str(),
              plans->logical.specification().operators_size());
  int operators = 0;
  for (const plan::Program& program : plans->parallel.plan().programs()) {
    operators += program.operators_size();
  }
  std::printf("%s/parallel.plan: %d programs, %d operators\n", arguments.output.c_str(),
              plans->parallel.plan().programs_size(), operators);
  return kSuccess;
}

}  // namespace

void AddGenerateCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "generate",
      "Write the logical graph of a model and a parallel plan for it (docs/generator.md)");
  auto arguments = std::make_shared<GenerateArguments>();
  generator::Strategy& strategy = arguments->strategy;
  command->add_option("--output", arguments->output, "Directory for logical.plan and parallel.plan")
      ->required();
  CLI::Option* preset =
      command->add_option("--preset", arguments->preset, "A published run: L1, L2, L3, D1, D2, D3");
  command
      ->add_option("--model", arguments->model,
                   absl::StrCat("One of ", absl::StrJoin(generator::ModelNames(), ", ")))
      ->excludes(preset);
  generator::ModelSizes& sizes = arguments->sizes;
  for (auto& [option, value, what] :
       {std::tuple{"--layers", &sizes.layers, "Number of layers"},
        {"--hidden", &sizes.hidden, "Hidden size, which heads share"},
        {"--feed-forward", &sizes.feed_forward, "Width of a dense feed-forward block"},
        {"--heads", &sizes.heads, "Attention heads"},
        {"--key-value-heads", &sizes.key_value_heads, "Heads of keys and values"},
        {"--vocabulary", &sizes.vocabulary, "Rows of the embedding"},
        {"--sequence", &sizes.sequence, "Sequence length"}}) {
    command->add_option(option, *value, absl::StrCat(what, ", if not the model's"))
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  }
  for (auto& [option, value, what] :
       {std::tuple{"--dp", &strategy.data_parallel, "Degree of data parallelism"},
        {"--tp", &strategy.tensor_parallel, "Degree of tensor parallelism"},
        {"--pp", &strategy.pipeline_parallel, "Number of pipeline stages"},
        {"--cp", &strategy.context_parallel, "Degree of context parallelism"},
        {"--ep", &strategy.expert_parallel, "Ranks that share the experts, with --dispatch"},
        {"--microbatches", &strategy.microbatches, "Microbatches of one data-parallel rank"},
        {"--sequences", &strategy.sequences_per_microbatch, "Sequences of one microbatch"}}) {
    command->add_option(option, *value, what)->capture_default_str()->excludes(preset);
  }
  command
      ->add_option("--tp-shares", strategy.tensor_shares,
                   "Parts that each rank of tp holds, separated by commas, if not the same")
      ->delimiter(',')
      ->excludes(preset);
  command->add_flag("--sequence-parallel", strategy.sequence_parallel,
                    "Megatron's sequence parallelism over tp");
  command->add_flag("--ring", strategy.ring,
                    "With --cp: keys and values travel around the ranks, and are not gathered");
  command->add_flag("--zigzag", strategy.zigzag,
                    "With --cp: rank r holds blocks r and 2 cp - 1 - r of the sequence");
  command->add_flag("--dispatch", strategy.dispatch,
                    "Send tokens to the ranks of ep that hold their experts");
  command->add_option("--zero", strategy.zero, "ZeRO stage over dp")->check(CLI::Range(0, 3));
  command
      ->add_option("--loss-scale", strategy.loss_scale,
                   "Static loss scale: the loss times this is differentiated")
      ->capture_default_str();
  command->add_flag("--recompute", strategy.recompute, "Compute layers again in the backward pass");
  command
      ->add_option("--whole-sequence-layers", strategy.whole_sequence_layers,
                   "Layers without sequence parallelism, separated by commas")
      ->delimiter(',');
  command
      ->add_option("--stage-layers", strategy.stage_layers,
                   "Layers of each pipeline stage, separated by commas")
      ->delimiter(',')
      ->excludes(preset);
  command
      ->add_option_function<std::string>(
          "--schedule",
          [arguments](const std::string& name) {
            arguments->strategy.schedule = *generator::ScheduleNamed(name);
          },
          "Order of microbatches that the plan states: gpipe, 1f1b or interleaved")
      ->check(CLI::IsMember({"gpipe", "1f1b", "interleaved"}));
  command
      ->add_option("--virtual-stages", strategy.virtual_stages,
                   "Chunks of layers per pipeline stage, for --schedule interleaved")
      ->capture_default_str();
  command->add_option("--step", arguments->training.step, "AdamW's step number")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  command->footer(
      "Examples:\n"
      "  planproof generate --preset L3 --output llama405b\n"
      "  planproof generate --model llama-tiny --dp 2 --tp 2 --pp 2 --microbatches 2 --output "
      "tiny\n"
      "  planproof verify tiny/logical.plan tiny/parallel.plan");
  command->callback(
      [arguments, &action] { action = [arguments] { return RunGenerate(*arguments); }; });
}

}  // namespace planproof::cli
