#include "examples/reader/toy_reader.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/load_problem.h"
#include "lineage/problem_builder.h"
#include "lineage/sharding.h"
#include "sdfg/apply_operator.h"
#include "sdfg/status_macros.h"

namespace planproof::toy {
namespace {

using sdfg::TensorId;

struct Line {
  std::string verb;
  std::vector<std::string> names;
  std::vector<int64_t> numbers;
};

absl::StatusOr<TensorId> Find(const sdfg::Graph& graph, const std::string& name) {
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].name == name) return static_cast<TensorId>(t);
  }
  return absl::InvalidArgumentError(absl::StrCat("no tensor \"", name, "\" above this line"));
}

class Translation {
 public:
  explicit Translation(const frontend::ReadOptions& options) : operators_(*options.operators) {}

  absl::Status Add(const Line& line) {
    const auto& [verb, names, numbers] = line;
    if (verb == "ranks" && names.empty() && numbers.size() == 1) {
      problem.parallel.axes = {{"rank", numbers[0]}};
      problem.parallel.axis_device_stride = {1};
      return absl::OkStatus();
    }
    if (verb == "input" && names.size() == 1) {
      problem.logical.AddTensor(
          {.name = names[0], .shape = numbers, .dtype = kType, .role = kRole});
      return absl::OkStatus();
    }
    if (verb == "model" && names.size() >= 3) return Apply(line, &problem.logical);
    if (verb == "plan" && names.size() >= 3) return Apply(line, &problem.parallel);
    if (verb == "hold" && names.size() == 1) {
      sdfg::Tensor held{.name = names[0], .dtype = kType, .role = kRole, .device = 0};
      if (!numbers.empty()) held.axes = {0};
      PLAN_ASSIGN_OR_RETURN(lineage::Sharding part, Part(line, held.axes));
      held.shape = part.shape;
      const TensorId id = problem.parallel.AddTensor(std::move(held));
      return problem.RelateInput(id, std::move(part.lineage), {"the plan"});
    }
    if (verb == "require" && names.size() == 2) {
      PLAN_ASSIGN_OR_RETURN(const TensorId id, Find(problem.parallel, names[1]));
      PLAN_ASSIGN_OR_RETURN(lineage::Sharding part, Part(line, problem.parallel.tensors[id].axes));
      return problem.RequireOutput(id, std::move(part.lineage), names[0], {"the plan"});
    }
    return absl::InvalidArgumentError("expected ranks, input, model, hold, plan or require");
  }

  lineage::ProblemBuilder problem;

 private:
  static constexpr sdfg::DType kType = sdfg::DType::kFloat32;
  static constexpr sdfg::TensorRole kRole = sdfg::TensorRole::kInput;

  // OPERATOR INPUT... OUTPUT
  absl::Status Apply(const Line& line, sdfg::Graph* graph) const {
    std::vector<TensorId> inputs;
    for (size_t i = 1; i + 1 < line.names.size(); ++i) {
      PLAN_ASSIGN_OR_RETURN(const TensorId input, Find(*graph, line.names[i]));
      inputs.push_back(input);
    }
    return sdfg::ApplyOperator(graph, operators_, line.names[0], inputs, {}, line.names.back())
        .status();
  }

  // Of the model's tensor that the line names: the rank's part of the dimensions that it lists.
  absl::StatusOr<lineage::Sharding> Part(const Line& line, const std::vector<sdfg::AxisId>& axes) {
    PLAN_ASSIGN_OR_RETURN(const TensorId whole, Find(problem.logical, line.names[0]));
    std::vector<lineage::CutDimension> cuts;
    for (int64_t dim : line.numbers) cuts.push_back({static_cast<int>(dim), {0}});
    return lineage::EqualParts(whole, problem.logical.tensors[whole].shape, problem.parallel.axes,
                               axes, cuts);
  }

  const sdfg::OperatorLibrary& operators_;
};

absl::StatusOr<Line> Words(const std::string& text) {
  Line line;
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipWhitespace());
  for (const std::string& word : words) {
    int64_t number = 0;
    if (line.verb.empty()) {
      line.verb = word;
    } else if (!absl::SimpleAtoi(word, &number)) {
      line.names.push_back(word);
    } else if (number >= 0 && number <= 1 << 20) {
      line.numbers.push_back(number);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(word, " is no number up to 2^20"));
    }
  }
  return line;
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
    Translation translation(options);
    std::string at = paths[0];
    const auto here = [&](const auto&, const absl::Status& status) {
      return absl::Status(status.code(), absl::StrCat(at, ": ", std::string(status.message())));
    };
    const std::vector<std::string> rows = absl::StrSplit(text, '\n');
    for (size_t i = 0; i < rows.size(); ++i) {
      at = absl::StrCat(paths[0], ":", i + 1);
      const absl::StatusOr<Line> line = Words(rows[i]);
      if (!line.ok()) return here(0, line.status());
      if (line->verb.empty() || line->verb[0] == '#') continue;
      if (absl::Status added = translation.Add(*line); !added.ok()) return here(0, added);
    }
    at = paths[0];
    return translation.problem.Build(here);
  }
};

}  // namespace

const frontend::Reader& ToyPlans() {
  static const auto* const reader = new ToyReader;
  return *reader;
}

}  // namespace planproof::toy
