#include "tests/random/plan_pairs.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "frontend/nnscaler/reader.h"
#include "frontend/plan/read_plan.h"

namespace planproof::random_tests {
namespace {

using frontend::nnscaler::FullTensor;
using frontend::nnscaler::Pickle;
using frontend::nnscaler::Plan;
using frontend::nnscaler::SubTensor;

using Table = std::map<int64_t, int64_t>;

struct Published {
  std::string logical, parallel;
  Table table;
  int64_t id_range = 1;
  int64_t head_divisor = 1;
};

// Extents that differ must differ in the twin, so that a fault that looks for operands of equal
// shape finds the same ones.
const std::map<std::string, Published>& AllPublished() {
  static const std::map<std::string, Published> all = {
      {"MLP",
       {"mlp_mgener_dp1_",
        "mlp_mgener_dp2_",
        {{16, 16}, {8, 8}, {4, 4}, {2, 2}, {1024, 24}, {512, 12}}}},
      {"GPT",
       {"gpt_mgener_dp1_pp1_tp1_",
        "gpt_mgener_dp2_",
        {{16, 8},
         {8, 4},
         {4, 2},
         {2, 1},
         {1024, 12},
         {512, 6},
         {3072, 36},
         {1536, 18},
         {4096, 20},
         {2048, 10},
         {51200, 28},
         {25600, 14}},
        28,
        8}},
      {"LLAMA",
       {"llama3_default_dp1_",
        "llama3_default_dp2_",
        {{512, 16},
         {256, 8},
         {128, 4},
         {64, 2},
         {4096, 24},
         {2048, 12},
         {11008, 20},
         {5504, 10},
         {51200, 14},
         {25600, 7},
         {32, 6},
         {16, 3}},
        14}},
      {"MOE",
       {"moe_default_dp1_",
        "moe_default_dp2_",
        {{1024, 16},
         {512, 8},
         {256, 4},
         {128, 2},
         {64, 1},
         {32, 4},
         {16, 2},
         {8, 1},
         {2, 2},
         {131072, 32},
         {32768, 8},
         {16384, 4},
         {2048, 32},
         {4096, 4},
         {51200, 12},
         {25600, 6}},
        12,
        8}},
  };
  return all;
}

class Shrink {
 public:
  Shrink(const Published& published) : table_(published.table), heads_(published.head_divisor) {
    for (int64_t same : {-1, 0, 1}) table_[same] = same;
  }

  void Apply(Plan* plan) {
    for (FullTensor& full : plan->fulls) {
      for (int64_t& extent : full.shape) Map(&extent);
    }
    for (SubTensor& sub : plan->subs) {
      for (auto& [start, stop] : sub.index) {
        Map(&start);
        Map(&stop);
      }
    }
    static const std::set<std::string> kExtents = {
        "size", "normalized_shape",   "start",           "stop", "n_routed_experts",
        "dim_", "local_expert_start", "local_expert_end"};
    for (frontend::nnscaler::Node& node : plan->nodes) {
      for (auto& [name, value] : node.attributes) {
        int64_t* number = std::get_if<int64_t>(&value);
        if (name == "n_groups" || name == "topk_groups")
          value = int64_t{1};  // few experts are left
        if (name == "h" && number != nullptr) *number /= heads_;
        if (kExtents.count(name) == 0) continue;
        if (number != nullptr) Map(number);
        if (auto* list = std::get_if<std::vector<int64_t>>(&value)) {
          for (int64_t& entry : *list) Map(&entry);
        }
      }
    }
  }
  const std::set<int64_t>& missing() const { return missing_; }

 private:
  void Map(int64_t* value) {
    const auto found = table_.find(*value);
    if (found == table_.end()) {
      missing_.insert(*value);
    } else {
      *value = found->second;
    }
  }
  Table table_;
  int64_t heads_;
  std::set<int64_t> missing_;
};

std::string Factors(const Table& table) {
  std::string text;
  for (const auto& [from, to] : table) {
    if (from != to) absl::StrAppend(&text, text.empty() ? "" : ", ", from, " -> ", to);
  }
  return text.empty() ? "none" : text;
}

std::string Find(const std::string& prefix) {
  const char* given = std::getenv("PLANPROOF_SHARED");
  const std::filesystem::path shared =
      given != nullptr ? std::filesystem::path(given)
                       : std::filesystem::path(PLANPROOF_SOURCE_DIR) / ".." / "shared";
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(shared / "data" / "nnscaler", error)) {
    if (entry.path().filename().string().rfind(prefix, 0) == 0) return entry.path().string();
  }
  return "";
}

absl::StatusOr<Plan> ReadOne(const std::string& path) {
  absl::StatusOr<Pickle> pickle = Pickle::ReadFile(path);
  if (!pickle.ok()) return pickle.status();
  return frontend::nnscaler::ReadPlan(*pickle);
}

std::string ReplaceNumbers(const std::string& text, const Table& table) {
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted || std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
      out += text[i++];
      continue;
    }
    size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    int64_t number = 0;
    const std::string digits = text.substr(i, end - i);
    const bool known = absl::SimpleAtoi(digits, &number) && table.count(number) > 0;
    out += known ? std::to_string(table.at(number)) : digits;
    i = end;
  }
  return out;
}

}  // namespace

std::vector<std::string> PublishedNames() {
  std::vector<std::string> names;
  for (const auto& [name, published] : AllPublished()) names.push_back(name);
  return names;
}

absl::StatusOr<PlanPair> LoadPublished(const std::string& name) {
  const auto found = AllPublished().find(name);
  if (found == AllPublished().end()) return absl::InvalidArgumentError("unknown pair " + name);
  const Published& published = found->second;
  const std::string logical_path = Find(published.logical),
                    parallel_path = Find(published.parallel);
  if (logical_path.empty() || parallel_path.empty()) {
    return absl::NotFoundError("the published plans are not there (set PLANPROOF_SHARED)");
  }
  absl::StatusOr<Plan> logical = ReadOne(logical_path);
  if (!logical.ok()) return logical.status();
  absl::StatusOr<Plan> parallel = ReadOne(parallel_path);
  if (!parallel.ok()) return parallel.status();
  absl::StatusOr<lineage::Problem> problem = frontend::nnscaler::BuildProblem(*logical, *parallel);
  if (!problem.ok()) return problem.status();
  Shrink shrink(published);
  shrink.Apply(&*logical);
  shrink.Apply(&*parallel);
  if (!shrink.missing().empty()) {
    return absl::InternalError(absl::StrCat("the twin's table has no entry for extent ",
                                            *shrink.missing().begin(), " and ",
                                            shrink.missing().size() - 1, " others"));
  }
  absl::StatusOr<lineage::Problem> twin = frontend::nnscaler::BuildProblem(*logical, *parallel);
  if (!twin.ok()) return twin.status();
  return PlanPair{name, *std::move(problem), *std::move(twin), Factors(published.table),
                  published.id_range};
}

absl::StatusOr<PlanPair> LoadPlanFile(const std::string& path,
                                      const std::vector<std::pair<int64_t, int64_t>>& table) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream content;
  content << stream.rdbuf();
  if (!stream) return absl::NotFoundError("cannot read " + path);
  const Table replaced(table.begin(), table.end());
  const auto build = [&](const std::string& text) -> absl::StatusOr<lineage::Problem> {
    absl::StatusOr<plan::PlanFile> file = plan::ParsePlanFile(text, path);
    if (!file.ok()) return file.status();
    return plan::BuildProblemFromFiles({{path, *file}}, sdfg::OperatorLibrary::BuiltIn());
  };
  absl::StatusOr<lineage::Problem> problem = build(content.str());
  if (!problem.ok()) return problem.status();
  absl::StatusOr<lineage::Problem> twin = build(ReplaceNumbers(content.str(), replaced));
  if (!twin.ok()) return twin.status();
  return PlanPair{std::filesystem::path(path).stem().string(), *std::move(problem),
                  *std::move(twin), Factors(replaced), 4};
}

}  // namespace planproof::random_tests
