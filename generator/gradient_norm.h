// Emits the global norm of the gradients, as torch.nn.utils.clip_grad_norm_ takes it: a sum of
// squares per layer, then over the layers in pairs, pairs of pairs, and so on. Every layer's sum is
// whole on every rank of its stage before layers are added up, so that a layer's part of the norm
// is checked beside the layer, alike for all of them; a pair whose layers a stage holds is checked
// there, alike for all pairs.
#ifndef PLANPROOF_GENERATOR_GRADIENT_NORM_H_
#define PLANPROOF_GENERATOR_GRADIENT_NORM_H_

#include <map>
#include <string>

#include "generator/emitter.h"

namespace planproof::generator {

// The norm's square, a scalar that every stage holds.
inline constexpr char kSquaredNorm[] = "grad_norm.squared";

// Appends the operators that compute it. `gradients` has every parameter's gradient, reduced over
// batch and ranks, as its optimizer states lie.
void WriteSquaredNorm(const std::map<Value, Value>& gradients, Emitter* emitter);

// Declarations of the operators that sum many tensors, which the logical graph uses.
std::string SumDeclarations(const Trace& trace);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_GRADIENT_NORM_H_
