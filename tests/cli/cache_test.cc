// The cache of proofs from outside: it saves work, and there is no plan about which it lies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/cli/command_line.h"
#include "tests/cli/plans.h"

namespace planproof::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

struct Answer {
  Finished finished;
  json report;
  std::string verdict() const { return report.value("verdict", "none"); }
  int hits() const { return report["cache"]["hits"]; }
  int misses() const { return report["cache"]["misses"]; }
  int solved() const { return report["cache"]["solved"]; }
};

class CacheTest : public testing::Test {
 protected:
  CacheTest() {
    directory_ = fs::path(TemporaryFile("x", "")).parent_path().string() + "/proofs";
    fs::remove_all(directory_);
  }

  Answer Verify(const std::string& arguments, const std::string& environment = "") const {
    const std::string path = TemporaryFile("report.json", "");
    Answer answer;
    answer.finished = RunProgram("verify --jobs 2 --json " + path + " " + arguments, environment);
    std::ifstream stream(path);
    answer.report = json::parse(stream, nullptr, false);
    return answer;
  }
  Answer Warm(const std::string& arguments, const std::string& environment = "") const {
    return Verify("--cache " + directory_ + " " + arguments, environment);
  }
  std::string File() const { return directory_ + "/verdicts.sqlite"; }

  std::string directory_;
};

TEST_F(CacheTest, WhatIsProvedIsNotProvedAgain) {
  const std::string plan = Example("llama_dp2_pp2_tp2_mb2.json");
  const Answer cold = Warm(plan), warm = Warm(plan), without = Verify("--no-cache " + plan);
  const int classes = cold.report["stages"]["classes"];
  EXPECT_EQ(cold.hits(), 0);
  EXPECT_EQ(cold.misses(), classes);
  EXPECT_EQ(cold.solved(), classes);
  EXPECT_EQ(warm.hits(), classes);
  EXPECT_EQ(warm.solved(), 0);
  EXPECT_THAT(warm.finished.output,
              HasSubstr("classes were proved by earlier runs, 0 decided now"));
  EXPECT_FALSE(without.report["cache"]["used"]);
  EXPECT_EQ(without.solved(), classes);
  // Everything but counts and times is as if it had been proved now.
  for (const char* key : {"verdict", "stages", "tiers", "operators", "outputs", "relations",
                          "violations", "premises", "restrictions", "assumptions", "warnings"}) {
    EXPECT_EQ(cold.report[key], warm.report[key]) << key;
    EXPECT_EQ(cold.report[key], without.report[key]) << key;
  }
}

TEST_F(CacheTest, EnginesThatAuditAndNoClassesDoNotAsk) {
  const std::string plan = TemporaryFile("right.json", RowParallelPlan());
  ASSERT_GT(Warm(plan).solved(), 0);
  for (const char* option : {"--no-classes ", "--engine audit ", "--engine smt "}) {
    const Answer answer = Warm(option + plan);
    EXPECT_FALSE(answer.report["cache"]["used"]) << option;
    EXPECT_EQ(answer.hits(), 0) << option;
  }
}

// ---- Plans about which a careless cache would lie ----

// A right plan, and one that differs in a single respect and is wrong; what is in the cache from
// the first (and from any other plan) must not help the second.
struct Lie {
  const char* name;
  std::string right, wrong;
  std::string right_options, wrong_options;
};

std::string With(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// y = op(x) by both sides; the texts go where the names say.
std::string PlanOf(const std::string& specification, const std::string& operators,
                   const std::string& inputs = R"("x": {})", const std::string& more = "",
                   const std::string& mesh = R"("dp": 1)") {
  return R"({"planproof": 1, "specification": {)" + specification + R"(, "outputs": {"y": {}}},
             "plan": {"mesh": {)" +
         mesh + R"(}, "programs": [{"inputs": {)" + inputs + R"(}, "operators": [)" + operators +
         "]" + more + "}]}}";
}

std::vector<Lie> Lies() {
  std::vector<Lie> lies;
  const auto add = [&lies](const char* name, std::string right, std::string wrong) {
    lies.push_back({name, std::move(right), std::move(wrong), "", ""});
  };
  const std::string held = With(RowParallelPlan(), R"("op": "silu", "in": "h", "out": "y"}
      ])",
                                R"("op": "silu", "in": "h", "out": "y"}
      ], "lineage": {"h": {}})");
  add("a collective is left out", RowParallelPlan(), RowParallelPlan(""));
  // The claim about y is the same in both, and proved; what it rests on is not.
  add("a lineage that the proof rests on is false", held,
      With(held, R"({"op": "all_reduce", "over": "tp", "in": "part", "out": "h"})",
           R"({"op": "mul", "in": ["part", 2], "out": "h"})"));
  const std::string scaled =
      PlanOf(R"("inputs": {"x": [4]}, "operators": [{"op": "mul", "in": ["x", 2], "out": "y"}])",
             R"({"op": "mul", "in": ["x", 2], "out": "y"})");
  add("another literal", scaled,
      With(scaled, R"({"op": "mul", "in": ["x", 2], "out": "y"}]})",
           R"({"op": "mul", "in": ["x", 2.0000001], "out": "y"}]})"));
  const std::string third = PlanOf(
      R"("inputs": {"x": [4]}, "literals": {"0.333333343": "1/3"},
         "operators": [{"op": "mul", "in": ["x", {"literal": "1/3"}], "out": "y"}])",
      R"({"op": "mul", "in": ["x", 0.333333343], "out": "y"})");
  add("a literal no longer stands for a rational", third,
      With(third, R"("literals": {"0.333333343": "1/3"},)", ""));
  const std::string root = PlanOf(
      R"("inputs": {"x": [4]}, "premises": {"x": "positive"},
         "operators": [{"op": "square", "in": "x", "out": "s"}, {"op": "sqrt", "in": "s", "out": "y"}])",
      R"({"op": "identity", "in": "x", "out": "y"})");
  add("a premise is no longer declared", root, With(root, R"("premises": {"x": "positive"},)", ""));
  add("a premise is about another input",
      PlanOf(R"("inputs": {"x": [4], "z": [4]}, "premises": {"x": "positive"},
              "operators": [{"op": "square", "in": "x", "out": "s"}, {"op": "sqrt", "in": "s", "out": "r"},
                            {"op": "mul", "in": ["r", "z"], "out": "y"}])",
             R"({"op": "mul", "in": ["x", "z"], "out": "y"})", R"("x": {}, "z": {})"),
      PlanOf(R"("inputs": {"x": [4], "z": [4]}, "premises": {"z": "positive"},
              "operators": [{"op": "square", "in": "x", "out": "s"}, {"op": "sqrt", "in": "s", "out": "r"},
                            {"op": "mul", "in": ["r", "z"], "out": "y"}])",
             R"({"op": "mul", "in": ["x", "z"], "out": "y"})", R"("x": {}, "z": {})"));
  // The sign of v follows from its definition, which the claim about y does not read.
  const std::string sign = PlanOf(
      R"("inputs": {"x": [4], "z": [4]},
         "operators": [{"op": "mul", "in": ["x", "x"], "out": "v"}, {"op": "square", "in": "v", "out": "s"},
                       {"op": "sqrt", "in": "s", "out": "y"}])",
      R"({"op": "mul", "in": ["x", "x"], "out": "v"}, {"op": "identity", "in": "v", "out": "y"})",
      R"("x": {}, "z": {})", R"(, "lineage": {"v": {}})");
  std::string no_sign = With(sign, R"({"op": "mul", "in": ["x", "x"], "out": "v"})",
                             R"({"op": "mul", "in": ["x", "z"], "out": "v"})");
  no_sign = With(no_sign, R"({"op": "mul", "in": ["x", "x"], "out": "v"})",
                 R"({"op": "mul", "in": ["x", "z"], "out": "v"})");
  add("the sign of what a claim reads has changed", sign, no_sign);
  const std::string rows = PlanOf(
      R"("inputs": {"ids": "int64[5]"}, "parameters": {"w": [8, 3]}, "premises": {"ids": [0, 4]},
         "operators": [{"op": "embedding", "in": ["ids", "w"], "out": "y"}])",
      R"({"op": "narrow", "in": "w", "attrs": {"dim": 0, "start": 0, "length": 4}, "out": "half"},
         {"op": "pad", "in": "half", "attrs": {"pad": [0, 0, 0, 4]}, "out": "padded"},
         {"op": "embedding", "in": ["ids", "padded"], "out": "y"})",
      R"("ids": {}, "w": {})");
  add("ids have a wider range", rows, With(rows, "[0, 4]", "[0, 8]"));
  const std::string mean =
      PlanOf(R"("inputs": {"x": [8]}, "operators": [{"op": "mean", "in": "x", "out": "y"}])",
             R"({"op": "sum", "in": "x", "out": "s"}, {"op": "div", "in": ["s", 8], "out": "y"})");
  add("another extent", mean, With(mean, R"("x": [8])", R"("x": [16])"));
  const std::string minus = PlanOf(
      R"("inputs": {"x": [4], "z": [4]}, "operators": [{"op": "sub", "in": ["x", "z"], "out": "y"}])",
      R"({"op": "sub", "in": ["x", "z"], "out": "y"})", R"("x": {}, "z": {})");
  add("operands are exchanged", minus,
      With(minus, R"([{"op": "sub", "in": ["x", "z"], "out": "y"}]})",
           R"([{"op": "sub", "in": ["z", "x"], "out": "y"}]})"));
  add("two operands become one", minus,
      With(minus, R"({"op": "sub", "in": ["x", "z"], "out": "y"}]})",
           R"({"op": "sub", "in": ["x", "x"], "out": "y"}]})"));
  const std::string zeros = PlanOf(
      R"("inputs": {"x": [4]}, "zeros": {"b": [4]}, "operators": [{"op": "add", "in": ["x", "b"], "out": "y"}])",
      R"({"op": "add", "in": ["x", "b"], "out": "u"}, {"op": "identity", "in": "x", "out": "y"})",
      R"("x": {}, "b": {})");
  add("zeros become a buffer of any values", zeros, With(zeros, "zeros", "buffers"));
  // No lineage mentions u, so that it is always read through.
  const std::string through = PlanOf(
      R"("inputs": {"x": [4]}, "operators": [{"op": "mul", "in": ["x", 3], "out": "u"},
                                            {"op": "exp", "in": "u", "out": "y"}])",
      R"({"op": "mul", "in": ["x", 3], "out": "v"}, {"op": "exp", "in": "v", "out": "y"})");
  add("a definition behind the claimed one has changed", through, With(through, "3]", "4]"));
  const std::string cut = PlanOf(
      R"("inputs": {"x": [4, 6]}, "operators": [{"op": "exp", "in": "x", "out": "y"}])",
      R"({"op": "exp", "in": "x", "out": "e"}, {"op": "all_gather", "over": "tp", "dim": 1, "in": "e", "out": "y"})",
      R"("x": {"1": "tp"})", "", R"("tp": 2)");
  add("pieces in another order", cut,
      With(cut, R"("x": {"1": "tp"}})",
           R"("x": {"map": ["i0", "(1 - tp) * 3 + i1"], "shape": [4, 3]}})"));
  add("one rank deviates", cut,
      With(cut, R"("dim": 1, "in": "e", "out": "y"}])",
           R"("dim": 1, "in": "e", "out": "y"}],
              "exceptions": [{"at": {"tp": 1}, "replace": "e", "with": {"op": "sin", "in": "x", "out": "e"}}])"));
  const auto piece = [](int rank, const std::string& range) {
    const std::string number = std::to_string(rank);
    return R"({"name": "r)" + number + R"(", "devices": {"tp": )" + number +
           R"(}, "inputs": {"x": {"0": )" + range +
           R"(}}, "operators": [{"op": "exp", "in": "x", "out": "e"},
              {"op": "all_gather", "in": ["r0:e", "r1:e"], "dim": 0, "out": "y"}]})";
  };
  const auto pieces = [&](const std::string& first, const std::string& second) {
    return R"({"planproof": 1, "specification": {"inputs": {"x": [8]}, "operators": [
               {"op": "exp", "in": "x", "out": "y"}], "outputs": {"y": {}}},
               "plan": {"mesh": {"tp": 2}, "programs": [)" +
           piece(0, first) + ", " + piece(1, second) + "]}}";
  };
  add("slices at other places", pieces("[0, 4]", "[4, 8]"), pieces("[4, 8]", "[0, 4]"));
  // A class of the parallel side that reads its operand twice is none that reads two.
  const std::string square = PlanOf(
      R"("inputs": {"x": [4], "z": [4]}, "operators": [{"op": "square", "in": "x", "out": "y"}])",
      R"({"op": "mul", "in": ["x", "x"], "out": "y"})", R"("x": {}, "z": {})");
  add("one operand becomes two", square, With(square, R"(["x", "x"])", R"(["x", "z"])"));
  // The same name in another file of declarations.
  const std::string own =
      PlanOf(R"("inputs": {"x": [4]}, "operators": [{"op": "mul", "in": ["x", 2], "out": "y"}])",
             R"({"op": "my_scale", "in": "x", "out": "y"})");
  const auto declared = [](const std::string& factor) {
    return "--operators " +
           TemporaryFile("times" + factor + ".op",
                         "## Scales. Source: none.\nop my_scale(x) -> y = " + factor + " * x\n") +
           " ";
  };
  lies.push_back({"an operator is declared otherwise", own, own, declared("2"), declared("3")});
  return lies;
}

TEST_F(CacheTest, NeverLiesAboutAPlanThatDiffersInOneRespect) {
  const std::vector<Lie> lies = Lies();
  // All right ones first: a wrong plan meets everything that was ever proved.
  for (const Lie& lie : lies) {
    const std::string right = lie.right_options + TemporaryFile("right.json", lie.right);
    const Answer cold = Warm(right);
    EXPECT_EQ(cold.verdict(), "PROVED") << lie.name << cold.finished.output << cold.finished.errors;
    const Answer warm = Warm(right);
    EXPECT_EQ(warm.verdict(), "PROVED") << lie.name;
    EXPECT_EQ(warm.solved(), 0) << lie.name;
  }
  for (const Lie& lie : lies) {
    const std::string wrong = lie.wrong_options + TemporaryFile("wrong.json", lie.wrong);
    const Answer without = Verify("--no-cache " + wrong), warm = Warm(wrong);
    EXPECT_NE(without.verdict(), "PROVED") << lie.name << without.finished.output;
    EXPECT_EQ(warm.verdict(), without.verdict()) << lie.name << warm.finished.output;
    EXPECT_EQ(warm.finished.exit_code, without.finished.exit_code) << lie.name;
  }
}

// ---- Damage ----

std::string Bytes(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream bytes;
  bytes << stream.rdbuf();
  return bytes.str();
}

void SetBytes(const std::string& path, const std::string& bytes) {
  for (const char* suffix : {"-wal", "-shm"}) fs::remove(path + suffix);
  std::ofstream(path, std::ios::binary) << bytes;
}

// Ten places, and ten lengths; a wrong plan meets a damaged cache of the right one, and the other
// way.
TEST_F(CacheTest, ADamagedFileNeverChangesAVerdict) {
  const std::string right = Example("llama_dp2_pp2_tp2_mb2.json");
  const std::string wrong = Example("llama_dp2_pp2_tp2_mb2_broken.json");
  const int classes = Warm(right).report["stages"]["classes"];
  const std::string good = Bytes(File());
  ASSERT_GT(good.size(), 10'000u);
  int damaged = 0;
  for (size_t place = 0; place < 20; ++place) {
    std::string bad = good;
    if (place < 10) {
      const size_t at = place == 0 ? 3 : place == 1 ? 30 : good.size() * place / 10 + 17 * place;
      bad[at] = static_cast<char>(bad[at] ^ (1 << (place % 8)));
    } else {
      bad.resize(good.size() * (place - 9) / 10 - place);
    }
    SetBytes(File(), bad);
    const Answer answer = Warm(right);
    EXPECT_EQ(answer.verdict(), "PROVED") << place << answer.finished.output;
    EXPECT_EQ(answer.hits() + answer.solved(), classes) << place;
    damaged += answer.hits() < classes;
    EXPECT_EQ(Warm(right).hits(), classes) << place << ": what was lost is remembered again";
    SetBytes(File(), bad);
    EXPECT_EQ(Warm("--no-explain " + wrong).verdict(), "UNKNOWN") << place;
  }
  EXPECT_GE(damaged, 10);
  // Something else altogether: moved aside, with a warning.
  SetBytes(File(), "a letter to a friend\n");
  const Answer foreign = Warm(right);
  EXPECT_EQ(foreign.verdict(), "PROVED");
  EXPECT_THAT(foreign.report["warnings"].dump(), HasSubstr("was damaged and was made anew"));
  EXPECT_EQ(Bytes(File() + ".damaged"), "a letter to a friend\n");
}

TEST_F(CacheTest, WithoutAPlaceToWriteThereIsAWarningAndTheVerdict) {
  const Answer answer =
      Verify("--cache /dev/null/x " + TemporaryFile("right.json", RowParallelPlan()));
  EXPECT_EQ(answer.verdict(), "PROVED");
  EXPECT_THAT(answer.report["warnings"].dump(), HasSubstr("cache: /dev/null/x"));
}

TEST_F(CacheTest, RunsAtTheSameTimeShareIt) {
  const std::string plan = Example("llama_dp2_pp2_tp2_mb2.json");
  const std::string one = "verify -q --jobs 1 --cache " + directory_ + " " + plan;
  // The shell starts three more beside the one that is waited for.
  const std::string program = std::string(PLANPROOF_PROGRAM) + " " + one;
  const Finished finished =
      RunProgram(one + " & " + program + " & " + program + " & " + program + "; wait; true");
  EXPECT_EQ(finished.errors, "");
  size_t proved = 0;
  for (size_t at = 0; (at = finished.output.find("PROVED", at)) != std::string::npos; ++at)
    ++proved;
  EXPECT_EQ(proved, 4u);
  EXPECT_EQ(Warm(plan).solved(), 0);
}

// ---- Interruption ----

constexpr char kSlow[] = "PLANPROOF_TEST_WORKER_FAULT=slow:";  // about 0.6 s for the example

// Kills a run, with all its processes, after so many milliseconds.
std::string KilledAfter(int milliseconds, const std::string& signal, const std::string& arguments) {
  char seconds[16];
  std::snprintf(seconds, sizeof(seconds), "%.3f", milliseconds / 1000.0);
  return "timeout -s " + signal + " " + seconds + " " PLANPROOF_PROGRAM " verify --jobs 2 " +
         arguments;
}

TEST_F(CacheTest, AKilledRunIsGoneOnWithAndEndsWithTheUndisturbedVerdict) {
  const std::string right = Example("llama_dp2_pp2_tp2_mb2.json");
  const std::string wrong = Example("llama_dp2_pp2_tp2_mb2_broken.json");
  const Answer undisturbed = Verify("--no-cache " + right);
  const int classes = undisturbed.report["stages"]["classes"];
  int resumed = 0;
  // Ten, and on a machine that is slow or busy as many as it takes to meet the work.
  for (int trial = 0; trial < 10 || (resumed < 4 && trial < 40); ++trial) {
    const bool is_right = trial != 9;
    fs::remove_all(directory_);
    RunCommand(std::string(kSlow) + " " +
               KilledAfter(150 + (trial * 277) % 500 + trial / 10 * 400, "KILL",
                           "--cache " + directory_ + " " + (is_right ? right : wrong)));
    const Answer next = Warm("--resume " + (is_right ? right : "--no-explain " + wrong));
    EXPECT_EQ(next.verdict(), is_right ? "PROVED" : "UNKNOWN") << trial;
    resumed += next.hits() > 0 && next.solved() > 0;
    if (!is_right) continue;
    EXPECT_EQ(next.hits() + next.solved(), classes) << trial;
    for (const char* key : {"stages", "tiers", "premises", "restrictions", "assumptions"})
      EXPECT_EQ(next.report[key], undisturbed.report[key]) << key;
  }
  EXPECT_GE(resumed, 4) << "few of the kills fell into the middle of the work";
}

TEST_F(CacheTest, ATerminatedRunReportsWhatItHas) {
  const std::string plan = Example("llama_dp2_pp2_tp2_mb2.json");
  const std::string journal = directory_ + ".journal";
  Finished first;
  // On a busy machine the signal may come before the work, or after it, and the next time not.
  for (int attempt = 0; attempt < 60; ++attempt) {
    const int milliseconds = 200 + 150 * (attempt % 12);
    fs::remove(journal);
    first = RunCommand(
        std::string(kSlow) + " " +
        KilledAfter(milliseconds, "TERM", "--no-cache --journal " + journal + " " + plan));
    if (first.output.rfind("UNKNOWN: interrupted", 0) == 0 &&
        first.output.find("after 0 of") == std::string::npos) {
      break;
    }
  }
  EXPECT_THAT(first.output, StartsWith("UNKNOWN: interrupted"));
  EXPECT_THAT(first.output, HasSubstr("--resume goes on from there"));
  const Finished listed = RunProgram("journal " + journal);
  EXPECT_EQ(listed.exit_code, 0);
  EXPECT_THAT(listed.output, HasSubstr("of 61 classes"));
  EXPECT_THAT(listed.output, HasSubstr("none, the run did not end"));
  const Answer second = Verify("--no-cache --resume --journal " + journal + " " + plan);
  EXPECT_EQ(second.verdict(), "PROVED");
  EXPECT_GT(second.hits(), 0);
  EXPECT_GT(second.solved(), 0);
  EXPECT_THAT(RunProgram("journal " + journal).output, HasSubstr("verdict    PROVED"));
  // Without --resume the run begins anew, and so does its journal.
  EXPECT_EQ(Verify("--no-cache --journal " + journal + " " + plan).hits(), 0);
}

TEST_F(CacheTest, ResumingFromNothingIsAUsageError) {
  const std::string plan = TemporaryFile("right.json", RowParallelPlan());
  EXPECT_EQ(RunProgram("verify --resume --no-cache " + plan).exit_code, 64);
  EXPECT_EQ(RunProgram("verify --resume --journal /nonexistent/journal " + plan).exit_code, 64);
  const std::string letter = TemporaryFile("letter.txt", "a letter to a friend\n");
  const Finished refused = RunProgram("verify --journal " + letter + " " + plan);
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_THAT(refused.errors, HasSubstr("it is left as it is"));
  EXPECT_EQ(Bytes(letter), "a letter to a friend\n");
}

// A cache is a file of the same kind as a journal.
TEST_F(CacheTest, ACacheIsNoJournal) {
  const std::string plan = TemporaryFile("right.json", RowParallelPlan());
  Warm(plan);
  const std::string before = RunProgram("cache info --cache " + directory_).output;
  EXPECT_THAT(before, HasSubstr("2 of this version"));
  for (const char* options : {"", "--resume "}) {
    const Finished refused = RunProgram("verify " + std::string(options) + "--no-cache --journal " +
                                        File() + " " + plan);
    EXPECT_EQ(refused.exit_code, 64) << refused.output;
    EXPECT_THAT(refused.errors, HasSubstr("is no journal but a cache of proofs"));
  }
  EXPECT_NE(RunProgram("journal " + File()).exit_code, 0);
  EXPECT_EQ(RunProgram("cache info --cache " + directory_).output, before);
  // A journal is begun anew, as before.
  const std::string journal = " --no-cache --journal " + directory_ + "/run.journal ";
  for (int run = 0; run < 2; ++run) EXPECT_EQ(RunProgram("verify" + journal + plan).exit_code, 0);
}

TEST_F(CacheTest, InfoAndClearSayWhatTheyDo) {
  const std::string where = " --cache " + directory_;
  Warm(TemporaryFile("right.json", RowParallelPlan()));
  EXPECT_THAT(RunProgram("cache info" + where).output, HasSubstr("2 of this version"));
  EXPECT_THAT(RunProgram("cache clear" + where).output, HasSubstr("deleted"));
  EXPECT_FALSE(fs::exists(File()));
  EXPECT_THAT(RunProgram("cache info" + where).output, HasSubstr("none yet"));
}

}  // namespace
}  // namespace planproof::cli
