// Runs over MPI: the verdict is that of one process, and a lost rank costs time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// mpirun asks for these when the tests run as root.
constexpr char kEnvironment[] =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 XDG_CACHE_HOME=/nonexistent ";

class MpiTest : public testing::Test {
 protected:
  void SetUp() override {
    if (RunCommand("command -v mpirun").exit_code != 0)
      GTEST_SKIP() << "mpirun is not installed (apt-get install openmpi-bin)";
    if (!std::filesystem::exists(PLANPROOF_MPI_MODULE))
      GTEST_SKIP() << "planproof was built without MPI (apt-get install libopenmpi-dev)";
    std::filesystem::create_directories(SessionDirectory());
  }
  void TearDown() override { std::filesystem::remove_all(SessionDirectory()); }

  // Open MPI makes and removes one directory per user and host; launches of two tests at the same
  // time would meet there.
  static std::string SessionDirectory() {
    return std::filesystem::temp_directory_path() / ("planproof_mpi_" + std::to_string(getpid()));
  }

  static std::string Launch(const std::string& arguments, const std::string& environment = "") {
    return std::string(kEnvironment) + "OMPI_MCA_orte_tmpdir_base=" + SessionDirectory() + " " +
           environment +
           " mpirun --oversubscribe -n 3 " PLANPROOF_PROGRAM
           " verify --no-cache --no-infer --jobs 1 "
           "--executor mpi " +
           arguments;
  }
  // Shell commands: until the run of this journal has decided a class, half a minute at most.
  static std::string WaitForAClass(const std::string& journal) {
    return "for i in $(seq 300); do " PLANPROOF_PROGRAM " journal " + journal +
           " 2> /dev/null | grep -q 'decided *[1-9]' && break; sleep 0.1; done; ";
  }
  // Shell commands: the rank of this number dies, with no word to the others.
  static std::string KillRank(const std::string& mpirun, int rank) {
    return "for p in $(pgrep -P " + mpirun +
           "); do grep -qxz OMPI_COMM_WORLD_RANK=" + std::to_string(rank) +
           " /proc/$p/environ && kill -KILL $p; done; ";
  }
  static json Report(const std::string& path) {
    std::ifstream stream(path);
    return json::parse(stream, nullptr, false);
  }
};

TEST_F(MpiTest, VerdictsAreThoseOfOneProcess) {
  for (const char* name :
       {"llama_dp2_pp2_tp2_mb2", "llama_dp2_pp2_tp2_mb2_broken", "moe_dp2_ep2"}) {
    const std::string plan = RepositoryPath(std::string("examples/") + name + ".json");
    const std::string here = TemporaryFile("here.json", ""),
                      there = TemporaryFile("there.json", "");
    const int wanted =
        RunProgram("verify --no-cache --no-infer --json " + here + " " + plan).exit_code;
    const Finished finished =
        RunCommand("timeout 120 env " + Launch("--json " + there + " " + plan));
    EXPECT_EQ(finished.exit_code, wanted) << finished.output << finished.errors;
    const json one = Report(here), three = Report(there);
    for (const char* key : {"verdict", "stages", "tiers", "operators", "relations", "premises"})
      EXPECT_EQ(one[key], three[key]) << name << " " << key;
    // One report, from the rank that leads.
    const std::string verdict = one["verdict"];
    const size_t first = finished.output.find(verdict);
    ASSERT_NE(first, std::string::npos) << finished.output;
  }
}

TEST_F(MpiTest, ALostRankLeavesAReportAndResumeEndsIt) {
  const std::string plan = RepositoryPath("examples/llama_dp2_pp2_tp2_mb2.json");
  const std::string journal = TemporaryFile("journal", "");
  for (const bool leader : {false, true}) {
    std::filesystem::remove(journal);
    // One class is never decided, so that the run cannot end before the rank is lost; the rank is
    // lost once others are decided.
    const Finished killed = RunCommand(
        Launch("--journal " + journal + " " + plan,
               "PLANPROOF_TEST_WORKER_FAULT='slow:;sleep:grad.we' timeout 60") +
        " & " + WaitForAClass(journal) + KillRank("$(pgrep -P $!)", leader ? 0 : 2) + "wait $!");
    EXPECT_NE(killed.exit_code, 0);
    if (!leader) {
      EXPECT_THAT(killed.output, HasSubstr("interrupted after")) << killed.errors;
    }
    const Finished listed = RunProgram("journal " + journal);
    EXPECT_THAT(listed.output, HasSubstr("of 61 classes")) << leader << killed.errors;
    EXPECT_THAT(listed.output, HasSubstr("none, the run did not end")) << leader;
    const std::string report = TemporaryFile("report.json", "");
    const Finished resumed =
        RunCommand("timeout 120 env " +
                   Launch("--resume --json " + report + " --journal " + journal + " " + plan));
    EXPECT_EQ(resumed.exit_code, 0) << resumed.output << resumed.errors;
    const json result = Report(report);
    EXPECT_EQ(result["verdict"], "PROVED");
    EXPECT_GT(result["cache"]["hits"], 0) << leader;
    EXPECT_THAT(RunProgram("journal " + journal).output, HasSubstr("verdict    PROVED"));
  }
}

TEST_F(MpiTest, WithoutALauncherItSaysHowToStartIt) {
  const std::string plan = RepositoryPath("examples/mlp_tp2.json");
  const Finished alone = RunProgram("verify --executor mpi " + plan);
  EXPECT_EQ(alone.exit_code, 64);
  EXPECT_THAT(alone.errors, HasSubstr("mpirun -n 3 planproof verify"));
}

// Also where there is no MPI at all.
TEST(MpiModule, WhereItIsMissingTheErrorSaysWhatToInstall) {
  const Finished missing =
      RunProgram("verify --executor mpi " + RepositoryPath("examples/mlp_tp2.json"),
                 "PLANPROOF_MPI_MODULE=/nonexistent.so PMIX_RANK=0");
  EXPECT_EQ(missing.exit_code, 64);
  EXPECT_THAT(missing.errors, HasSubstr("install libopenmpi-dev"));
}

}  // namespace
}  // namespace planproof::cli
