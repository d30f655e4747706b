// Gives checked access to the attributes of pickled objects; internal to the nnScaler reader.
//
// The first failed access is remembered with the path to it ("IRDimops 12, _inputs: is a str,
// expected a list"); later ones return neutral values, so that reading code needs no test per
// field.
#ifndef PLANPROOF_FRONTEND_NNSCALER_OBJECT_ACCESS_H_
#define PLANPROOF_FRONTEND_NNSCALER_OBJECT_ACCESS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "frontend/nnscaler/pickle.h"

namespace planproof::frontend::nnscaler {

// Names of attributes, resolved once per pickle.
enum class Field : uint8_t {
  kExecplan,
  kDevices,
  kRuntimeNdevs,
  kEnableDp,
  kSeq,
  kId,
  kName,
  kSignature,
  kDevice,
  kInputs,
  kOutputs,
  kKwargs,
  kMirror,
  kComment,
  kCell,
  kNodes,
  kPrims,
  kForward,
  kPlainKwargs,
  kIsAttr,
  kValue,
  kShape,
  kDtype,
  kIsGrad,
  kGrad,
  kFullTensor,
  kIndmap,
  kValmap,
  kIndices,
  kWeight,
  kIsLoss,
  kCount,
};

class ObjectAccess {
 public:
  explicit ObjectAccess(const Pickle& pickle);
  const Pickle& pickle() const { return pickle_; }
  const absl::Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  // Remembers the error unless there is one already.
  void Fail(absl::Status status);
  // "IRDimops 12" or the class's name if it has no id.
  std::string Describe(ValueId object) const;

  // The attribute's value; kNoValue (and an error if `required`) where it is missing.
  ValueId Get(ValueId object, Field field, bool required = true);
  ValueId GetObject(ValueId object, Field field);
  int64_t GetInt(ValueId object, Field field, int64_t low, int64_t high);
  bool GetBool(ValueId object, Field field);
  // "" if the attribute is None or missing.
  std::string_view GetString(ValueId object, Field field);
  // Elements of a list or tuple.
  absl::Span<const ValueId> GetSequence(ValueId object, Field field);
  std::vector<int64_t> GetInts(ValueId object, Field field, int64_t low, int64_t high);
  // Reports that the attribute is not what was expected.
  void Expect(ValueId object, Field field, ValueId got, std::string_view expected);

  // Integers of a list or tuple value; false if it is anything else.
  bool Ints(ValueId value, int64_t low, int64_t high, std::vector<int64_t>* out);
  // Counts elements that are looked at. Containers can be shared within a pickle, so what a small
  // file describes may be huge; ResourceExhausted (and false) beyond a fixed number.
  bool Spend(size_t elements);

 private:
  const Pickle& pickle_;
  Symbol symbols_[static_cast<int>(Field::kCount)];
  absl::Status status_;
  int64_t spent_ = 0;
};

const char* FieldName(Field field);

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_OBJECT_ACCESS_H_
