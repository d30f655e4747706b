#include "runtime_check/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "runtime_check/parallel_for.h"
#include "runtime_check/positions.h"

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

// Sums up differences part by part.
class Comparing {
 public:
  explicit Comparing(const Reference& reference) : reference_(reference) {}

  void Add(const Values& parallel, int axes, const std::vector<sdfg::IndexMap>& map) {
    const sdfg::Shape coordinates(parallel.shape.begin(), parallel.shape.begin() + axes);
    const int64_t local = CountOf({parallel.shape.begin() + axes, parallel.shape.end()});
    const size_t first = instances_.size();
    instances_.resize(first + CountOf(coordinates));
    size_ += parallel.size();
    int64_t most = -1;  // differs
    ForEachPosition(map, reference_.values->shape, parallel.shape, [&](int64_t i, int64_t at) {
      if (at >= 0 && AddElement(parallel, i, at, &instances_[first + i / local])) most = i;
    });
    if (most >= 0) {
      measure_.part = parts_;
      measure_.parallel_index = IndexAt(parallel.shape, most);
      measure_.logical_index.clear();
      for (const sdfg::IndexMap& form : map)
        measure_.logical_index.push_back(form.ValueAt(measure_.parallel_index));
    }
    ++parts_;
  }

  Measure Finish() {
    if (elements_ > 0 && finite_ == 0) measure_.defined = false;  // all are beyond the type
    Squares all;
    for (const Squares& sums : instances_) all.Add(sums);
    const auto count = static_cast<double>(std::max<int64_t>(size_, 1));
    const double norm = Root(all.model);
    const double own = reference_.cancelled_magnitude > 0 ? reference_.cancelled_magnitude
                                                          : reference_.operand_magnitude;
    const bool zero = norm == 0 || reference_.cancelled_magnitude > 0;
    const double scale = zero ? own * std::sqrt(count) : norm;
    measure_.scale = scale;
    // Once in the model's tensor, that is in each of its replicas.
    const long double replicas =
        count / static_cast<long double>(std::max<int64_t>(reference_.values->size(), 1));
    all.change = std::max(all.change,
                          static_cast<long double>(reference_.step) * reference_.step * replicas);
    const Ratio whole = RatioOf(all, scale, reference_.epsilon);
    measure_.error = whole.error;
    measure_.expectation = whole.expectation;
    measure_.ratio = whole.ratio;
    // A NaN of the plan must not pass.
    measure_.bound =
        RatioBound(std::min(static_cast<int64_t>(different_.size()), reference_.most_values),
                   reference_.roundings) *
        reference_.bound_factor;
    measure_.alarm = !(measure_.ratio <= measure_.bound);
    if (!std::isfinite(scale) || !std::isfinite(measure_.expectation)) measure_.defined = false;
    measure_.blind = measure_.bound * measure_.expectation >= 1;
    if (measure_.alarm) FindInstances();
    return std::move(measure_);
  }

 private:
  // Whether it differs more than all before.
  bool AddElement(const Values& parallel, int64_t i, int64_t at, Squares* sums) {
    const Values& model = *reference_.values;
    const double wanted = model.At(at), found = parallel.At(i);
    ++elements_;
    finite_ += std::isfinite(wanted);
    if (std::isnan(wanted)) measure_.defined = false;
    if (different_.size() < kMany && std::isfinite(wanted)) different_.insert(std::fabs(wanted));
    if (parallel.Same(i, model, at)) {
      if (std::isfinite(wanted)) sums->AddModel(wanted, (*reference_.changes)[at], reference_);
      return false;
    }
    if (std::isnan(wanted)) return false;
    const bool both = std::isfinite(wanted) && std::isfinite(found);
    const long double difference = both ? std::fabs(found - wanted) : kInfinity;
    sums->error += difference * difference;
    if (std::isfinite(wanted)) sums->AddModel(wanted, (*reference_.changes)[at], reference_);
    if (difference <= largest_) return false;
    largest_ = difference;
    measure_.parallel_value = found;
    measure_.logical_value = wanted;
    return true;
  }

  void FindInstances() {
    const double share = measure_.scale / std::sqrt(static_cast<double>(instances_.size()));
    for (size_t i = 0; i < instances_.size(); ++i) {
      const double own =
          share > 0 ? Root(instances_[i].error) / share : (instances_[i].error > 0 ? kInfinity : 0);
      if (!(own <= measure_.bound * measure_.expectation))
        measure_.instances.push_back(static_cast<int64_t>(i));
    }
  }

  const Reference& reference_;
  std::vector<Squares> instances_;
  Measure measure_;
  int64_t parts_ = 0, size_ = 0;
  int64_t elements_ = 0, finite_ = 0;      // of the model's that were read
  absl::flat_hash_set<double> different_;  // of the model's values; more than kMany are many
  long double largest_ = -1;
};

}  // namespace

double RatioBound(int64_t values, Roundings roundings) {
  const double times = roundings == Roundings::kFew ? 2 : 4;
  return times * (1 + 5 / static_cast<double>(std::max<int64_t>(values, 1)));
}

int64_t EffectiveValues(const Reference& reference) {
  long double sum = 0, squares = 0;
  for (int64_t i = 0; i < reference.values->size(); ++i) {
    const double value = reference.values->At(i);
    if (!std::isfinite(value)) continue;
    const long double unit = std::max(reference.epsilon * std::fabs(value), reference.spacing);
    const long double change = (*reference.changes)[i] + unit * unit;
    sum += change;
    squares += change * change;
  }
  return squares > 0 ? std::max<int64_t>(std::llround(sum * sum / squares), 1) : 1;
}

Measure Compare(const Values& parallel, int axes, const std::vector<sdfg::IndexMap>& map,
                const Reference& reference) {
  Comparing comparing(reference);
  comparing.Add(parallel, axes, map);
  return comparing.Finish();
}

Measure CompareParts(const std::vector<Part>& parts, const Reference& reference) {
  Comparing comparing(reference);
  for (const Part& part : parts) comparing.Add(*part.values, 0, part.map);
  return comparing.Finish();
}

void AddChanges(const Values& values, const Values& perturbed, int samples,
                std::vector<double>* changes) {
  constexpr int64_t kChunk = int64_t{1} << 17;
  const double share = 1.0 / samples;
  ParallelFor((values.size() + kChunk - 1) / kChunk, [&](size_t chunk) {
    const int64_t begin = static_cast<int64_t>(chunk) * kChunk;
    const int64_t end = std::min(begin + kChunk, values.size());
    for (int64_t i = begin; i < end; ++i) {
      const double change = perturbed.At(i) - values.At(i);
      if (std::isfinite(change)) (*changes)[i] += change * change * share;
    }
  });
}

double RatioOf(const Disagreement& disagreement, const Measure& measure) {
  if (disagreement.elements == 0) return 0;
  if (measure.scale == 0) return kInfinity;
  return std::sqrt(disagreement.squares) / measure.scale / measure.expectation;
}

}  // namespace planproof::runtime_check
