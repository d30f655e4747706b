// Computes functions that proofs leave uninterpreted, for evaluators in floating point.
#ifndef PLANPROOF_SDFG_REAL_FUNCTIONS_H_
#define PLANPROOF_SDFG_REAL_FUNCTIONS_H_

#include <optional>
#include <string>
#include <vector>

namespace planproof::sdfg {

// The value of the opaque function of this name, such as "floor" or "round(decimals=2)"; nothing if
// no value is known of it.
std::optional<double> RealFunctionValue(const std::string& name,
                                        const std::vector<double>& arguments);

// The call of numpy that gives it, without arguments: "np.floor("; empty if there is none.
std::string NumpyCallOf(const std::string& name);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_REAL_FUNCTIONS_H_
