// Reads the bits of a number as a number of another element type of the same width.
#ifndef PLANPROOF_SDFG_REINTERPRETED_BITS_H_
#define PLANPROOF_SDFG_REINTERPRETED_BITS_H_

#include <optional>
#include <string>

#include "sdfg/types.h"

namespace planproof::sdfg {

// Bits written in the format of type `of`, read in that of `as`: floating point after IEEE 754
// (bfloat16: the upper half of float32), integers in two's complement.
struct Reinterpretation {
  DType of = DType::kUnknown;
  DType as = DType::kUnknown;
};

// Returns whether it has a meaning here: its types have one width, of 16 or 32 bits.
bool HasMeaning(const Reinterpretation& reinterpretation);

// Return the name of the opaque function, "bits(of=bfloat16,as=float16)", and what a name means;
// nothing for other names.
std::string FunctionName(const Reinterpretation& reinterpretation);
std::optional<Reinterpretation> ReinterpretationOf(const std::string& function);

// Returns what is read where `number` was written; nothing where the type `of` has no such number,
// or what is read is none (an infinity, a NaN). A zero is written without sign.
std::optional<double> Reinterpreted(const Reinterpretation& reinterpretation, double number);

// Returns `number` as the type holds it: rounded to the nearest, of two to the even one; nothing
// where it is beyond the type. Of the types that have a meaning here.
std::optional<double> RoundedTo(DType type, double number);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_REINTERPRETED_BITS_H_
