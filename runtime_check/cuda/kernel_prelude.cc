#include "runtime_check/cuda/kernel_prelude.h"

namespace planproof::runtime_check::cuda {

// Without fused multiply-adds (--fmad=false, -ffp-contract=off) it computes what TapeMachine does,
// bit for bit, but for the functions of the mathematical library.
const char* KernelPrelude() {
  return R"cuda(
#ifdef __CUDACC__
#define PLANPROOF_KERNEL extern "C" __global__ void
#define PLANPROOF_FUNCTION static __device__ __forceinline__
#define PLANPROOF_MEMBER __device__ __forceinline__
#define PLANPROOF_FIRST ((long long)blockIdx.x * blockDim.x + threadIdx.x)
#define PLANPROOF_STEP ((long long)gridDim.x * blockDim.x)
#define PLANPROOF_FIRST_INSTANCE ((long long)blockIdx.y)
#define PLANPROOF_STEP_INSTANCE ((long long)gridDim.y)
#else
#include <cmath>
#define PLANPROOF_KERNEL extern "C" void
#define PLANPROOF_FUNCTION static inline
#define PLANPROOF_MEMBER
// The thread that runs, set by the caller: its place in a row of the grid, threads in a row, its
// row, and rows.
extern "C" { long long planproof_thread[4] = {0, 1, 0, 1}; }
#define PLANPROOF_FIRST planproof_thread[0]
#define PLANPROOF_STEP planproof_thread[1]
#define PLANPROOF_FIRST_INSTANCE planproof_thread[2]
#define PLANPROOF_STEP_INSTANCE planproof_thread[3]
#endif
#define PLANPROOF_THREADS (PLANPROOF_STEP * PLANPROOF_STEP_INSTANCE)
#define PLANPROOF_THREAD (PLANPROOF_FIRST_INSTANCE * PLANPROOF_STEP + PLANPROOF_FIRST)

struct Arguments {
  const void* const* operands;
  void* output;
  void* reals;
  long long* ints;
  double* rows;
  int* failed;
  long long instances;
  long long elements;
  unsigned* largest_bits;
  int precision, least_exponent;
  float largest;
  int has_infinity, scaled;
};

#ifdef __CUDACC__
PLANPROOF_FUNCTION unsigned BitsOf(float x) { return __float_as_uint(x); }
PLANPROOF_FUNCTION float FloatOf(unsigned x) { return __uint_as_float(x); }
PLANPROOF_FUNCTION unsigned long long BitsOf(double x) { return __double_as_longlong(x); }
PLANPROOF_FUNCTION double DoubleOf(unsigned long long x) { return __longlong_as_double(x); }
PLANPROOF_FUNCTION float Exp(float x) { return expf(x); }
PLANPROOF_FUNCTION float Log(float x) { return logf(x); }
PLANPROOF_FUNCTION float Erf(float x) { return erff(x); }
PLANPROOF_FUNCTION float Sin(float x) { return sinf(x); }
PLANPROOF_FUNCTION float Cos(float x) { return cosf(x); }
PLANPROOF_FUNCTION float Sqrt(float x) { return sqrtf(x); }
PLANPROOF_FUNCTION float PowerOf(float x, float y) { return powf(x, y); }
PLANPROOF_FUNCTION double Exp(double x) { return exp(x); }
PLANPROOF_FUNCTION double Log(double x) { return log(x); }
PLANPROOF_FUNCTION double Erf(double x) { return erf(x); }
PLANPROOF_FUNCTION double Sin(double x) { return sin(x); }
PLANPROOF_FUNCTION double Cos(double x) { return cos(x); }
PLANPROOF_FUNCTION double Sqrt(double x) { return sqrt(x); }
PLANPROOF_FUNCTION double PowerOf(double x, double y) { return pow(x, y); }
PLANPROOF_FUNCTION long long HalfAway(double x) { return llround(x); }
PLANPROOF_FUNCTION double Truncated(double x) { return trunc(x); }
PLANPROOF_FUNCTION double Floored(double x) { return floor(x); }
PLANPROOF_FUNCTION double RoundedToEven(double x) { return rint(x); }
#else
template <typename T, typename F>
PLANPROOF_FUNCTION T SameBits(F x) {
  static_assert(sizeof(T) == sizeof(F), "");
  T result;
  __builtin_memcpy(&result, &x, sizeof(T));
  return result;
}
PLANPROOF_FUNCTION unsigned BitsOf(float x) { return SameBits<unsigned>(x); }
PLANPROOF_FUNCTION float FloatOf(unsigned x) { return SameBits<float>(x); }
PLANPROOF_FUNCTION unsigned long long BitsOf(double x) { return SameBits<unsigned long long>(x); }
PLANPROOF_FUNCTION double DoubleOf(unsigned long long x) { return SameBits<double>(x); }
template <typename A> PLANPROOF_FUNCTION A Exp(A x) { return std::exp(x); }
template <typename A> PLANPROOF_FUNCTION A Log(A x) { return std::log(x); }
template <typename A> PLANPROOF_FUNCTION A Erf(A x) { return std::erf(x); }
template <typename A> PLANPROOF_FUNCTION A Sin(A x) { return std::sin(x); }
template <typename A> PLANPROOF_FUNCTION A Cos(A x) { return std::cos(x); }
template <typename A> PLANPROOF_FUNCTION A Sqrt(A x) { return std::sqrt(x); }
template <typename A> PLANPROOF_FUNCTION A PowerOf(A x, A y) { return std::pow(x, y); }
PLANPROOF_FUNCTION long long HalfAway(double x) { return std::llround(x); }
PLANPROOF_FUNCTION double Truncated(double x) { return std::trunc(x); }
PLANPROOF_FUNCTION double Floored(double x) { return std::floor(x); }
PLANPROOF_FUNCTION double RoundedToEven(double x) { return std::nearbyint(x); }
#endif

template <typename A> PLANPROOF_FUNCTION bool IsNan(A x) { return x != x; }
template <typename A> PLANPROOF_FUNCTION bool IsFinite(A x) { return x - x == 0; }
PLANPROOF_FUNCTION float Magnitude(float x) { return FloatOf(BitsOf(x) & 0x7fffffffu); }
PLANPROOF_FUNCTION double Magnitude(double x) {
  return DoubleOf(BitsOf(x) & 0x7fffffffffffffffull);
}
#define PLANPROOF_NAN DoubleOf(0x7ff8000000000000ull)
#define PLANPROOF_INFINITY DoubleOf(0x7ff0000000000000ull)

PLANPROOF_FUNCTION long long Sum(long long a, long long b) {
  return (long long)((unsigned long long)a + (unsigned long long)b);
}
PLANPROOF_FUNCTION long long Product(long long a, long long b) {
  return (long long)((unsigned long long)a * (unsigned long long)b);
}
PLANPROOF_FUNCTION long long FloorDiv(long long a, long long b) {
  const long long quotient = a / b;
  return quotient - (a % b < 0 ? 1 : 0);
}
PLANPROOF_FUNCTION long long Nearest(double x) {
  return Magnitude(x) < 4611686018427387904.0 ? HalfAway(x) : -1;
}
template <typename A> PLANPROOF_FUNCTION A Larger(A a, A b) { return b > a || IsNan(b) ? b : a; }
template <typename A> PLANPROOF_FUNCTION A Smaller(A a, A b) { return b < a || IsNan(b) ? b : a; }
template <typename A> PLANPROOF_FUNCTION A Power(A base, double exponent) {
  if (exponent == 2) return base * base;
  if (exponent == -1) return 1 / base;
  if (exponent == 0.5) return Sqrt(base);
  if (exponent == -0.5) return 1 / Sqrt(base);
  return PowerOf(base, (A)exponent);
}
// Adds a block to a sum, with compensation, and empties it.
template <typename A> PLANPROOF_FUNCTION void AddBlock(A& sum, A& block, A& lost) {
  const A term = block - lost;
  const A next = sum + term;
  const A rounded = (next - sum) - term;
  lost = IsFinite(rounded) ? rounded : (A)0;
  sum = next;
  block = 0;
}

// The row of an opaque function, in memory that all threads share.
struct Row {
  double* at;
  long long step, size;
  PLANPROOF_MEMBER double operator[](long long i) const { return at[i * step]; }
};
// What is not a number is no better than anything.
PLANPROOF_FUNCTION double Score(const Row& row, long long i) {
  const double value = row[i];
  return IsNan(value) ? -PLANPROOF_INFINITY : value;
}
// Whether the first comes before the second: by score, ties to the smaller number.
PLANPROOF_FUNCTION bool Before(double score, long long item, double than, long long other) {
  return score > than || (score == than && item < other);
}
PLANPROOF_FUNCTION double GroupScore(const Row& row, long long first, long long size, bool two) {
  double best = -PLANPROOF_INFINITY, second = -PLANPROOF_INFINITY;
  for (long long i = first; i < first + size; ++i) {
    const double score = Score(row, i);
    if (score > best) {
      second = best;
      best = score;
    } else if (score > second) {
      second = score;
    }
  }
  const double sum = two && size > 1 ? best + second : best;
  return IsNan(sum) ? -PLANPROOF_INFINITY : sum;
}
PLANPROOF_FUNCTION bool GroupIsKept(const Row& row, long long group, long long groups,
                                    long long kept, bool two) {
  const long long size = row.size / groups;
  const double score = GroupScore(row, group * size, size, two);
  long long before = 0;
  for (long long g = 0; g < groups; ++g)
    before += Before(GroupScore(row, g * size, size, two), g, score, group);
  return before < kept;
}
// The item at this place among the k best, or -1.
PLANPROOF_FUNCTION long long Chosen(const Row& row, double place, long long k, long long groups,
                                    long long kept, bool two) {
  const bool grouped = groups > 1 && kept < groups && row.size % groups == 0;
  const long long size = grouped ? row.size / groups : row.size;
  if (!(place >= 0 && place < (double)k)) return -1;
  long long last = -1;
  double last_score = 0;
  for (long long rank = 0; rank <= (long long)place; ++rank) {
    long long best = -1;
    double best_score = 0;
    for (long long i = 0; i < row.size; ++i) {
      const double score = Score(row, i);
      if (last >= 0 && !Before(last_score, last, score, i)) continue;
      if (best >= 0 && !Before(score, i, best_score, best)) continue;
      if (grouped && !GroupIsKept(row, i / size, groups, kept, two)) continue;
      best = i;
      best_score = score;
    }
    if (best < 0) return -1;
    last = best;
    last_score = best_score;
  }
  return last;
}
// A function without a meaning: smooth in its arguments, which are taken in their order.
struct Smooth {
  unsigned long long seed;
  double phase;
  PLANPROOF_MEMBER void Take(double value) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    phase += value * (0.5 + (double)(seed >> 11) * 1.1102230246251565e-16);
  }
};
)cuda";
}

const char* RoundingKernels() {
  return R"cuda(
PLANPROOF_FUNCTION float PowerOfTwo(int exponent) {
  return FloatOf((unsigned)(exponent + 127) << 23);
}
PLANPROOF_FUNCTION float Round(const Arguments& g, float value) {
  if (IsNan(value)) return value;
  const float sign = (BitsOf(value) >> 31) != 0 ? -1.0f : 1.0f;
  if (!IsFinite(value)) return g.has_infinity ? value : FloatOf(0x7fc00000u);
  if (g.least_exponent == -126) {
    const unsigned bits = BitsOf(value);
    return FloatOf((bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u);
  }
  const int exponent = (int)(BitsOf(value) >> 23 & 0xff) - 127;
  const int last =
      (exponent > g.least_exponent ? exponent : g.least_exponent) - g.precision + 1;
  float rounded = value;
  if (exponent < 32) {
    const float shift = 1.5f * PowerOfTwo(23 + last);
    const float shifted = value + shift;
    rounded = sign * Magnitude(shifted - shift);
  }
  if (Magnitude(rounded) <= g.largest) return rounded;
  return sign * FloatOf(g.has_infinity ? 0x7f800000u : 0x7fc00000u);
}
PLANPROOF_FUNCTION int ExponentOf(double value) {
  return (int)(BitsOf(value) >> 52 & 0x7ff) - 1023;
}
PLANPROOF_FUNCTION float ScaleOf(const Arguments& g, float magnitude) {
  if (magnitude == 0) return 1;
  int exponent = ExponentOf((double)g.largest) - ExponentOf((double)magnitude);
  const double scaled =
      (double)magnitude * DoubleOf((unsigned long long)(exponent + 1023) << 52);
  if (scaled > (double)g.largest) --exponent;
  return PowerOfTwo(exponent < -126 ? -126 : exponent > 127 ? 127 : exponent);
}
PLANPROOF_KERNEL planproof_magnitude(Arguments g) {
  for (long long instance = PLANPROOF_FIRST_INSTANCE; instance < g.instances;
       instance += PLANPROOF_STEP_INSTANCE) {
    const float* values = (const float*)g.output + instance * g.elements;
    float magnitude = 0;
    for (long long p = PLANPROOF_FIRST; p < g.elements; p += PLANPROOF_STEP) {
      if (IsFinite(values[p]) && Magnitude(values[p]) > magnitude) magnitude = Magnitude(values[p]);
    }
    // Of numbers that are not negative the bits have the same order.
#ifdef __CUDACC__
    if (magnitude > 0) atomicMax(g.largest_bits + instance, BitsOf(magnitude));
#else
    if (BitsOf(magnitude) > g.largest_bits[instance]) g.largest_bits[instance] = BitsOf(magnitude);
#endif
  }
}
PLANPROOF_KERNEL planproof_round(Arguments g) {
  for (long long instance = PLANPROOF_FIRST_INSTANCE; instance < g.instances;
       instance += PLANPROOF_STEP_INSTANCE) {
    float* values = (float*)g.output + instance * g.elements;
    const float scale = g.scaled ? ScaleOf(g, FloatOf(g.largest_bits[instance])) : 1;
    for (long long p = PLANPROOF_FIRST; p < g.elements; p += PLANPROOF_STEP) {
      if (IsFinite(values[p])) values[p] = Round(g, values[p] * scale) / scale;
    }
  }
}
)cuda";
}

}  // namespace planproof::runtime_check::cuda
