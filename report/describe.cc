// Takes out of a result, and of the account that comes with it, what there is to report.
#include "diagnosis/describe.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "lineage/multiple.h"
#include "report/layer_map.h"
#include "report/ranks.h"
#include "report/report.h"
#include "report/stage_operators.h"
#include "solver/rational.h"
#include "stages/account.h"

namespace planproof::report {

using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;
using stages::Account;

namespace {

std::vector<std::string> AxisNames(const sdfg::Graph& graph, const sdfg::Tensor& tensor) {
  std::vector<std::string> names;
  for (const sdfg::AxisId axis : tensor.axes) names.push_back(graph.axes[axis].name);
  return names;
}

Relation RelationOf(const lineage::Problem& problem, const diagnosis::LineageDescriber& describer,
                    TensorId parallel, const lineage::Lineage& lineage) {
  const lineage::Multiple multiple = lineage::AsMultiple(problem.logical, lineage.logical);
  const sdfg::Tensor& tensor = problem.parallel.tensors[parallel];
  const sdfg::Tensor& logical = problem.logical.tensors[multiple.of];
  Relation relation;
  relation.parallel = tensor.name;
  relation.parallel_shape = tensor.shape;
  relation.axes = AxisNames(problem.parallel, tensor);
  relation.logical = logical.name;
  relation.logical_shape = logical.shape;
  relation.factor = multiple.factor.ToString();
  relation.map = lineage.map;
  relation.inferred = lineage.provenance == lineage::Provenance::kInferred;
  relation.text = describer.Of(parallel, lineage);
  return relation;
}

// Copies those operators of one graph that findings mention, each once.
class GraphCopy {
 public:
  GraphCopy(const lineage::Problem& problem, bool parallel, RanksOfPlan* ranks)
      : problem_(problem),
        graph_(parallel ? problem.parallel : problem.logical),
        ranks_(parallel ? ranks : nullptr) {}

  std::vector<int> Add(const std::vector<OperatorId>& operators) {
    std::vector<int> positions;
    for (const OperatorId op : operators) positions.push_back(Operator(op));
    return positions;
  }
  Graph Take() { return std::move(copy_); }

 private:
  int Operator(OperatorId id) {
    const auto [at, added] = operators_.try_emplace(id, static_cast<int>(copy_.operators.size()));
    if (!added) return at->second;
    const sdfg::Operator& op = graph_.operators[id];
    GraphOperator to;
    to.name = op.name;
    to.label = op.label;
    to.place = op.source;
    if (ranks_ != nullptr) to.ranks = ranks_->OfOperator(id);
    to.communicates = sdfg::IsCommunication(op.kind);
    for (const TensorId input : op.inputs) to.inputs.push_back(Tensor(input));
    for (const TensorId output : op.outputs) {
      if (output != kNone) to.outputs.push_back(Tensor(output));
    }
    copy_.operators.push_back(std::move(to));
    return at->second;
  }

  int Tensor(TensorId id) {
    const auto [at, added] = tensors_.try_emplace(id, static_cast<int>(copy_.tensors.size()));
    if (!added) return at->second;
    const sdfg::Tensor& tensor = graph_.tensors[id];
    GraphTensor to{tensor.name, tensor.shape, AxisNames(graph_, tensor), ""};
    if (ranks_ != nullptr && problem_.lineage[id].kind != lineage::LineageKind::kNone)
      to.relation = diagnosis::DescribeLineage(problem_, id, problem_.lineage[id]);
    copy_.tensors.push_back(std::move(to));
    return at->second;
  }

  const lineage::Problem& problem_;
  const sdfg::Graph& graph_;
  RanksOfPlan* ranks_;
  Graph copy_;
  std::map<OperatorId, int> operators_;
  std::map<TensorId, int> tensors_;
};

class Describer {
 public:
  Describer(const Account& account, Report* report)
      : account_(account),
        problem_(account.problem),
        describer_(problem_),
        report_(report),
        ranks_(problem_),
        operators_(account),
        logical_(problem_, /*parallel=*/false, &ranks_),
        parallel_(problem_, /*parallel=*/true, &ranks_) {}

  void Run(const stages::Result& result) {
    for (const stages::Stage& stage : account_.stages) AddStage(stage, result);
    for (const stages::Violation& violation : result.violations) {
      report_->graphs.push_back(GraphsOf(violation));
    }
    report_->logical = logical_.Take();
    report_->parallel = parallel_.Take();
    report_->map = MapOf(result, account_, &ranks_);
  }

 private:
  void AddStage(const stages::Stage& stage, const stages::Result& result) {
    const stages::Claim& claim = stage.claim;
    StageLine& line = report_->stages.emplace_back();
    line.relation = RelationOf(problem_, describer_, claim.parallel, claim.target);
    line.stage = problem_.logical.tensors[claim.target.logical].name;
    if (claim.required >= 0) line.required = problem_.required[claim.required].what;
    line.state = StateOf(stage.state, result.verdict);
    line.class_id = claim.class_id;
    if (line.state == State::kProved) line.method = stages::ProofMethodName(stage.method);
    line.reason = stage.reason;
    line.logical_term = stage.logical_term;
    line.parallel_term = stage.parallel_term;
    line.difference = stage.difference;
    line.ranks = ranks_.OfTensor(claim.parallel);
    const OperatorId producer = problem_.logical.tensors[claim.target.logical].producer;
    if (producer != kNone) line.place = problem_.logical.operators[producer].source;
    for (const stages::Violation& violation : result.violations) {
      if (violation.verdict == stages::Verdict::kRefuted &&
          violation.at.parallel == claim.parallel && violation.at.logical == claim.target.logical)
        line.state = State::kRefuted;
    }
  }

  FindingGraphs GraphsOf(const stages::Violation& violation) {
    FindingGraphs graphs;
    const stages::ViolationPlace& at = violation.at;
    std::vector<OperatorId> stage(at.operators.begin(), at.operators.end());
    graphs.suspected = violation.cause.empty() || stage.empty() ? 0 : 1;
    if (at.parallel != kNone) {
      for (const OperatorId op : operators_.Of(at.parallel)) {
        if (std::find(at.operators.begin(), at.operators.end(), op) == at.operators.end())
          stage.push_back(op);
      }
    }
    graphs.parallel = parallel_.Add(stage);
    const stages::WitnessElement& element = violation.witness_element;
    if (element.parallel != kNone && element.logical != kNone) {
      const sdfg::Tensor& tensor = problem_.parallel.tensors[element.parallel];
      graphs.witness = {tensor.name, AxisNames(problem_.parallel, tensor), element.index,
                        problem_.logical.tensors[element.logical].name, element.logical_index};
    }
    if (at.logical == kNone || at.parallel == kNone) return graphs;
    for (const stages::Stage& known : account_.stages) {
      if (known.claim.parallel == at.parallel && known.claim.target.logical == at.logical)
        graphs.relation = RelationOf(problem_, describer_, at.parallel, known.claim.target);
    }
    const lineage::Lineage& own = problem_.lineage[at.parallel];
    if (graphs.relation.logical.empty() && own.logical == at.logical)
      graphs.relation = RelationOf(problem_, describer_, at.parallel, own);
    // The model's side begins where the plan's does.
    std::vector<bool> known(problem_.logical.tensors.size());
    bool any = false;
    for (const TensorId input : operators_.InputsOf(stage)) {
      const TensorId of = problem_.lineage[input].logical;
      if (of == kNone || of == at.logical) continue;
      any = known[of] = true;
    }
    if (!any) known.assign(known.size(), true);  // the one operator
    graphs.logical = logical_.Add(OperatorsUpTo(problem_.logical, at.logical, known));
    return graphs;
  }

  const Account& account_;
  const lineage::Problem& problem_;
  const diagnosis::LineageDescriber describer_;
  Report* report_;
  RanksOfPlan ranks_;
  StageOperators operators_;
  GraphCopy logical_, parallel_;
};

// Errors of readers begin with their place: "FILE:LINE: ...".
sdfg::SourceLocation PlaceOfError(const std::string& message,
                                  const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const size_t line = file.size() + 1;
    if (message.size() <= line || message.compare(0, file.size(), file) != 0 ||
        message[file.size()] != ':')
      continue;
    int number = 0;
    const size_t end = message.find(':', line);
    if (end != std::string::npos && absl::SimpleAtoi(message.substr(line, end - line), &number) &&
        number > 0)
      return {file, number, ""};
  }
  return {};
}

constexpr const char* kStateNames[] = {"no effect",   "proved",  "given up",
                                       "after fault", "unknown", "refuted"};

}  // namespace

const char* StateName(State state) { return kStateNames[static_cast<size_t>(state)]; }

bool StateFromName(const std::string& name, State* state) {
  for (size_t i = 0; i < std::size(kStateNames); ++i) {
    if (name != kStateNames[i]) continue;
    *state = static_cast<State>(i);
    return true;
  }
  return false;
}

Report Describe(const stages::Result& result, const std::vector<std::string>& files) {
  Report report;
  report.result = result;
  report.result.account = nullptr;
  report.result.witness = nullptr;
  report.files = files;
  report.version = Version();
  for (stages::Violation& violation : report.result.violations) {
    if (!violation.parallel_places.empty() || violation.logical_place.line > 0) continue;
    const sdfg::SourceLocation place = PlaceOfError(violation.message, files);
    if (place.line > 0) violation.parallel_places.push_back(place);
  }
  if (result.account != nullptr) Describer(*result.account, &report).Run(result);
  // What is not proved has a finding in every report: no list of findings may be empty then.
  if (result.verdict != stages::Verdict::kProved && report.result.violations.empty()) {
    stages::Violation& violation = report.result.violations.emplace_back();
    violation.verdict = result.verdict;
    violation.kind = "no finding";
    violation.cause = violation.message = "the plan is not proved, and no reason is known";
  }
  report.graphs.resize(report.result.violations.size());
  return report;
}

const char* Version() { return PLANPROOF_VERSION; }

}  // namespace planproof::report
