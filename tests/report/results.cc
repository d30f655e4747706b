#include "tests/report/results.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "frontend/load_problem.h"
#include "strategy/reader_error.h"
#include "strategy/verify.h"
#include "tests/temporary_directory.h"

namespace planproof::report {

stages::Result ResultOfFile(const std::string& path) {
  const std::string file =
      path.starts_with('/') ? path : std::string(PLANPROOF_SOURCE_DIR) + "/" + path;
  const auto problem = frontend::LoadProblem({file}, {});
  if (!problem.ok()) return strategy::ResultOfReaderError(problem.status());
  stages::VerifyOptions options;
  options.keep_account = true;
  return strategy::Verify(*problem, options);
}

stages::Result ResultOfText(const std::string& json) {
  const TemporaryDirectory directory("report");
  const std::string path = directory.path() + "plan.json";
  std::ofstream(path) << json;
  return ResultOfFile(path);
}

std::string PlanWithNames(const std::string& x, const std::string& w, const std::string& part,
                          const std::string& y) {
  using Json = nlohmann::ordered_json;
  Json inputs = Json::object(), parameters = Json::object(), outputs = Json::object();
  inputs[x] = {8, 16};
  parameters[w] = {32, 16};
  outputs[y] = Json::object();
  Json held = Json::object();
  held[x] = {{"1", "tp"}};
  held[w] = {{"1", "tp"}};
  const Json plan = {
      {"planproof", 1},
      {"specification",
       {{"inputs", inputs},
        {"parameters", parameters},
        {"operators", Json::array({{{"op", "linear"},
                                    {"in", {x, w}},
                                    {"out", y},
                                    {"source", "model.py:4: y = x @ w.T"}}})},
        {"outputs", outputs}}},
      {"plan",
       {{"mesh", {{"tp", 2}}},
        {"programs",
         Json::array(
             {{{"inputs", held},
               {"operators", Json::array({{{"op", "linear"}, {"in", {x, w}}, {"out", part}},
                                          {{"op", "identity"}, {"in", part}, {"out", y}}})}}})}}}};
  return plan.dump();
}

}  // namespace planproof::report
