// Recognizes numbers of a program that stand for roots, quotients and decimals.
//
// A gradient's norm over shards of which each rank has the same is divided by the root of their
// number, which Python has only as the nearest double. Read exactly, 1.4142135623730951, the square
// of it is not 2, and what the program computes is not what the model says, by one part in 10^16.
// So it is with the third of a sum over three ranks, 0.3333333333333333, with 2 / 7 in the
// derivative of a variance, with the exponent -0.8, and with 0.1 in a tensor of single precision,
// which the model may have as a number of Python.
#ifndef PLANPROOF_FRONTEND_TORCH_ROUNDED_NUMBER_H_
#define PLANPROOF_FRONTEND_TORCH_ROUNDED_NUMBER_H_

#include <cstdint>
#include <optional>

#include "solver/rational.h"

namespace planproof::frontend::torch {

// The whole number, below 2^20 and no square, to whose root the literal is the nearest double.
std::optional<int64_t> RadicandOf(const solver::Rational& literal);

// The quotient of whole numbers, at most 2^10 and 2^20, to which the literal is the nearest double.
// None if the quotient has finitely many decimals: 0.001 may be meant as it is read.
std::optional<solver::Rational> QuotientOf(const solver::Rational& literal);

// The decimal with at most six digits, a fraction, to which the literal is the nearest double. None
// if it is the literal.
std::optional<solver::Rational> DecimalOf(const solver::Rational& literal);

// The same less 1, which is what autograd makes of an exponent: 0.7 - 1 is -0.30000000000000004 in
// doubles, and stands for -0.3.
std::optional<solver::Rational> DecimalLessOneOf(const solver::Rational& literal);

// The double that Python has of a decimal with at most six digits, to which this number is the
// nearest in single precision. None if that double is the number.
std::optional<double> DecimalOfFloat32(const solver::Rational& value);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ROUNDED_NUMBER_H_
