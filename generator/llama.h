// Emits Llama 3's forward pass (Dubey et al., arXiv 2407.21783; meta-llama/llama3, llama/model.py):
// RMS normalization before each block, rotary positions, grouped-query attention, SwiGLU. Qwen2
// (Yang et al., arXiv 2407.10671, section 2.2) differs by biases on queries, keys and values.
#ifndef PLANPROOF_GENERATOR_LLAMA_H_
#define PLANPROOF_GENERATOR_LLAMA_H_

#include <cstdint>
#include <string>

#include "generator/emitter.h"
#include "generator/model_config.h"

namespace planproof::generator {

// x + attention(norm(x)) of one layer, whose tensors begin with `prefix`. x is [batch, sequence,
// hidden], as the result, cut as between tensor-parallel regions.
Value LlamaAttention(const ModelConfig& model, const std::string& prefix, Value x,
                     Emitter* emitter);
// x + feed_forward(norm(x)).
Value LlamaFeedForward(const ModelConfig& model, const std::string& prefix, Value x,
                       Emitter* emitter);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_LLAMA_H_
