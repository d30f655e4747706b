// Says what a recorded program's files hold beside the problem that they pose: which of the
// recorded numbers are whose. The numbers themselves are read by who compares them (anchor/).
//
// A program, the reference or a rank, was recorded with the bytes of its storages before the step
// and of its results after it. The reader knows which tensors of the two graphs these are: inputs
// and constants at the start, results at the end, and what operators made in between.
#ifndef PLANPROOF_FRONTEND_RECORDING_H_
#define PLANPROOF_FRONTEND_RECORDING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lineage/lineage.h"
#include "sdfg/graph.h"
#include "sdfg/types.h"

namespace planproof::frontend {

struct RecordedStorage {
  sdfg::DType dtype = sdfg::DType::kUnknown;  // real: of complex elements that of their parts
  int64_t size = 0;                           // elements of that type
};

// Elements at `offset + sum i[k] strides[k]` of a storage; a complex tensor has a last dimension
// of 2.
struct RecordedView {
  int32_t storage = 0;
  sdfg::DType dtype = sdfg::DType::kUnknown;
  int64_t offset = 0;
  sdfg::Shape shape;
  std::vector<int64_t> strides;
};

enum class RecordedRole : uint8_t { kParameter, kBuffer, kInput, kState };

// What holds a value before the step and has a name.
struct RecordedInput {
  RecordedRole role = RecordedRole::kInput;
  std::string name;
  RecordedView view;
  sdfg::TensorId tensor = sdfg::kNone;  // of the program's graph
  bool named_by_reader = false;         // the trace has it without a name
};

// What the step is for. The recorded bytes are its elements, contiguous.
struct RecordedResult {
  enum class Kind : uint8_t { kUpdated, kGradient, kOutput } kind = Kind::kOutput;
  std::string name;
  std::string what;  // "new value of up.weight", for people
  sdfg::DType dtype = sdfg::DType::kUnknown;
  sdfg::Shape shape;
  sdfg::TensorId tensor = sdfg::kNone;  // of the program's graph, at the end
  bool has_values = true;  // false: the reader named it, and nothing was recorded of it
};

// A tensor of the graph that nothing computes and that has no name: some elements of a storage from
// `begin` on, as a tensor of one dimension, or all of them the one number `uniform`.
struct RecordedConstant {
  sdfg::TensorId tensor = sdfg::kNone;
  int32_t storage = 0;
  int64_t begin = 0;
  std::optional<double> uniform;
};

// What an operator made, if the graph has it as one tensor in the shape of the result.
struct RecordedOperatorResult {
  int32_t position = 0;  // of the operator in the trace
  int32_t number = 0;    // among the tensors that it gave
  sdfg::TensorId tensor = sdfg::kNone;
};

// A number that left a tensor: the value of a tensor of the graph that has one element.
struct RecordedItem {
  sdfg::TensorId tensor = sdfg::kNone;
  double value = 0;
  std::string place;  // "aten._local_scalar_dense.default, at train.py:12"
};

// A program called a function of Python's with numbers that had left tensors. The graph has a
// tensor without dimensions for its result, and says only that equal operands give equal numbers.
struct RecordedCall {
  sdfg::TensorId tensor = sdfg::kNone;
  std::string function;          // "floor", "numpy.sqrt"
  std::vector<double> operands;  // in the recording; empty: one of them is not known
  std::optional<double> value;   // that was recorded; none: it is within another expression
  // The function gives this of the recorded numbers; none: it has no meaning here. If it is not
  // `exact`, libraries of mathematical functions differ by a last bit.
  std::optional<double> meant;
  bool exact = true;
  std::string place;  // of the operator that gets it
};

struct RecordedOperator {
  std::string name;    // "aten.mul.Tensor"
  std::string source;  // "train.py:12: loss = model(x).sum()"
};

struct RecordedProgram {
  std::string path;           // of its trace
  std::string values_path;    // of its file of values, which need not be there
  int32_t rank = -1;          // -1: the reference
  bool given = true;          // false: its trace was made of those of other ranks
  int32_t version = 1;        // of the trace's format
  std::string values_digest;  // SHA-256 of its file of values in hexadecimal; empty: none is given
  std::vector<RecordedStorage> storages;
  std::vector<RecordedInput> inputs;    // by number in the trace
  std::vector<RecordedResult> results;  // by number in the trace
  std::vector<RecordedConstant> constants;
  // Of a rank: constants of the model, by tensor of its graph, that only ranks have as such.
  std::vector<RecordedConstant> model_constants;
  // Memory that nobody wrote before it was read: the graph says nothing of its values.
  std::vector<RecordedConstant> unwritten;
  // Indices that an operator chose, by tensor of the graph.
  std::map<sdfg::TensorId, std::vector<int64_t>> choices;
  std::vector<RecordedItem> items;
  std::vector<RecordedCall> calls;
  std::vector<RecordedOperatorResult> made;
  // Tensors of the graph, [first, last), that operators computed into memory that was there before,
  // in place or by `out=`, and those that a collective with a factor reduces. What differentiation
  // gives is new memory.
  std::vector<std::pair<sdfg::TensorId, sdfg::TensorId>> in_place;
  std::vector<RecordedOperator> operators;  // by position in the trace
};

// A required relation: what one rank has, or the sum or mean of what several have, is a part of the
// reference's result.
struct RecordedRequirement {
  struct Term {
    int32_t rank = 0;    // position in `ranks`
    int32_t result = 0;  // number of its result
  };
  std::vector<Term> terms;
  bool mean = false;
  int32_t reference = 0;  // number of the reference's result
  int32_t required = 0;   // position in lineage::Problem::required
};

struct Recording {
  RecordedProgram reference;
  std::vector<RecordedProgram> ranks;  // by rank
  std::vector<RecordedRequirement> requirements;
  // All programs have files of values: what is needed to find where a difference begins is kept,
  // operators and what they made, and the graphs as they were translated.
  bool has_values = false;
  // The graphs as operators were translated, before the reader changed them (constants that are
  // folded, rows that data chose); tensors have the same numbers. None: nothing was changed.
  std::optional<sdfg::Graph> translated_reference, translated_ranks;
  // Where the programs could not be read: their relations alone, of graphs without operators.
  std::optional<lineage::Problem> relations;
};

}  // namespace planproof::frontend

#endif  // PLANPROOF_FRONTEND_RECORDING_H_
