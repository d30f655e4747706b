#include "runtime_check/tape_machine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "runtime_check/tracked_number.h"

namespace planproof::runtime_check {
namespace {

// Lanes are counted by a constant where all are active: such loops become vector instructions.
template <typename Body>
inline void ForLanes(int count, Body body) {
  if (count == kLanes) {
    for (int l = 0; l < kLanes; ++l) body(l);
  } else {
    for (int l = 0; l < count; ++l) body(l);
  }
}

template <typename R, typename T, typename F>
inline void Apply(R* __restrict out, const T* __restrict a, bool uniform, int count, F f) {
  if (uniform) {
    const R value = f(a[0]);
    ForLanes(count, [&](int l) { out[l] = value; });
  } else {
    ForLanes(count, [&](int l) { out[l] = f(a[l]); });
  }
}

template <typename R, typename T, typename U, typename F>
inline void Apply(R* __restrict out, const T* a, bool uniform_a, const U* b, bool uniform_b,
                  int count, F f) {
  if (uniform_a && uniform_b) {
    const R value = f(a[0], b[0]);
    ForLanes(count, [&](int l) { out[l] = value; });
  } else if (uniform_a) {
    const T first = a[0];
    ForLanes(count, [&](int l) { out[l] = f(first, b[l]); });
  } else if (uniform_b) {
    const U second = b[0];
    ForLanes(count, [&](int l) { out[l] = f(a[l], second); });
  } else {
    ForLanes(count, [&](int l) { out[l] = f(a[l], b[l]); });
  }
}

// out = f(out, a).
template <typename T, typename F>
inline void Accumulate(T* __restrict out, const T* __restrict a, bool uniform, int count, F f) {
  if (uniform) {
    const T value = a[0];
    ForLanes(count, [&](int l) { out[l] = f(out[l], value); });
  } else {
    ForLanes(count, [&](int l) { out[l] = f(out[l], a[l]); });
  }
}

// Adds the block to the sum, of which `lost` is what earlier additions have rounded away, and
// empties it. A sum that has become infinite loses nothing.
template <typename T>
inline void AddBlock(T* __restrict block, T* __restrict lost, T* __restrict sum, int count) {
  ForLanes(count, [&](int l) {
    const T term = block[l] - lost[l];
    const T next = sum[l] + term;
    const T rounded = (next - sum[l]) - term;
    lost[l] = std::isfinite(rounded) ? rounded : 0;
    sum[l] = next;
    block[l] = 0;
  });
}

// Of how much is lost, nothing is tracked.
inline void AddBlock(TrackedNumber* block, TrackedNumber*, TrackedNumber* sum, int count) {
  for (int l = 0; l < count; ++l) {
    sum[l] = sum[l] + block[l];
    block[l] = {};
  }
}

// NaN if one of them is.
template <typename T>
inline T Larger(T a, T b) {
  using std::isnan;
  return b > a || isnan(b) ? b : a;
}
template <typename T>
inline T Smaller(T a, T b) {
  using std::isnan;
  return b < a || isnan(b) ? b : a;
}

template <typename T>
inline void Select(T* out, const uint8_t* condition, const T* a, const T* b, uint8_t uniform,
                   int count) {
  const int c = uniform & 1 ? 0 : 1, x = uniform & 2 ? 0 : 1, y = uniform & 4 ? 0 : 1;
  for (int l = 0; l < count; ++l) out[l] = condition[l * c] ? a[l * x] : b[l * y];
}

// Of 64 bits, without undefined overflow: lanes that are not used compute anything.
inline int64_t Sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t Product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
inline int64_t Floor(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - (a % b < 0 ? 1 : 0);
}
// What is no whole number is none that an operand has.
inline int64_t Nearest(double value) {
  return std::fabs(value) < 0x1p62 ? static_cast<int64_t>(std::llround(value)) : -1;
}

template <typename A>
A Power(A base, double exponent) {
  if (exponent == 2) return base * base;
  if (exponent == -1) return 1 / base;
  if (exponent == 0.5) return std::sqrt(base);
  if (exponent == -0.5) return 1 / std::sqrt(base);
  return std::pow(base, static_cast<A>(exponent));
}
TrackedNumber Power(TrackedNumber base, double exponent) {
  const double value = Power(base.value, exponent);
  if (exponent <= 0) return TrackedNumber(value);
  return {value, Power(base.magnitude, exponent), Power(base.squares, exponent)};
}

}  // namespace

template <typename A, typename S>
TapeMachine<A, S>::TapeMachine(const Tape& tape) : tape_(tape) {
  ints_.assign(static_cast<size_t>(tape.ints) * kLanes, 0);
  reals_.assign(static_cast<size_t>(tape.reals) * kLanes, A(0));
  truths_.assign(static_cast<size_t>(tape.truths) * kLanes, 0);
  for (const auto& [reg, value] : tape.int_constants) std::fill_n(Ints(reg), kLanes, value);
  for (const auto& [reg, value] : tape.real_constants)
    std::fill_n(Reals(reg), kLanes, static_cast<A>(value));
  for (const OpaqueCall& call : tape.calls)
    rows_.emplace_back(static_cast<size_t>(call.row_extent * call.row_lanes));
}

template <typename A, typename S>
void TapeMachine<A, S>::BeginStrip(int64_t first, int64_t elements) {
  strip_ = first;
  active_ = static_cast<int>(std::min<int64_t>(kLanes, elements - first));
  for (const LaneDimension& dim : tape_.lane_dimensions) {
    int64_t* out = Ints(dim.reg);
    int64_t position = first / dim.stride % dim.extent, within = first % dim.stride;
    for (int l = 0; l < active_; ++l) {
      out[l] = position;
      if (++within < dim.stride) continue;
      within = 0;
      if (++position == dim.extent) position = 0;
    }
  }
}

template <typename A, typename S>
void TapeMachine<A, S>::RunInt(const Instruction& i) {
  int64_t* out = Ints(i.out);
  const int count = Count(i);
  const bool ua = i.uniform & 1, ub = i.uniform & 2;
  const int64_t value = i.value;
  switch (i.code) {
    case Code::kMultiplyAdd:
      return Apply(out, Ints(i.a), ua, Ints(i.b), ub, count,
                   [=](int64_t a, int64_t b) { return Sum(a, Product(value, b)); });
    case Code::kIntAdd:
      return Apply(out, Ints(i.a), ua, Ints(i.b), ub, count, Sum);
    case Code::kIntScale:
      return Apply(out, Ints(i.a), ua, count, [=](int64_t a) { return Product(value, a); });
    case Code::kIntDiv:
      return Apply(out, Ints(i.a), ua, count, [=](int64_t a) { return Floor(a, value); });
    case Code::kIntMod:
      return Apply(out, Ints(i.a), ua, count,
                   [=](int64_t a) { return a - value * Floor(a, value); });
    case Code::kWhole:
      return Apply(out, Reals(i.a), ua, count, [](A a) { return Nearest(static_cast<double>(a)); });
    default:
      return Select(out, Truths(i.a), Ints(i.b), Ints(i.c), i.uniform, count);
  }
}

template <typename A, typename S>
void TapeMachine<A, S>::RunReal(const Instruction& i) {
  using std::exp, std::log, std::erf, std::sin, std::cos, std::fabs;
  A* out = Reals(i.out);
  const int count = Count(i);
  const bool ua = i.uniform & 1, ub = i.uniform & 2;
  switch (i.code) {
    case Code::kPosition:
      return Apply(out, Ints(i.a), ua, count, [](int64_t a) { return static_cast<A>(a); });
    case Code::kIndicator:
      return Apply(out, Truths(i.a), ua, count, [](uint8_t a) { return static_cast<A>(a); });
    case Code::kAdd:
      return Apply(out, Reals(i.a), ua, Reals(i.b), ub, count, [](A a, A b) { return a + b; });
    case Code::kMul:
      return Apply(out, Reals(i.a), ua, Reals(i.b), ub, count, [](A a, A b) { return a * b; });
    case Code::kNeg:
      return Apply(out, Reals(i.a), ua, count, [](A a) { return -a; });
    case Code::kDiv:
      return Apply(out, Reals(i.a), ua, Reals(i.b), ub, count, [](A a, A b) { return a / b; });
    case Code::kPow: {
      const double exponent = i.real;
      return Apply(out, Reals(i.a), ua, count, [=](A a) { return Power(a, exponent); });
    }
    case Code::kExp:
      return Apply(out, Reals(i.a), ua, count, [](A a) { return exp(a); });
    case Code::kLog:
      return Apply(out, Reals(i.a), ua, count, [](A a) { return log(a); });
    case Code::kErf:
      return Apply(out, Reals(i.a), ua, count, [](A a) { return erf(a); });
    case Code::kSin:
      return Apply(out, Reals(i.a), ua, count, [](A a) { return sin(a); });
    case Code::kCos:
      return Apply(out, Reals(i.a), ua, count, [](A a) { return cos(a); });
    case Code::kAbs:
      return Apply(out, Reals(i.a), ua, count, [](A a) { return fabs(a); });
    case Code::kMax:
      return Apply(out, Reals(i.a), ua, Reals(i.b), ub, count,
                   [](A a, A b) { return Larger(a, b); });
    case Code::kMin:
      return Apply(out, Reals(i.a), ua, Reals(i.b), ub, count,
                   [](A a, A b) { return Smaller(a, b); });
    case Code::kSelect:
      return Select(out, Truths(i.a), Reals(i.b), Reals(i.c), i.uniform, count);
    case Code::kFill:
      return ForLanes(count, [&](int l) { out[l] = static_cast<A>(i.real); });
    case Code::kSumStep: {
      A* __restrict block = Reals(i.b);
      Accumulate(block, Reals(i.a), ua, count, [](A a, A b) { return a + b; });
      if ((Ints(static_cast<int32_t>(i.value))[0] + 1) % kSumBlock != 0) return;
      return AddBlock(block, Reals(i.c), out, count);
    }
    case Code::kSumEnd:
      return AddBlock(Reals(i.b), Reals(i.c), out, count);
    case Code::kMaxStep:
      return Accumulate(out, Reals(i.a), ua, count, [](A a, A b) { return Larger(a, b); });
    default:  // kMinStep
      return Accumulate(out, Reals(i.a), ua, count, [](A a, A b) { return Smaller(a, b); });
  }
}

template <typename A, typename S>
void TapeMachine<A, S>::RunTruth(const Instruction& i) {
  uint8_t* out = Truths(i.out);
  const int count = Count(i);
  const bool ua = i.uniform & 1, ub = i.uniform & 2;
  switch (i.code) {
    case Code::kWithin: {
      const auto extent = static_cast<uint64_t>(i.value);
      const auto within = [=](int64_t a) { return static_cast<uint64_t>(a) < extent; };
      if (i.b < 0) return Apply(out, Ints(i.a), ua, count, within);
      return Apply(out, Ints(i.a), ua, Truths(i.b), ub, count,
                   [=](int64_t a, uint8_t b) { return within(a) && b != 0; });
    }
    case Code::kIntLess:
      return Apply(out, Ints(i.a), ua, Ints(i.b), ub, count,
                   [](int64_t a, int64_t b) { return a < b; });
    case Code::kIntLessEq:
      return Apply(out, Ints(i.a), ua, Ints(i.b), ub, count,
                   [](int64_t a, int64_t b) { return a <= b; });
    case Code::kIntEq:
      return Apply(out, Ints(i.a), ua, Ints(i.b), ub, count,
                   [](int64_t a, int64_t b) { return a == b; });
    case Code::kRealLess:
      return Apply(out, Reals(i.a), ua, Reals(i.b), ub, count, [](A a, A b) { return a < b; });
    case Code::kRealLessEq:
      return Apply(out, Reals(i.a), ua, Reals(i.b), ub, count, [](A a, A b) { return a <= b; });
    case Code::kRealEq:
      return Apply(out, Reals(i.a), ua, Reals(i.b), ub, count, [](A a, A b) { return a == b; });
    case Code::kIntNonzero:
      return Apply(out, Ints(i.a), ua, count, [](int64_t a) { return a != 0; });
    case Code::kRealNonzero:
      return Apply(out, Reals(i.a), ua, count, [](A a) { return a != A(0); });
    case Code::kAnd:
      return Apply(out, Truths(i.a), ua, Truths(i.b), ub, count,
                   [](uint8_t a, uint8_t b) { return a != 0 && b != 0; });
    case Code::kOr:
      return Apply(out, Truths(i.a), ua, Truths(i.b), ub, count,
                   [](uint8_t a, uint8_t b) { return a != 0 || b != 0; });
    default:  // kNot
      return Apply(out, Truths(i.a), ua, count, [](uint8_t a) { return a == 0; });
  }
}

// False if an element is read that must be within the operand and is not.
template <typename A, typename S>
bool TapeMachine<A, S>::Read(const Instruction& i) {
  const Operand<S>& operand = operands_[i.value];
  const int count = Count(i);
  const int64_t base = Ints(i.a)[0];
  const int64_t* offsets = Ints(i.b);
  const uint8_t* within = i.c < 0 ? nullptr : Truths(i.c);
  const int by_b = i.uniform & 2 ? 0 : 1, by_c = i.uniform & 4 ? 0 : 1;
  if (within != nullptr && i.required) {
    for (int l = 0; l < count; ++l) {
      if (!within[l * by_c]) return false;
    }
  }
  const auto read = [&](auto* out, const auto* elements, auto otherwise) {
    using T = std::remove_pointer_t<decltype(out)>;
    if (within != nullptr) {
      for (int l = 0; l < count; ++l)
        out[l] = within[l * by_c] ? static_cast<T>(elements[base + offsets[l * by_b]]) : otherwise;
    } else if (by_b == 0) {
      const T value = static_cast<T>(elements[base + offsets[0]]);
      ForLanes(count, [&](int l) { out[l] = value; });
    } else {
      const auto* from = elements + base;
      ForLanes(count, [&](int l) { out[l] = static_cast<T>(from[offsets[l]]); });
    }
  };
  if (i.code == Code::kRead) {
    const auto nothing = static_cast<A>(std::numeric_limits<double>::quiet_NaN());
    if (operand.reals != nullptr) {
      read(Reals(i.out), operand.reals, nothing);
    } else {
      read(Reals(i.out), operand.integers, nothing);
    }
  } else if (operand.integers != nullptr) {
    read(Ints(i.out), operand.integers, int64_t{-1});
  } else {  // truth values
    read(Ints(i.out), operand.reals, int64_t{-1});
  }
  return true;
}

template <typename A, typename S>
void TapeMachine<A, S>::Keep(const Instruction& i) {
  const OpaqueCall& call = tape_.calls[i.value];
  double* to = rows_[i.value].data() + Ints(i.b)[0] * call.row_lanes;
  const int count = std::min(call.row_lanes, Count(i));
  const int by_lane = i.uniform & 1 ? 0 : 1;
  for (int l = 0; l < count; ++l) {
    to[l] = call.int_row ? static_cast<double>(Ints(i.a)[l * by_lane])
                         : static_cast<double>(Reals(i.a)[l * by_lane]);
  }
}

template <typename A, typename S>
void TapeMachine<A, S>::Call(const Instruction& i) {
  const OpaqueCall& call = tape_.calls[i.value];
  std::vector<double> row(call.row_extent), scalars(call.arguments.size());
  for (int l = 0; l < Count(i); ++l) {
    const int row_lane = call.row_lanes == 1 ? 0 : l;
    for (int64_t r = 0; r < call.row_extent; ++r)
      row[r] = rows_[i.value][r * call.row_lanes + row_lane];
    for (size_t k = 0; k < scalars.size(); ++k) {
      const OpaqueCall::Argument& argument = call.arguments[k];
      const int at = argument.uniform ? 0 : l;
      scalars[k] = argument.is_int ? static_cast<double>(Ints(argument.reg)[at])
                                   : static_cast<double>(Reals(argument.reg)[at]);
    }
    const double value = OpaqueValue(call.function, call.int_valued, row, scalars);
    if (call.int_valued) {
      Ints(i.out)[l] = Nearest(value);
    } else {
      Reals(i.out)[l] = static_cast<A>(value);
    }
  }
}

template <typename A, typename S>
void TapeMachine<A, S>::Store(const Instruction& i) {
  const int by_lane = i.uniform & 1 ? 0 : 1;
  for (int l = 0; l < active_; ++l) {
    if (i.code == Code::kStoreInt) {
      const int64_t value = Ints(i.a)[l * by_lane];
      if (int_output_ != nullptr) *int_output_++ = value;
      if (real_output_ != nullptr) *real_output_++ = static_cast<A>(value);
    } else {
      const A value = Reals(i.a)[l * by_lane];
      if (int_output_ != nullptr) *int_output_++ = Nearest(static_cast<double>(value));
      if (real_output_ != nullptr) *real_output_++ = value;
    }
  }
}

template <typename A, typename S>
bool TapeMachine<A, S>::Jumps(const Instruction& i) const {
  const uint8_t* truth = Truths(i.a);
  const int count = i.uniform & 1 ? 1 : active_;
  const bool wanted = i.code == Code::kSkipIfNone;
  for (int l = 0; l < count; ++l) {
    if ((truth[l] != 0) == wanted) return false;
  }
  return true;
}

template <typename A, typename S>
absl::Status TapeMachine<A, S>::Run(const std::vector<Operand<S>>& operands, A* reals,
                                    int64_t* integers) {
  operands_ = operands;
  real_output_ = reals;
  int_output_ = integers;
  const auto end = static_cast<int32_t>(tape_.code.size());
  for (int32_t at = 0; at < end; ++at) {
    const Instruction& i = tape_.code[at];
    switch (i.code) {
      case Code::kLoop:
        Ints(i.out)[0] = 0;
        if (i.value == 0) at = i.b;
        break;
      case Code::kEndLoop:
        if (++Ints(i.out)[0] < i.value) at = i.b;
        break;
      case Code::kStrip:
        if (i.value == 0) {
          at = i.b;
        } else {
          BeginStrip(0, i.value);
        }
        break;
      case Code::kEndStrip:
        if (strip_ + active_ < i.value) {
          BeginStrip(strip_ + active_, i.value);
          at = i.b;
        }
        break;
      case Code::kSkipIfNone:
      case Code::kSkipIfAll:
        if (Jumps(i)) at = i.b - 1;
        break;
      case Code::kRead:
      case Code::kReadInt:
        if (Read(i)) break;
        return absl::InvalidArgumentError(
            absl::StrCat("operator ", tape_.operator_name, " reads its operand ",
                         tape_.input_names[i.value], " outside of the extents"));
      case Code::kKeepReal:
      case Code::kKeepInt:
        Keep(i);
        break;
      case Code::kOpaque:
        Call(i);
        break;
      case Code::kStore:
      case Code::kStoreInt:
        Store(i);
        break;
      default:
        if (i.code <= Code::kIntSelect) {
          RunInt(i);
        } else if (i.code <= Code::kMinStep) {
          RunReal(i);
        } else {
          RunTruth(i);
        }
    }
  }
  return absl::OkStatus();
}

template class TapeMachine<double, double>;
template class TapeMachine<float, float>;
template class TapeMachine<double, float>;
template class TapeMachine<TrackedNumber, TrackedNumber>;

}  // namespace planproof::runtime_check
