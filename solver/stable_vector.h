// Stores a sequence that only grows, in blocks of one size: elements stay where they are, and the
// table of blocks is small.
#ifndef PLANPROOF_SOLVER_STABLE_VECTOR_H_
#define PLANPROOF_SOLVER_STABLE_VECTOR_H_

#include <cstddef>
#include <utility>
#include <vector>

namespace planproof::solver {

template <typename T>
class StableVector {
 public:
  size_t size() const { return size_; }
  const T& operator[](size_t i) const { return blocks_[i / kBlock][i % kBlock]; }
  void push_back(T value) {
    if (size_ % kBlock == 0) blocks_.emplace_back().reserve(kBlock);
    blocks_.back().push_back(std::move(value));
    ++size_;
  }

 private:
  static constexpr size_t kBlock = 256;
  std::vector<std::vector<T>> blocks_;
  size_t size_ = 0;
};

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_STABLE_VECTOR_H_
