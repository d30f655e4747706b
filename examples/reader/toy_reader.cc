#include "examples/reader/toy_reader.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/load_problem.h"
#include "lineage/sharding.h"
#include "sdfg/apply_operator.h"
#include "sdfg/status_macros.h"

namespace planproof::toy {
namespace {

using sdfg::TensorId;
using Words = std::vector<std::string>;

absl::StatusOr<TensorId> Find(const sdfg::Graph& graph, const std::string& name) {
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].name == name) return static_cast<TensorId>(t);
  }
  return absl::InvalidArgumentError(absl::StrCat("no tensor \"", name, "\" above this line"));
}

// `words` are what stands on the line before `numbers`.
absl::Status AddLine(const Words& words, const std::vector<int64_t>& numbers,
                     const sdfg::OperatorLibrary& operators, lineage::ProblemBuilder* problem) {
  const std::string& verb = words[0];
  if (verb == "ranks" && words.size() == 1 && numbers.size() == 1) {
    problem->parallel.axes = {{"rank", numbers[0]}};
    problem->parallel.axis_device_stride = {1};
    return absl::OkStatus();
  }
  if (verb == "input" && words.size() == 2) {
    problem->logical.AddTensor({.name = words[1],
                                .shape = numbers,
                                .dtype = sdfg::DType::kFloat32,
                                .role = sdfg::TensorRole::kInput});
    return absl::OkStatus();
  }
  if ((verb == "model" || verb == "plan") && words.size() >= 4) {
    sdfg::Graph* graph = verb == "model" ? &problem->logical : &problem->parallel;
    std::vector<TensorId> inputs;
    for (size_t i = 2; i + 1 < words.size(); ++i) {
      PLAN_ASSIGN_OR_RETURN(inputs.emplace_back(), Find(*graph, words[i]));
    }
    return sdfg::ApplyOperator(graph, operators, words[1], inputs, {}, words.back()).status();
  }
  std::vector<lineage::CutDimension> cuts;
  for (int64_t dim : numbers) cuts.push_back({static_cast<int>(dim), {0}});
  if (verb == "hold" && words.size() == 2) {
    PLAN_ASSIGN_OR_RETURN(const TensorId whole, Find(problem->logical, words[1]));
    return lineage::HoldParts(problem, whole, cuts, /*device=*/0, {"the plan"}).status();
  }
  if (verb == "require" && words.size() == 3) {
    PLAN_ASSIGN_OR_RETURN(const TensorId whole, Find(problem->logical, words[1]));
    PLAN_ASSIGN_OR_RETURN(const TensorId part, Find(problem->parallel, words[2]));
    return lineage::RequireParts(problem, part, whole, cuts, words[1], {"the plan"});
  }
  return absl::InvalidArgumentError("expected ranks, input, model, hold, plan or require");
}

class ToyReader : public frontend::Reader {
 public:
  std::string_view Name() const override { return "toy plan"; }
  bool Recognises(const frontend::InputFile& file) const override {
    return std::string_view(file.path).ends_with(".toy");
  }
  Files HowMany() const override { return {1, 1, "FILE.toy"}; }

  absl::StatusOr<lineage::Problem> Read(const std::vector<std::string>& paths,
                                        const frontend::ReadOptions& options) const override {
    PLAN_ASSIGN_OR_RETURN(const std::string text, frontend::ReadWholeFile(paths[0], 1 << 20));
    lineage::ProblemBuilder problem;
    std::string place;
    const auto here = [&](const auto&, const absl::Status& status) {
      return absl::Status(status.code(), absl::StrCat(place, ": ", std::string(status.message())));
    };
    const Words lines = absl::StrSplit(text, '\n');
    for (size_t i = 0; i < lines.size(); ++i) {
      place = absl::StrCat(paths[0], ":", i + 1);
      Words words = absl::StrSplit(lines[i], ' ', absl::SkipWhitespace());
      if (words.empty() || words[0][0] == '#') continue;
      std::vector<int64_t> numbers;
      for (uint32_t n = 0; words.size() > 1 && absl::SimpleAtoi(words.back(), &n);
           words.pop_back()) {
        numbers.insert(numbers.begin(), n);
      }
      absl::Status added = AddLine(words, numbers, *options.operators, &problem);
      if (!added.ok()) return here(0, added);
    }
    place = paths[0];
    return problem.Build(here);
  }
};

}  // namespace

const frontend::Reader& ToyPlans() {
  static const auto* const reader = new ToyReader;
  return *reader;
}

}  // namespace planproof::toy
