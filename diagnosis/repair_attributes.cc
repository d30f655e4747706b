// Repairs about attributes: with another number the stage would be right.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "diagnosis/repair_search.h"
#include "shape_reduction/work_clock.h"

namespace planproof::diagnosis {

using sdfg::AdjustableOperator;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;
using solver::Rational;

namespace {

constexpr double kAttributeSeconds = 0.75;  // of one run of all of them
constexpr size_t kMaxAttributeChanges = 96;
constexpr int64_t kMaxAttributeSteps = 16;
constexpr int64_t kMaxAttributeCoordinates = 64;
constexpr size_t kMaxModelValues = 16;

using Clock = shape_reduction::WorkClock;

// An attribute that operators of the stage have alike.
struct Adjustment {
  AdjustableOperator::Number number;
  std::vector<int32_t> axes;  // on whose coordinates the values depend
  std::vector<OperatorId> operators;
};

bool Alike(const Adjustment& a, const Adjustment& b) {
  return a.number.name == b.number.name && a.axes == b.axes && a.number.values == b.number.values;
}

std::string Text(const Rational& value) {
  const std::string exact = value.ToString();
  return exact.size() <= 12 ? exact : absl::StrCat(value.ToDouble());
}

// "4 cp + 2"
std::string Text(const Rational& start, const Rational& slope, const std::string& axis) {
  if (slope.IsZero()) return Text(start);
  std::string text = slope.IsOne() ? axis : absl::StrCat(Text(slope), " ", axis);
  if (start.Sign() > 0) absl::StrAppend(&text, " + ", Text(start));
  if (start.Sign() < 0) absl::StrAppend(&text, " - ", Text(-start));
  return text;
}

// What the attribute is now: "3", "2 cp"; nothing if it is no such expression of one coordinate.
std::optional<std::string> TextOfNow(const sdfg::Graph& graph, const Adjustment& adjusted) {
  const std::vector<Rational>& values = adjusted.number.values;
  if (adjusted.axes.empty() || values.size() == 1) return Text(values[0]);
  if (adjusted.axes.size() > 1) return std::nullopt;
  const Rational slope = values[1] - values[0];
  for (size_t c = 0; c < values.size(); ++c) {
    if (!(values[c] == values[0] + slope * Rational(static_cast<int64_t>(c)))) return std::nullopt;
  }
  return Text(values[0], slope, graph.axes[adjusted.axes[0]].name);
}

// Local extents of what the operators read and make.
std::set<int64_t> Extents(const sdfg::Graph& graph, const std::vector<OperatorId>& operators) {
  std::set<int64_t> extents;
  const auto add = [&](TensorId id) {
    if (id == kNone) return;
    const sdfg::Tensor& tensor = graph.tensors[id];
    for (size_t d = tensor.axes.size(); d < tensor.shape.size(); ++d) {
      if (tensor.shape[d] > 1) extents.insert(tensor.shape[d]);
    }
  };
  for (const OperatorId id : operators) {
    for (const TensorId input : graph.operators[id].inputs) add(input);
    for (const TensorId output : graph.operators[id].outputs) add(output);
  }
  return extents;
}

// What the attribute is in operators of the same name: of the model, and for integers, which may
// count from a rank's own place, of the plan.
std::vector<Rational> ValuesElsewhere(const lineage::Problem& problem, const Adjustment& adjusted) {
  std::vector<Rational> values;
  std::set<const AdjustableOperator*> seen;
  for (const sdfg::Graph* graph : {&problem.logical, &problem.parallel}) {
    if (graph == &problem.parallel && !adjusted.number.whole) break;
    for (const sdfg::Operator& op : graph->operators) {
      if (op.adjustable == nullptr || values.size() >= kMaxModelValues ||
          op.name != problem.parallel.operators[adjusted.operators[0]].name ||
          !seen.insert(op.adjustable.get()).second) {
        continue;
      }
      for (const AdjustableOperator::Number& number : op.adjustable->Numbers()) {
        if (number.name != adjusted.number.name) continue;
        for (const Rational& value : number.values) {
          if (std::find(values.begin(), values.end(), value) == values.end()) {
            values.push_back(value);
          }
        }
      }
    }
  }
  return values;
}

// Numbers to try, the likely ones first: those of other operators, 0, the neighbours, and for
// integers what is some tiles away.
std::vector<Rational> Candidates(const lineage::Problem& problem, const Adjustment& adjusted) {
  std::vector<Rational> candidates = ValuesElsewhere(problem, adjusted);
  if (!adjusted.number.whole) {
    // A number that is the model's is not wrong.
    const std::vector<Rational>& now = adjusted.number.values;
    const bool models = std::find_first_of(now.begin(), now.end(), candidates.begin(),
                                           candidates.end()) != now.end();
    return models ? std::vector<Rational>{} : candidates;
  }
  candidates.push_back(0);
  std::vector<Rational> bases;
  for (const Rational& value : adjusted.number.values) {
    if (bases.size() < 4 && std::find(bases.begin(), bases.end(), value) == bases.end()) {
      bases.push_back(value);
    }
  }
  for (const Rational& base : bases) {
    for (const int64_t by : {1, -1, 2, -2}) candidates.push_back(base + Rational(by));
  }
  const std::set<int64_t> extents = Extents(problem.parallel, adjusted.operators);
  for (int64_t step = 1; step <= kMaxAttributeSteps; ++step) {
    for (const int64_t extent : extents) {
      for (const Rational& base : bases) {
        candidates.push_back(base + Rational(step * extent));
        candidates.push_back(base - Rational(step * extent));
      }
    }
  }
  std::vector<Rational> once;
  for (const Rational& value : candidates) {
    if (once.size() >= kMaxAttributeChanges) break;
    if (std::find(once.begin(), once.end(), value) == once.end()) once.push_back(value);
  }
  return once;
}

std::vector<Adjustment> AdjustmentsOf(const sdfg::Graph& graph,
                                      const std::vector<OperatorId>& operators) {
  std::vector<Adjustment> single, shared;
  for (size_t o = operators.size(); o-- > 0;) {
    const sdfg::Operator& op = graph.operators[operators[o]];
    if (op.adjustable == nullptr) continue;
    for (AdjustableOperator::Number& number : op.adjustable->Numbers()) {
      single.push_back({std::move(number), op.adjustable->axes(), {operators[o]}});
    }
  }
  for (const Adjustment& one : single) {
    const auto same = std::find_if(shared.begin(), shared.end(),
                                   [&](const Adjustment& other) { return Alike(one, other); });
    if (same == shared.end()) {
      shared.push_back(one);
    } else {
      same->operators.insert(same->operators.begin(), one.operators[0]);
    }
  }
  std::erase_if(shared, [](const Adjustment& a) { return a.operators.size() < 2; });
  single.insert(single.end(), shared.begin(), shared.end());
  return single;
}

}  // namespace

std::map<int64_t, bool> RepairSearch::RightAlong(const Values& value, size_t axis) const {
  std::map<int64_t, std::pair<std::vector<double>, std::vector<double>>> parts;
  const std::vector<double> values = AtPoints(value);
  for (size_t i = 0; i < points_.size(); ++i) {
    auto& [is, wanted] = parts[points_[i][axis]];
    is.push_back(values[i]);
    wanted.push_back(claimed_at_[i]);
  }
  std::map<int64_t, bool> right;
  for (const auto& [c, part] : parts) right[c] = AgreeNumbers(part.first, part.second);
  return right;
}

// With this value of the attribute in all operators of the adjustment; null if one takes it not.
Values RepairSearch::WithAttribute(const std::vector<OperatorId>& operators,
                                   const std::string& attribute,
                                   const AdjustableOperator::Affine& value) {
  Changes changes;
  for (const OperatorId id : operators) {
    sdfg::Operator op = graph_.operators[id];
    absl::StatusOr<AdjustableOperator::Adjusted> made = op.adjustable->With(attribute, value);
    if (!made.ok()) return nullptr;
    op.function = std::make_shared<const sdfg::IndexFunction>(std::move(made->function));
    op.lifted = made->lifted;
    changes.operators.emplace(id, std::move(op));
  }
  return RunStage(changes);
}

// A number that is wrong on few ranks of an axis of the subject. `right`: for each coordinate the
// numbers with which it is right.
void RepairSearch::TryAttributeOfFew(const std::string& what, OperatorId op, size_t axis,
                                     const std::vector<Rational>& values,
                                     const std::map<int64_t, std::vector<Rational>>& right) {
  std::vector<std::string> places, are, better;
  const std::map<int64_t, bool> now = RightAlong(actual_, axis);
  for (const auto& [c, is_right] : now) {
    if (is_right) continue;
    const auto fits = right.find(c);
    if (fits == right.end()) return;
    places.push_back(absl::StrCat(c));
    are.push_back(Text(values[values.size() > 1 ? c : 0]));
    better.push_back(Text(fits->second[0]));
  }
  if (!of_few_.empty() || places.empty() || places.size() > 4 || 2 * places.size() > now.size())
    return;
  const std::string& axis_name = graph_.axes[graph_.tensors[subject_.tensor].axes[axis]].name;
  of_few_.push_back({absl::StrCat(what, " at ", axis_name, " ", absl::StrJoin(places, ", "), " is ",
                                  absl::StrJoin(are, ", "), "; with ", absl::StrJoin(better, ", "),
                                  " it would be right"),
                     op, false, 1, what});
}

bool RepairSearch::TryAttributes() {
  constexpr size_t kMaxTexts = 4;  // of one attribute
  const sdfg::Tensor& self = graph_.tensors[subject_.tensor];
  const Clock::time_point deadline =
      Clock::now() +
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kAttributeSeconds));
  bool few_vary = false;
  for (const Adjustment& adjusted : AdjustmentsOf(graph_, subject_.operators)) {
    const AdjustableOperator::Number& number = adjusted.number;
    const OperatorId op = adjusted.operators.back();
    std::vector<std::string> names;
    for (const OperatorId id : adjusted.operators) names.push_back(Name(id));
    const std::string what = absl::StrCat(number.name, " of ", absl::StrJoin(names, " and "));
    const std::optional<std::string> now = TextOfNow(graph_, adjusted);
    const size_t before = causes_.size();
    const auto found = [&](const std::string& right) {
      Found(absl::StrCat(what, " is ", *now, "; with ", right, " it would be right"), op);
      causes_.back().about = what;
    };
    // The numbers that are right, by axis of the subject and coordinate.
    std::vector<std::map<int64_t, std::vector<Rational>>> right(self.axes.size());
    const bool uniform = std::all_of(number.values.begin(), number.values.end(),
                                     [&](const Rational& v) { return v == number.values[0]; });
    for (const Rational& value : Candidates(problem_, adjusted)) {
      if (causes_.size() - before == kMaxTexts) break;
      if (Clock::now() > deadline) return false;
      if (uniform && value == number.values[0]) continue;
      const Values result = WithAttribute(adjusted.operators, number.name, {.start = value});
      if (result == nullptr) continue;
      if (uniform && Agree(result, claimed_)) {
        found(Text(value));
        continue;
      }
      for (size_t a = 0; a < self.axes.size(); ++a) {
        for (const auto& [c, is_right] : RightAlong(result, a)) {
          if (is_right) right[a][c].push_back(value);
        }
      }
    }
    // A multiple of the rank: the start of its part.
    if (number.whole && now.has_value()) {
      std::vector<sdfg::AxisId> axes;
      for (const TensorId output : graph_.operators[op].outputs) {
        if (output != kNone) axes = graph_.tensors[output].axes;
      }
      std::set<int64_t> slopes = Extents(graph_, adjusted.operators);
      slopes.insert(1);
      for (const sdfg::AxisId axis : axes) {
        const bool along = adjusted.axes.empty() || adjusted.axes[0] == axis;
        const int64_t extent = graph_.axes[axis].extent;
        if (!along || extent < 2 || extent > kMaxAttributeCoordinates) continue;
        for (const int64_t slope : slopes) {
          if (Clock::now() > deadline) return false;
          const std::string text = Text(0, slope, graph_.axes[axis].name);
          if (text == *now) continue;
          const Values result = WithAttribute(adjusted.operators, number.name,
                                              {.start = 0, .slope = slope, .axis = axis});
          if (Agree(result, claimed_)) found(text);
        }
      }
    }
    if (causes_.size() > before) return true;
    // What depends on the rank is likelier to be wrong on one.
    std::vector<Cause> uniform_few;
    if (!few_vary && !adjusted.axes.empty()) std::swap(uniform_few, of_few_);
    for (size_t a = 0; a < self.axes.size(); ++a) {
      const int64_t extent = self.shape[a];
      const bool along = adjusted.axes.empty() || adjusted.axes == std::vector{self.axes[a]};
      if (!along || extent < 2 || extent > kMaxAttributeCoordinates) continue;
      TryAttributeOfFew(what, op, a, number.values, right[a]);
    }
    few_vary |= !of_few_.empty() && !adjusted.axes.empty();
    if (of_few_.empty()) std::swap(uniform_few, of_few_);
  }
  return false;
}

}  // namespace planproof::diagnosis
