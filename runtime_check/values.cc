#include "runtime_check/values.h"

#include <cmath>
#include <limits>
#include <utility>

namespace planproof::runtime_check {

Values Values::Zeros(sdfg::Shape shape, sdfg::DType element, sdfg::DType arithmetic) {
  Values values;
  const int64_t count = CountOf(shape);
  values.shape = std::move(shape);
  if (sdfg::IsInteger(element)) {
    values.storage = Storage::kInteger;
    values.integers.assign(count, 0);
  } else if (arithmetic == sdfg::DType::kFloat64) {
    values.storage = Storage::kDouble;
    values.doubles.assign(count, 0);
  } else {
    values.storage = Storage::kFloat;
    values.floats.assign(count, 0);
  }
  return values;
}

int64_t Values::size() const {
  return static_cast<int64_t>(integers.size() + doubles.size() + floats.size());
}

void Values::Set(int64_t i, double value) {
  if (storage == Storage::kDouble) {
    doubles[i] = value;
  } else if (storage == Storage::kFloat) {
    floats[i] = static_cast<float>(value);
  } else {
    integers[i] = static_cast<int64_t>(std::llround(value));
  }
}

void Values::Copy(int64_t i, const Values& from, int64_t at) {
  if (storage == Storage::kInteger && from.storage == Storage::kInteger) {
    integers[i] = from.integers[at];
  } else {
    Set(i, from.At(at));
  }
}

bool Values::Same(int64_t i, const Values& other, int64_t at) const {
  if (storage == Storage::kInteger && other.storage == Storage::kInteger)
    return integers[i] == other.integers[at];
  const double a = At(i), b = other.At(at);
  return a == b || (std::isnan(a) && std::isnan(b));
}

int64_t CountOf(const sdfg::Shape& shape) {
  int64_t count = 1;
  bool saturated = false;
  for (const int64_t extent : shape) {
    if (extent == 0) return 0;
    saturated |= __builtin_mul_overflow(count, extent, &count);
  }
  return saturated ? std::numeric_limits<int64_t>::max() : count;
}

std::vector<int64_t> IndexAt(const sdfg::Shape& shape, int64_t position) {
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t d = shape.size(); d-- > 0; position /= shape[d]) index[d] = position % shape[d];
  return index;
}

void Advance(const sdfg::Shape& shape, std::vector<int64_t>* index) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++(*index)[d] < shape[d]) return;
    (*index)[d] = 0;
  }
}

}  // namespace planproof::runtime_check
