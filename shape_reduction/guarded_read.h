// Recognizes reads that the condition under which a tensor was masked guards.
//
// A mask keeps x where a condition holds and is -inf elsewhere; its derivative reads a gradient
// where the same condition holds. A block that the condition cuts encloses both, so that whoever
// reads the masked tensor under that condition again meets -inf there, which it reads nowhere. It
// may read x itself: where it reads, the elements are the same.
#ifndef PLANPROOF_SHAPE_REDUCTION_GUARDED_READ_H_
#define PLANPROOF_SHAPE_REDUCTION_GUARDED_READ_H_

#include <vector>

#include "sdfg/graph.h"
#include "shape_reduction/scalar_program.h"

namespace planproof::shape_reduction {

// Of the producer, which selects by conditions, nested or not, between one of its inputs, index by
// index, and something else: that input; -1 if it is something else.
int KeptInput(const ScalarProgram& producer);

// Whether the reader reads its input number `input`, which the producer made, only where the
// producer selected its KeptInput, element by element. Conditions are compared as they are written;
// they may read tensors. Both lists are the operators' inputs.
bool IsGuardedAlike(const ScalarProgram& reader, const std::vector<sdfg::TensorId>& reader_inputs,
                    int input, const ScalarProgram& producer,
                    const std::vector<sdfg::TensorId>& producer_inputs);

// The producer with one more input, from which it takes what it selects of its KeptInput; all other
// reads stay.
ScalarProgram WithKeptInput(const ScalarProgram& producer);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_GUARDED_READ_H_
