#include "frontend/torch/row_function.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sdfg/collectives.h"

namespace planproof::frontend::torch {

using sdfg::ExprId;
using sdfg::Node;
using sdfg::Op;
using sdfg::Sort;
using sdfg::VarId;
using solver::Rational;

namespace {

constexpr int64_t kMostRows = 4096;

// pieces[p] below ends[p], as a balanced tree of branches, like a concatenation.
ExprId Piecewise(sdfg::IndexFunctionBuilder* builder, ExprId index,
                 const std::vector<int64_t>& ends, const std::vector<ExprId>& pieces, size_t first,
                 size_t last) {
  if (last - first == 1) return pieces[first];
  const size_t middle = first + (last - first) / 2;
  const ExprId left = Piecewise(builder, index, ends, pieces, first, middle);
  const ExprId right = Piecewise(builder, index, ends, pieces, middle, last);
  const ExprId below = builder->Binary(Op::kIntLess, index, builder->Int(ends[middle - 1]));
  return builder->Select(below, left, right);
}

}  // namespace

RowFunction::RowFunction(const sdfg::Graph& graph, const KnownElements& known,
                         const RowTensors& rows, const std::set<sdfg::OperatorId>& transparent,
                         const sdfg::Operator& op, size_t output)
    : graph_(graph),
      known_(known),
      rows_(rows),
      transparent_(transparent),
      op_(op),
      f_(*op.function),
      output_(f_.outputs[output]) {}

// The expressions that this one consists of, by number.
std::vector<bool> RowFunction::PartsOf(ExprId id) const {
  std::vector<bool> used(id + 1, false);
  used[id] = true;
  for (ExprId e = id; e >= 0; --e) {
    if (!used[e]) continue;
    for (ExprId arg : f_.nodes[e].args) used[arg] = true;
  }
  return used;
}

std::set<VarId> RowFunction::VariablesOf(ExprId id) const {
  std::set<VarId> variables;
  const std::vector<bool> used = PartsOf(id);
  for (size_t e = 0; e < used.size(); ++e) {
    if (used[e] && f_.nodes[e].op == Op::kIndex) variables.insert(f_.nodes[e].var);
  }
  return variables;
}

// What says which row is read has to be known. Where that does not suffice, what says which known
// integer is read, too.
std::vector<RowFunction::Attempt> RowFunction::Attempts() const {
  std::set<VarId> of_rows, of_known;
  const std::vector<bool> used = PartsOf(output_.body);
  for (size_t id = 0; id < used.size(); ++id) {
    const Node& node = f_.nodes[id];
    if (!used[id] || !IsRead(node)) continue;
    const RowTensor* rows = rows_.Find(op_.inputs[node.input]);
    if (rows != nullptr) of_rows.merge(VariablesOf(node.args[rows->dim]));
    if (rows == nullptr && known_.Of(op_.inputs[node.input]) != nullptr) {
      for (ExprId arg : node.args) of_known.merge(VariablesOf(arg));
    }
  }
  const auto is_dim = [&](VarId var) {
    return std::find(output_.dims.begin(), output_.dims.end(), var) != output_.dims.end();
  };
  std::set<VarId> bound;
  std::vector<VarId> dims;
  for (VarId var : of_known) {
    if (of_rows.count(var) != 0 || f_.vars[var].extent > kMostRows) continue;
    if (is_dim(var)) {
      dims.push_back(var);
    } else {
      bound.insert(var);
    }
  }
  std::vector<std::set<VarId>> sets = {of_rows};
  for (VarId var : dims) {
    sets.push_back(of_rows);
    sets.back().insert(var);
  }
  // Rows are put where known integers say, or the only row is read at index 0: no variable of what
  // is read tells the row that is made.
  for (VarId var : output_.dims) {
    const bool tried = of_rows.count(var) != 0 || of_known.count(var) != 0;
    if (tried || f_.vars[var].extent > kMostRows) continue;
    sets.push_back(of_rows);
    sets.back().insert(var);
  }
  if (!bound.empty()) {
    const size_t count = sets.size();
    for (size_t i = 0; i < count; ++i) {
      sets.push_back(sets[i]);
      sets.back().insert(bound.begin(), bound.end());
    }
  }
  std::vector<Attempt> attempts;
  for (const std::set<VarId>& enumerated : sets) {
    Attempt attempt{enumerated, std::nullopt, false};
    size_t found = 0;
    for (size_t k = 0; k < output_.dims.size(); ++k) {
      if (enumerated.count(output_.dims[k]) == 0) continue;
      attempt.dim = k;
      ++found;
    }
    if (found > 1) continue;
    attempt.rows = found == 1;
    attempts.push_back(attempt);
    if (found == 0) continue;
    attempt.rows = false;
    attempts.push_back(attempt);
  }
  return attempts;
}

std::optional<DenseOutput> RowFunction::Make() {
  if (!f_.premises.empty() && !known_.PremisesHold(f_, op_.inputs)) {
    reason_ = "what the operator asks of its operands is not known";
    return std::nullopt;
  }
  for (const Attempt& attempt : Attempts()) {
    if (std::optional<DenseOutput> made = Try(attempt); made) return made;
  }
  return std::nullopt;
}

std::optional<DenseOutput> RowFunction::Try(const Attempt& attempt) {
  RowEvaluation evaluation(graph_, known_, rows_, transparent_, op_, attempt.enumerated);
  if (Communicates()) {
    for (sdfg::TensorId input : op_.inputs) {
      const RowTensor* rows = rows_.Find(input);
      evaluation.InputOf(rows == nullptr ? input : rows->dense, rows != nullptr,
                         rows != nullptr && rows->zero);
    }
  }
  for (VarId var : output_.dims) {
    const ExprId index =
        evaluation.builder().Index(evaluation.Variable(-2, var, f_.vars[var].extent));
    evaluation.Set(var, {Sort::kInt, std::nullopt, index});
  }
  for (const std::string& text : f_.assumptions) evaluation.builder().AddAssumption(text);
  std::optional<DenseOutput> made =
      attempt.rows ? ByRows(attempt, &evaluation) : ByCases(attempt, &evaluation);
  if (made && !IsDecidedByItsOwnChoices(evaluation, *made)) {
    made = std::nullopt;
    reason_ = "another choice than that of its rows decides where they are";
  }
  if (!made && reason_.empty()) reason_ = evaluation.reason();
  return made;
}

// The masks of the choices whose rows are read stay in the dense graph. Another choice that decides
// would be nowhere in it: whatever it is computed from, it would be taken to be what was recorded.
bool RowFunction::IsDecidedByItsOwnChoices(const RowEvaluation& evaluation,
                                           const DenseOutput& made) const {
  std::set<sdfg::TensorId> own;
  for (sdfg::TensorId input : op_.inputs) {
    if (const RowTensor* rows = rows_.Find(input)) own.merge(rows_.OriginsOf(rows->layout));
  }
  if (made.rows) own.merge(rows_.OriginsOf(made.rows->layout));
  std::set<sdfg::TensorId> decided = known_.OriginsOfPremises(f_, op_.inputs);
  decided.insert(evaluation.decided_by().begin(), evaluation.decided_by().end());
  return std::includes(own.begin(), own.end(), decided.begin(), decided.end());
}

std::optional<RowLayout> RowFunction::LabelsOf(size_t dim, RowEvaluation* evaluation,
                                               std::vector<RowLabel>* labels) {
  const VarId var = output_.dims[dim];
  for (int64_t i = 0; i < f_.vars[var].extent; ++i) {
    CurrentRow row;
    row.present = true;
    row.base = evaluation->builder().Index(evaluation->Variable(-1, 0, kMostRows));
    evaluation->Set(var, PartialValue::Constant(Sort::kInt, Rational(i)));
    if (!evaluation->Value(output_.body, &row)) return std::nullopt;
    if (!row.label) return evaluation->Fail("a row of the result is none that was chosen");
    labels->push_back(*row.label);
  }
  std::optional<RowLayout> layout = RowLayout::Of(*labels, rows_.choices);
  if (!layout) return evaluation->Fail("the rows of the result are not all of an expert's");
  return layout;
}

// Rows that are taken from other tensors are zero where nothing is chosen, if the rank knows what
// is: it may be another one that adds them up. Those that are computed from such rows are what they
// are, since not each rank that computes them could tell.
std::optional<ExprId> RowFunction::Row(const PartialValue& value, const CurrentRow& row,
                                       RowEvaluation* evaluation, RowTensor* rows) const {
  const ExprId expression = evaluation->ExpressionOf(value);
  const bool defined = evaluation->form().IsDefined(expression);
  const bool taken = !row.of_numbers && !row.uniform;
  if (value.sort == Sort::kReal && output_.dtype != sdfg::DType::kBool) {
    const bool zero = defined && evaluation->form().IsZeroWhereNothingIsChosen(expression);
    std::optional<ExprId> chosen;
    if (zero || taken || !defined) chosen = evaluation->OnlyChosen(expression, row);
    if (chosen) {
      rows->uniform = false;
      return chosen;
    }
  }
  rows->zero = false;
  rows->uniform = rows->uniform && row.uniform;
  if (!defined) return evaluation->Fail("the operator is not defined where nothing is chosen");
  return expression;
}

std::optional<DenseOutput> RowFunction::ByRows(const Attempt& attempt, RowEvaluation* evaluation) {
  const VarId var = output_.dims[*attempt.dim];
  if (f_.vars[var].extent > kMostRows) return evaluation->Fail("more rows than 4096");
  RowTensor rows;
  rows.dim = *attempt.dim;
  std::optional<RowLayout> layout = LabelsOf(rows.dim, evaluation, &rows.rows);
  if (!layout) return std::nullopt;
  const VarId dense = evaluation->Variable(-3, var, layout->extent());
  const ExprId base = evaluation->builder().Index(dense);
  std::map<Segment, ExprId> alike;
  rows.zero = rows.uniform = true;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    CurrentRow row;
    row.present = true;
    row.base = base;
    row.layout = &*layout;
    evaluation->Set(var, PartialValue::Constant(Sort::kInt, Rational(static_cast<int64_t>(i))));
    const std::optional<PartialValue> value = evaluation->Value(output_.body, &row);
    if (!value) return std::nullopt;
    const std::optional<ExprId> expression = Row(*value, row, evaluation, &rows);
    if (!expression) return std::nullopt;
    const auto [found, fresh] = alike.try_emplace(rows.rows[i].segment, *expression);
    if (!fresh && found->second != *expression) {
      return evaluation->Fail("rows of one expert are not computed alike");
    }
  }
  std::vector<int64_t> ends;
  std::vector<ExprId> pieces;
  for (const Segment& segment : layout->segments()) {
    const int64_t end = layout->StartOf(segment) + rows_.choices[segment.choice].places;
    if (!pieces.empty() && pieces.back() == alike[segment]) {
      ends.back() = end;
    } else {
      pieces.push_back(alike[segment]);
      ends.push_back(end);
    }
  }
  const ExprId body = Piecewise(&evaluation->builder(), base, ends, pieces, 0, pieces.size());
  std::vector<VarId> dims;
  for (VarId dim : output_.dims) {
    dims.push_back(dim == var ? dense : evaluation->Variable(-2, dim, f_.vars[dim].extent));
  }
  std::optional<DenseOutput> made = Finish(evaluation, std::move(dims), body);
  if (!made) return std::nullopt;
  rows.layout = *std::move(layout);
  made->rows = std::move(rows);
  return Communicates() ? AsCollective(*std::move(made)) : made;
}

// No dimension is one of rows: all chosen rows are added up, for each value of a dimension by
// itself if that decides which.
std::optional<DenseOutput> RowFunction::ByCases(const Attempt& attempt, RowEvaluation* evaluation) {
  std::vector<int64_t> ends;
  std::vector<ExprId> pieces;
  const int64_t cases = attempt.dim ? f_.vars[output_.dims[*attempt.dim]].extent : 1;
  for (int64_t i = 0; i < cases; ++i) {
    if (attempt.dim) {
      evaluation->Set(output_.dims[*attempt.dim], PartialValue::Constant(Sort::kInt, Rational(i)));
    }
    CurrentRow none;
    const std::optional<PartialValue> value = evaluation->Value(output_.body, &none);
    if (!value) return std::nullopt;
    const ExprId piece = evaluation->ExpressionOf(*value);
    if (!pieces.empty() && pieces.back() == piece) {
      ends.back() = i + 1;
    } else {
      pieces.push_back(piece);
      ends.push_back(i + 1);
    }
  }
  if (pieces.empty()) return evaluation->Fail("a dimension is empty");
  std::vector<VarId> dims;
  for (VarId dim : output_.dims) {
    dims.push_back(evaluation->Variable(-2, dim, f_.vars[dim].extent));
  }
  sdfg::IndexFunctionBuilder& builder = evaluation->builder();
  ExprId body = pieces[0];
  if (pieces.size() > 1) {
    body = Piecewise(&builder, builder.Index(dims[*attempt.dim]), ends, pieces, 0, pieces.size());
  }
  return Finish(evaluation, std::move(dims), body);
}

std::optional<DenseOutput> RowFunction::Finish(RowEvaluation* evaluation, std::vector<VarId> dims,
                                               ExprId body) {
  sdfg::FunctionOutput output = output_;
  output.dims = std::move(dims);
  output.body = body;
  std::vector<int> numbers;
  absl::StatusOr<sdfg::IndexFunction> function =
      Tidied(evaluation->builder().function(), output, Communicates(), &numbers);
  if (!function.ok()) return evaluation->Fail("its dense form is too large");
  DenseOutput made;
  made.function = *std::move(function);
  for (int number : numbers) made.inputs.push_back(evaluation->inputs()[number]);
  return made;
}

// Whether row `row` of the dense operand is that place.
bool RowFunction::HoldsPlace(sdfg::TensorId dense, const Segment& segment, int64_t place,
                             int64_t row) const {
  return std::any_of(op_.inputs.begin(), op_.inputs.end(), [&](sdfg::TensorId input) {
    const RowTensor* rows = rows_.Find(input);
    if (rows == nullptr || rows->dense != dense) return false;
    const std::vector<Segment>& segments = rows->layout.segments();
    return std::find(segments.begin(), segments.end(), segment) != segments.end() &&
           rows->layout.StartOf(segment) + place == row;
  });
}

// In the form in which collectives of equal parts are written, if it is one.
std::optional<DenseOutput> RowFunction::AsCollective(DenseOutput made) const {
  const sdfg::Tensor& first = graph_.tensors[made.inputs[0]];
  const auto size = static_cast<int>(made.inputs.size());
  if (made.rows->dim != 0 || first.shape.empty() || first.shape[0] % size != 0) return made;
  const int64_t part = first.shape[0] / size;
  for (sdfg::TensorId input : made.inputs) {
    if (graph_.tensors[input].shape != first.shape) return made;
  }
  for (int position = 0; position < size; ++position) {
    bool equal = made.rows->layout.extent() == first.shape[0];
    for (const Segment& segment : made.rows->layout.segments()) {
      const int64_t start = made.rows->layout.StartOf(segment);
      for (int64_t row = start; row < start + rows_.choices[segment.choice].places; ++row) {
        equal = equal && HoldsPlace(made.inputs[row / part], segment, row - start,
                                    position * part + row % part);
      }
    }
    if (!equal) continue;
    absl::StatusOr<sdfg::IndexFunction> form =
        sdfg::AllToAll(first.shape, first.dtype, size, position, 0, 0);
    if (form.ok()) made.function = *std::move(form);
    return made;
  }
  return made;
}

}  // namespace planproof::frontend::torch
