// Turns one operator of a plan file into an index function: operands, attributes, literals,
// positions.
#ifndef PLANPROOF_FRONTEND_PLAN_OPERATOR_CALL_H_
#define PLANPROOF_FRONTEND_PLAN_OPERATOR_CALL_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/plan/index_expression.h"
#include "frontend/plan/plan.pb.h"
#include "frontend/plan/rounded_literal.h"
#include "sdfg/graph.h"
#include "sdfg/operator_library.h"

namespace planproof::plan {

// The operator that ends a collective which was only started: its operands are handles.
inline constexpr char kWait[] = "wait";

// Where something stands in the plan file; the prefix of every error.
struct Position {
  std::string file;
  int line = 0;
  std::string pointer;  // "/plan/programs/0/operators/3"
  std::string Text() const;
};

// Where the operator at this place of the specification ("/specification") or of a program
// ("/plan/programs/0") is written: in a loop, if it is of one.
Position PositionOf(const Operator& op, const std::string& file, const std::string& owner,
                    int index);

// "FILE:LINE: POINTER: message" with the code of `status`, or InvalidArgument.
absl::Status At(const Position& position, const absl::Status& status);
absl::Status At(const Position& position, const std::string& message);
// "FILE:LINE: POINTER: BEFORE message AFTER", with the code of `status`.
absl::Status At(const Position& position, const std::string& before, const absl::Status& status,
                const std::string& after = "");

// The number that the text denotes; a decimal of which the specification says that it is rounded is
// the number for which it stands.
absl::StatusOr<solver::Rational> ParseLiteral(const std::string& text,
                                              const RoundedLiterals& rounded);

// Attributes with expressions evaluated by `resolve` (names must mean numbers).
absl::StatusOr<sdfg::Attributes> ResolveAttributes(const Operator& op,
                                                   const RoundedLiterals& rounded,
                                                   const NameResolver& resolve);
// Names that occur in attribute expressions.
std::vector<std::string> NamesInAttributes(const Operator& op);

// The function of `op` on tensors of these shapes (local shapes, one per tensor operand in order).
absl::StatusOr<sdfg::IndexFunction> Instantiate(const sdfg::OperatorLibrary& library,
                                                const Operator& op,
                                                const std::vector<sdfg::Shape>& shapes,
                                                const std::vector<sdfg::DType>& dtypes,
                                                const RoundedLiterals& rounded,
                                                const NameResolver& resolve);

// Source of an operator: what the file says, else its own position in the file.
sdfg::SourceLocation SourceOf(const Operator& op, const Position& position);
// Attributes as text, for reports.
std::vector<std::pair<std::string, std::string>> AttributeTexts(const Operator& op);
// The attributes say that the result is written over the first operand ("inplace").
bool ComputesInPlace(const Operator& op);
// The name under which other operators refer to this one.
std::string NameOf(const Operator& op);

// Every extent is a number of indices within sdfg::kMaxExtent; the message names the shape
// otherwise.
absl::Status CheckExtents(const sdfg::Shape& shape);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_OPERATOR_CALL_H_
