// PyTorch programs that were recorded (tests/torch/record_all.py), with faults that tests put in.
#ifndef PLANPROOF_TESTS_CLI_RECORDED_PROGRAMS_H_
#define PLANPROOF_TESTS_CLI_RECORDED_PROGRAMS_H_

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torch/gzip_file.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command_line.h"

namespace planproof::cli {

inline std::string Directory(const std::string& program) {
  return RepositoryPath("tests/torch/traces/" + program);
}

inline nlohmann::json RankOf(const std::string& program, int rank) {
  return nlohmann::json::parse(
      frontend::torch::ReadGzipFile(absl::StrCat(Directory(program), "/rank", rank, ".trace"),
                                    1 << 28, 1 << 30)
          .value());
}

inline nlohmann::json ReferenceOf(const std::string& program) {
  return nlohmann::json::parse(
      frontend::torch::ReadGzipFile(Directory(program) + "/reference.trace", 1 << 28, 1 << 30)
          .value());
}

// The trace as a file.
inline std::string TraceFile(const std::string& name, const nlohmann::json& trace) {
  const std::string text = TemporaryFile(name + ".json", trace.dump());
  const std::string file = absl::StrCat(text, ".trace");
  EXPECT_EQ(RunCommand(absl::StrCat("gzip -c ", text, " > ", file)).exit_code, 0);
  return file;
}

// What is said of the program with these ranks' traces.
inline std::string Verify(const std::string& program, const std::vector<nlohmann::json>& ranks,
                          const std::string& options = "") {
  std::string files;
  for (size_t r = 0; r < ranks.size(); ++r) {
    absl::StrAppend(&files, " ", TraceFile(absl::StrCat(program, "_rank", r), ranks[r]));
  }
  const Finished finished = RunProgram(absl::StrCat("verify --no-cache ", options, " ",
                                                    Directory(program), "/reference.trace", files));
  return finished.output + finished.errors;
}

// The same of two ranks, after `put` changed them.
inline std::string WithFault(const std::string& program,
                             const std::function<void(std::vector<nlohmann::json>*)>& put,
                             const std::string& options = "") {
  std::vector<nlohmann::json> ranks = {RankOf(program, 0), RankOf(program, 1)};
  put(&ranks);
  return Verify(program, ranks, options);
}

// The same if the model does it, too: a plan that does what it says, and a model that is another
// one.
inline std::string WithFaultEverywhere(const std::string& program,
                                       const std::function<void(nlohmann::json*)>& put,
                                       const std::string& options = "") {
  std::vector<nlohmann::json> traces = {ReferenceOf(program), RankOf(program, 0),
                                        RankOf(program, 1)};
  std::string files;
  for (size_t t = 0; t < traces.size(); ++t) {
    put(&traces[t]);
    absl::StrAppend(&files, " ", TraceFile(absl::StrCat(program, "_everywhere", t), traces[t]));
  }
  const Finished finished = RunProgram(absl::StrCat("verify --no-cache ", options, files));
  return finished.output + finished.errors;
}

// The first operator of a rank whose name starts so.
inline nlohmann::json& FirstOf(nlohmann::json* rank, const std::string& name) {
  for (nlohmann::json& op : (*rank)["operators"]) {
    if (op.value("op", "").starts_with(name)) return op;
  }
  ADD_FAILURE() << name;
  return (*rank)["operators"][0];
}

}  // namespace planproof::cli

#endif  // PLANPROOF_TESTS_CLI_RECORDED_PROGRAMS_H_
