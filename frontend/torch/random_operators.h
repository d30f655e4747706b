// Recognizes operators that draw random numbers.
#ifndef PLANPROOF_FRONTEND_TORCH_RANDOM_OPERATORS_H_
#define PLANPROOF_FRONTEND_TORCH_RANDOM_OPERATORS_H_

#include <string>

namespace planproof::frontend::torch {

// "aten.bernoulli" of "aten.bernoulli_.float": whether it draws random numbers, which differ from
// one process to the next.
bool DrawsRandomNumbers(const std::string& base);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_RANDOM_OPERATORS_H_
