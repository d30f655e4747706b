// Represents a trace as data: what one rank of a PyTorch program executed in one training
// iteration.
//
// The format and the meaning of every field is in docs/torch-trace.md. What has been read is
// consistent by itself: numbers of storages, tensors, groups and strings exist, and tensors lie
// within their storages.
#ifndef PLANPROOF_FRONTEND_TORCH_TRACE_H_
#define PLANPROOF_FRONTEND_TORCH_TRACE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/types.h"
#include "solver/rational.h"

namespace planproof::frontend::torch {

using StorageId = int32_t;
using TensorNumber = int32_t;  // position in Trace::tensors

// Elements of a complex type are two consecutive real ones: a storage of a complex type is read as
// one of the real type and twice the size, a complex tensor as one with a last dimension of 2.
struct Storage {
  sdfg::DType dtype = sdfg::DType::kUnknown;
  int64_t size = 0;
  // What a constant of the program holds; none: nothing before it is written, or an input.
  std::optional<solver::Rational> uniform;
  std::vector<solver::Rational> values;
  // Of `values`, those that are minus infinity; or all elements are, if there are no values.
  std::vector<bool> minus_infinity;
  std::string digest;
  bool carried = false;  // an earlier iteration left it
};

struct Tensor {
  StorageId storage = 0;
  sdfg::DType dtype = sdfg::DType::kUnknown;  // real
  bool complex = false;
  int64_t offset = 0;  // in elements of the storage
  sdfg::Shape shape;
  std::vector<int64_t> strides;
  bool conjugate = false;
  bool negative = false;
};

struct Value {
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInteger,
    kReal,
    kInfinite,  // `infinity`: its sign, or 0 for not a number
    kString,
    kList,
    kTensor,
    kDType,
    kItem,      // a number that left the graph: `item` is which, `real` what it was
    kComputed,  // what Python computed of such numbers: `text` is add, sub, ... or call, of
                // `function`; `list` the operands
    kMayBe,     // a number that is equal to that of `item` in Trace::numbers, and may come from it
    kComplex,   // `list`: its real and imaginary part
    kOther,     // of no meaning for values
  };
  Kind kind = Kind::kNone;
  bool boolean = false;
  int64_t integer = 0;
  solver::Rational real;  // also of kBool, kInteger, kItem, kComputed, kMayBe
  bool recorded = false;  // of kComputed: `real` is what it was; false within another expression
  int infinity = 0;
  std::string text;
  std::string function;  // of kComputed: a function of Python's or numpy's, such as floor
  std::vector<Value> list;
  TensorNumber tensor = 0;
  sdfg::DType dtype = sdfg::DType::kUnknown;
  bool complex_dtype = false;
  int32_t item = 0;
};

// The tensors in it, in order.
std::vector<TensorNumber> TensorsIn(const Value& value);

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kSend,
  kReceive,
  kBarrier,
};
const char* CollectiveName(CollectiveKind kind);
// One rank of the group sends to all others, or gets from them.
bool HasRoot(CollectiveKind kind);

enum class Reduction : uint8_t { kSum, kAverage, kMax, kMin };

struct Collective {
  CollectiveKind kind = CollectiveKind::kBarrier;
  int32_t group = 0;
  std::vector<TensorNumber> in, out;
  Reduction reduce = Reduction::kSum;
  std::optional<solver::Rational> factor;
  int32_t root = 0;
  int32_t peer = 0;
  int64_t tag = 0;
  std::vector<int64_t> in_splits, out_splits;
  std::optional<int64_t> work;  // handle, if the call does not wait
};

struct Executed {
  std::string op;
  std::vector<Value> args;
  std::map<std::string, Value> kwargs;
  std::vector<Value> out;
  std::vector<TensorNumber> writes;
  // Elements of results, as far as they were recorded: indices that were computed from real
  // numbers.
  std::vector<std::optional<std::vector<int64_t>>> values;
  std::optional<int32_t> item;
  std::optional<Collective> collective;
  std::optional<int64_t> wait;  // `op` is then empty
  std::string source, module, phase;
};

// Which part of a whole a tensor is.
struct Part {
  std::optional<sdfg::Shape> whole;
  // Per dimension of the whole: start and length of what lies one after another. Empty: all of it.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> place;
  // Start and length among the elements of the whole in row-major order.
  std::optional<std::pair<int64_t, int64_t>> flat;
};

enum class InputRole : uint8_t { kParameter, kBuffer, kInput, kState };

struct Input {
  InputRole role = InputRole::kInput;
  std::string name;
  TensorNumber tensor = 0;
  Part part;
  std::optional<std::pair<int64_t, int64_t>> domain;  // of integers: low, and high excluded
  bool nonnegative = false;                           // of reals
  std::string parameter;                              // of a state: to which it belongs, or ""
  bool recorded = true;  // false: the reader named it, the trace does not
};

enum class ResultKind : uint8_t { kUpdated, kGradient, kOutput };
// "new value of up.weight", for people.
std::string NameOf(ResultKind kind, const std::string& name);

struct TraceResult {
  ResultKind kind = ResultKind::kOutput;
  std::string name;
  TensorNumber tensor = 0;
  Part part;
  std::optional<Reduction> reduce;
  int32_t group = 0;
  bool recorded = true;  // false: the reader named it, the trace does not
};

// A way on which a number that had left a tensor went on, and on which it cannot be followed.
enum class NumberWay : uint8_t {
  kDecision,    // it was compared; `by` is the comparison
  kConversion,  // it became a plain number; `by` is the function
  kArgument,    // it was passed to function `by`, and no operator got it: a size, an index
};
struct UnfollowedNumber {
  NumberWay way = NumberWay::kDecision;
  std::string by;
  std::vector<Value> of;      // kItem, kComputed, or a number
  std::vector<Value> values;  // operands of the comparison; the number that was given or passed
  std::string source;
};

struct Trace {
  std::string path;
  bool given = true;  // false: it was made of traces of other ranks
  int32_t version = 1;
  // SHA-256 of its file of values, in hexadecimal; empty: the trace names none.
  std::string values;
  int32_t rank = 0;
  int32_t world = 1;
  std::vector<std::pair<std::string, int64_t>> axes;
  std::vector<std::vector<int32_t>> groups;
  std::vector<Storage> storages;
  std::vector<Tensor> tensors;
  std::vector<Input> inputs;
  std::vector<Executed> operators;
  std::vector<TraceResult> results;
  std::vector<std::string> notes;
  std::vector<UnfollowedNumber> numbers;
  std::map<std::string, std::string> environment;  // variables that the program read
};

// Errors, one line with file and position: NotFound if there is no file, ResourceExhausted beyond a
// limit, else InvalidArgument.
absl::StatusOr<Trace> ReadTrace(const std::string& path);
// The same of text that is not compressed.
absl::StatusOr<Trace> ParseTrace(const std::string& text, const std::string& path);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_TRACE_H_
