#include "diagnosis/describe.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "diagnosis/advice.h"
#include "diagnosis/undefined_advice.h"

namespace planproof::diagnosis {

using sdfg::kNone;
using sdfg::TensorId;

namespace {

constexpr size_t kMaxListed = 20;
constexpr size_t kManyOperators = 8;
constexpr size_t kMaxListedOperators = 64;

// "8 tp + 4"; the terms, or the constant, alone where the other is missing.
std::string Sum(const std::string& terms, int64_t constant) {
  if (terms.empty()) return absl::StrCat(constant);
  if (constant == 0) return terms;
  return absl::StrCat(terms, constant < 0 ? " - " : " + ", std::abs(constant));
}

// Every tensor is held by the same group of devices, so that naming it says nothing.
bool OneGroup(const sdfg::Graph& graph) {
  return std::all_of(graph.tensors.begin(), graph.tensors.end(), [&](const sdfg::Tensor& tensor) {
    return tensor.device == graph.tensors[0].device;
  });
}

// "tp", "(cp + 3) mod 4", "i2 / 8"
std::string DescribeDigit(const sdfg::Tensor& p, const sdfg::Graph& g,
                          const sdfg::IndexDigit& digit) {
  const bool coordinate = static_cast<size_t>(digit.dim) < p.axes.size();
  std::string out = coordinate ? g.axes[p.axes[digit.dim]].name : absl::StrCat("i", digit.dim);
  if (digit.offset != 0) out = absl::StrCat("(", out, " + ", digit.offset, ")");
  if (digit.div != 1 || !coordinate) absl::StrAppend(&out, " / ", digit.div);
  if (digit.mod != 0) absl::StrAppend(&out, " mod ", digit.mod);
  return out;
}

std::string DescribeMap(const sdfg::Tensor& p, const sdfg::Graph& g,
                        const std::vector<sdfg::IndexMap>& map) {
  std::string out = "[";
  for (size_t d = 0; d < map.size(); ++d) {
    if (d > 0) out += ", ";
    // The plain shard: one local dimension of stride 1 beside coordinates.
    int64_t extent = 1;
    std::string start;
    for (const sdfg::IndexTerm& t : map[d].terms) {
      if (t.gated()) {
        absl::StrAppend(&start, start.empty() ? "" : " + ", t.scale, " (",
                        DescribeDigit(p, g, t.digit()), ") (", DescribeDigit(p, g, t.gate), ")");
      } else if (static_cast<size_t>(t.dim) < p.axes.size()) {
        absl::StrAppend(&start, start.empty() ? "" : " + ", t.scale, " ",
                        DescribeDigit(p, g, t.digit()));
      } else if (t.div == 1 && t.mod == 0 && t.scale == 1) {
        extent = p.shape[t.dim];
      } else {
        absl::StrAppend(&start, start.empty() ? "" : " + ", t.scale, " (",
                        DescribeDigit(p, g, t.digit()), ")");
      }
    }
    absl::StrAppend(&out, Sum(start, map[d].constant), ":", Sum(start, map[d].constant + extent));
  }
  return out + "]";
}

std::string OperatorName(const sdfg::Operator& op) {
  std::string out = op.name;
  if (!op.label.empty()) absl::StrAppend(&out, " (", op.label, ")");
  return out;
}

}  // namespace

LineageDescriber::LineageDescriber(const lineage::Problem& problem)
    : problem_(problem), one_group_(OneGroup(problem.parallel)) {}

std::string LineageDescriber::Of(TensorId parallel, const lineage::Lineage& l) const {
  const sdfg::Tensor& p = problem_.parallel.tensors[parallel];
  std::string out = p.name;
  if (p.device >= 0 && !one_group_) absl::StrAppend(&out, " on device ", p.device);
  switch (l.kind) {
    case lineage::LineageKind::kNone:
      return out + ": no lineage";
    case lineage::LineageKind::kFull:
      return absl::StrCat(out, " = ", problem_.logical.tensors[l.logical].name,
                          DescribeMap(p, problem_.parallel, l.map));
    case lineage::LineageKind::kPartialSum:
    case lineage::LineageKind::kPartialMax:
      return absl::StrCat(out, " = term ", l.term, " of ", l.terms, " of ",
                          problem_.logical.tensors[l.logical].name,
                          DescribeMap(p, problem_.parallel, l.map));
  }
  return out;
}

std::string DescribeLineage(const lineage::Problem& problem, TensorId parallel,
                            const lineage::Lineage& l) {
  return LineageDescriber(problem).Of(parallel, l);
}

std::string DescribeElement(const sdfg::Graph& parallel, TensorId tensor,
                            const std::vector<int64_t>& index) {
  const sdfg::Tensor& t = parallel.tensors[tensor];
  const auto local = index.begin() + static_cast<std::ptrdiff_t>(t.axes.size());
  std::string text = absl::StrCat(t.name, "[", absl::StrJoin(local, index.end(), ","), "]");
  bool first = true;
  for (size_t a = 0; a < t.axes.size(); ++a) {
    // Ranks have devices, microbatches follow each other on one.
    const bool in_time = parallel.axis_device_stride[t.axes[a]] == 0;
    absl::StrAppend(&text, first ? " on " : ", ", parallel.axes[t.axes[a]].name,
                    in_time ? " " : "=", index[a]);
    first = false;
  }
  if (first && t.device >= 0 && !OneGroup(parallel))
    absl::StrAppend(&text, " on device ", t.device);
  return text;
}

std::vector<std::string> DescribeOperators(const sdfg::Graph& parallel,
                                           std::vector<sdfg::OperatorId> operators, Names which) {
  if (operators.size() > kManyOperators) {
    std::stable_partition(operators.begin(), operators.end(), [&](sdfg::OperatorId id) {
      return parallel.operators[id].kind == sdfg::OperatorKind::kRankOverride;
    });
  }
  if (operators.size() > kMaxListedOperators) operators.resize(kMaxListedOperators);
  std::vector<std::string> names;
  for (const sdfg::OperatorId id : operators) {
    const sdfg::Operator& op = parallel.operators[id];
    std::string name = OperatorName(op);
    if (!op.group.empty()) absl::StrAppend(&name, " of ranks ", absl::StrJoin(op.group, ","));
    if (!op.override_at.empty()) absl::StrAppend(&name, " at ", parallel.Describe(op.override_at));
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    if (which == Names::kAll || !known) names.push_back(std::move(name));
  }
  return names;
}

std::vector<sdfg::SourceLocation> PlacesOf(const sdfg::Graph& graph,
                                           const std::vector<sdfg::OperatorId>& operators) {
  std::vector<sdfg::SourceLocation> places;
  std::set<std::string> known;
  for (const sdfg::OperatorId id : operators) {
    const sdfg::SourceLocation& place = graph.operators[id].source;
    const bool says = place.line > 0 || !place.text.empty();  // more than the plan's file
    if (says && known.insert(place.ToString()).second) places.push_back(place);
  }
  return places;
}

std::vector<std::string> DescribeRequired(const lineage::Problem& problem) {
  const LineageDescriber describer(problem);
  std::vector<std::string> texts;
  for (const lineage::RequiredRelation& r : problem.required) {
    texts.push_back(absl::StrCat(r.what, ": ", describer.Of(r.parallel, r.lineage)));
  }
  return texts;
}

void DescribeUnrelated(const lineage::Problem& problem, TensorId parallel, TensorId reached,
                       stages::Violation* v) {
  const sdfg::Tensor& p = problem.parallel.tensors[parallel];
  const sdfg::Tensor& l = problem.logical.tensors[reached];
  v->stage = l.name;
  if (l.producer != kNone) {
    const sdfg::Operator& op = problem.logical.operators[l.producer];
    v->logical_operator = OperatorName(op);
    v->logical_source = op.source.ToString();
    v->logical_place = op.source;
  }
  // Operators of the stage: back to tensors that have a full lineage of their own.
  std::vector<TensorId> work = {parallel};
  std::vector<sdfg::OperatorId> seen;
  std::vector<int> devices;
  while (!work.empty() && seen.size() < 64) {
    TensorId t = work.back();
    work.pop_back();
    const sdfg::Tensor& tensor = problem.parallel.tensors[t];
    if (tensor.producer == kNone) continue;
    if (t != parallel && problem.lineage[t].kind == lineage::LineageKind::kFull) continue;
    if (std::find(seen.begin(), seen.end(), tensor.producer) != seen.end()) continue;
    seen.push_back(tensor.producer);
    const sdfg::Operator& op = problem.parallel.operators[tensor.producer];
    if (v->parallel_operators.size() < kMaxListed)
      v->parallel_operators.push_back(OperatorName(op));
    devices.insert(devices.end(), op.devices.begin(), op.devices.end());
    for (TensorId input : op.inputs) work.push_back(input);
  }
  if (p.device >= 0) devices.push_back(p.device);
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  v->devices = std::move(devices);
  v->parallel_places = PlacesOf(problem.parallel, seen);
  v->at = {.parallel = parallel, .logical = reached, .operators = seen};
  v->microbatches = "all";
}

void DescribePlace(const lineage::Problem& problem, const stages::Claim& claim,
                   stages::Violation* v) {
  DescribeUnrelated(problem, claim.parallel, claim.target.logical, v);
  v->lineage = DescribeLineage(problem, claim.parallel, claim.target);
}

std::vector<stages::AssumedRelation> DescribeAssumptions(
    const lineage::Problem& problem, const std::vector<lineage::Assumption>& all) {
  std::vector<stages::AssumedRelation> described;
  const sdfg::Graph& graph = problem.parallel;
  for (const lineage::Assumption& assumption : all) {
    const sdfg::Tensor& tensor = graph.tensors[assumption.tensor];
    stages::AssumedRelation& to = described.emplace_back();
    to.tensor = tensor.name;
    to.op = DescribeOperators(graph, {tensor.producer}, Names::kAll)[0];
    to.place = graph.operators[tensor.producer].source;
    to.relation = DescribeLineage(problem, assumption.tensor, assumption.lineage);
    to.logical = problem.logical.tensors[assumption.lineage.logical].name;
    to.reason = assumption.reason;
    to.stated_at = assumption.place;
  }
  return described;
}

void ListInterrupted(const stages::VerifyOptions& options, const stages::ClaimTable& table,
                     const stages::ProofSearch& search, bool remembered, stages::Result* result) {
  std::set<int32_t> decided;  // classes
  for (size_t c = 0; c < search.outcomes().size(); ++c) {
    const stages::ClaimStatus status = search.outcomes()[c].status;
    if (status == stages::ClaimStatus::kProved || status == stages::ClaimStatus::kFailed) {
      decided.insert(table.claims()[c].class_id);
    }
  }
  stages::Violation v;
  v.verdict = stages::Verdict::kUnknown;
  v.kind = options.stop->Why();
  v.message = v.cause = absl::StrCat(
      v.kind, " after ", decided.size(), " of ", result->stages.classes, " classes were decided, ",
      result->stages.proved, " of ", result->stages.total, " stages proved",
      remembered ? "; the same command with --resume goes on from there" : "");
  result->violations.push_back(std::move(v));
}

void ListUndecided(const lineage::Problem& problem, const stages::VerifyOptions& options,
                   const stages::ClaimTable& table, const stages::ProofSearch& search,
                   stages::Result* result) {
  const std::vector<stages::ClaimOutcome> outcomes = search.outcomes().Each();
  bool advised = false;
  const auto list = [&](int c) {
    if (result->violations.size() >= kMaxListed) return;
    const stages::ClaimOutcome& o = outcomes[c];
    const stages::Claim& claim = table.claims()[c];
    const bool vacuous = o.unsatisfiable && o.status == stages::ClaimStatus::kProved;
    stages::Violation v;
    v.verdict = stages::Verdict::kUnknown;
    v.kind = vacuous                                       ? "premises that never hold"
             : o.status == stages::ClaimStatus::kAbandoned ? "not decided"
                                                           : "not proved";
    DescribePlace(problem, claim, &v);
    v.message =
        absl::StrCat(search.ClaimName(c), ": ", v.kind, o.reason.empty() ? "" : ": ", o.reason);
    if (!o.difference.empty()) v.cause = absl::StrCat("terms differ by ", o.difference);
    // Of the first one: others may rest on it.
    if (!advised && !vacuous && !search.Interrupted())
      v.advice = AdviceFor(problem, options, search.Limits(), claim, o);
    advised = true;
    result->violations.push_back(std::move(v));
  };
  const std::vector<int> failed = table.Failed(outcomes);
  const int first = failed.empty() ? -1 : failed[0];
  if (first >= 0) list(first);
  for (int c = 0; c < static_cast<int>(outcomes.size()); ++c) {
    const stages::ClaimOutcome& o = outcomes[c];
    const bool vacuous = o.unsatisfiable && o.status == stages::ClaimStatus::kProved;
    const bool holds = o.status == stages::ClaimStatus::kProved && !vacuous;
    const bool counts =
        o.status == stages::ClaimStatus::kAbandoned || table.claims()[c].required >= 0 || vacuous;
    if (c != first && !holds && counts) list(c);
  }
}

void ListRestricted(const lineage::Problem& problem, const stages::ClaimTable& table,
                    const std::vector<stages::OpenCondition>& conditions, stages::Result* result) {
  for (const stages::OpenCondition& open : conditions) {
    if (result->violations.size() >= kMaxListed) return;
    stages::Violation v;
    v.verdict = stages::Verdict::kUnknown;
    v.kind = "undefined in the plan";
    if (open.claim >= 0) {
      DescribePlace(problem, table.claims()[open.claim], &v);
    } else {
      const sdfg::Operator& op = problem.parallel.operators[open.op];
      v.parallel_operators = {OperatorName(op)};
      v.parallel_places = PlacesOf(problem.parallel, {open.op});
      v.at.operators = {open.op};
      v.devices.assign(op.devices.begin(), op.devices.end());
      v.microbatches = "all";
    }
    v.cause = absl::StrCat("the plan has no value unless ", InWords(open.condition));
    v.advice = AdviceForUndefined(problem, v.at.operators);
    v.message = open.condition.never
                    ? "the values are equal wherever the plan has one, but it never has one"
                    : "the values are equal wherever the plan has one, but the specification has "
                      "values elsewhere, too: state the condition in its \"premises\", or pass "
                      "--accept-restrictions";
    result->violations.push_back(std::move(v));
  }
}

}  // namespace planproof::diagnosis
