#include "frontend/torch/rows_in_place.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::ExprId;
using sdfg::Op;

bool IsReal(sdfg::DType dtype) { return !sdfg::IsInteger(dtype) && dtype != sdfg::DType::kBool; }

std::optional<sdfg::IndexFunction> Built(sdfg::IndexFunctionBuilder* builder) {
  sdfg::IndexFunction function;
  if (!builder->Finish(&function).ok()) return std::nullopt;
  return function;
}

std::vector<ExprId> Indices(sdfg::IndexFunctionBuilder* builder, int output) {
  std::vector<ExprId> indices;
  for (sdfg::VarId var : builder->OutputDims(output)) indices.push_back(builder->Index(var));
  return indices;
}

// By the mask, which is the next input.
ExprId IsChosen(sdfg::IndexFunctionBuilder* builder, const Choice& choice, ExprId row) {
  const sdfg::Shape shape{choice.sets * choice.places};
  const int mask = builder->AddInput("mask", shape, sdfg::DType::kBool);
  return builder->Unary(Op::kIndicator,
                        builder->Unary(Op::kNonzero, builder->Element(mask, {row})));
}

}  // namespace

std::optional<sdfg::IndexFunction> InOrderOfPlaces(const sdfg::Tensor& tensor,
                                                   const RowTensor& rows, const Choice& choice,
                                                   bool mask_is_known) {
  const std::vector<Segment>& sets = rows.layout.segments();
  const auto count = static_cast<int64_t>(rows.rows.size());
  if (tensor.shape[rows.dim] != choice.places || count != choice.places || !IsReal(tensor.dtype) ||
      static_cast<int64_t>(sets.size()) != choice.sets || (!rows.zero && !mask_is_known)) {
    return std::nullopt;
  }
  // All sets of one choice, one after another, as the mask has them.
  for (size_t s = 0; s < sets.size(); ++s) {
    if (sets[s].choice != sets[0].choice || sets[s].set != static_cast<int64_t>(s)) {
      return std::nullopt;
    }
  }
  // These are all rows that are chosen, each once, so that at no place two are.
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    if (rows.rows[i].place != static_cast<int64_t>(i)) return std::nullopt;
  }
  sdfg::IndexFunctionBuilder builder("chosen_at_each_place");
  sdfg::Shape shape = tensor.shape;
  shape[rows.dim] = choice.sets * choice.places;
  builder.AddInput("x", shape, tensor.dtype);
  const int output = builder.AddOutput("y", tensor.shape, tensor.dtype);
  std::vector<ExprId> at = Indices(&builder, output);
  const sdfg::VarId set = builder.AddVar("set", choice.sets);
  ExprId& row = at[rows.dim];
  row = builder.IntAdd(builder.IntScale(choice.places, builder.Index(set)), row);
  ExprId value = builder.Element(0, at);
  if (!rows.zero) value = builder.Binary(Op::kMul, IsChosen(&builder, choice, row), value);
  builder.SetBody(output, builder.Reduce(Op::kSum, set, value));
  return Built(&builder);
}

std::optional<std::vector<RowLabel>> RowsOfPlaces(const ExactElements& to, int number,
                                                  const Choice& choice) {
  if (static_cast<int64_t>(to.size()) != choice.places) return std::nullopt;
  std::vector<std::optional<RowLabel>> rows(to.size());
  for (int64_t place = 0; place < choice.places; ++place) {
    int64_t row = 0;
    if (!to[place].ToInt64(&row) || row < 0 || row >= choice.places || rows[row]) {
      return std::nullopt;
    }
    for (int64_t set = 0; set < choice.sets; ++set) {
      if (!choice.chosen[set * choice.places + place]) continue;
      if (rows[row]) return std::nullopt;
      rows[row] = RowLabel{{number, set}, place};
    }
    if (!rows[row]) return std::nullopt;
  }
  std::vector<RowLabel> labels;
  for (const std::optional<RowLabel>& row : rows) labels.push_back(*row);
  return labels;
}

std::optional<sdfg::IndexFunction> ChosenOfPlaces(const sdfg::Tensor& x, const Choice& choice) {
  if (!IsReal(x.dtype) || x.shape.empty() || x.shape[0] != choice.places) {
    return std::nullopt;
  }
  sdfg::IndexFunctionBuilder builder("places_chosen");
  builder.AddInput("x", x.shape, x.dtype);
  sdfg::Shape shape = x.shape;
  shape[0] = choice.sets * choice.places;
  const int output = builder.AddOutput("y", shape, x.dtype);
  std::vector<ExprId> at = Indices(&builder, output);
  const ExprId chosen = IsChosen(&builder, choice, at[0]);
  at[0] = builder.IntMod(at[0], choice.places);
  builder.SetBody(output, builder.Binary(Op::kMul, chosen, builder.Element(0, at)));
  return Built(&builder);
}

}  // namespace planproof::frontend::torch
