// Emits DeepSeek-V3's layers (DeepSeek-AI, arXiv 2412.19437, section 2.1; inference/model.py):
// multi-head latent attention, and a mixture of shared and routed experts.
#ifndef PLANPROOF_GENERATOR_DEEPSEEK_H_
#define PLANPROOF_GENERATOR_DEEPSEEK_H_

#include <string>

#include "generator/emitter.h"
#include "generator/model_config.h"

namespace planproof::generator {

// x + attention(norm(x)) of one layer, whose tensors begin with `prefix`. Queries, keys and values
// go through low-rank products that every rank of tp computes; heads are cut over tp. One rotary
// key serves all heads.
Value LatentAttention(const ModelConfig& model, const std::string& prefix, Value x,
                      Emitter* emitter);

// x + routed experts + shared experts of norm(x). The routed experts are cut over tp: each rank
// computes the tokens of its own experts, and the results are summed. No token is dropped.
Value ExpertsFeedForward(const ModelConfig& model, const std::string& prefix, Value x,
                         Emitter* emitter);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_DEEPSEEK_H_
