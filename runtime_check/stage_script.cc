#include "runtime_check/stage_script.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime_check/executor.h"
#include "runtime_check/numpy_source.h"
#include "runtime_check/positions.h"
#include "runtime_check/python_text.h"

namespace planproof::runtime_check {
namespace {

using lineage::Lineage;
using lineage::LineageKind;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

constexpr char kModelPrefix[] = "model_", kPlanPrefix[] = "plan_";

// Names for Python by tensor: each once.
std::vector<std::string> PythonNames(const sdfg::Graph& graph, const char* prefix) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const sdfg::Tensor& tensor : graph.tensors) {
    const std::string name = PythonName(prefix, tensor.name);
    std::string unique = name;
    for (int i = 2; !taken.insert(unique).second; ++i) unique = absl::StrCat(name, "_", i);
    names.push_back(std::move(unique));
  }
  return names;
}

witness::NpzArray ArrayOf(const std::string& name, const Values& values) {
  witness::NpzArray array{.name = name, .shape = values.shape};
  array.is_integer = values.storage == Values::Storage::kInteger;
  array.integers = values.integers;
  array.reals = values.doubles;
  return array;
}

// Whether all elements of a parallel tensor are the model's.
bool IsInside(const Lineage& lineage, const sdfg::Shape& shape, const sdfg::Shape& logical) {
  std::vector<int64_t> index(shape.size(), 0);
  const int64_t count = CountOf(shape);
  for (int64_t i = 0; i < count; ++i, Advance(shape, &index)) {
    if (PositionOf(lineage.map, logical, index) < 0) return false;
  }
  return true;
}

// A graph cut before `end`: operators that make it, in order, from tensors where `stops` holds.
struct Cut {
  std::vector<OperatorId> operators;
  std::vector<TensorId> starts;
  std::set<TensorId> needed;  // and what lies between
};

template <typename Stops>
Cut CutBefore(const sdfg::Graph& graph, TensorId end, Stops stops) {
  Cut cut;
  std::set<TensorId>& needed = cut.needed;
  needed.insert(end);
  for (size_t id = graph.operators.size(); id-- > 0;) {
    const sdfg::Operator& op = graph.operators[id];
    const bool makes = std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId made) {
      return needed.contains(made) && (made == end || !stops(made));
    });
    if (!makes) continue;
    cut.operators.push_back(static_cast<OperatorId>(id));
    needed.insert(op.inputs.begin(), op.inputs.end());
  }
  std::reverse(cut.operators.begin(), cut.operators.end());
  for (const TensorId id : needed) {
    if (id != end && (graph.tensors[id].producer == kNone || stops(id))) cut.starts.push_back(id);
  }
  return cut;
}

// The graph with the operators of the cut only; what else there was has no elements.
sdfg::Graph CutOut(const sdfg::Graph& graph, const Cut& cut) {
  sdfg::Graph out = graph;
  out.operators.clear();
  std::set<TensorId> made;
  for (const OperatorId id : cut.operators) {
    out.operators.push_back(graph.operators[id]);
    made.insert(graph.operators[id].outputs.begin(), graph.operators[id].outputs.end());
  }
  for (size_t t = 0; t < out.tensors.size(); ++t) {
    const auto id = static_cast<TensorId>(t);
    sdfg::Tensor& tensor = out.tensors[id];
    const bool starts = std::find(cut.starts.begin(), cut.starts.end(), id) != cut.starts.end();
    if (starts) {
      tensor.producer = kNone;
    } else if (!made.contains(id)) {
      tensor = {.shape = {0}, .role = sdfg::TensorRole::kZero};
    }
  }
  return out;
}

class Script {
 public:
  Script(const lineage::Problem& problem, const Inputs& inputs, const TensorReport& report,
         Programs* programs)
      : problem_(problem),
        inputs_(inputs),
        report_(report),
        model_names_(PythonNames(problem.logical, kModelPrefix)),
        plan_names_(PythonNames(problem.parallel, kPlanPrefix)),
        programs_(programs) {}

  absl::StatusOr<StageScript> Write(const std::string& title) {
    model_ = inputs_;
    const RunOptions run{.arithmetic = sdfg::DType::kFloat64};
    absl::Status status = RunGraph(problem_.logical, run, programs_, &model_);
    if (!status.ok()) return status;
    FindCuts();
    if (status = RunPlan(); !status.ok()) return status;
    lines_ = {"\"\"\"" + PythonComment(title),
              "",
              "Written by planproof: what the model computes, and what the plan computes from the",
              "same values. Coordinates of devices and microbatches are leading dimensions.",
              "\"\"\"",
              "import math",
              "",
              "import numpy as np",
              "",
              "np.seterr(all=\"ignore\")",
              "",
              kNumpyChoiceSource,
              "given = np.load(__file__.removesuffix(\".py\") + \".npz\")"};
    Line("");
    Line("# The model");
    for (const TensorId id : model_cut_.starts) GiveModel(id);
    status = Operators(problem_.logical, model_cut_, model_names_, model_, report_.logical);
    if (!status.ok()) return status;
    Line("");
    Line("# What the plan's devices hold of it");
    for (const TensorId id : plan_cut_.starts) Hold(id);
    Line("");
    Line("# The plan");
    status = Operators(problem_.parallel, plan_cut_, plan_names_, plan_, report_.parallel);
    if (!status.ok()) return status;
    Compare();
    script_.python = absl::StrJoin(lines_, "\n") + "\n";
    DropUnless("math.erf", "import math\n\n");
    DropUnless(absl::StrCat("(", kNumpyChoice, ","), absl::StrCat("\n", kNumpyChoiceSource, "\n"));
    return std::move(script_);
  }

 private:
  const Lineage* Related(TensorId id) const {
    const Lineage& lineage = problem_.lineage[id];
    const bool full = lineage.kind == LineageKind::kFull &&
                      IsInside(lineage, problem_.parallel.tensors[id].shape,
                               problem_.logical.tensors[lineage.logical].shape);
    return full ? &lineage : nullptr;
  }

  void FindCuts() {
    plan_cut_ = CutBefore(problem_.parallel, report_.parallel,
                          [&](TensorId id) { return Related(id) != nullptr; });
    std::set<TensorId> known;
    for (const TensorId id : plan_cut_.starts) {
      if (const Lineage* lineage = Related(id)) known.insert(lineage->logical);
    }
    for (const Lineage& lineage : problem_.lineage) {
      if (lineage.kind == LineageKind::kFull) known.insert(lineage.logical);
    }
    model_cut_ = CutBefore(problem_.logical, report_.logical,
                           [&](TensorId id) { return known.contains(id); });
  }

  // All that the stage computes, also where it cannot be written in NumPy.
  absl::Status RunPlan() {
    const sdfg::Graph stage = CutOut(problem_.parallel, plan_cut_);
    plan_.resize(stage.tensors.size());
    for (const TensorId id : plan_cut_.starts) {
      const Lineage* lineage = Related(id);
      if (lineage == nullptr) continue;
      const sdfg::Tensor& tensor = stage.tensors[id];
      const Values& model = model_[lineage->logical];
      plan_[id] = Values::Zeros(tensor.shape, tensor.dtype, sdfg::DType::kFloat64);
      std::vector<int64_t> index(tensor.shape.size(), 0);
      for (int64_t i = 0; i < plan_[id].size(); ++i, Advance(tensor.shape, &index))
        plan_[id].Copy(i, model, PositionOf(lineage->map, model.shape, index));
    }
    return RunGraph(stage, {.arithmetic = sdfg::DType::kFloat64}, programs_, &plan_);
  }

  // Takes a part out of the script if nothing in it is used.
  void DropUnless(const std::string& use, const std::string& part) {
    if (absl::StrContains(script_.python, use)) return;
    script_.python.erase(script_.python.find(part), part.size());
  }

  void Line(const std::string& line) { lines_.push_back(line); }

  void Give(const std::string& name, const Values& values, const std::string& comment) {
    if (!given_.insert(name).second) return;
    script_.arrays.push_back(ArrayOf(name, values));
    Line(absl::StrCat(name, " = given[\"", name, "\"]  # ", PythonComment(comment)));
  }

  void GiveModel(TensorId id) {
    Give(model_names_[id], model_[id], problem_.logical.tensors[id].name);
  }

  void Hold(TensorId id) {
    const Lineage* lineage = Related(id);
    if (lineage == nullptr) return Give(plan_names_[id], plan_[id], "ones or zeros");
    GiveModel(lineage->logical);
    for (const std::string& line : NumpyElements(
             plan_names_[id], problem_.parallel.tensors[id].shape, model_names_[lineage->logical],
             lineage->map, problem_.logical.tensors[lineage->logical].shape)) {
      Line(line);
    }
  }

  absl::Status Operators(const sdfg::Graph& graph, const Cut& cut,
                         const std::vector<std::string>& names, const std::vector<Values>& values,
                         TensorId end) {
    for (const OperatorId id : cut.operators) {
      const sdfg::Operator& op = graph.operators[id];
      Line("# " + PythonComment(absl::StrCat(op.name, " ", op.source.ToString())));
      for (size_t o = 0; o < op.outputs.size(); ++o) {
        const TensorId made = op.outputs[o];
        if (!cut.needed.contains(made) || given_.contains(names[made])) continue;
        const auto source = NumpySource(graph, op, static_cast<int>(o), names);
        if (source) {
          lines_.insert(lines_.end(), source->begin(), source->end());
        } else if (made != end) {
          Give(names[made], values[made], "as planproof computes it");
        } else {
          return absl::UnimplementedError(
              absl::StrCat(graph.Describe(id), " cannot be written in NumPy"));
        }
      }
    }
    return absl::OkStatus();
  }

  void Compare() {
    const Measure& measure = report_.measure;
    const auto print = [&](const char* whose, const std::string& name,
                           const std::vector<int64_t>& index) {
      const std::string at =
          absl::StrCat(name, "[", absl::StrJoin(index, ", "), index.empty() ? "()]" : "]");
      Line(absl::StrCat("print(\"the ", whose, "'s\", \"", at, " =\", ", at, ")"));
      return at;
    };
    Line("");
    const std::string model = print("model", model_names_[report_.logical], measure.logical_index);
    const std::string plan = print("plan", plan_names_[report_.parallel], measure.parallel_index);
    Line(absl::StrCat("print(\"they agree\" if np.isclose(", model, ", ", plan,
                      ", rtol=1e-9, atol=0, equal_nan=True) else \"they differ\")"));
  }

  const lineage::Problem& problem_;
  const Inputs& inputs_;
  const TensorReport& report_;
  const std::vector<std::string> model_names_, plan_names_;
  Programs* const programs_;
  std::vector<Values> model_, plan_;
  Cut model_cut_, plan_cut_;
  std::vector<std::string> lines_;
  std::set<std::string> given_;
  StageScript script_;
};

bool Fits(const std::vector<sdfg::IndexMap>& map, const sdfg::Tensor& parallel,
          const sdfg::Tensor& logical) {
  const auto rank = static_cast<int32_t>(parallel.shape.size());
  return map.size() == logical.shape.size() &&
         std::all_of(map.begin(), map.end(), [&](const sdfg::IndexMap& form) {
           return std::all_of(form.terms.begin(), form.terms.end(), [&](const auto& term) {
             return term.dim < rank && term.gate.dim < rank;
           });
         });
}

}  // namespace

absl::StatusOr<lineage::Problem> WithConfirmed(const lineage::Problem& problem,
                                               const std::vector<StageBoundary>& boundaries,
                                               const Inputs& inputs, Programs* programs) {
  lineage::Problem more = problem;
  std::set<TensorId> added, confirmed;
  for (const StageBoundary& boundary : boundaries) {
    Lineage& lineage = more.lineage[boundary.parallel];
    if (lineage.kind != LineageKind::kNone ||
        !Fits(boundary.map, problem.parallel.tensors[boundary.parallel],
              problem.logical.tensors[boundary.logical])) {
      continue;
    }
    lineage.kind = LineageKind::kFull;
    lineage.provenance = lineage::Provenance::kInferred;
    lineage.logical = boundary.logical;
    lineage.map = boundary.map;
    added.insert(boundary.parallel);
  }
  if (added.empty()) return more;
  const absl::StatusOr<ReplayReport> replay =
      Replay(more, inputs, {.perturbation = Perturbation::kByValue}, programs);
  if (!replay.ok()) return replay.status();
  for (const TensorReport& tensor : replay->tensors) {
    if (tensor.measure.defined) confirmed.insert(tensor.parallel);
  }
  for (const TensorReport& tensor : replay->tensors) {
    if (tensor.finding != Finding::kNone) confirmed.erase(tensor.parallel);
  }
  for (const TensorId id : added) {
    if (!confirmed.contains(id)) more.lineage[id] = problem.lineage[id];
  }
  return more;
}

absl::StatusOr<StageScript> WriteStageScript(const lineage::Problem& problem, const Inputs& inputs,
                                             const std::string& stage, const std::string& title,
                                             Programs* programs) {
  const absl::StatusOr<ReplayReport> replay =
      Replay(problem, inputs, {.perturbation = Perturbation::kByValue, .by_stage = true}, programs);
  if (!replay.ok()) return replay.status();
  const TensorReport* found = nullptr;
  for (const TensorReport& tensor : replay->tensors) {
    if (tensor.finding != Finding::kDiffers) continue;
    const bool named = problem.logical.tensors[tensor.logical].name == stage;
    if (found == nullptr || named) found = &tensor;
    if (named) break;
  }
  if (found == nullptr) return absl::NotFoundError("in float64 no stage differs on these inputs");
  return Script(problem, inputs, *found, programs).Write(title);
}

}  // namespace planproof::runtime_check
