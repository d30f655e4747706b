#include "report/layer_map.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "report/stage_operators.h"
#include "stages/cone.h"

namespace planproof::report {

using sdfg::kNone;
using sdfg::OperatorId;
using stages::Stage;
using stages::Verdict;

namespace {

bool Digit(char c) { return c >= '0' && c <= '9'; }

// Numbers of names, in the order in which they are first asked for.
class Numbers {
 public:
  explicit Numbers(std::vector<std::string>* names) : names_(names) {}
  int Of(const std::string& name) {
    const auto [at, added] = known_.try_emplace(name, static_cast<int>(names_->size()));
    if (added) names_->push_back(name);
    return at->second;
  }

 private:
  std::vector<std::string>* names_;
  std::map<std::string, int> known_;
};

std::string LayerOfOperator(const sdfg::Graph& graph, const sdfg::Operator& op) {
  std::string layer = LayerOf(op.label);
  for (size_t o = 0; o < op.outputs.size() && layer.empty(); ++o) {
    if (op.outputs[o] != kNone) layer = LayerOf(graph.tensors[op.outputs[o]].name);
  }
  return layer;
}

// By operator of the plan. What is derived from a layer is named after it: "grad.layers.3" is
// "layers.3" where there is a "layers". Layers are counted from 0 or 1: other numbers are none.
std::vector<std::string> LayersOf(const sdfg::Graph& graph) {
  std::vector<std::string> layers;
  std::set<std::string> paths;  // without numbers
  const auto path = [](const std::string& layer) { return layer.substr(0, layer.rfind('.')); };
  for (const sdfg::Operator& op : graph.operators) {
    layers.push_back(LayerOfOperator(graph, op));
    if (!layers.back().empty()) paths.insert(path(layers.back()));
  }
  std::map<std::string, std::string> shortest;
  for (const std::string& whole : paths) {
    std::string& ours = shortest[whole] = whole;
    for (size_t dot = whole.rfind('.'); dot != std::string::npos && dot > 0;
         dot = whole.rfind('.', dot - 1)) {
      if (!paths.contains(whole.substr(dot + 1))) continue;
      ours = whole.substr(dot + 1);
      break;
    }
  }
  std::set<std::string> counted;
  for (std::string& layer : layers) {
    if (layer.empty()) continue;
    layer = shortest[path(layer)] + layer.substr(layer.rfind('.'));
    if (layer.ends_with(".0") || layer.ends_with(".1")) counted.insert(path(layer));
  }
  for (std::string& layer : layers) {
    if (!layer.empty() && !counted.contains(path(layer))) layer.clear();
  }
  return layers;
}

// "layers.2" before "layers.10"; what belongs to no layer comes last.
bool LayerBefore(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return !a.empty() && b.empty();
  const size_t dot_a = a.rfind('.'), dot_b = b.rfind('.');
  const std::string number_a = a.substr(dot_a), number_b = b.substr(dot_b);
  return std::tuple(a.substr(0, dot_a), number_a.size(), number_a) <
         std::tuple(b.substr(0, dot_b), number_b.size(), number_b);
}

// Of every operator of the plan, on all of its ranks.
std::vector<State> StatesOfOperators(const stages::Result& result, const stages::Account& account) {
  const sdfg::Graph& graph = account.problem.parallel;
  std::vector<std::optional<State>> states(graph.operators.size());
  const StageOperators operators(account);
  for (const Stage& stage : account.stages) {
    if (stage.state == Stage::State::kGivenUp) continue;
    const State state = StateOf(stage.state, result.verdict);
    for (const OperatorId op : operators.Of(stage.claim.parallel)) {
      states[op] = std::max(states[op].value_or(state), state);
    }
  }
  const stages::Cone cone = stages::ConeOfRequired(account.problem);
  std::vector<State> all;
  for (size_t op = 0; op < states.size(); ++op) {
    const State otherwise = StateOf(
        result.verdict == Verdict::kProved ? Stage::State::kProved : Stage::State::kNotDecided,
        result.verdict);
    all.push_back(cone.operators[op] ? states[op].value_or(otherwise) : State::kNoEffect);
  }
  return all;
}

// Of every operator in a refuted stage: the ranks on which it is wrong.
std::map<OperatorId, RankSet> RefutedRanks(const stages::Result& result, RanksOfPlan* ranks) {
  std::map<OperatorId, RankSet> refuted;
  for (const stages::Violation& violation : result.violations) {
    if (violation.verdict != Verdict::kRefuted) continue;
    const RankSet named = RankSetOf(violation.devices);
    for (const OperatorId op : violation.at.operators) {
      const RankSet& all = ranks->OfOperator(op);
      const RankSet wrong = Common(all, named);
      refuted[op] = Union(refuted[op], wrong.empty() ? all : wrong);
    }
  }
  return refuted;
}

class MapBuilder {
 public:
  void Add(const std::string& layer, const sdfg::Operator& op, State state, const RankSet& ranks) {
    const auto [set, added] = sets_.try_emplace(ranks, static_cast<int>(map_.rank_sets.size()));
    if (added) map_.rank_sets.push_back(ranks);
    MapCell& cell =
        cells_[{layers_.Of(layer), kinds_.Of(op.name), -static_cast<int>(state), set->second}];
    cell.state = state;
    ++cell.count;
    if (state == State::kProved) return;
    cell.operators.push_back(
        operators_.Of(op.label.empty() ? op.name : op.name + " (" + op.label + ")"));
  }

  LayerMap Take() {
    std::vector<int> order(map_.layers.size()), place(order.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return LayerBefore(map_.layers[a], map_.layers[b]); });
    for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int>(i);
    for (auto& [key, cell] : cells_) {
      cell.layer = place[std::get<0>(key)];
      cell.kind = std::get<1>(key);
      cell.ranks = std::get<3>(key);
      map_.cells.push_back(std::move(cell));
    }
    std::stable_sort(map_.cells.begin(), map_.cells.end(),
                     [](const MapCell& a, const MapCell& b) { return a.layer < b.layer; });
    std::vector<std::string> layers;
    for (const int layer : order) layers.push_back(map_.layers[layer]);
    map_.layers = std::move(layers);
    return std::move(map_);
  }

 private:
  LayerMap map_;
  Numbers layers_{&map_.layers}, kinds_{&map_.kinds}, operators_{&map_.operators};
  std::map<RankSet, int> sets_;
  std::map<std::tuple<int, int, int, int>, MapCell> cells_;  // layer, kind, worst first, ranks
};

}  // namespace

std::string LayerOf(const std::string& name) {
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    size_t end = dot + 1;
    while (end < name.size() && Digit(name[end])) ++end;
    if (end == dot + 1 || dot == 0) continue;
    if (end == name.size() || (name[end] != '.' && name[end] != ':')) continue;
    size_t begin = name.find_last_of(": (", dot);
    begin = begin == std::string::npos ? 0 : begin + 1;
    if (begin < dot) return name.substr(begin, end - begin);
  }
  return "";
}

State StateOf(Stage::State state, Verdict verdict) {
  switch (state) {
    case Stage::State::kProved:
      return State::kProved;
    case Stage::State::kGivenUp:
      return State::kGivenUp;
    case Stage::State::kRestsOnFailed:
    case Stage::State::kNotProved:
    case Stage::State::kNotDecided:
      break;
  }
  return verdict == Verdict::kRefuted ? State::kAfterFault : State::kUnknown;
}

LayerMap MapOf(const stages::Result& result, const stages::Account& account, RanksOfPlan* ranks) {
  const sdfg::Graph& graph = account.problem.parallel;
  const std::vector<State> states = StatesOfOperators(result, account);
  const std::map<OperatorId, RankSet> refuted = RefutedRanks(result, ranks);
  const std::vector<std::string> layers = LayersOf(graph);
  MapBuilder builder;
  for (size_t id = 0; id < graph.operators.size(); ++id) {
    const sdfg::Operator& op = graph.operators[id];
    const std::string& layer = layers[id];
    RankSet rest = ranks->OfOperator(static_cast<OperatorId>(id));
    const auto wrong = refuted.find(static_cast<OperatorId>(id));
    if (wrong != refuted.end()) {
      builder.Add(layer, op, State::kRefuted, wrong->second);
      rest = Without(rest, wrong->second);
      if (rest.empty()) continue;
    }
    builder.Add(layer, op, states[id], rest);
  }
  return builder.Take();
}

}  // namespace planproof::report
