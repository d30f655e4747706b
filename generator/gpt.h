// Emits GPT-3's forward pass (Brown et al., arXiv 2005.14165; openai/gpt-2, src/model.py): learned
// positions, layer normalization before each block, biases everywhere, multi-head attention, GELU
// in its tanh form. Queries, keys and values have weights of their own, which GPT-2 keeps as thirds
// of one tensor. Dropout is left out.
#ifndef PLANPROOF_GENERATOR_GPT_H_
#define PLANPROOF_GENERATOR_GPT_H_

#include <string>

#include "generator/emitter.h"
#include "generator/model_config.h"

namespace planproof::generator {

// x plus the rows of positions.weight [sequence, hidden] for the numbers in the input
// `position_ids`, of which each rank reads those of the tokens that it holds.
Value AddPositions(const ModelConfig& model, Value x, Emitter* emitter);

// x + attention(norm(x)) of one layer, whose tensors begin with `prefix`. x is [batch, sequence,
// hidden], as the result, cut as between tensor-parallel regions.
Value GptAttention(const ModelConfig& model, const std::string& prefix, Value x, Emitter* emitter);
// x + feed_forward(norm(x)).
Value GptFeedForward(const ModelConfig& model, const std::string& prefix, Value x,
                     Emitter* emitter);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_GPT_H_
