// Calls of ATen operators whose meaning is not declared, or holds under a premise only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/torch/problem_of_traces.h"
#include "frontend/torch/trace.h"
#include "nlohmann/json.hpp"
#include "tests/frontend/torch/one_process.h"

namespace planproof::frontend::torch {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// A trace of one process: operands x0, x1, ... and what one operator makes of them.
class Call {
 public:
  explicit Call(std::string op) : op_(std::move(op)) {}

  Call& Operand(const std::string& dtype, const std::vector<int64_t>& shape) {
    return OperandAt(process_.Add(dtype, shape));
  }
  // The last two dimensions lie in memory in the other order.
  Call& Transposed(const std::string& dtype, const std::vector<int64_t>& shape) {
    const int number = process_.Add(dtype, shape);
    std::vector<int64_t> strides(shape.size());
    int64_t size = 1;
    for (size_t k = shape.size(); k-- > 0; size *= shape[k]) strides[k] = size;
    strides[shape.size() - 1] = shape[shape.size() - 2];
    strides[shape.size() - 2] = 1;
    return OperandAt(process_.AddView(number, dtype, shape, strides));
  }
  Call& OperandAt(int number) {
    inputs_.push_back(
        {{"role", "input"}, {"name", "x" + std::to_string(number)}, {"tensor", number}});
    args_.push_back(TensorAt(number));
    return *this;
  }
  Call& Number(const json& value) {
    args_.push_back(value);
    return *this;
  }
  // A list of one tensor of indices.
  Call& Indices(const std::vector<int64_t>& shape) {
    const int number = process_.Add("int64", shape);
    inputs_.push_back(
        {{"role", "input"}, {"name", "index"}, {"tensor", number}, {"domain", {0, 3}}});
    args_.push_back(json::array({TensorAt(number)}));
    return *this;
  }
  // A list of one mask.
  Call& Mask(const std::vector<int64_t>& shape) {
    const int number = process_.Add("bool", shape);
    inputs_.push_back({{"role", "input"}, {"name", "mask"}, {"tensor", number}});
    args_.push_back(json::array({TensorAt(number)}));
    return *this;
  }
  // Memory that is allocated, and that nobody wrote, as an operand that is written.
  Call& Memory(const std::string& dtype, const std::vector<int64_t>& shape) {
    written_ = process_.Add(dtype, shape);
    allocations_.push_back({{"op", "aten.empty.memory_format"},
                            {"args", json::array({shape})},
                            {"kwargs", {{"dtype", {{"dtype", dtype}}}}},
                            {"out", json::array({TensorAt(written_)})}});
    args_.push_back(TensorAt(written_));
    return *this;
  }
  Call& Result(const std::string& dtype, const std::vector<int64_t>& shape) {
    result_ = process_.Add(dtype, shape);
    return *this;
  }
  Call& FurtherResult(const std::string& dtype, const std::vector<int64_t>& shape) {
    further_.push_back(TensorAt(process_.Add(dtype, shape)));
    return *this;
  }
  // A result in the memory of the first operand.
  Call& ResultInMemoryOfOperand(const std::string& dtype, const std::vector<int64_t>& shape,
                                const std::vector<int64_t>& strides) {
    result_ = process_.AddView(0, dtype, shape, strides);
    return *this;
  }

  absl::Status Read() {
    const int result = written_ >= 0 ? written_ : result_;
    json op = {{"op", op_}, {"args", args_}, {"out", json::array({TensorAt(result)})}};
    for (const json& further : further_) op["out"].push_back(further);
    if (written_ >= 0) op["writes"] = json::array({result});
    json operators = allocations_;
    operators.push_back(op);
    const json trace = process_.Trace(inputs_, operators, result);
    const auto parsed = ParseTrace(trace.dump(), "call");
    if (!parsed.ok()) return parsed.status();
    lineage::ProblemBuilder problem;
    Relations relations(&problem, {});
    std::set<std::string> decided;
    const absl::Status status = AddReference(*parsed, sdfg::OperatorLibrary::BuiltIn(), &problem,
                                             &relations, false, &decided);
    for (const sdfg::Operator& added : problem.logical.operators) {
      for (const sdfg::FunctionPremise& premise : added.function->premises) {
        premises_.push_back(premise.text);
      }
      meaning_ = added.name;
    }
    return status;
  }
  std::string Refused() {
    const absl::Status status = Read();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status.message();
    return std::string(status.message());
  }
  std::string Malformed() {
    const absl::Status status = Read();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status.message();
    return std::string(status.message());
  }
  // The declared operator that it was read as.
  std::string Meaning() {
    const absl::Status status = Read();
    EXPECT_TRUE(status.ok()) << status.message();
    return meaning_;
  }
  std::vector<std::string> Premises() {
    const absl::Status status = Read();
    EXPECT_TRUE(status.ok()) << status.message();
    return premises_;
  }

 private:
  std::string op_;
  OneProcess process_;
  json inputs_ = json::array(), args_ = json::array(), allocations_ = json::array();
  json further_ = json::array();
  std::vector<std::string> premises_;
  std::string meaning_;
  int written_ = -1, result_ = -1;
};

const char kReal[] = "float32", kWhole[] = "int64", kComplex[] = "complex64", kTruth[] = "bool";

// Whatever the strides of queries are, the kernel reads on from where a head begins.
TEST(Attention, OfHeadsThatAreNotContiguousIsRefused) {
  const auto attention = [](bool transposed) {
    Call call("aten._scaled_dot_product_flash_attention_for_cpu.default");
    (transposed ? call.Transposed(kReal, {1, 2, 4, 3}) : call.Operand(kReal, {1, 2, 4, 3}))
        .Operand(kReal, {1, 2, 4, 3})
        .Operand(kReal, {1, 2, 4, 3})
        .Result(kReal, {1, 2, 4, 3})
        .FurtherResult(kReal, {1, 2, 4});
    return call;
  };
  EXPECT_TRUE(attention(false).Read().ok()) << attention(false).Read().message();
  EXPECT_THAT(attention(true).Refused(), HasSubstr("do not lie one after the other"));
}

TEST(Softplus, AboveTheUsualThresholdIsAnAssumptionAndBelowItAChoice) {
  EXPECT_EQ(Call("aten.softplus.default").Operand("float64", {3}).Result("float64", {3}).Meaning(),
            "aten_smooth_softplus");
  EXPECT_EQ(Call("aten.softplus.default")
                .Operand("float64", {3})
                .Number(1.0)
                .Number(19.5)
                .Result("float64", {3})
                .Meaning(),
            "aten_softplus");
}

TEST(Creation, ARangeOfAnotherLengthIsMalformed) {
  const auto range = [](int end, int length) {
    return Call("aten.arange.default").Number(end).Result("int64", {length}).Read();
  };
  EXPECT_TRUE(range(4, 4).ok());
  for (const int length : {3, 5}) {
    EXPECT_EQ(range(4, length).code(), absl::StatusCode::kInvalidArgument) << length;
  }
}

TEST(Routing, WhatIsWrittenTwiceIsNotDefined) {
  EXPECT_THAT(Call("aten.scatter.src")
                  .Operand(kReal, {2, 4})
                  .Number(1)
                  .Operand(kWhole, {2, 3})
                  .Operand(kReal, {2, 3})
                  .Result(kReal, {2, 4})
                  .Premises(),
              Contains("no element is written twice"));
}

TEST(Routing, NewMemoryIsDefinedWhereItIsWrittenOnce) {
  const auto put = [](Call call) { return call.Indices({3}).Operand(kReal, {3}).Premises(); };
  const char* once = "every element of new memory is written once";
  EXPECT_THAT(put(Call("aten.index_put_.default").Memory(kReal, {3})), Contains(once));
  // Of more memory than there are indices some is not written.
  EXPECT_THAT(put(Call("aten.index_put_.default").Memory(kReal, {4})),
              Contains("no element is written twice"));
}

// PyTorch lets it have more dimensions than what is chosen.
TEST(Routing, OneValueIsPutWhereAMaskIsTrueWhateverItsShape) {
  for (const std::vector<int64_t>& value : std::vector<std::vector<int64_t>>{{}, {1}, {1, 1}}) {
    EXPECT_TRUE(Call("aten.index_put.default")
                    .Operand(kReal, {3})
                    .Mask({3})
                    .Operand(kReal, value)
                    .Result(kReal, {3})
                    .Read()
                    .ok())
        << value.size();
  }
}

TEST(Routing, AScatterThatReducesIsRefused) {
  EXPECT_THAT(Call("aten.scatter.reduce")
                  .Operand(kReal, {2, 4})
                  .Number(1)
                  .Operand(kWhole, {2, 3})
                  .Operand(kReal, {2, 3})
                  .Number("add")
                  .Result(kReal, {2, 4})
                  .Refused(),
              HasSubstr("aten.scatter.reduce has no declared meaning"));
}

TEST(Routing, CountsThatTheDataMakeLongerAreRefused) {
  EXPECT_THAT(Call("aten.bincount.default")
                  .Operand(kWhole, {5})
                  .Number(nullptr)
                  .Number(2)
                  .Result(kWhole, {4})
                  .Refused(),
              HasSubstr("counts of more numbers than minlength"));
  EXPECT_THAT(Call("aten.bincount.default")
                  .Operand(kWhole, {5})
                  .Number(nullptr)
                  .Number(4)
                  .Result(kWhole, {4})
                  .Premises(),
              ElementsAre("no number lies outside of the counts of the trace"));
}

TEST(Routing, AHistogramFromTheLeastToTheLargestIsRefused) {
  EXPECT_THAT(Call("aten.histc.default")
                  .Operand(kReal, {5})
                  .Number(4)
                  .Number(0)
                  .Number(0)
                  .Result(kReal, {4})
                  .Refused(),
              HasSubstr("from the least to the largest"));
}

TEST(Routing, DivisionOfIntegersThatRoundsIsRefusedButByPositiveOnes) {
  for (const json& divisor : std::vector<json>{-2, 0}) {
    EXPECT_THAT(Call("aten.floor_divide.default")
                    .Operand(kWhole, {5})
                    .Number(divisor)
                    .Result(kWhole, {5})
                    .Refused(),
                HasSubstr("division that rounds"));
  }
  EXPECT_THAT(Call("aten.fmod.Scalar").Operand(kWhole, {5}).Number(2).Result(kWhole, {5}).Refused(),
              HasSubstr("a remainder of integers towards 0"));
}

TEST(Random, WhatDrawsNumbersIsNamedWithWhatToDo) {
  EXPECT_THAT(Call("aten.bernoulli.default").Operand(kReal, {5}).Result(kReal, {5}).Refused(),
              HasSubstr("draws random numbers, which ranks and the reference draw for themselves; "
                        "record with dropout 0"));
}

TEST(Statistics, AVarianceOfNoMoreElementsThanItsCorrectionIsRefused) {
  EXPECT_THAT(Call("aten.var.default").Operand(kReal, {1}).Result(kReal, {}).Refused(),
              HasSubstr("a variance of no more elements than its correction"));
}

TEST(Statistics, ALongProductIsRefused) {
  EXPECT_THAT(Call("aten.prod.default").Operand(kReal, {129}).Result(kReal, {}).Refused(),
              HasSubstr("a product of more than 128 factors"));
}

TEST(Images, RunningStatisticsThatATraceDoesNotSayToBeWrittenAreRefused) {
  Call call("aten.native_batch_norm.default");
  call.Operand(kReal, {4, 3}).Number(nullptr).Number(nullptr);
  call.Operand(kReal, {3}).Operand(kReal, {3}).Number(true).Number(0.1).Number(1e-5);
  EXPECT_THAT(call.Result(kReal, {4, 3}).Refused(),
              HasSubstr("does not say that running statistics are written in training"));
}

TEST(Routing, TheNumberOfElementsThatAMaskChoosesIsAPremise) {
  EXPECT_THAT(Call("aten.masked_select.default")
                  .Operand(kReal, {5})
                  .Operand(kTruth, {5})
                  .Result(kReal, {3})
                  .Premises(),
              ElementsAre("the mask is true as often as in the trace"));
  EXPECT_THAT(Call("aten.nonzero.default").Operand(kTruth, {5}).Result(kWhole, {3, 1}).Premises(),
              ElementsAre("the mask is true as often as in the trace"));
}

TEST(Routing, RowsOfNoGroupAreExcluded) {
  EXPECT_THAT(Call("aten._grouped_mm.default")
                  .Operand(kReal, {6, 4})
                  .Operand(kReal, {3, 4, 8})
                  .Operand("int32", {3})
                  .Result(kReal, {6, 8})
                  .Premises(),
              ElementsAre("groups follow one another and are all rows"));
}

// What gives a view computes nothing; what computes must say what it writes.
TEST(Memory, AnOperatorThatComputesGivesNoView) {
  const auto in_place = [](const char* op) {
    return Call(op).Operand(kReal, {4}).ResultInMemoryOfOperand(kReal, {4}, {1});
  };
  for (const char* op : {"aten.neg.default", "aten.neg_.default", "aten.exp_.default"}) {
    EXPECT_THAT(in_place(op).Malformed(), HasSubstr("is not said to write")) << op;
  }
  // One that nobody knows is none, either.
  EXPECT_THAT(in_place("aten.digamma_.default").Malformed(), HasSubstr("gives no view"));
  EXPECT_TRUE(Call("aten.transpose.int")
                  .Operand(kReal, {2, 3})
                  .Number(0)
                  .Number(1)
                  .ResultInMemoryOfOperand(kReal, {3, 2}, {1, 3})
                  .Read()
                  .ok());
}

TEST(Complex, WhatIsNotDeclaredOfComplexNumbersIsRefused) {
  EXPECT_THAT(Call("aten.exp.default").Operand(kComplex, {3}).Result(kComplex, {3}).Refused(),
              HasSubstr("of complex numbers has no declared meaning"));
  EXPECT_THAT(Call("aten.sum.default").Operand(kComplex, {3}).Result(kComplex, {}).Refused(),
              HasSubstr("of complex numbers has no declared meaning"));
  EXPECT_THAT(Call("aten.abs.default").Operand(kComplex, {3}).Result(kReal, {3}).Refused(),
              HasSubstr("of complex numbers has no declared meaning"));
}

TEST(Complex, ARealNumberIsNotAddedToBothParts) {
  EXPECT_THAT(
      Call("aten.add.Tensor").Operand(kComplex, {3}).Number(1).Result(kComplex, {3}).Refused(),
      HasSubstr("a sum of a complex and a real number"));
  EXPECT_THAT(Call("aten.add.Tensor")
                  .Operand(kComplex, {2})
                  .Operand(kReal, {2})
                  .Result(kComplex, {2})
                  .Refused(),
              HasSubstr("a sum of a complex and a real number"));
}

TEST(Complex, ConversionsBetweenComplexAndRealNumbersAreRefused) {
  EXPECT_THAT(Call("aten._to_copy.default").Operand(kComplex, {3}).Result(kReal, {3}).Refused(),
              HasSubstr("a conversion between complex and real numbers"));
  EXPECT_THAT(Call("aten._to_copy.default").Operand(kReal, {3}).Result(kComplex, {3}).Refused(),
              HasSubstr("a conversion between complex and real numbers"));
  EXPECT_THAT(Call("aten.div.Tensor")
                  .Operand(kReal, {3})
                  .Operand(kComplex, {3})
                  .Result(kComplex, {3})
                  .Refused(),
              HasSubstr("division by a complex number"));
}

}  // namespace
}  // namespace planproof::frontend::torch
