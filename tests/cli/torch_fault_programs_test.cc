// PyTorch programs with a fault in their source, and the same without it, as they were recorded
// (tests/torch/judge_faults.py, which judges them in numbers, too).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Program {
  const char* name;
  std::vector<const char*> first_line;  // what it has
};
void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

std::string Verified(const std::string& name) {
  const Finished finished = RunProgram(absl::StrCat(
      "verify -q --no-cache ", RepositoryPath("tests/torch/fault_traces/" + name), "/*.trace"));
  return finished.output + finished.errors;
}

class ProgramWithFault : public testing::TestWithParam<Program> {};

TEST_P(ProgramWithFault, IsRefutedAndPlaced) {
  const std::string report = Verified(GetParam().name);
  EXPECT_THAT(report, StartsWith("REFUTED"));
  const std::string first_line = report.substr(0, report.find('\n'));
  for (const char* part : GetParam().first_line) EXPECT_THAT(first_line, HasSubstr(part));
}

TEST_P(ProgramWithFault, IsProvedWithoutIt) {
  EXPECT_THAT(Verified(absl::StrCat(GetParam().name, ".right")), StartsWith("PROVED"));
}

INSTANTIATE_TEST_SUITE_P(
    Traces, ProgramWithFault,
    testing::Values(
        Program{"accumulation_is_not_scaled", {"gradient of down.weight", "2 times too large"}},
        Program{"bias_on_each_rank", {"down.bias is added 2 times = size of tp"}},
        Program{"causal_mask_of_sequence_parts", {"add (", "causal_mask_of_sequence_parts.py:23"}},
        Program{"column_parallel_gradient", {"gradient of norm.weight: sum over tp missing"}},
        Program{"ddp_sum_for_average",
                {"gradient of down.bias: 2 times too large = size of dp", "all_reduce",
                 "adds where an average is needed"}},
        Program{"gradients_over_the_wrong_group",
                {"gradient of down.weight", "all_reduce", "runs over tp where dp would be right"}},
        Program{"labels_of_another_microbatch", {"stage loss", "nll_loss", "transformer.py:14"}},
        Program{"last_positions_loss", {"stage loss", "nll_loss", "last_positions_loss.py:32"}},
        Program{"loss_differs_by_rank",
                {"gradient of 0.weight", "a reduce_scatter over tp would be right"}},
        Program{"mean_of_means", {"stage loss: a mean of means", "div ("}},
        Program{"megatron_experts_are_averaged",
                {"gradient of decoder.layers.", ".mlp.experts.local_experts.", "allreduce",
                 "param_and_grad_buffer.py:"}},
        Program{"megatron_final_norm", {"gradient of decoder.final_layernorm.weight"}},
        Program{"megatron_tied_embedding",
                {"gradient of embedding.word_embeddings.weight", "sum over ranks 0, 1 missing"}},
        Program{"norm_of_the_rank", {"stage norm", "_foreach_norm", "transformer.py:70"}},
        Program{"owners_send_before_they_step", {"new value of up.bias: it is up.bias, unchanged"}},
        Program{"packed_projection_is_halved", {"packed_projection_is_halved.py:20"}},
        Program{"positions_of_sequence_parts", {"positions_of_sequence_parts.py:"}},
        Program{"vocabulary_starts_at_zero",
                {"stage loss", "embedding", "vocabulary_starts_at_zero.py:33"}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace planproof::cli
