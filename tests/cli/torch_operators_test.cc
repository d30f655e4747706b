// Single operators, each against a program that computes the same, or something else, by PyTorch's
// values. The traces are in tests/torch/operator_traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::StartsWith;

struct OperatorCase {
  const char* name;
  const char* verdict;
};

void PrintTo(const OperatorCase& a_case, std::ostream* out) { *out << a_case.name; }

class OperatorAgainstProgram : public testing::TestWithParam<OperatorCase> {};

TEST_P(OperatorAgainstProgram, IsJudgedByWhatPyTorchComputes) {
  const std::string path =
      RepositoryPath(absl::StrCat("tests/torch/operator_traces/", GetParam().name));
  const Finished done =
      RunProgram(absl::StrCat("verify -q --no-cache ", path, ".ref.trace ", path, ".rank0.trace"));
  EXPECT_THAT(done.output, StartsWith(GetParam().verdict)) << done.errors;
}

INSTANTIATE_TEST_SUITE_P(
    Traces, OperatorAgainstProgram,
    testing::Values(
        // x[arange(1), i] is x[0, i], and not x[arange(3), i].
        OperatorCase{"index_by_one_position", "REFUTED"},
        OperatorCase{"index_put_at_one_position", "REFUTED"},
        // h[-5:] of three rows is h, and so is its derivative.
        OperatorCase{"slice_backward_from_before_the_start", "REFUTED"},
        OperatorCase{"slice_backward_of_everything", "PROVED"},
        // The mean is over the elements of the first operand.
        OperatorCase{"mse_loss_backward_of_a_row", "REFUTED"},
        // A gradient that is broadcast; this crashed.
        OperatorCase{"select_backward_of_a_row", "UNKNOWN"},
        // x c + x d, d being 2 c, is 1.5 x d for these constants, if not for all.
        OperatorCase{"constants_in_proportion", "UNKNOWN"},
        OperatorCase{"cumsum_of_a_scalar", "PROVED"},
        // -0.5 stays what it is beside a gradient of real numbers.
        OperatorCase{"threshold_backward_of_truth_values", "PROVED"},
        // Half of a difference of whole numbers is rounded only by the plan.
        OperatorCase{"mse_loss_backward_of_whole_numbers", "UNKNOWN"},
        // PyTorch fills the memory from its start, against the strides.
        OperatorCase{"softmax_into_transposed_memory", "UNKNOWN"},
        // 49 times the double next to 1 / 49 is less than 1, and PyTorch makes 0 of it.
        OperatorCase{"whole_of_a_rounded_factor", "UNKNOWN"},
        // These were MALFORMED.
        OperatorCase{"log_sigmoid_of_nothing", "PROVED"},
        OperatorCase{"view_of_the_same_type", "UNKNOWN"},
        OperatorCase{"group_norm_of_other_extents", "UNKNOWN"},
        OperatorCase{"prelu_backward_of_other_extents", "UNKNOWN"},
        OperatorCase{"reflection_backward_of_other_extents", "UNKNOWN"},
        // Outside of 0 and 1 PyTorch gives no number; this was REFUTED.
        OperatorCase{"logit_backward_outside_its_domain", "UNKNOWN"}),
    [](const testing::TestParamInfo<OperatorCase>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace planproof::cli
