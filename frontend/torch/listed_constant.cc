#include "frontend/torch/listed_constant.h"

#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {

std::optional<Progression> ProgressionOf(const Storage& storage) {
  const auto size = static_cast<int64_t>(storage.values.size());
  if (!sdfg::IsInteger(storage.dtype) || size < 2) return std::nullopt;
  std::vector<int64_t> values(storage.values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!storage.values[i].ToInt64(&values[i])) return std::nullopt;
  }
  Progression progression{values[0], values[1] - values[0], size};
  for (int64_t i = 1; i < size && progression.period == size; ++i) {
    if (values[i] != values[0] + i * progression.step) progression.period = i;
  }
  for (int64_t i = 0; i < size; ++i) {
    if (values[i] != values[0] + i % progression.period * progression.step) return std::nullopt;
  }
  return progression;
}

std::string ContentOf(const Storage& storage) {
  std::string text = absl::StrCat(sdfg::DTypeName(storage.dtype), " ", storage.size);
  if (!storage.digest.empty()) return absl::StrCat(text, " ", storage.digest);
  if (storage.values.empty()) absl::StrAppend(&text, " all -inf");
  for (size_t i = 0; i < storage.values.size(); ++i) {
    absl::StrAppend(&text, " ", storage.minus_infinity[i] ? "-inf" : storage.values[i].ToString());
  }
  return text;
}

absl::StatusOr<sdfg::TensorId> ListConstant(GraphWriter* writer, const Storage& storage) {
  const bool whole = sdfg::IsInteger(storage.dtype);
  const std::optional<Progression> progression = ProgressionOf(storage);
  return writer->Emit(
      "constant", absl::StrCat("constant ", ContentOf(storage)),
      [&]() -> absl::StatusOr<sdfg::IndexFunction> {
        sdfg::IndexFunctionBuilder builder("constant");
        const int output = builder.AddOutput("y", sdfg::Shape{storage.size}, storage.dtype);
        const sdfg::ExprId index = builder.Index(builder.OutputDims(output)[0]);
        if (progression) {
          const sdfg::ExprId digit = progression->period < storage.size
                                         ? builder.IntMod(index, progression->period)
                                         : index;
          builder.SetBody(output, builder.IntAdd(builder.Int(progression->start),
                                                 builder.IntScale(progression->step, digit)));
          sdfg::IndexFunction function;
          PLAN_RETURN_IF_ERROR(builder.Finish(&function));
          return function;
        }
        std::vector<sdfg::ExprId> parts;
        for (size_t i = 0; i < storage.values.size(); ++i) {
          int64_t number = 0;
          if (whole && !storage.values[i].ToInt64(&number)) {
            return absl::InvalidArgumentError("a fraction among integers");
          }
          parts.push_back(storage.minus_infinity[i] ? builder.NegInf()
                          : whole                   ? builder.Int(number)
                                                    : builder.Real(storage.values[i]));
        }
        if (parts.empty()) parts.push_back(builder.NegInf());
        // A balanced choice, so that its depth is the logarithm of the length.
        std::function<sdfg::ExprId(size_t, size_t)> choose = [&](size_t begin, size_t end) {
          if (end - begin == 1) return parts[begin];
          const size_t middle = begin + (end - begin) / 2;
          return builder.Select(
              builder.Binary(sdfg::Op::kIntLess, index, builder.Int(static_cast<int64_t>(middle))),
              choose(begin, middle), choose(middle, end));
        };
        builder.SetBody(output, choose(0, parts.size()));
        sdfg::IndexFunction function;
        PLAN_RETURN_IF_ERROR(builder.Finish(&function));
        return function;
      },
      {});
}

}  // namespace planproof::frontend::torch
