#include "shape_reduction/input_ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "shape_reduction/compared_values.h"
#include "shape_reduction/index_form.h"

namespace planproof::shape_reduction {

using sdfg::ExprId;
using sdfg::Node;
using sdfg::Op;
using sdfg::TensorId;

namespace {

constexpr int64_t kDefaultRange = 4;  // of an integer tensor that indexes nothing
constexpr int64_t kFar = int64_t{1} << 62;
constexpr std::pair<int64_t, int64_t> kAny = {-kFar, kFar};

// The x for which low <= scale x + rest < high whatever the rest is; nothing is said (kAny) where
// numbers are too large.
std::pair<int64_t, int64_t> Within(int64_t scale, const IndexForm& form,
                                   std::pair<int64_t, int64_t> range) {
  IndexForm rest = form;
  rest.atoms.clear();
  int64_t low = 0, high = 0;
  if (scale == 0 || !FormRange(rest, &low, &high)) return kAny;
  const __int128 least = static_cast<__int128>(range.first) - low;  // of scale x
  const __int128 most = static_cast<__int128>(range.second) - 1 - high;
  if (least < -kFar || least > kFar || most < -kFar || most > kFar) return kAny;
  const int64_t first = static_cast<int64_t>(least), last = static_cast<int64_t>(most);
  if (scale > 0) return {-FloorDiv(-first, scale), FloorDiv(last, scale) + 1};
  return {-FloorDiv(last, -scale), FloorDiv(-first, -scale) + 1};
}

void Narrow(std::pair<int64_t, int64_t> by, std::pair<int64_t, int64_t>* range) {
  range->first = std::max(range->first, by.first);
  range->second = std::min(range->second, by.second);
}

}  // namespace

// From the operators' reads and conditions back to what they read, through what copies, shifts or
// scales integers.
InputRanges::Asked InputRanges::FindAsked(ProgramCache* programs) const {
  const sdfg::Graph& graph = problem_.logical;
  Asked asked;
  asked.allowed.assign(graph.tensors.size(), kAny);
  asked.usual.assign(graph.tensors.size(), kAny);
  for (size_t o = graph.operators.size(); o-- > 0;) {
    const sdfg::Operator& op = graph.operators[o];
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      if (op.outputs[k] == sdfg::kNone) continue;
      const ScalarProgram& program = programs->Get(graph, op, static_cast<int>(k));
      // The form lies in the range, so its one element does in another.
      const auto narrow = [&](const IndexForm& form, Range range, std::vector<Range>* ranges) {
        if (form.overflow || form.atoms.size() != 1) return;
        const Node& atom = program.nodes[form.atoms[0].second];
        if (atom.op != Op::kIntElement) return;
        Narrow(Within(form.atoms[0].first, form, range), &(*ranges)[op.inputs[atom.input]]);
      };
      if (program.int_valued) {
        const IndexForm& form = program.forms[program.body];
        for (auto* ranges : {&asked.allowed, &asked.usual}) {
          const Range range = (*ranges)[op.outputs[k]];
          if (range != kAny) narrow(form, range, ranges);
        }
      }
      for (const Node& node : program.nodes) {
        if (node.op != Op::kElement && node.op != Op::kIntElement) continue;
        const sdfg::Tensor& read = graph.tensors[op.inputs[node.input]];
        for (size_t d = 0; d < node.args.size(); ++d) {
          narrow(program.forms[node.args[d]], {0, read.shape[d]}, &asked.usual);
        }
      }
      std::vector<ExprId> conditions;
      for (const auto& premise : program.premises) conditions.push_back(premise.first);
      while (!conditions.empty()) {
        const Node& node = program.nodes[conditions.back()];
        conditions.pop_back();
        if (node.op == Op::kAnd) {
          conditions.insert(conditions.end(), node.args.begin(), node.args.end());
        } else if (node.op == Op::kIntLess || node.op == Op::kIntLessEq) {
          const IndexForm difference =
              AddForms(program.forms[node.args[1]], program.forms[node.args[0]], -1, program.vars);
          narrow(difference, {node.op == Op::kIntLess ? 1 : 0, kFar / 2}, &asked.allowed);
        }
      }
    }
  }
  return asked;
}

InputRanges::InputRanges(const lineage::Problem& problem, ProgramCache* programs)
    : problem_(problem) {
  const sdfg::Graph& graph = problem.logical;
  const Asked asked = FindAsked(programs);
  const std::vector<ComparedValues> compared = FindComparedValues(problem);
  domains_ = DomainsOf(problem);
  std::vector<char> ranged(graph.tensors.size(), 0);
  for (const lineage::Problem::InputPremise& premise : problem.premises) {
    if (premise.kind == lineage::Problem::InputPremise::Kind::kIntegerRange) {
      ranged[premise.tensor] = 1;
    }
  }
  usual_.assign(graph.tensors.size(), {0, kDefaultRange});
  integers_.resize(graph.tensors.size());
  reals_.resize(graph.tensors.size());
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].producer != sdfg::kNone) continue;
    ElementDomain& domain = domains_[t];
    if (domain.kind == ElementDomain::Kind::kReal) {
      reals_[t].assign(compared[t].reals.begin(), compared[t].reals.end());
      continue;
    }
    domain.low = std::max(domain.low, asked.allowed[t].first);
    domain.high = std::min(domain.high, asked.allowed[t].second);
    if (domain.IsEmpty()) continue;
    Range& usual = usual_[t];
    usual = asked.usual[t];
    const bool indexes = usual != kAny;
    Narrow({domain.low, domain.high}, &usual);
    if (usual.first >= usual.second) usual = {domain.low, domain.high};
    if (!indexes && !ranged[t]) {
      usual.first = domain.Nearest(0);
      usual.second = std::min(domain.high, usual.first + kDefaultRange);
    }
    std::set<int64_t> values = compared[t].integers;
    for (const double real : compared[t].reals) {
      values.insert(static_cast<int64_t>(std::floor(real)));
      values.insert(static_cast<int64_t>(std::ceil(real)));
    }
    for (const int64_t edge : compared[t].edges) {
      if (!indexes || (edge >= usual.first && edge < usual.second)) values.insert(edge);
    }
    for (const int64_t value : values) {
      if (domain.Contains(value)) integers_[t].push_back(value);
    }
  }
}

}  // namespace planproof::shape_reduction
