// Emits the backward pass of what an emitter wrote: the forward steps in reverse, each operator's
// derivative and each collective's adjoint, sums where a tensor has several consumers.
#ifndef PLANPROOF_GENERATOR_BACKWARD_H_
#define PLANPROOF_GENERATOR_BACKWARD_H_

#include <map>
#include <string>

#include "generator/trace.h"

namespace planproof::generator {

// What a stage holds of a parameter's gradient when its backward pass has run.
struct LocalGradient {
  std::string name;  // of the tensor
  Axes partial;      // the gradient is the sum of these tensors over these axes
};

// Appends the backward pass of `loss` to the programs; reads its seed, the ones `grad.LOSS_NAME`.
// Gives the local gradient of each parameter in trace->parameters.
std::map<Value, LocalGradient> WriteBackward(Trace* trace, Value loss,
                                             const std::string& loss_name);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_BACKWARD_H_
