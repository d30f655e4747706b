// Runs tapes on numbers in memory.
#ifndef PLANPROOF_RUNTIME_CHECK_TAPE_MACHINE_H_
#define PLANPROOF_RUNTIME_CHECK_TAPE_MACHINE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime_check/tape.h"
#include "runtime_check/tracked_number.h"

namespace planproof::runtime_check {

// The elements of an operand: of one of the two, row-major.
template <typename Stored>
struct Operand {
  const Stored* reals = nullptr;
  const int64_t* integers = nullptr;
};

// Computes in A (double or float) on real numbers stored as S. Of narrower types than float32 the
// numbers are stored as float, which holds all of them. Both may be TrackedNumber.
template <typename A, typename S>
class TapeMachine {
 public:
  // The tape must outlive it.
  explicit TapeMachine(const Tape& tape);

  // Writes the output's elements, to the one of the two that is not null; integers are rounded to
  // the nearest. InvalidArgument if an operand is read outside of its extents.
  absl::Status Run(const std::vector<Operand<S>>& operands, A* reals, int64_t* integers);

 private:
  void BeginStrip(int64_t first, int64_t elements);
  void RunInt(const Instruction& i);
  void RunReal(const Instruction& i);
  void RunTruth(const Instruction& i);
  bool Read(const Instruction& i);
  void Keep(const Instruction& i);
  void Call(const Instruction& i);
  void Store(const Instruction& i);
  bool Jumps(const Instruction& i) const;

  int64_t* Ints(int32_t reg) { return ints_.data() + static_cast<int64_t>(reg) * kLanes; }
  A* Reals(int32_t reg) { return reals_.data() + static_cast<int64_t>(reg) * kLanes; }
  uint8_t* Truths(int32_t reg) { return truths_.data() + static_cast<int64_t>(reg) * kLanes; }
  const uint8_t* Truths(int32_t reg) const {
    return truths_.data() + static_cast<int64_t>(reg) * kLanes;
  }
  int Count(const Instruction& i) const { return i.lanes ? active_ : 1; }

  const Tape& tape_;
  std::vector<int64_t> ints_;
  std::vector<A> reals_;
  std::vector<uint8_t> truths_;
  std::vector<std::vector<double>> rows_;  // by call
  std::vector<Operand<S>> operands_;
  A* real_output_ = nullptr;
  int64_t* int_output_ = nullptr;
  int64_t strip_ = 0;  // first element of the strip
  int active_ = 1;     // lanes
};

extern template class TapeMachine<double, double>;
extern template class TapeMachine<float, float>;
extern template class TapeMachine<double, float>;
extern template class TapeMachine<TrackedNumber, TrackedNumber>;

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_TAPE_MACHINE_H_
