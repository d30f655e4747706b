#include "tests/random/perturbation.h"

#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::random_tests {
namespace {

using sdfg::IndexFunction;
using sdfg::kNone;
using sdfg::Node;
using sdfg::Op;
using sdfg::TensorId;

sdfg::ExprId AddNode(IndexFunction* function, Node node) {
  function->nodes.push_back(std::move(node));
  return static_cast<sdfg::ExprId>(function->nodes.size()) - 1;
}

sdfg::ExprId AddConstant(IndexFunction* function, int64_t value) {
  Node node{};
  node.op = Op::kIntConst;
  node.value = value;
  return AddNode(function, std::move(node));
}

// body + 1, or 1 - body.
void PerturbInteger(IndexFunction* function, int output, bool negate) {
  sdfg::FunctionOutput& changed = function->outputs[output];
  sdfg::ExprId body = changed.body;
  if (negate) {
    Node negated{};
    negated.op = Op::kIntScale;
    negated.value = -1;
    negated.args = {body};
    body = AddNode(function, std::move(negated));
  }
  Node sum{};
  sum.op = Op::kIntAdd;
  sum.args = {body, AddConstant(function, 1)};
  function->outputs[output].body = AddNode(function, std::move(sum));
}

// body + (1 + position in the last dimension) / 7.
void PerturbByNumbers(IndexFunction* function, int output) {
  const sdfg::FunctionOutput& changed = function->outputs[output];
  sdfg::ExprId number = AddConstant(function, 1);
  if (!changed.dims.empty()) {
    Node index{};
    index.op = Op::kIndex;
    index.var = changed.dims.back();
    Node next{};
    next.op = Op::kIntAdd;
    next.args = {AddNode(function, std::move(index)), number};
    number = AddNode(function, std::move(next));
  }
  Node position{};
  position.op = Op::kPosition;
  position.args = {number};
  Node seventh{};
  seventh.op = Op::kReal;
  seventh.real = solver::Rational(1, 7);
  Node product{};
  product.op = Op::kMul;
  product.args = {AddNode(function, std::move(position)), AddNode(function, std::move(seventh))};
  Node sum{};
  sum.op = Op::kAdd;
  sum.args = {function->outputs[output].body, AddNode(function, std::move(product))};
  function->outputs[output].body = AddNode(function, std::move(sum));
}

void PerturbReal(IndexFunction* function, int output) {
  sdfg::FunctionOutput& changed = function->outputs[output];
  Node element{};
  element.op = Op::kElement;
  element.input = static_cast<int32_t>(function->inputs.size());
  function->inputs.push_back({"fresh", changed.shape(function->vars), changed.dtype});
  for (sdfg::VarId var : changed.dims) {
    Node index{};
    index.op = Op::kIndex;
    index.var = var;
    element.args.push_back(AddNode(function, std::move(index)));
  }
  Node sum{};
  sum.op = Op::kAdd;
  sum.args = {function->outputs[output].body, AddNode(function, std::move(element))};
  function->outputs[output].body = AddNode(function, std::move(sum));
}

}  // namespace

std::vector<Place> PerturbationPlaces(const lineage::Problem& problem, bool distinct) {
  const sdfg::Graph& graph = problem.parallel;
  std::vector<bool> cone(graph.tensors.size(), false);
  for (const auto& relation : problem.required) cone[relation.parallel] = true;
  for (size_t o = graph.operators.size(); o-- > 0;) {
    bool used = false;
    for (TensorId id : graph.operators[o].outputs) used = used || (id != kNone && cone[id]);
    if (!used) continue;
    for (TensorId id : graph.operators[o].inputs) cone[id] = true;
  }
  std::vector<Place> places;
  std::set<std::tuple<const IndexFunction*, TensorId, size_t>> seen;
  for (size_t o = 0; o < graph.operators.size(); ++o) {
    const sdfg::Operator& op = graph.operators[o];
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      const TensorId id = op.outputs[k];
      if (id == kNone || !cone[id]) continue;
      if (distinct && !seen.insert({op.function.get(), problem.lineage[id].logical, k}).second) {
        continue;
      }
      places.push_back({static_cast<sdfg::OperatorId>(o), static_cast<int>(k)});
    }
  }
  return places;
}

void Perturb(lineage::Problem* problem, const Place& place, bool fresh_symbol) {
  sdfg::Graph& graph = problem->parallel;
  const TensorId output = graph.operators[place.op].outputs[place.output];
  IndexFunction function = *graph.operators[place.op].function;
  const sdfg::DType dtype = graph.tensors[output].dtype;
  if (sdfg::IsInteger(dtype) || dtype == sdfg::DType::kBool) {
    PerturbInteger(&function, place.output, dtype == sdfg::DType::kBool);
    graph.operators[place.op].function = graph.Intern(std::move(function));
    return;
  }
  if (!fresh_symbol) {
    PerturbByNumbers(&function, place.output);
    graph.operators[place.op].function = graph.Intern(std::move(function));
    return;
  }
  sdfg::Tensor fresh;
  fresh.name = "fresh";
  fresh.shape = graph.tensors[output].shape;
  fresh.dtype = dtype;
  fresh.role = sdfg::TensorRole::kInput;
  lineage::Lineage lineage;
  lineage.kind = lineage::LineageKind::kFull;
  lineage.logical = problem->logical.AddTensor(fresh);
  for (size_t d = 0; d < fresh.shape.size(); ++d) {
    lineage.map.push_back({.constant = 0, .terms = {{.dim = static_cast<int32_t>(d)}}});
  }
  fresh.axes = graph.tensors[output].axes;
  fresh.device = graph.tensors[output].device;
  const TensorId id = graph.AddTensor(std::move(fresh));
  problem->lineage.resize(graph.tensors.size());
  problem->lineage[id] = std::move(lineage);
  PerturbReal(&function, place.output);
  graph.operators[place.op].inputs.push_back(id);
  graph.operators[place.op].function = graph.Intern(std::move(function));
}

Perturbations::Perturbations(const PlanPair& pair, int samples, double timeout_s)
    : pair_(pair), timeout_s_(timeout_s), judge_(pair.twin, samples, pair.id_range, 7) {}

PerturbationTrial Perturbations::Try(const Place& place) {
  PerturbationTrial trial;
  lineage::Problem problem = pair_.problem;
  const sdfg::Operator& op = problem.parallel.operators[place.op];
  const lineage::Lineage& lineage = problem.lineage[op.outputs[place.output]];
  trial.what = absl::StrCat(problem.parallel.Describe(place.op), " output ", place.output);
  if (lineage.logical != kNone) {
    absl::StrAppend(&trial.what, " of ", problem.logical.tensors[lineage.logical].name);
  }
  stages::VerifyOptions options;
  options.jobs = 1;
  options.stage_timeout_s = timeout_s_;
  options.explain = false;  // whether the verdict changes, not why
  stages::Result result;
  bool fresh_symbol = true;
  for (;; fresh_symbol = false) {
    problem = pair_.problem;
    Perturb(&problem, place, fresh_symbol);
    if (const absl::Status status = problem.parallel.Check(); !status.ok()) {
      trial.verdict = stages::Verdict::kMalformed;
      trial.difference = std::string(status.message());
      return trial;
    }
    result = strategy::Verify(problem, options);
    if (result.verdict != stages::Verdict::kMalformed || !fresh_symbol) break;
  }
  trial.verdict = result.verdict;
  if (!result.violations.empty()) trial.difference = result.violations[0].message;
  if (trial.verdict != stages::Verdict::kProved) return trial;
  lineage::Problem twin = pair_.twin;
  Perturb(&twin, place, fresh_symbol);
  if (!twin.parallel.Check().ok()) return trial;
  const auto judgement = judge_.Judge(twin);
  trial.judged = judgement.ok();
  trial.numbers_equal = judgement.ok() && judgement->equal;
  trial.difference =
      judgement.ok() ? judgement->difference : std::string(judgement.status().message());
  return trial;
}

}  // namespace planproof::random_tests
