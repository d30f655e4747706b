// Parameters that several pipeline stages hold, such as an embedding that is also the output layer:
// each stage's backward pass gives a part of the gradient, and the stages add their parts up before
// the gradient is reduced over the other axes (DeepSpeed, runtime/pipe/engine.py, tied modules;
// Megatron-LM, core/distributed/finalize_model_grads.py, does it afterwards).
#ifndef PLANPROOF_GENERATOR_TIED_H_
#define PLANPROOF_GENERATOR_TIED_H_

#include <map>

#include "generator/backward.h"
#include "generator/trace.h"

namespace planproof::generator {

// To be called before the backward pass is written: gives the stages' parts names of their own, and
// marks all stages' copies but the first, which count in the gradient's norm.
void MarkTiedParameters(Trace* trace);

// Appends the sums over stages. Replaces the marked parameters' entries in `gradients`.
void ReduceTiedGradients(Trace* trace, std::map<Value, LocalGradient>* gradients);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_TIED_H_
