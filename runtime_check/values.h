// Holds a tensor with all its elements.
#ifndef PLANPROOF_RUNTIME_CHECK_VALUES_H_
#define PLANPROOF_RUNTIME_CHECK_VALUES_H_

#include <cstdint>
#include <vector>

#include "sdfg/types.h"

namespace planproof::runtime_check {

// Row-major, in one of three storages: integers as such, never rounded; real numbers and truth
// values as doubles if the arithmetic is float64, else as floats, which hold all numbers of the
// narrower types.
struct Values {
  enum class Storage : uint8_t { kNone, kInteger, kDouble, kFloat };
  Storage storage = Storage::kNone;
  sdfg::Shape shape;
  std::vector<int64_t> integers;
  std::vector<double> doubles;
  std::vector<float> floats;

  // All elements 0.
  static Values Zeros(sdfg::Shape shape, sdfg::DType element, sdfg::DType arithmetic);

  int64_t size() const;
  double At(int64_t i) const {
    return storage == Storage::kDouble  ? doubles[i]
           : storage == Storage::kFloat ? floats[i]
                                        : static_cast<double>(integers[i]);
  }
  // Reals are converted to the storage, integers rounded to the nearest.
  void Set(int64_t i, double value);
  // The element of another tensor of the same storage.
  void Copy(int64_t i, const Values& from, int64_t at);
  bool Same(int64_t i, const Values& other, int64_t at) const;
};

// Product of the extents, saturated.
int64_t CountOf(const sdfg::Shape& shape);
// The index of a position in row-major order.
std::vector<int64_t> IndexAt(const sdfg::Shape& shape, int64_t position);
// Moves to the next index of the shape in row-major order.
void Advance(const sdfg::Shape& shape, std::vector<int64_t>* index);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_VALUES_H_
