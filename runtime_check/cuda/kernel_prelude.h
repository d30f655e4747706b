// Holds the part of every kernel that does not depend on the operator: what an instruction of a
// tape does to one element, opaque functions, rounding.
//
// One text for two compilers. NVRTC and nvcc make kernels of it, in which each thread takes
// elements in turn; a C++ compiler makes functions of it that take all elements one after the
// other, so that everything except the launch runs in tests without a GPU. It includes nothing on a
// device, where NVRTC finds no headers.
#ifndef PLANPROOF_RUNTIME_CHECK_CUDA_KERNEL_PRELUDE_H_
#define PLANPROOF_RUNTIME_CHECK_CUDA_KERNEL_PRELUDE_H_

#include <cstdint>

namespace planproof::runtime_check::cuda {

// What every kernel gets; the text declares the same.
struct KernelArguments {
  const void* const* operands = nullptr;  // first elements, by instance, then operand
  void* output = nullptr;
  void* reals = nullptr;  // between passes, of the type of arithmetic
  long long* ints = nullptr;
  double* rows = nullptr;  // of opaque functions, for each thread
  int* failed = nullptr;   // 1 + number of an operand that was read outside of its extents
  long long instances = 1;
  // Of rounding: elements of an instance, and the format (rounding.h).
  long long elements = 0;
  unsigned* largest_bits = nullptr;  // of each instance's largest finite magnitude
  int precision = 0, least_exponent = 0;
  float largest = 0;
  int has_infinity = 0, scaled = 0;
};

// To be followed by kernels.
const char* KernelPrelude();

// Kernels that round: kMagnitudeKernel finds the largest magnitudes, where the format is scaled;
// kRoundKernel rounds the output's elements.
const char* RoundingKernels();
inline constexpr char kMagnitudeKernel[] = "planproof_magnitude";
inline constexpr char kRoundKernel[] = "planproof_round";

}  // namespace planproof::runtime_check::cuda

#endif  // PLANPROOF_RUNTIME_CHECK_CUDA_KERNEL_PRELUDE_H_
