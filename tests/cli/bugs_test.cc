// Every row of the catalogue of bugs (docs/bugs.md) on generated plans: the plan is proved, and
// with the bug in it it is not, and the first lines say where and what it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;

struct Row {
  std::string name;  // of the row, and of the kind of fault
  std::string plan;  // how it is generated
  int exit_code;     // 1 REFUTED, 2 MALFORMED
  std::vector<std::string> words;
};

constexpr char kAll[] = "--model llama-tiny --dp 2 --tp 2 --pp 2 --microbatches 2";
constexpr char kDataAndTensor[] = "--model llama-tiny --dp 2 --tp 2";
constexpr char kSequence[] = "--model llama-tiny --tp 2 --sequence-parallel";
constexpr char kContext[] = "--model llama-tiny --cp 2";
constexpr char kPipeline[] = "--model llama-tiny --pp 2 --microbatches 4 --schedule 1f1b";

const std::vector<Row>& Rows() {
  static const auto* const rows = new std::vector<Row>{
      {"BR1",
       kAll,
       1,
       {"stage embedding: sum over tp missing", "all_reduce (embedding)", "devices 0-3"}},
      {"BR2",
       kAll,
       2,
       {"(layers.0.attention_norm) on device 0",
        "reads tensor stage0:embedding, which nothing produces"}},
      {"BR3", kAll, 2, {"all_gather (embedding) on devices 0, 1", "shape mismatch"}},
      {"BR4",
       kSequence,
       2,
       {"all_reduce (layers.0.attention_norm@gathered) on devices 0, 1", "shape mismatch"}},
      {"BR5",
       kAll,
       1,
       {"stage grad.norm: sum over tp missing", "all_reduce (grad.norm)", "devices 4-7"}},
      {"BR6", kAll, 2, {"used on device 4 but held on device 0", "move (layers.0.output)"}},
      {"BR7",
       kDataAndTensor,
       1,
       {"a constant of rms_norm (layers.0.attention_norm) is 2, in the model it is 1/100000",
        "at dp=0, tp=0", "device 0;"}},
      {"BR8",
       kDataAndTensor,
       1,
       {"what runs at dp=0, tp=0 in place of layers.0.attention_norm", "device 0;"}},
      {"BR9",
       kDataAndTensor,
       1,
       {"a constant of rms_norm (layers.0.attention_norm) is 2, in the model it is 1/100000",
        "devices 0, 2"}},
      {"BR10",
       "--model llama-tiny --tp 2",
       1,
       {"add (grad.head) reads grad.head.1 in place of grad.head.2", "devices 0, 1"}},
      {"BR11",
       "--model llama-tiny --key-value-heads 4 --tp 2",
       1,
       {"operands grad.layers.1.k_rotary and grad.layers.1.q_rotary of apply_rotary_emb.backward "
        "(layers.1.q_rotary.backward) are exchanged",
        "devices 0, 1"}},
      {"BR12",
       kDataAndTensor,
       1,
       {"a constant of mul (layers.0.scaled) is 1/4, in the model it is 1/2", "device 0;"}},
      {"BR13",
       kDataAndTensor,
       1,
       {"a constant of mul (layers.0.scaled) is 1/4, in the model it is 1/2", "2 times too small"}},
      {"BR14",
       kAll,
       1,
       {"sum over microbatch missing", "contribution of microbatch 1", "accumulate (grad.",
        "devices 4"}},
      {"C1",
       kContext,
       1,
       {"the slice of rotary on device 0 at cp 1 starts at 0, with 4", "device 1;"}},
      {"C2",
       kDataAndTensor,
       2,
       {"embedding.part: is produced by embedding (embedding.part) on device 0 and by"}},
      {"C3",
       kDataAndTensor,
       2,
       {"reads tensor grad.loss_sum.part, which nothing produces", "on device 0"}},
      {"GG1",
       kContext,
       1,
       {"the slice of rotary.backward on device 0 at cp 1 starts at 0, with 4", "device 1;"}},
      {"GG2",
       "--model deepseek-tiny --tp 2 --sequence-parallel",
       1,
       {"reduce_scatter (grad.layers.1.ffn_norm.2) adds over tp what every rank has whole",
        "devices 0, 1;"}},
      {"GG5",
       kSequence,
       1,
       {"stage grad.layers.0.attention_norm.weight: sum over tp missing", "devices 0, 1"}},
      {"GG6",
       "--model llama-tiny --microbatches 2",
       1,
       {"stage loss: 2 times too large = number of microbatches: accumulate (loss) adds",
        "div (loss.part)", "device 0;"}},
      {"TT1",
       "--model llama-tiny --tp 2",
       1,
       {"stage embedding: embedding (embedding.part) takes the slice of embedding.weight",
        "devices 0, 1"}},
      {"TT2",
       "--model llama-tiny --dp 2 --recompute",
       1,
       {"rms_norm (layers.1.attention_norm@again) reads embedding in place of layers.0.output",
        "devices 0, 1"}},
      {"TT3", kContext, 1, {"stage loss: 2 times too small = size of cp", "devices 0, 1"}},
      {"TT4",
       "--model llama-tiny --dp 2",
       1,
       {"stage loss: 2 times too small = size of dp", "devices 0, 1"}},
      {"TT5",
       "--model gpt-tiny --dp 2 --pp 2 --zero 1",
       1,
       {"stage grad.embedding.weight: sum over ranks 0, 2 missing", "device"}},
      {"TT6",
       "--model deepseek-tiny --cp 2",
       1,
       {"stage grad.layers.1.router.weight: sum over cp missing", "devices 0, 1"}},
      {"TT7",
       kDataAndTensor,
       2,
       {"all_reduce (embedding) on devices 0, 2",
        "its relation names dp, but the tensor is the same"}},
      {"TT9",
       "--model llama-tiny --dp 2 --zero 1",
       1,
       {"stage embedding.weight.new: it is embedding.weight, unchanged",
        "identity (embedding.weight.new)"}},
      {"TT10",
       "--model llama-tiny --pp 2",
       1,
       {"reads stage0:layers.1.attention_norm.weight in place of layers.0.attention_norm.weight",
        "device 0;"}},
      {"TT12",
       "--model gpt-tiny --tp 2 --sequence-parallel",
       1,
       {"stage grad.layers.0.attention_norm.weight: sum over tp missing", "devices 0, 1"}},
      {"TT13",
       "--model llama-tiny --cp 2 --sequences 2",
       1,
       {"stage grad.layers.1.v_heads", "in another order", "reduce_scatter", "devices 0, 1"}},
      {"TT14",
       "--model llama-tiny --tp 2 --cp 2",
       1,
       {"2 times too large = size of tp", "runs over cp, tp: over cp would be right"}},
      {"X1",
       "--model llama-tiny --dp 2",
       1,
       {"what runs at dp=1 in place of clipped.embedding.weight", "device 1;"}},
      {"X4",
       "--model llama-tiny --dp 2 --cp 2 --zero 2",
       1,
       {"stage grad.embedding.weight: sum over cp missing", "devices 0-3"}},
      {"X6",
       kDataAndTensor,
       2,
       {"all_reduce (grad.norm) on devices 0, 2",
        "its relation names dp, but the tensor is the same"}},
      {"S1", kPipeline, 2, {"step 0 (B0:0) reads", "device 0;"}},
      {"S2",
       kPipeline,
       2,
       {"in another order than they are sent", "move (layers.0.output)", "devices 0, 1"}},
  };
  return *rows;
}

void ExpectFound(const std::string& broken, int exit_code, const std::vector<std::string>& words) {
  const Finished finished = RunProgram("verify --no-cache -j 1 " + broken);
  EXPECT_EQ(finished.exit_code, exit_code) << finished.output;
  for (const std::string& word : words) {
    EXPECT_THAT(FirstLines(finished.output, 5), HasSubstr(word));
  }
}

class GeneratedBug : public testing::TestWithParam<Row> {};

TEST_P(GeneratedBug, IsFoundAndThePlanWithoutItIsProved) {
  const Row& row = GetParam();
  const std::string directory = TemporaryFile("bug_" + row.name, "") + ".plans";
  const Finished generated = RunProgram("generate " + row.plan + " --output " + directory);
  ASSERT_EQ(generated.exit_code, 0) << generated.errors;
  const std::string files = directory + "/logical.plan " + directory + "/parallel.plan";
  EXPECT_EQ(RunProgram("verify --no-cache -j 1 " + files).exit_code, 0);
  const std::string broken = directory + "/broken.plan";
  const Finished mutated = RunProgram("mutate " + files + " --kind " + row.name + " -o " + broken);
  ASSERT_EQ(mutated.exit_code, 0) << mutated.errors;
  ExpectFound(broken, row.exit_code, row.words);
}

INSTANTIATE_TEST_SUITE_P(Rows, GeneratedBug, testing::ValuesIn(Rows()),
                         [](const auto& info) { return info.param.name; });

// Rows for which the generator's models have no place: examples/bugs.
class WrittenBug : public testing::TestWithParam<Row> {};

TEST_P(WrittenBug, IsFoundAndThePlanWithoutItIsProved) {
  const std::string path = RepositoryPath("examples/bugs/" + GetParam().name);
  EXPECT_EQ(RunProgram("verify --no-cache -j 1 " + path + ".json").exit_code, 0);
  ExpectFound(path + "_broken.json", GetParam().exit_code, GetParam().words);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, WrittenBug,
    testing::Values(
        Row{"GG2",
            "",
            1,
            {"stage grad.h: 2 times too large = size of tp: reduce_scatter (grad.h) adds over tp "
             "what",
             "devices 0, 1;"}},
        Row{"GG3",
            "",
            1,
            {"stage a: pad (padded) has -1 in an index where 0 would be right", "devices 0, 1"}},
        Row{"GG4", "", 1, {"no rank has a[0, 6]", "linear (y)", "devices 0, 1"}},
        Row{"X2",
            "",
            1,
            {"the constant 0.001 of add (t.part) is added 2 times = size of tp", "devices 0, 1"}},
        Row{"X5",
            "",
            2,
            {"wait cycle of programs \"r0\", \"r1\"", "all_reduce (a)", "devices 0, 1"}},
        Row{"X7", "", 1, {"along a: shards 0 and 1 swapped", "permute (h.moved)", "devices 0-7"}}),
    [](const auto& info) { return info.param.name; });

// A kind without a place in a plan is an error that says what is missing.
TEST(BugsWithoutPlace, AreRefusedWithWhatIsMissing) {
  const std::string directory = TemporaryFile("bug_none", "") + ".plans";
  ASSERT_EQ(RunProgram("generate --model llama-tiny --output " + directory).exit_code, 0);
  const std::string files = directory + "/logical.plan " + directory + "/parallel.plan";
  for (const std::string kind :
       {"BR3", "BR7", "BR11", "GG1", "GG2",  "GG5",  "GG6",  "TT1", "TT2", "TT3",
        "TT5", "TT6", "TT7",  "TT9", "TT10", "TT13", "TT14", "X1",  "X4",  "X6"}) {
    const Finished finished =
        RunProgram("mutate " + files + " --kind " + kind + " -o " + directory + "/broken.plan");
    EXPECT_EQ(finished.exit_code, 64) << kind;
    EXPECT_THAT(finished.errors, HasSubstr("this plan has no place for it: it needs")) << kind;
  }
}

}  // namespace
}  // namespace planproof::cli
