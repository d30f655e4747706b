// Recorded numbers of PyTorch programs: what the command line says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command_line.h"
#include "tests/temporary_directory.h"

namespace planproof::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string Anchored(const std::string& name) {
  return absl::StrCat(PLANPROOF_SOURCE_DIR, "/tests/torch/anchored/", name);
}

Finished VerifyAnchored(const std::string& directory, const std::string& options = "") {
  return RunProgram(absl::StrCat("verify --no-cache ", options, " ", directory, "/reference.trace ",
                                 directory, "/rank0.trace ", directory, "/rank1.trace"));
}

TEST(TorchAnchor, ARightProgramIsProvedAndItsNumbersAgree) {
  const Finished finished = VerifyAnchored(Anchored("mlp"), "--require-anchor");
  EXPECT_THAT(finished.output, StartsWith("PROVED: ")) << finished.errors;
  EXPECT_THAT(finished.output, Not(HasSubstr("not anchored")));
  EXPECT_THAT(finished.output, HasSubstr("results of the ranks are the reference's to"));
  EXPECT_THAT(finished.output, HasSubstr("what was read of the programs computes their results"));
}

// Both were PROVED: what a rank is said to hold was believed.
TEST(TorchAnchor, ReplicasThatStartFromOtherValuesAreMalformed) {
  const Finished finished = VerifyAnchored(Anchored("init_differs"));
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.output, StartsWith("MALFORMED: "));
  EXPECT_THAT(finished.output, HasSubstr("on rank 1"));
  EXPECT_THAT(finished.output, HasSubstr("in the reference"));
}

TEST(TorchAnchor, RanksThatReadDifferentBatchesAreMalformed) {
  const Finished finished = VerifyAnchored(Anchored("tp_different_data"));
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.output, StartsWith("MALFORMED: input x at ["));
}

// The reader gave such programs' functions a meaning of its own, and then did not understand them.
TEST(TorchAnchor, NumbersThatPythonMakesOfTensorsAreAnchored) {
  for (const char* name : {"int_of_quotient", "round_of_loss", "clip_by_root"}) {
    const Finished finished = VerifyAnchored(Anchored(name), "--require-anchor");
    EXPECT_THAT(finished.output, StartsWith("PROVED: ")) << name << finished.errors;
  }
}

// Both factors give the same whole number here.
TEST(TorchAnchor, AnotherFactorInAWholeNumberIsFoundWhateverItGave) {
  const Finished finished = VerifyAnchored(Anchored("int_of_item_differs"));
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.output, StartsWith("REFUTED: "));
  const std::string first = finished.output.substr(0, finished.output.find('\n'));
  EXPECT_THAT(first, HasSubstr("is 1.28, in the model it is 5/4"));
}

// The states of its optimizer differ from the first step on, which is a result of the same fault.
TEST(TorchAnchor, AWrongGraphIsRefutedAlthoughItsWarmupMadeOtherStates) {
  const std::string directory = Anchored("summed_gradients");
  const Finished finished = RunProgram(absl::StrCat(
      "verify --no-cache ", directory, "/reference.trace ", directory, "/rank0.trace ", directory,
      "/rank1.trace ", directory, "/rank2.trace ", directory, "/rank3.trace"));
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.output, StartsWith("REFUTED: "));
  EXPECT_THAT(finished.output.substr(0, finished.output.find('\n')), HasSubstr("weight"));
  EXPECT_THAT(finished.output, HasSubstr("recorded   state weight.exp_avg at "));
  EXPECT_THAT(finished.output, HasSubstr("rank 0 holds 4 times its place"));
}

// A copy of the program that may be changed.
class ChangedRecording : public testing::Test {
 protected:
  ChangedRecording() {
    fs::copy(Anchored("mlp"), directory_.path(), fs::copy_options::recursive);
    fs::permissions(directory_.path(), fs::perms::owner_all, fs::perm_options::add);
  }
  std::string path() const { return directory_.path(); }
  TemporaryDirectory directory_{"torch_anchor"};
};

TEST_F(ChangedRecording, WithoutValuesTheFirstLineSaysSo) {
  fs::remove(path() + "rank1.values.npz");
  const Finished finished = VerifyAnchored(path());
  EXPECT_THAT(finished.output, StartsWith("PROVED: "));
  const std::string first = finished.output.substr(0, finished.output.find('\n'));
  EXPECT_THAT(first, HasSubstr("; not anchored: no values were recorded, or rank1.values.npz does "
                               "not lie beside its trace"));
  EXPECT_THAT(finished.output, HasSubstr("assumes    not anchored"));
  const Finished required = VerifyAnchored(path(), "--require-anchor");
  EXPECT_EQ(required.exit_code, 3);
  EXPECT_THAT(required.output, StartsWith("UNKNOWN: not anchored: no values were recorded"));
}

TEST_F(ChangedRecording, ValuesOfAnotherRecordingAreMalformed) {
  fs::copy_file(path() + "rank0.values.npz", path() + "rank1.values.npz",
                fs::copy_options::overwrite_existing);
  const Finished finished = VerifyAnchored(path());
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.output, HasSubstr("rank1.values.npz: these are not the values of"));
}

TEST_F(ChangedRecording, ReportsForMachinesHaveTheOutcome) {
  const Finished finished = VerifyAnchored(path(), "--json -");
  const nlohmann::json report = nlohmann::json::parse(finished.output);
  EXPECT_EQ(report["anchor"]["outcome"], "anchored");
  EXPECT_GT(report["anchor"]["results"].get<int>(), 0);
  const Finished differs = VerifyAnchored(Anchored("init_differs"), "--json -");
  const nlohmann::json wrong = nlohmann::json::parse(differs.output);
  EXPECT_EQ(wrong["anchor"]["outcome"], "held differs");
  const nlohmann::json& difference = wrong["anchor"]["differences"][0];
  EXPECT_EQ(difference["ranks"], nlohmann::json::array({1}));
  EXPECT_FALSE(difference["value"].get<std::string>().empty());
  EXPECT_NE(difference["value"], difference["expected"]);
}

}  // namespace
}  // namespace planproof::cli
