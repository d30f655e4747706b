// Names element types and devices as frameworks print them.
//
// Both are closed: a text that names neither is an error. Taking an element type that is not known
// for a device would make a conversion, which may truncate or wrap around, the identity.
#ifndef PLANPROOF_SDFG_ELEMENT_TYPE_H_
#define PLANPROOF_SDFG_ELEMENT_TYPE_H_

#include <string>

#include "absl/status/statusor.h"
#include "sdfg/types.h"

namespace planproof::sdfg {

// "int8", "torch.int8", "<class 'torch.int8'>", PyTorch's other names ("long", "half"), and
// Python's types as PyTorch reads them ("builtins.float" is float64). Unimplemented for a type that
// PyTorch has and that nothing here computes with (torch.uint16, torch.quint8), InvalidArgument,
// with the nearest name, for a text that is no type, or none of `what` is expected.
absl::StatusOr<DType> ElementTypeFromText(const std::string& text,
                                          const std::string& what = "element type");

// "cuda", "cuda:3", "cpu", "meta", ...: a kind of device that PyTorch has, maybe with an index.
bool IsDeviceText(const std::string& text);

// Bits of an integer type, the sign among them; 0 of other types.
int IntegerBits(DType type);
// Bits of the significand of a floating type, the leading one among them; 0 of other types.
int SignificandBits(DType type);

// Whether every number of one type is a number of the other, which is said of known types only. Ids
// and counts fit into 32 bits.
bool HoldsAllNumbersOf(DType to, DType from);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_ELEMENT_TYPE_H_
