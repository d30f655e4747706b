#include "tests/soundness_cases/special_values.h"

#include <fstream>
#include <map>

#include "tests/soundness_cases/manifest.h"

namespace planproof::soundness {
namespace {

using nlohmann::json;

struct Sizes {
  int64_t rows, width, ranks;
  int64_t own_rows, own_width;  // of a rank
};

std::string Replaced(std::string text, const Sizes& sizes) {
  const std::map<std::string, int64_t> values = {{"$N", sizes.rows},
                                                 {"$H", sizes.width},
                                                 {"$n", sizes.own_rows},
                                                 {"$h", sizes.own_width},
                                                 {"$R", sizes.ranks}};
  for (const auto& [name, value] : values) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name)) {
      text.replace(at, name.size(), std::to_string(value));
    }
  }
  return text;
}

// "$H" and "$H-1" are numbers, "$1/H" a fraction; expressions over coordinates stay text.
json Filled(const json& value, const Sizes& sizes) {
  if (value.is_array()) {
    json filled = json::array();
    for (const json& entry : value) filled.push_back(Filled(entry, sizes));
    return filled;
  }
  if (!value.is_string()) return value;
  const std::string text = value;
  if (text.rfind("$1/", 0) == 0) {
    return {{"literal", "1/" + Replaced("$" + text.substr(3), sizes)}};
  }
  if (text.rfind('=', 0) == 0) return Replaced(text, sizes);
  if (text.rfind('$', 0) != 0) return value;
  const size_t minus = text.find('-');
  const int64_t number = std::stoll(Replaced(text.substr(0, minus), sizes));
  return minus == std::string::npos ? number : number - std::stoll(text.substr(minus + 1));
}

json Operator(const json& row, const Sizes& sizes) {
  json op = {{"op", row[0]}, {"in", Filled(row[1], sizes)}, {"out", row[2]}};
  if (row.size() < 4) return op;
  const bool collective = row[3].contains("over");
  for (const auto& [key, value] : row[3].items()) {
    (collective ? op[key] : op["attrs"][key]) = Filled(value, sizes);
  }
  return op;
}

json Step(const char* op, const json& in, const char* out) {
  return {{"op", op}, {"in", in}, {"out", out}};
}

std::vector<SpecialValue> ParseSpecialValues() {
  std::ifstream stream(CasesDirectory() + "/special_values.json");
  json entries = json::parse(stream);
  std::vector<SpecialValue> values;
  for (json& entry : entries) {
    const std::string name = entry.at("name");
    const std::string equal = entry.at("equal");
    const int cut = entry.at("cut");
    values.push_back({name, equal, cut, std::move(entry)});
  }
  return values;
}

}  // namespace

const std::vector<SpecialValue>& ReadSpecialValues() {
  static const std::vector<SpecialValue> values = ParseSpecialValues();
  return values;
}

std::string PlanText(const SpecialValue& value, const SpecialPlan& plan) {
  const bool columns = value.cut == 1;
  Sizes sizes{4 * plan.ranks, 4 * plan.ranks, plan.ranks, 4 * plan.ranks, 4 * plan.ranks};
  (columns ? sizes.own_width : sizes.own_rows) /= plan.ranks;
  if (!columns) sizes.width = sizes.own_width = 4 + plan.ranks;
  const Sizes whole{sizes.rows, sizes.width, sizes.ranks, sizes.rows, sizes.width};
  const json full = json::object(), part = {{std::to_string(value.cut), "tp"}};

  const bool before = plan.place == Place::kAfterLinear || plan.place == Place::kBetween;
  const bool after = plan.place == Place::kBeforeLinear || plan.place == Place::kBetween;
  json inputs = {{"x", {sizes.rows, sizes.width}}}, held = {{"x", part}};
  json model = json::array(), program = json::array(), required = {{"result", part}};
  const auto both = [&](const json& step) {
    model.push_back(step);
    program.push_back(step);
  };
  if (before) {
    inputs["first"] = {sizes.width, sizes.width};
    held["first"] = columns ? json{{"0", "tp"}} : full;
    if (columns) held["x"] = full;
    both(Step("linear", {"x", "first"}, "a"));
  } else {
    both(Step("mul", {"x", 3}, "a"));
  }
  for (const json& row : value.operators.at("model")) model.push_back(Operator(row, whole));
  for (const json& row : value.operators.at(plan.wrong ? "wrong" : "right")) {
    program.push_back(Operator(row, sizes));
  }
  if (after) {
    inputs["last"] = {sizes.width, sizes.width};
    held["last"] = columns ? json{{"1", "tp"}} : full;
    model.push_back(Step("linear", {"y", "last"}, "result"));
    program.push_back(Step("linear", {"y", "last"}, columns ? "result.term" : "result"));
    if (columns) {
      program.push_back(
          {{"op", "all_reduce"}, {"over", "tp"}, {"in", "result.term"}, {"out", "result"}});
      required["result"] = full;
    }
  } else {
    both(Step("mul", {"y", plan.place == Place::kBesideOperand ? json("a") : json(2)}, "result"));
  }
  json file = {
      {"planproof", 1},
      {"specification", {{"inputs", inputs}, {"operators", model}, {"outputs", required}}}};
  json body = {{"inputs", held}, {"operators", program}};
  if (plan.lineage) body["lineage"] = {{"a", part}, {"y", part}};
  file["plan"] = {{"mesh", {{"tp", plan.ranks}}}, {"programs", {body}}};
  return file.dump(1);
}

}  // namespace planproof::soundness
