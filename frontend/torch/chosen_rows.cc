#include "frontend/torch/chosen_rows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "frontend/torch/dense_graph.h"
#include "frontend/torch/expert_groups.h"
#include "frontend/torch/row_function.h"
#include "frontend/torch/row_tensors.h"
#include "frontend/torch/rows_in_place.h"
#include "sdfg/graph_check.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::ExprId;
using sdfg::kNone;
using sdfg::Op;
using sdfg::OperatorId;
using sdfg::TensorId;

// The places of an ascending or unordered order by which rows are sorted.
constexpr int64_t kMostSets = 1024;

sdfg::Device DeviceOf(const sdfg::Operator& op) { return op.devices.empty() ? -1 : op.devices[0]; }

class AllRows {
 public:
  AllRows(const sdfg::OperatorLibrary& operators, const std::vector<bool>& kept,
          const RecordedElements& recorded, sdfg::Graph* graph)
      : groups_(&operators, graph),
        kept_(kept),
        graph_(*graph),
        known_(*graph, recorded),
        recorded_(recorded) {}

  absl::StatusOr<ChosenRows> Run() {
    PLAN_RETURN_IF_ERROR(sdfg::TopologicalOrder(graph_, &order_));
    given_ = static_cast<TensorId>(graph_.tensors.size());
    dense_.resize(graph_.operators.size());
    for (OperatorId id : order_) {
      PLAN_RETURN_IF_ERROR(known_.Visit(id));
      Visit(id);
    }
    if (rows_.by_tensor.empty()) return std::move(result_);
    DenseGraph graph(known_, rows_, order_, kept_, given_, &graph_);
    PLAN_RETURN_IF_ERROR(graph.CheckThatAllSetsAreChosen());
    PLAN_RETURN_IF_ERROR(graph.CheckThatRowsAreFollowed(dense_, obstacles_));
    result_.choices = graph.ChoicesOf(dense_, recorded_);
    graph.Replace(std::move(dense_));
    return std::move(result_);
  }

 private:
  void Visit(OperatorId id) {
    const sdfg::Operator op = graph_.operators[id];
    if (!op.lifted || std::count(op.inputs.begin(), op.inputs.end(), kNone) != 0) return;
    if (ChoosesByMask(id, op) || ChoosesByOrder(id, op) || PutsBackByMask(id, op)) return;
    if (PutsBackByOrder(op) || TakesFromPlaces(id, op)) return;
    if (std::none_of(op.inputs.begin(), op.inputs.end(),
                     [&](TensorId input) { return rows_.Find(input) != nullptr; })) {
      if (IsTransparent(op)) transparent_.insert(id);
      return;
    }
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o] == kNone) continue;
      RowFunction function(graph_, known_, rows_, transparent_, op, o);
      std::optional<DenseOutput> made = function.Make();
      if (made) {
        Add(id, o, std::move(made->function), std::move(made->inputs), std::move(made->rows));
      } else if (known_.Of(op.outputs[o]) == nullptr && !AreInPlace(op.inputs)) {
        obstacles_.try_emplace(id, function.reason());
      }
    }
  }

  // Whether all of these that have chosen rows have them in the order of their places, and so are
  // computed as they were from then on.
  bool AreInPlace(const std::vector<TensorId>& tensors) {
    return std::all_of(tensors.begin(), tensors.end(), [&](TensorId tensor) {
      const RowTensor* rows = rows_.Find(tensor);
      if (rows == nullptr || in_place_.count(tensor) != 0) return true;
      if (!PutInPlace(tensor, *rows)) return false;
      in_place_.insert(tensor);
      return true;
    });
  }

  // The tensor has these rows: it is computed from the dense tensor if they are in their places.
  bool PutInPlace(TensorId tensor, const RowTensor& rows) {
    const OperatorId id = graph_.tensors[tensor].producer;
    const sdfg::Operator& op = graph_.operators[id];
    if (op.kind != sdfg::OperatorKind::kCompute || rows.rows.empty()) return false;
    const Choice& choice = rows_.choices[rows.rows[0].segment.choice];
    std::optional<sdfg::IndexFunction> function =
        InOrderOfPlaces(graph_.tensors[tensor], rows, choice, choice.device == DeviceOf(op));
    if (!function) return false;
    std::vector<TensorId> inputs = {rows.dense, choice.mask};
    inputs.resize(function->inputs.size());
    Add(id, graph_.tensors[tensor].producer_output, *std::move(function), std::move(inputs),
        std::nullopt);
    return true;
  }

  // Rows that are gathered by known integers, which no choice made, and numbers that are too many
  // to be known one by one: read by their definition.
  bool IsTransparent(const sdfg::Operator& op) const {
    if (op.kind != sdfg::OperatorKind::kCompute || op.outputs.size() != 1 ||
        op.outputs[0] == kNone || known_.Of(op.outputs[0]) != nullptr) {
      return false;
    }
    const bool by_known_integers =
        std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
          return known_.Of(input) != nullptr && known_.DependsOnRouting(input);
        });
    return (op.inputs.empty() || by_known_integers) &&
           (op.function->premises.empty() || known_.PremisesHold(*op.function, op.inputs));
  }

  // The operator that computes `function` where `like` stands.
  sdfg::Operator OperatorLike(const sdfg::Operator& like, sdfg::IndexFunction function,
                              std::vector<TensorId> inputs) {
    sdfg::Operator op = like;
    op.name = function.operator_name;
    op.function = graph_.Intern(std::move(function));
    op.inputs = std::move(inputs);
    op.outputs.clear();
    op.memory = {};
    op.adjustable = nullptr;
    return op;
  }

  TensorId AddTensor(const sdfg::Operator& of, const sdfg::Tensor& like, sdfg::Shape shape,
                     sdfg::DType dtype) {
    sdfg::Tensor tensor = like;
    tensor.shape = std::move(shape);
    tensor.dtype = dtype;
    tensor.producer = kNone;
    tensor.source = of.source;
    return graph_.AddTensor(std::move(tensor));
  }

  void Add(OperatorId id, size_t output, sdfg::IndexFunction function, std::vector<TensorId> inputs,
           std::optional<RowTensor> rows) {
    const sdfg::Operator& original = graph_.operators[id];
    const TensorId tensor = original.outputs[output];
    DenseOperator made{OperatorLike(original, std::move(function), std::move(inputs)), output,
                       rows.has_value()};
    if (rows) {
      sdfg::Shape shape = graph_.tensors[tensor].shape;
      shape[rows->dim] = rows->layout.extent();
      rows->dense = AddTensor(original, graph_.tensors[tensor], std::move(shape),
                              graph_.tensors[tensor].dtype);
      made.op.outputs = {rows->dense};
      rows_.by_tensor[tensor] = *std::move(rows);
    } else {
      made.op.outputs = {tensor};
    }
    dense_[id].push_back(std::move(made));
  }

  // Sets and places of a mask that is read in one dimension: as it was before it was made that.
  std::pair<int64_t, int64_t> TableOf(TensorId mask) const {
    const int64_t size = graph_.tensors[mask].shape[0];
    const OperatorId producer = graph_.tensors[mask].producer;
    if (producer == kNone || graph_.operators[producer].inputs.size() != 1) return {1, size};
    const sdfg::Shape& shape = graph_.tensors[graph_.operators[producer].inputs[0]].shape;
    if (shape.empty() || shape.back() == 0 || ElementsOf(shape) != size) return {1, size};
    return {size / shape.back(), shape.back()};
  }

  // `from`: the known integers that it is made of.
  int AddChoice(const sdfg::Operator& op, TensorId from, TensorId mask, int64_t sets,
                int64_t places, std::vector<bool> chosen) {
    for (size_t c = 0; c < rows_.choices.size(); ++c) {
      if (rows_.choices[c].places == places && AreTheSame(rows_.choices[c].mask, mask)) {
        return static_cast<int>(c);
      }
    }
    rows_.choices.push_back({mask, DeviceOf(op), sets, places, std::move(chosen),
                             known_.OriginsOf(from), NameAndPlaceOf(op)});
    return static_cast<int>(rows_.choices.size()) - 1;
  }

  // Whether both are computed alike from the same tensors.
  bool AreTheSame(TensorId a, TensorId b) const {
    while (a != b) {
      const OperatorId from = graph_.tensors[a].producer, to = graph_.tensors[b].producer;
      if (from == kNone || to == kNone) return false;
      const sdfg::Operator &first = graph_.operators[from], &second = graph_.operators[to];
      if (first.kind != sdfg::OperatorKind::kCompute || first.function != second.function ||
          second.kind != first.kind || first.inputs.size() != 1 ||
          graph_.tensors[a].producer_output != graph_.tensors[b].producer_output) {
        return false;
      }
      a = first.inputs[0];
      b = second.inputs[0];
    }
    return true;
  }

  RowTensor AllChosen(int number) const {
    const Choice& choice = rows_.choices[number];
    RowTensor rows;
    rows.layout = RowLayout::OfAll(number, choice);
    for (int64_t i = 0; i < choice.sets * choice.places; ++i) {
      if (choice.chosen[i]) rows.rows.push_back({{number, i / choice.places}, i % choice.places});
    }
    return rows;
  }

  // y = x[mask] becomes x where the mask is true, else zero.
  bool ChoosesByMask(OperatorId id, const sdfg::Operator& op) {
    if (!groups_.SelectsByMask(op)) return false;
    const TensorId x = op.inputs[0], mask = op.inputs[1];
    const ExactElements* elements = known_.Of(mask);
    if (elements == nullptr || !known_.DependsOnRouting(mask) || rows_.Find(x) != nullptr ||
        rows_.Find(mask) != nullptr || graph_.tensors[mask].dtype != sdfg::DType::kBool) {
      return false;
    }
    std::vector<bool> chosen;
    for (const solver::Rational& element : *elements) chosen.push_back(!element.IsZero());
    const auto count = std::count(chosen.begin(), chosen.end(), true);
    if (count != graph_.tensors[op.outputs[0]].shape[0]) return false;
    const auto [sets, places] = TableOf(mask);
    RowTensor rows = AllChosen(AddChoice(op, mask, mask, sets, places, std::move(chosen)));
    const sdfg::Tensor& from = graph_.tensors[x];
    sdfg::IndexFunctionBuilder builder("masked");
    const int input = builder.AddInput("x", from.shape, from.dtype);
    const bool masks = !sdfg::IsInteger(from.dtype) && from.dtype != sdfg::DType::kBool;
    const int table = masks ? builder.AddInput("mask", from.shape, sdfg::DType::kBool) : -1;
    const int output = builder.AddOutput("y", from.shape, from.dtype);
    const ExprId at = builder.Index(builder.OutputDims(output)[0]);
    ExprId body = sdfg::IsInteger(from.dtype) ? builder.IntElement(input, {at})
                                              : builder.Element(input, {at});
    if (masks) {
      const ExprId holds = builder.Unary(Op::kNonzero, builder.Element(table, {at}));
      body = builder.Binary(Op::kMul, builder.Unary(Op::kIndicator, holds), body);
    }
    builder.SetBody(output, body);
    rows.zero = masks;
    return AddBuilt(id, 0, &builder, masks ? std::vector<TensorId>{x, mask} : std::vector{x},
                    std::move(rows));
  }

  bool AddBuilt(OperatorId id, size_t output, sdfg::IndexFunctionBuilder* builder,
                std::vector<TensorId> inputs, std::optional<RowTensor> rows) {
    sdfg::IndexFunction function;
    if (!builder->Finish(&function).ok()) return false;
    Add(id, output, std::move(function), std::move(inputs), std::move(rows));
    return true;
  }

  // The rows go back to where the mask is true: y[i] is the row of place i there, else x[i].
  bool PutsBackByMask(OperatorId id, const sdfg::Operator& op) {
    if (!groups_.ScattersByMask(op)) return false;
    const TensorId x = op.inputs[0], mask = op.inputs[1], source = op.inputs[2];
    const RowTensor* rows = rows_.Find(source);
    const ExactElements* elements = known_.Of(mask);
    if (rows == nullptr || elements == nullptr || rows_.Find(x) != nullptr) return false;
    const std::set<TensorId> own = rows_.OriginsOf(rows->layout), &of_mask = known_.OriginsOf(mask);
    if (!std::includes(own.begin(), own.end(), of_mask.begin(), of_mask.end())) return false;
    size_t next = 0;
    for (size_t i = 0; i < elements->size(); ++i) {
      if ((*elements)[i].IsZero()) continue;
      if (next >= rows->rows.size()) return false;
      const RowLabel& label = rows->rows[next++];
      if (rows->layout.StartOf(label.segment) + label.place != static_cast<int64_t>(i)) {
        return false;
      }
    }
    const sdfg::Tensor &to = graph_.tensors[x], &from = graph_.tensors[rows->dense];
    if (to.shape != from.shape || to.dtype != from.dtype || sdfg::IsInteger(to.dtype)) return false;
    sdfg::IndexFunctionBuilder builder("masked_scatter");
    builder.AddInput("x", to.shape, to.dtype);
    builder.AddInput("mask", to.shape, graph_.tensors[mask].dtype);
    builder.AddInput("source", to.shape, to.dtype);
    const int output = builder.AddOutput("y", to.shape, to.dtype);
    const ExprId at = builder.Index(builder.OutputDims(output)[0]);
    const ExprId holds = builder.Unary(Op::kNonzero, builder.Element(1, {at}));
    builder.SetBody(output,
                    builder.Select(holds, builder.Element(2, {at}), builder.Element(0, {at})));
    return AddBuilt(id, 0, &builder, {x, mask, rows->dense}, std::nullopt);
  }

  // y[to[j]] = x[j] for the rows x[j], where to is a known order that puts them in their places.
  bool PutsBackByOrder(const sdfg::Operator& op) {
    if (!groups_.IsPutOnce(op) || op.outputs[0] == kNone) return false;
    const TensorId to = op.inputs[0];
    const RowTensor* source = rows_.Find(op.inputs[1]);
    const ExactElements* elements = known_.Of(to);
    if (source == nullptr || source->dim != 0 || elements == nullptr) return false;
    const std::set<TensorId> own = rows_.OriginsOf(source->layout),
                             &of_order = known_.OriginsOf(to);
    if (!std::includes(own.begin(), own.end(), of_order.begin(), of_order.end())) return false;
    RowTensor rows = *source;
    std::set<int64_t> written;
    for (size_t j = 0; j < source->rows.size(); ++j) {
      int64_t row = 0;
      if (!(*elements)[j].ToInt64(&row) || row < 0 ||
          row >= static_cast<int64_t>(rows.rows.size()) || !written.insert(row).second) {
        return false;
      }
      rows.rows[row] = source->rows[j];
    }
    return PutInPlace(op.outputs[0], rows);
  }

  // y[to[p]] = x[p], where to is a known order: the rows that one set was given of each place.
  bool TakesFromPlaces(OperatorId id, const sdfg::Operator& op) {
    if (!groups_.AddsRows(op)) return false;
    const TensorId to = op.inputs[1], x = op.inputs[2];
    const ExactElements* elements = known_.Of(to);
    const std::optional<solver::Rational> before = UniformElement(graph_, op.inputs[0]);
    const sdfg::Tensor &from = graph_.tensors[x], &result = graph_.tensors[op.outputs[0]];
    if (elements == nullptr || !before || !before->IsZero() || rows_.Find(x) != nullptr ||
        rows_.Find(to) != nullptr || from.shape != result.shape || from.dtype != result.dtype) {
      return false;
    }
    for (size_t c = 0; c < rows_.choices.size(); ++c) {
      const Choice& choice = rows_.choices[c];
      if (choice.device != DeviceOf(op) || choice.origins != known_.OriginsOf(to)) continue;
      const int number = static_cast<int>(c);
      std::optional<std::vector<RowLabel>> labels = RowsOfPlaces(*elements, number, choice);
      std::optional<sdfg::IndexFunction> function = ChosenOfPlaces(from, choice);
      if (!labels || !function) continue;
      RowTensor rows;
      rows.layout = RowLayout::OfAll(number, choice);
      rows.rows = *std::move(labels);
      rows.zero = true;
      Add(id, 0, *std::move(function), {x, choice.mask}, std::move(rows));
      return true;
    }
    return false;
  }

  // Numbers of experts that are sorted: set e has place p if number p is e.
  bool ChoosesByOrder(OperatorId id, const sdfg::Operator& op) {
    const bool sorts = groups_.IsAscendingSort(op);
    if (!sorts || rows_.Find(op.inputs[0]) != nullptr) return false;
    const TensorId numbers = op.inputs[0];
    const ExactElements* elements = known_.Of(numbers);
    const TensorId recorded = RecordedFrom(numbers);
    if (elements == nullptr || !known_.DependsOnRouting(numbers) || recorded == kNone) return false;
    std::vector<int64_t> values(elements->size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (!(*elements)[i].ToInt64(&values[i]) || values[i] < 0 || values[i] >= kMostSets) {
        return false;
      }
    }
    const auto places = static_cast<int64_t>(values.size());
    const int64_t sets =
        std::max(*std::max_element(values.begin(), values.end()) + 1, groups_.OptionsOf(recorded));
    if (sets > kMostSets) return false;
    std::vector<bool> chosen(sets * places, false);
    for (int64_t p = 0; p < places; ++p) chosen[values[p] * places + p] = true;
    const std::optional<TensorId> mask = MaskOfNumbers(id, op, sets, places);
    if (!mask) return false;
    const int number = AddChoice(op, numbers, *mask, sets, places, std::move(chosen));
    const ExactElements* order = known_.Of(op.outputs[1]);
    if (order == nullptr) return false;
    RowTensor rows = AllChosen(number);
    rows.rows.clear();
    for (const solver::Rational& element : *order) {
      int64_t p = 0;
      if (!element.ToInt64(&p) || p < 0 || p >= places) return false;
      rows.rows.push_back({{number, values[p]}, p});
    }
    for (const bool set : {true, false}) {
      const sdfg::DType dtype = graph_.tensors[op.outputs[set ? 0 : 1]].dtype;
      sdfg::IndexFunctionBuilder builder(set ? "sets" : "places");
      const int output = builder.AddOutput("y", sdfg::Shape{sets * places}, dtype);
      const ExprId at = builder.Index(builder.OutputDims(output)[0]);
      builder.SetBody(output, set ? builder.IntDiv(at, places) : builder.IntMod(at, places));
      rows.uniform = set;
      if (!AddBuilt(id, set ? 0 : 1, &builder, {}, rows)) return false;
    }
    return true;
  }

  // The recorded tensor whose elements these are, read and not computed; kNone if there is none.
  TensorId RecordedFrom(TensorId tensor) const {
    while (recorded_.count(tensor) == 0) {
      const OperatorId producer = graph_.tensors[tensor].producer;
      if (producer == kNone) return kNone;
      const sdfg::Operator& op = graph_.operators[producer];
      if (op.kind != sdfg::OperatorKind::kCompute || op.inputs.size() != 1 ||
          op.function->nodes[op.function->outputs[0].body].op != Op::kIntElement) {
        return kNone;
      }
      tensor = op.inputs[0];
    }
    return tensor;
  }

  std::optional<TensorId> MaskOfNumbers(OperatorId id, const sdfg::Operator& op, int64_t sets,
                                        int64_t places) {
    const sdfg::Tensor numbers = graph_.tensors[op.inputs[0]];
    sdfg::IndexFunctionBuilder builder("chosen");
    builder.AddInput("x", numbers.shape, numbers.dtype);
    const int output = builder.AddOutput("y", sdfg::Shape{sets * places}, sdfg::DType::kBool);
    const ExprId at = builder.Index(builder.OutputDims(output)[0]);
    const ExprId number = builder.IntElement(0, {builder.IntMod(at, places)});
    const ExprId is = builder.Binary(Op::kIntEq, number, builder.IntDiv(at, places));
    builder.SetBody(output, builder.Unary(Op::kIndicator, is));
    sdfg::IndexFunction function;
    if (!builder.Finish(&function).ok()) return std::nullopt;
    DenseOperator made{OperatorLike(op, std::move(function), {op.inputs[0]}), op.outputs.size(),
                       true};
    const TensorId mask =
        AddTensor(op, graph_.tensors[op.outputs[0]], {sets * places}, sdfg::DType::kBool);
    made.op.outputs = {mask};
    dense_[id].push_back(std::move(made));
    return mask;
  }

  const ExpertGroups groups_;
  const std::vector<bool>& kept_;
  sdfg::Graph& graph_;
  KnownElements known_;
  const RecordedElements& recorded_;
  RowTensors rows_;
  std::set<OperatorId> transparent_;
  std::set<TensorId> in_place_;  // of chosen rows, computed from their dense tensors, too
  std::vector<OperatorId> order_;
  std::vector<std::vector<DenseOperator>> dense_;  // by operator
  TensorId given_ = 0;
  Obstacles obstacles_;
  ChosenRows result_;
};

}  // namespace

bool SizesAreChosen(const Trace& trace) {
  return std::any_of(trace.operators.begin(), trace.operators.end(), [](const Executed& executed) {
    if (executed.collective) {
      return !executed.collective->in_splits.empty() || !executed.collective->out_splits.empty();
    }
    return executed.op.starts_with("aten.masked_select.") ||
           executed.op.starts_with("aten.nonzero.");
  });
}

absl::StatusOr<ChosenRows> TakeAllRowsOfChoices(const sdfg::OperatorLibrary& operators,
                                                const std::vector<bool>& kept,
                                                const RecordedElements& recorded,
                                                sdfg::Graph* graph) {
  return AllRows(operators, kept, recorded, graph).Run();
}

}  // namespace planproof::frontend::torch
