#include "runtime_check/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/container/flat_hash_set.h"

namespace planproof::runtime_check {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kMany = 1024;

// Sums of squares over the elements of one instance or of all; doubles have squares beyond doubles.
struct Squares {
  long double error = 0, model = 0, change = 0, spacing = 0;

  void AddModel(double value, double its_change, const Reference& reference) {
    const long double unit = std::max(reference.epsilon * std::fabs(value), reference.spacing);
    const long double wide = value;
    model += wide * wide;
    change += its_change;
    spacing += unit * unit;
  }
  void Add(const Squares& other) {
    error += other.error;
    model += other.model;
    change += other.change;
    spacing += other.spacing;
  }
};

double Root(long double squares) { return static_cast<double>(std::sqrt(squares)); }

struct Ratio {
  double error = 0, expectation = 0, ratio = 0;
};

Ratio RatioOf(const Squares& sums, double scale, double epsilon) {
  Ratio result;
  result.expectation = epsilon;
  if (sums.error > 0) result.error = scale > 0 ? Root(sums.error) / scale : kInfinity;
  if (scale > 0)
    result.expectation = std::max(epsilon, Root(std::max(sums.change, sums.spacing)) / scale);
  result.ratio = result.error / result.expectation;
  return result;
}

}  // namespace

double RatioBound(int64_t values, Roundings roundings) {
  const double times = roundings == Roundings::kFew ? 2 : 4;
  return times * (1 + 5 / static_cast<double>(std::max<int64_t>(values, 1)));
}

Measure Compare(const Values& parallel, int axes, const std::vector<sdfg::IndexMap>& map,
                const Reference& reference) {
  const Values& model = *reference.values;
  const sdfg::Shape coordinates(parallel.shape.begin(), parallel.shape.begin() + axes);
  const int64_t local = CountOf({parallel.shape.begin() + axes, parallel.shape.end()});
  std::vector<Squares> instances(CountOf(coordinates));
  Measure measure;
  int64_t elements = 0, finite = 0;       // of the model's that were read
  absl::flat_hash_set<double> different;  // of the model's values; more than kMany are many
  long double largest = -1;
  std::vector<int64_t> index(parallel.shape.size(), 0);
  for (int64_t i = 0; i < parallel.size(); ++i, Advance(parallel.shape, &index)) {
    const int64_t at = PositionOf(map, model.shape, index);
    if (at >= 0) {
      ++elements;
      finite += std::isfinite(model.At(at));
      if (std::isnan(model.At(at))) measure.defined = false;
    }
    if (at >= 0 && different.size() < kMany && std::isfinite(model.At(at)))
      different.insert(std::fabs(model.At(at)));
    if (at < 0 || parallel.Same(i, model, at)) {
      if (at >= 0 && std::isfinite(model.At(at))) {
        instances[i / local].AddModel(model.At(at), (*reference.changes)[at], reference);
      }
      continue;
    }
    const double wanted = model.At(at), found = parallel.At(i);
    if (std::isnan(wanted)) continue;
    const bool both = std::isfinite(wanted) && std::isfinite(found);
    const long double difference = both ? std::fabs(found - wanted) : kInfinity;
    Squares& sums = instances[i / local];
    sums.error += difference * difference;
    if (std::isfinite(wanted)) sums.AddModel(wanted, (*reference.changes)[at], reference);
    if (difference <= largest) continue;
    largest = difference;
    measure.parallel_index = index;
    measure.logical_index.clear();
    for (const sdfg::IndexMap& form : map) measure.logical_index.push_back(form.ValueAt(index));
    measure.parallel_value = found;
    measure.logical_value = wanted;
  }
  if (elements > 0 && finite == 0) measure.defined = false;  // all are beyond the type
  Squares all;
  for (const Squares& sums : instances) all.Add(sums);
  const auto count = static_cast<double>(std::max<int64_t>(parallel.size(), 1));
  const double norm = Root(all.model);
  const double scale = norm > 0 ? norm : reference.operand_magnitude * std::sqrt(count);
  measure.scale = scale;
  const Ratio whole = RatioOf(all, scale, reference.epsilon);
  measure.error = whole.error;
  measure.expectation = whole.expectation;
  measure.ratio = whole.ratio;
  // A NaN of the plan must not pass.
  measure.bound = RatioBound(static_cast<int64_t>(different.size()), reference.roundings);
  measure.alarm = !(measure.ratio <= measure.bound);
  if (!std::isfinite(scale) || !std::isfinite(measure.expectation)) measure.defined = false;
  measure.blind = measure.bound * measure.expectation >= 1;
  if (!measure.alarm) return measure;
  const double share = scale / std::sqrt(static_cast<double>(instances.size()));
  for (size_t i = 0; i < instances.size(); ++i) {
    const double own =
        share > 0 ? Root(instances[i].error) / share : (instances[i].error > 0 ? kInfinity : 0);
    if (!(own <= measure.bound * measure.expectation))
      measure.instances.push_back(static_cast<int64_t>(i));
  }
  return measure;
}

double RatioOf(const Disagreement& disagreement, const Measure& measure) {
  if (disagreement.elements == 0) return 0;
  if (measure.scale == 0) return kInfinity;
  return std::sqrt(disagreement.squares) / measure.scale / measure.expectation;
}

}  // namespace planproof::runtime_check
