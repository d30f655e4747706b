#include "examples/reader/toy_reader.h"

#include "absl/strings/str_cat.h"
#include "frontend/text_lines.h"
#include "lineage/sharding.h"
#include "sdfg/apply_operator.h"
#include "sdfg/status_macros.h"

namespace planproof::toy {
namespace {

absl::Status Add(const frontend::TextLine& line, const sdfg::OperatorLibrary& operators,
                 lineage::ProblemBuilder* problem) {
  const auto& [words, numbers] = line;
  const std::string& verb = words[0];
  sdfg::Graph &model = problem->logical, &plan = problem->parallel;
  std::vector<lineage::CutDimension> cuts;
  for (int64_t dim : numbers) cuts.push_back({static_cast<int>(dim), {0}});
  if (verb == "ranks" && words.size() == 1 && numbers.size() == 1) {
    plan.axes = {{"rank", numbers[0]}};
    plan.axis_device_stride = {1};
  } else if (verb == "input" && words.size() == 2) {
    model.AddTensor({words[1], numbers, {}, sdfg::DType::kFloat32, sdfg::TensorRole::kInput});
  } else if ((verb == "model" || verb == "plan") && words.size() >= 4) {
    sdfg::Graph* graph = verb == "model" ? &model : &plan;
    std::vector<sdfg::TensorId> inputs;
    for (size_t i = 2; i + 1 < words.size(); ++i) {
      PLAN_ASSIGN_OR_RETURN(inputs.emplace_back(), graph->FindTensor(words[i]));
    }
    return sdfg::ApplyOperator(graph, operators, words[1], inputs, {}, words.back()).status();
  } else if (verb == "hold" && words.size() == 2) {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId whole, model.FindTensor(words[1]));
    return lineage::HoldParts(problem, whole, cuts, /*device=*/0, {"the plan"}).status();
  } else if (verb == "require" && words.size() == 3) {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId whole, model.FindTensor(words[1]));
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId part, plan.FindTensor(words[2]));
    return lineage::RequireParts(problem, part, whole, cuts, words[1], {"the plan"});
  } else {
    return absl::InvalidArgumentError("expected ranks, input, model, hold, plan or require");
  }
  return absl::OkStatus();
}

class ToyReader : public frontend::Reader {
  std::string_view Name() const override { return "toy plan"; }
  bool Recognises(const frontend::InputFile& file) const override {
    return std::string_view(file.path).ends_with(".toy");
  }
  Files HowMany() const override { return {1, 1, "FILE.toy"}; }
  absl::StatusOr<lineage::Problem> Read(const std::vector<std::string>& paths,
                                        const frontend::ReadOptions& options) const override {
    lineage::ProblemBuilder problem;
    PLAN_RETURN_IF_ERROR(frontend::ReadTextLines(
        paths[0], 1 << 20,
        [&](const frontend::TextLine& line) { return Add(line, *options.operators, &problem); }));
    return problem.Build(
        [&](const auto&, const absl::Status& status) { return frontend::At(paths[0], status); });
  }
};

}  // namespace

const frontend::Reader& ToyPlans() {
  static const auto* const reader = new ToyReader;
  return *reader;
}

}  // namespace planproof::toy
