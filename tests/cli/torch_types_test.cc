// Numbers that meet a type, and overloads that are other functions than their neighbours. The
// traces are in tests/torch/type_traces; verdicts are by PyTorch's values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::StartsWith;

struct TypeCase {
  const char* name;
  const char* verdict;
};

void PrintTo(const TypeCase& a_case, std::ostream* out) { *out << a_case.name; }

class TypesOfNumbers : public testing::TestWithParam<TypeCase> {};

TEST_P(TypesOfNumbers, AreThoseOfPyTorch) {
  const std::string path =
      RepositoryPath(absl::StrCat("tests/torch/type_traces/", GetParam().name));
  const Finished done =
      RunProgram(absl::StrCat("verify -q --no-cache ", path, ".ref.trace ", path, ".rank0.trace"));
  EXPECT_THAT(done.output, StartsWith(GetParam().verdict)) << done.errors;
}

INSTANTIATE_TEST_SUITE_P(
    Traces, TypesOfNumbers,
    testing::Values(
        // 2.75 is 2 among integers, and 3 is true.
        TypeCase{"scalar_to_int64_keeps_fraction", "REFUTED"},
        TypeCase{"int_of_quotient", "REFUTED"}, TypeCase{"scalar_to_bool", "REFUTED"},
        TypeCase{"full_bool_vector", "REFUTED"},
        TypeCase{"copy_fraction_into_int_scalar", "REFUTED"},
        // Bits of integers are no truth values.
        TypeCase{"parity_of_positions", "REFUTED"}, TypeCase{"and_of_ids", "REFUTED"},
        // The larger one of two is not the largest, and an empty list of dimensions reduces none.
        TypeCase{"max_other", "REFUTED"}, TypeCase{"any_dims_empty_list", "REFUTED"},
        // The bits of a number of another type are another number.
        TypeCase{"view_copy_dtype_reinterprets", "REFUTED"}),
    [](const testing::TestParamInfo<TypeCase>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace planproof::cli
