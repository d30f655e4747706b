#include "frontend/torch/random_operators.h"

#include <set>
#include <string_view>

namespace planproof::frontend::torch {

bool DrawsRandomNumbers(const std::string& base) {
  static const auto* const names = new std::set<std::string, std::less<>>{"bernoulli",
                                                                          "binomial",
                                                                          "cauchy",
                                                                          "_dropout",
                                                                          "dropout",
                                                                          "exponential",
                                                                          "feature_dropout",
                                                                          "_fused_dropout",
                                                                          "geometric",
                                                                          "log_normal",
                                                                          "multinomial",
                                                                          "native_dropout",
                                                                          "normal",
                                                                          "normal_functional",
                                                                          "poisson",
                                                                          "rand",
                                                                          "rand_like",
                                                                          "randint",
                                                                          "randint_like",
                                                                          "randn",
                                                                          "randn_like",
                                                                          "random",
                                                                          "randperm",
                                                                          "rrelu_with_noise",
                                                                          "_sample_dirichlet",
                                                                          "_standard_gamma",
                                                                          "uniform",
                                                                          "alpha_dropout"};
  constexpr std::string_view prefix = "aten.";
  const std::string_view text = base;
  return text.substr(0, prefix.size()) == prefix &&
         names->find(text.substr(prefix.size())) != names->end();
}

}  // namespace planproof::frontend::torch
