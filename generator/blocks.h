// Parts that several models share.
#ifndef PLANPROOF_GENERATOR_BLOCKS_H_
#define PLANPROOF_GENERATOR_BLOCKS_H_

#include <string>
#include <vector>

#include "generator/emitter.h"
#include "generator/model_config.h"

namespace planproof::generator {

// x divided by its root mean square over the last dimension, times the weight NAME.weight.
Value RmsNorm(const ModelConfig& model, const std::string& name, Value x, Emitter* emitter);

// x shifted and scaled to mean 0 and variance 1 over the last dimension, times NAME.weight, plus
// NAME.bias.
Value LayerNorm(const ModelConfig& model, const std::string& name, Value x, Emitter* emitter);

// NAME = x w^T with the weight NAME.weight of shape [out, last dimension of x]; with `bias` plus
// NAME.bias of shape [out].
Value Linear(const std::string& name, Value x, const Dim& out, Emitter* emitter, bool bias = false);

// The product that ends a tensor-parallel region: x is cut along the contraction. The weight is
// WEIGHT.weight, of shape [last of `outside`, last of x]. With `bias` WEIGHT.bias is added once,
// after the sum over tp.
Value LinearOut(const std::string& name, const std::string& weight, Value x, const Dims& outside,
                Emitter* emitter, bool bias = false);

// The elements of x in row-major order with other dimensions.
Value View(const std::string& name, Value x, const Dims& dims, Emitter* emitter);

Value Einsum(const std::string& equation, const std::vector<Argument>& in, const Out& out,
             Emitter* emitter);

// (cos, sin) of every position and pair of a head, [sequence, head size / 2, 2].
Value RotaryTurns(const ModelConfig& model, int64_t head_size, Emitter* emitter);

// NAME = (silu(x gate^T) * (x up^T)) down^T, whose tensors begin with `prefix`; x is that of a
// tensor-parallel region, the result lies as `outside`.
Value SwiGlu(const std::string& prefix, const std::string& name, Value x, int64_t width,
             const Dims& outside, Emitter* emitter);

// Rows of the table NAME.weight [vocabulary, hidden] for the token ids, whose vocabulary is cut
// over tp. The result lies as between tensor-parallel regions.
Value TokenEmbedding(const ModelConfig& model, const std::string& name, Value ids,
                     Emitter* emitter);

// The mean of the cross entropy over the tokens that `mask` keeps: logits NAME of x with the weight
// WEIGHT.weight [vocabulary, hidden], the vocabulary cut over tp. Gives this rank's and
// microbatch's term of the loss; the reduced tensor is named "loss".
Value LanguageModelLoss(const ModelConfig& model, const std::string& name,
                        const std::string& weight, Value x, int64_t sequences, Emitter* emitter);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_BLOCKS_H_
