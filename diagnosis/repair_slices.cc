// Slices of operands that begin at the wrong place.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "diagnosis/repair_search.h"

namespace planproof::diagnosis {

using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

// Of the largest number of a tensor.
constexpr double kNoise = 1e-10;

constexpr int64_t kMaxStarts = 64;
constexpr size_t kMaxSlicedOperands = 8;

// The map of a dimension with one local dimension in it, at these coordinates of axes: a map of
// that local dimension alone, which is called `local`. Nothing if the tensor has another axis, or
// its local dimension another length.
std::optional<lineage::IndexMap> AtCoordinates(const lineage::IndexMap& map,
                                               const sdfg::Tensor& tensor,
                                               const std::vector<sdfg::AxisId>& axes,
                                               const std::vector<int64_t>& coordinates,
                                               int32_t local, int64_t length) {
  lineage::IndexMap result{.constant = map.constant, .terms = {}};
  for (lineage::IndexTerm term : map.terms) {
    std::optional<int64_t> at, gate_at;
    bool known = true;
    const auto place = [&](int32_t* dim, std::optional<int64_t>* coordinate) {
      if (*dim >= static_cast<int32_t>(tensor.axes.size())) {
        known = known && tensor.shape[*dim] == length;
        *dim = local;
        return;
      }
      const auto axis = std::find(axes.begin(), axes.end(), tensor.axes[*dim]);
      known = known && axis != axes.end();
      if (known) *coordinate = coordinates[axis - axes.begin()];
    };
    place(&term.dim, &at);
    if (term.gated()) place(&term.gate.dim, &gate_at);
    if (!known) return std::nullopt;
    if (gate_at && term.gate.At(*gate_at) == 0) continue;
    if (gate_at) term.gate.dim = -1;
    if (at && !term.gated()) {
      result.constant += term.scale * term.At(*at);
    } else if (at) {  // a gate is 0 or 1: a multiple of it
      result.terms.push_back({.dim = local,
                              .scale = term.scale * term.At(*at),
                              .div = term.gate.div,
                              .mod = term.gate.mod,
                              .offset = term.gate.offset});
    } else {
      result.terms.push_back(term);
    }
  }
  return result;
}

// What a rank holds of a logical dimension.
struct Slice {
  std::vector<lineage::IndexTerm> local;  // the terms of its local dimension
  int64_t start = 0, length = 0;
  bool contiguous = false;
};

std::optional<Slice> SliceAt(const lineage::IndexMap& map, const sdfg::Tensor& tensor,
                             const std::vector<sdfg::AxisId>& axes,
                             const std::vector<int64_t>& coordinates) {
  Slice slice{.local = {}, .start = map.constant};
  for (const lineage::IndexTerm& term : map.terms) {
    if (term.gated()) return std::nullopt;
    if (term.dim >= static_cast<int32_t>(tensor.axes.size())) {
      if (!slice.local.empty() && slice.local[0].dim != term.dim) return std::nullopt;
      slice.local.push_back(term);
      slice.length = tensor.shape[term.dim];
      continue;
    }
    const auto at = std::find(axes.begin(), axes.end(), tensor.axes[term.dim]);
    if (at != axes.end()) slice.start += term.scale * term.At(coordinates[at - axes.begin()]);
  }
  slice.contiguous =
      slice.local.size() == 1 && slice.local[0].div == 1 && slice.local[0].offset == 0;
  return slice;
}

}  // namespace

// The coordinates of the subject's axes at which it is clearly wrong, the first of them: on most
// inputs the same ones.
std::vector<int64_t> RepairSearch::FirstWrong() const {
  constexpr double kClearly = 1e-2;  // of the largest difference
  double largest = 0;
  for (size_t i = 0; i < points_.size(); ++i) {
    largest = std::max(largest, std::fabs(actual_at_[i] - claimed_at_[i]));
  }
  const size_t axes = graph_.tensors[subject_.tensor].axes.size();
  std::vector<int64_t> first;
  for (size_t i = 0; i < points_.size() && largest > 0; ++i) {
    if (!(std::fabs(actual_at_[i] - claimed_at_[i]) >= kClearly * largest)) continue;
    const std::vector<int64_t> at(points_[i].begin(), points_[i].begin() + axes);
    if (first.empty() || at < first) first = at;
  }
  return first;
}

// Whether these values of the subject are right at these coordinates of its axes; what is nothing
// but rounding of the others there is.
bool RepairSearch::RightAt(const std::vector<int64_t>& coordinates, const Values& value) const {
  if (value == nullptr) return false;
  std::vector<double> a, b;
  ForEachPair(value, claimed_, [&](const std::vector<int64_t>& index, double x, double y) {
    if (!std::equal(coordinates.begin(), coordinates.end(), index.begin())) return true;
    a.push_back(x);
    b.push_back(y);
    return a.size() < 20000;
  });
  if (a.empty()) return false;
  const double noise = kNoise * Largest(claimed_);
  const auto is_noise = [&](double x) { return std::fabs(x) <= noise; };
  if (std::all_of(b.begin(), b.end(), is_noise)) return std::all_of(a.begin(), a.end(), is_noise);
  return AgreeNumbers(a, b);
}

// " at cp 1": those coordinates without which these values of the subject are not right.
std::string RepairSearch::WhereRight(const std::vector<int64_t>& coordinates,
                                     const Values& value) const {
  constexpr int64_t kMaxOthers = 4;
  const sdfg::Tensor& self = graph_.tensors[subject_.tensor];
  std::string place;
  for (size_t a = 0; a < coordinates.size(); ++a) {
    std::vector<int64_t> other = coordinates;
    bool everywhere = true;
    for (int64_t c = 0; c < std::min(self.shape[a], kMaxOthers) && everywhere; ++c) {
      other[a] = c;
      everywhere = c == coordinates[a] || RightAt(other, value);
    }
    if (everywhere) continue;
    absl::StrAppend(&place, place.empty() ? " at " : ", ", graph_.axes[self.axes[a]].name, " ",
                    coordinates[a]);
  }
  return place;
}

// An operand is read at the wrong place: with another slice of the same logical tensor the result
// would be right, where it is wrong. `of_others`: with what another operand holds, which need not
// be contiguous.
void RepairSearch::TrySlices(bool of_others) {
  const std::vector<int64_t> wrong = FirstWrong();
  if (points_.empty() || wrong.size() != graph_.tensors[subject_.tensor].axes.size()) return;
  for (size_t o = subject_.operators.size(); o-- > 0;) {
    const OperatorId id = subject_.operators[o];
    const sdfg::Operator& op = graph_.operators[id];
    for (size_t k = 0; k < std::min(op.inputs.size(), kMaxSlicedOperands); ++k) {
      if (problem_.lineage[op.inputs[k]].kind == lineage::LineageKind::kFull &&
          !sdfg::IsInteger(graph_.tensors[op.inputs[k]].dtype) &&
          TrySlicesOf(id, static_cast<int>(k), wrong, of_others)) {
        return;
      }
    }
  }
}

bool RepairSearch::TrySlicesOf(OperatorId id, int operand, const std::vector<int64_t>& wrong,
                               bool of_others) {
  const std::vector<sdfg::AxisId>& axes = graph_.tensors[subject_.tensor].axes;
  const std::vector<TensorId>& inputs = graph_.operators[id].inputs;
  const TensorId input = inputs[operand];
  const sdfg::Tensor& tensor = graph_.tensors[input];
  const lineage::Lineage& lineage = problem_.lineage[input];
  const sdfg::Shape& logical = problem_.logical.tensors[lineage.logical].shape;
  for (size_t d = 0; d < lineage.map.size(); ++d) {
    const auto slice = SliceAt(lineage.map[d], tensor, axes, wrong);
    if (!slice || slice->length == 0 || slice->length >= logical[d] ||
        logical[d] / slice->length > kMaxStarts) {
      continue;
    }
    const auto found = [&](const lineage::IndexMap& map, const std::string& with) {
      lineage::Lineage other = lineage;
      other.map[d] = map;
      const Values value = WithOperand(id, operand, replay_.Claimed(tensor.shape, other));
      if (!RightAt(wrong, value)) return false;
      Found(absl::StrCat("the slice of ", Place(input), WhereRight(wrong, value), " starts at ",
                         slice->start, ", with ", with, " ", Name(id), " would be right"),
            id);
      causes_.back().alike = absl::StrCat("slice of ", Place(input));
      return true;
    };
    const int64_t last = slice->contiguous && !of_others ? logical[d] - slice->length : -1;
    for (int64_t start = 0; start <= last && !Late(); start += slice->length) {
      if (start == slice->start) continue;
      if (found({.constant = start, .terms = slice->local}, absl::StrCat(start))) return true;
    }
    for (size_t j = 0; of_others && j < std::min(inputs.size(), kMaxSlicedOperands); ++j) {
      const lineage::Lineage& held = problem_.lineage[inputs[j]];
      if (inputs[j] == input || held.kind != lineage::LineageKind::kFull) continue;
      for (size_t e = 0; e < held.map.size() && !Late(); ++e) {
        if (problem_.logical.tensors[held.logical].shape[e] != logical[d]) continue;
        const auto map = AtCoordinates(held.map[e], graph_.tensors[inputs[j]], axes, wrong,
                                       slice->local[0].dim, slice->length);
        if (!map || map->terms.size() < 2) continue;
        const std::string& name = graph_.tensors[inputs[j]].name;
        if (found(*map, absl::StrCat("the part that ", name, " holds"))) return true;
      }
    }
  }
  return false;
}

}  // namespace planproof::diagnosis
