// Where libz3 is not installed: the engines that need it name library and package, and nothing is
// PROVED by them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/cli/command_line.h"
#include "tests/temporary_directory.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class WithoutZ3 : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(PLANPROOF_Z3_LIBRARY).empty())
      GTEST_SKIP() << "planproof was built without Z3 (apt-get install libz3-dev)";
    // The loader looks here first, and takes this for a broken library: Z3 cannot be loaded.
    std::ofstream(directory_.path() + PLANPROOF_Z3_LIBRARY).close();
  }

  Finished Verify(const std::string& options) const {
    return RunProgram(
        "verify --no-cache " + options + " " + RepositoryPath("examples/mlp_tp2.json"),
        "LD_LIBRARY_PATH=" + directory_.path() + " ");
  }

 private:
  TemporaryDirectory directory_{"without_z3"};
};

constexpr char kRemedy[] = "libz3 is not installed: apt-get install libz3-4 (";

TEST_F(WithoutZ3, SmtNamesThePackageAndProvesNothing) {
  const Finished run = Verify("--engine smt");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.output, HasSubstr(kRemedy));
  EXPECT_THAT(run.output,
              HasSubstr("; without Z3 this engine decides no claim, so none is PROVED"));
}

TEST_F(WithoutZ3, AuditNamesThePackageAndWhatIsProvedIsUnknown) {
  const Finished run = Verify("--engine audit");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.output, HasSubstr(kRemedy));
  EXPECT_THAT(run.output, HasSubstr("; what is PROVED without Z3 is not audited, and so UNKNOWN"));
}

TEST_F(WithoutZ3, TheDefaultEngineNeedsNoZ3) {
  const Finished run = Verify("");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.output + run.errors, Not(HasSubstr("libz3")));
}

}  // namespace
}  // namespace planproof::cli
