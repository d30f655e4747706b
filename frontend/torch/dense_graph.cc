#include "frontend/torch/dense_graph.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::frontend::torch {

using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

std::string NameAndPlaceOf(const sdfg::Operator& op) {
  const std::string source = op.source.ToString();
  return absl::StrCat(op.label.empty() ? op.name : op.label, source.empty() ? "" : ", at ", source);
}

namespace {

// Whether one of the operators gives the dense tensor of the output, or the output itself.
bool Makes(const std::vector<DenseOperator>& operators, size_t output, bool dense) {
  return std::any_of(operators.begin(), operators.end(), [&](const DenseOperator& each) {
    return each.output == output && each.dense == dense;
  });
}

}  // namespace

absl::Status DenseGraph::CheckThatAllSetsAreChosen() const {
  for (const Choice& choice : rows_.choices) {
    for (int64_t set = 0; set < choice.sets; ++set) {
      const auto first = choice.chosen.begin() + set * choice.places;
      if (std::count(first, first + choice.places, true) != 0) continue;
      return absl::UnimplementedError(
          absl::StrCat(choice.where, ": in the recording group ", set, " of ", choice.sets,
                       " is given no row, so that nothing is known of what it would ",
                       "do with one; record with more tokens, or other values"));
    }
  }
  return absl::OkStatus();
}

absl::Status DenseGraph::CheckThatRowsAreFollowed(const DenseOperators& dense,
                                                  const Obstacles& obstacles) const {
  std::vector<bool> needed(graph_.tensors.size(), false);
  for (TensorId tensor = 0; tensor < static_cast<TensorId>(kept_.size()); ++tensor) {
    needed[tensor] = kept_[tensor];
  }
  const auto need = [&](const std::vector<TensorId>& tensors) {
    for (TensorId tensor : tensors) {
      if (tensor != kNone) needed[tensor] = true;
    }
  };
  absl::Status first;  // in dataflow order
  for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
    const sdfg::Operator& op = graph_.operators[*id];
    for (auto made = dense[*id].rbegin(); made != dense[*id].rend(); ++made) {
      if (needed[made->op.outputs[0]]) need(made->op.inputs);
    }
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o] == kNone || !needed[op.outputs[o]] || Makes(dense[*id], o, false)) continue;
      const auto obstacle = obstacles.find(*id);
      if (obstacle != obstacles.end()) {
        first = absl::UnimplementedError(
            absl::StrCat(NameAndPlaceOf(op), ": rows that data chose cannot be followed through ",
                         op.name, ": ", obstacle->second));
      }
      need(op.inputs);
    }
  }
  return first;
}

std::vector<bool> DenseGraph::Retained(const DenseOperators& dense) const {
  std::vector<bool> retained(graph_.operators.size(), true), read(given_, false);
  for (TensorId tensor = 0; tensor < given_; ++tensor) read[tensor] = IsKept(tensor);
  for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
    const sdfg::Operator& op = graph_.operators[*id];
    bool needed = dense[*id].empty();
    for (size_t o = 0; o < op.outputs.size() && !needed; ++o) {
      if (op.outputs[o] == kNone) continue;
      const bool made = Makes(dense[*id], o, true), replaced = Makes(dense[*id], o, false);
      needed = !replaced && (!made || read[op.outputs[o]]);
    }
    retained[*id] = needed;
    if (!needed) continue;
    for (TensorId input : op.inputs) {
      if (input != kNone) read[input] = true;
    }
  }
  return retained;
}

void DenseGraph::Replace(DenseOperators dense) {
  const std::vector<bool> retained = Retained(dense);
  std::map<TensorId, TensorId> place;  // what a dense tensor is called in the end
  for (OperatorId id : order_) {
    if (retained[id]) continue;
    const std::vector<TensorId>& outputs = graph_.operators[id].outputs;
    for (size_t o = 0; o < outputs.size(); ++o) {
      const RowTensor* rows = rows_.Find(outputs[o]);
      if (rows != nullptr && !Makes(dense[id], o, false)) place[rows->dense] = outputs[o];
    }
  }
  Rebuild(retained, std::move(place), std::move(dense));
}

void DenseGraph::Rebuild(const std::vector<bool>& retained, std::map<TensorId, TensorId> place,
                         DenseOperators dense) {
  std::vector<sdfg::Tensor> tensors(graph_.tensors.begin(), graph_.tensors.begin() + given_);
  for (auto tensor = given_; tensor < static_cast<TensorId>(graph_.tensors.size()); ++tensor) {
    if (const auto found = place.find(tensor); found != place.end()) {
      tensors[found->second] = graph_.tensors[tensor];
      continue;
    }
    place[tensor] = static_cast<TensorId>(tensors.size());
    tensors.push_back(graph_.tensors[tensor]);
  }
  std::vector<sdfg::Operator> operators;
  const auto add = [&](sdfg::Operator op) {
    for (std::vector<TensorId>* list : {&op.inputs, &op.outputs}) {
      for (TensorId& tensor : *list) {
        if (tensor >= given_) tensor = place.at(tensor);
      }
    }
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o] == kNone) continue;
      tensors[op.outputs[o]].producer = static_cast<OperatorId>(operators.size());
      tensors[op.outputs[o]].producer_output = static_cast<int32_t>(o);
    }
    operators.push_back(std::move(op));
  };
  for (OperatorId id : order_) {
    sdfg::Operator original = std::move(graph_.operators[id]);
    for (DenseOperator& made : dense[id]) {
      if (!made.dense) original.outputs[made.output] = kNone;
    }
    if (retained[id]) {
      DropPremisesThatHold(&original);
      add(std::move(original));
    }
    for (DenseOperator& made : dense[id]) add(std::move(made.op));
  }
  graph_.tensors = std::move(tensors);
  graph_.operators = std::move(operators);
}

// What counts and places that follow from the choices are asked for, they are.
void DenseGraph::DropPremisesThatHold(sdfg::Operator* op) {
  const sdfg::IndexFunction& function = *op->function;
  if (function.premises.empty() || !op->lifted ||
      std::count(op->inputs.begin(), op->inputs.end(), kNone) != 0 ||
      std::none_of(op->inputs.begin(), op->inputs.end(),
                   [&](TensorId input) { return known_.DependsOnRouting(input); }) ||
      !known_.PremisesHold(function, op->inputs)) {
    return;
  }
  // Only what the masks of the choices are computed from is in the graph, and in the report.
  std::set<TensorId> choices;
  for (const Choice& choice : rows_.choices) {
    choices.insert(choice.origins.begin(), choice.origins.end());
  }
  const std::set<TensorId> origins = known_.OriginsOfPremises(function, op->inputs);
  if (!std::includes(choices.begin(), choices.end(), origins.begin(), origins.end())) return;
  sdfg::IndexFunction without = function;
  without.premises.clear();
  op->function = graph_.Intern(std::move(without));
  op->adjustable = nullptr;
}

std::vector<std::string> DenseGraph::ChoicesOf(const DenseOperators& dense,
                                               const RecordedElements& recorded) const {
  std::set<TensorId> seen;
  std::vector<TensorId> pending;
  for (const Choice& choice : rows_.choices) pending.push_back(choice.mask);
  std::set<std::string> places;
  while (!pending.empty()) {
    const TensorId tensor = pending.back();
    pending.pop_back();
    if (!seen.insert(tensor).second) continue;
    if (tensor >= given_) {
      for (const std::vector<DenseOperator>& list : dense) {
        for (const DenseOperator& made : list) {
          if (made.op.outputs[0] != tensor) continue;
          pending.insert(pending.end(), made.op.inputs.begin(), made.op.inputs.end());
        }
      }
      continue;
    }
    const OperatorId producer = graph_.tensors[tensor].producer;
    if (producer == kNone) continue;
    const sdfg::Operator& op = graph_.operators[producer];
    if (recorded.count(tensor) != 0) {
      places.insert(NameAndPlaceOf(op));
      continue;
    }
    for (TensorId input : op.inputs) {
      if (input != kNone && known_.DependsOnRouting(input)) pending.push_back(input);
    }
  }
  return {places.begin(), places.end()};
}

}  // namespace planproof::frontend::torch
