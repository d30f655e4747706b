// Modules that are missing, or that do not load: the one line that is said about them.
#include "solver/shared_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/temporary_directory.h"

namespace planproof::solver {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// What is said of a module file that no loader reads, which needs this library.
std::string SaidOfABrokenModule(const std::string& library_file) {
  const TemporaryDirectory directory("shared_module");
  const std::string path = directory.path() + "libmodule.so";
  std::ofstream(path) << "no shared object";
  setenv("PLANPROOF_TEST_MODULE", path.c_str(), 1);
  SharedModule module = LoadSharedModule({"libmodule.so",
                                          "PLANPROOF_TEST_MODULE",
                                          "solver",
                                          "Test",
                                          "libneeded-dev",
                                          {"libneeded", library_file, "libneeded-4"}});
  unsetenv("PLANPROOF_TEST_MODULE");
  EXPECT_EQ(module.handle, nullptr);
  EXPECT_EQ(module.Find("any_symbol"), nullptr);
  EXPECT_THAT(module.missing, Not(HasSubstr("\n")));
  return module.missing;
}

TEST(SharedModule, NamesTheLibraryAndThePackageThatAreNotInstalled) {
  EXPECT_THAT(SaidOfABrokenModule("libneeded_of_no_system.so.4"),
              StartsWith("libneeded is not installed: apt-get install libneeded-4 ("));
}

TEST(SharedModule, DoesNotBlameALibraryThatIsThere) {
  for (const char* there : {"libc.so.6", ""}) {
    EXPECT_THAT(SaidOfABrokenModule(there), StartsWith("the Test module does not load: "));
  }
}

TEST(SharedModule, NamesThePackageWithoutWhichItWasNotBuilt) {
  const SharedModule module = LoadSharedModule(
      {"libplanproof_of_no_build.so", "PLANPROOF_TEST_MODULE", "solver", "Test", "libneeded-dev"});
  EXPECT_EQ(module.missing,
            "the Test module (libplanproof_of_no_build.so) is missing: install libneeded-dev and "
            "build again");
}

}  // namespace
}  // namespace planproof::solver
