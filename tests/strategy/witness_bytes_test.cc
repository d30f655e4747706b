// What a search and a diagnosis found survives the way as bytes, and nothing else is taken for it.
#include "strategy/witness_bytes.h"

#include <gtest/gtest.h>

#include <bit>

#include "strategy/counterexample.pb.h"
#include "tests/stages/workers/random_values.h"
#include "witness/witness_file.h"

namespace planproof::strategy {
namespace {

using shape_reduction::Sample;
using shape_reduction::UndefinedBy;
using shape_reduction::Witness;

constexpr int kWitnesses = 200;

Witness RandomWitness(stages::RandomValues* random) {
  Witness w;
  w.outcome = random->Enumerator<Witness::Outcome>(3);
  w.required = random->Integer<int>();
  w.parallel_index = random->Integers<int64_t>();
  w.logical_index = random->Integers<int64_t>();
  w.logical_low = random->Real();
  w.logical_high = random->Real();
  w.parallel_low = random->Real();
  w.parallel_high = random->Real();
  w.logical_value = random->Text();
  w.parallel_value = random->Text();
  w.undefined.tensor = random->Integer<sdfg::TensorId>();
  w.undefined.by = random->Enumerator<UndefinedBy>(6);
  w.precision = random->Integer<int>();
  w.seed = random->Integer<uint64_t>();
  w.inputs = random->Texts();
  w.example = random->Texts();
  w.attempts = random->Integer<int>();
  w.undefined_seen = random->Flag();
  w.message = random->Text();
  if (random->Flag()) w.data = std::make_shared<const witness::Witness>();
  return w;
}

uint64_t Bits(double value) { return std::bit_cast<uint64_t>(value); }

void ExpectSame(const Witness& a, const Witness& b) {
  EXPECT_EQ(a.outcome, b.outcome);
  EXPECT_EQ(a.required, b.required);
  EXPECT_EQ(a.parallel_index, b.parallel_index);
  EXPECT_EQ(a.logical_index, b.logical_index);
  EXPECT_EQ(Bits(a.logical_low), Bits(b.logical_low));
  EXPECT_EQ(Bits(a.logical_high), Bits(b.logical_high));
  EXPECT_EQ(Bits(a.parallel_low), Bits(b.parallel_low));
  EXPECT_EQ(Bits(a.parallel_high), Bits(b.parallel_high));
  EXPECT_EQ(a.logical_value, b.logical_value);
  EXPECT_EQ(a.parallel_value, b.parallel_value);
  EXPECT_EQ(a.undefined.tensor, b.undefined.tensor);
  EXPECT_EQ(a.undefined.by, b.undefined.by);
  EXPECT_EQ(a.precision, b.precision);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.example, b.example);
  EXPECT_EQ(a.attempts, b.attempts);
  EXPECT_EQ(a.undefined_seen, b.undefined_seen);
  EXPECT_EQ(a.message, b.message);
  ASSERT_EQ(a.data == nullptr, b.data == nullptr);
  if (a.data != nullptr) {
    EXPECT_EQ(*witness::ToBytes(*a.data), *witness::ToBytes(*b.data));
  }
}

template <typename Value>
void ExpectNoBeginningIsRead(const std::string& bytes) {
  for (size_t size = 0; size < bytes.size(); ++size) {
    Value value;
    ASSERT_FALSE(FromBytes(bytes.substr(0, size), &value)) << size << " of " << bytes.size();
  }
}

TEST(WitnessBytes, EveryWitnessComesBackAsItWas) {
  stages::RandomValues random(1);
  for (int round = 0; round < kWitnesses; ++round) {
    const Witness sent = RandomWitness(&random);
    const std::string bytes = ToBytes(sent);
    Witness received = RandomWitness(&random);  // what stood there before is gone
    ASSERT_TRUE(FromBytes(bytes, &received)) << round;
    ExpectSame(sent, received);
    if (round < 10) ExpectNoBeginningIsRead<Witness>(bytes);
  }
}

TEST(WitnessBytes, EveryViolationComesBackAsItWas) {
  stages::RandomValues random(2);
  for (int round = 0; round < kWitnesses; ++round) {
    std::vector<stages::Violation> sent(random.Size()), received(2);
    for (stages::Violation& v : sent) {
      v.verdict = random.Enumerator<stages::Verdict>(3);
      for (std::string* text :
           {&v.kind, &v.stage, &v.logical_operator, &v.logical_source, &v.microbatches, &v.lineage,
            &v.cause, &v.witness_place, &v.witness_logical, &v.witness_parallel,
            &v.witness_logical_short, &v.witness_parallel_short, &v.message, &v.advice}) {
        *text = random.Text();
      }
      v.parallel_operators = random.Texts();
      v.devices = random.Integers<int>();
      v.witness_precision = random.Integer<int>();
      v.cause_of_stage = random.Size() % 2 == 1;
      v.witness_inputs = random.Texts();
      v.witness_example = random.Texts();
    }
    const std::string bytes = ToBytes(sent);
    ASSERT_TRUE(FromBytes(bytes, &received));
    ASSERT_EQ(sent.size(), received.size());
    for (size_t k = 0; k < sent.size(); ++k) {
      const stages::Violation &a = sent[k], &b = received[k];
      EXPECT_EQ(a.verdict, b.verdict);
      for (const auto text :
           {&stages::Violation::kind, &stages::Violation::stage,
            &stages::Violation::logical_operator, &stages::Violation::logical_source,
            &stages::Violation::microbatches, &stages::Violation::lineage,
            &stages::Violation::cause, &stages::Violation::witness_place,
            &stages::Violation::witness_logical, &stages::Violation::witness_parallel,
            &stages::Violation::witness_logical_short, &stages::Violation::witness_parallel_short,
            &stages::Violation::message, &stages::Violation::advice}) {
        EXPECT_EQ(a.*text, b.*text);
      }
      EXPECT_EQ(a.parallel_operators, b.parallel_operators);
      EXPECT_EQ(a.devices, b.devices);
      EXPECT_EQ(a.witness_precision, b.witness_precision);
      EXPECT_EQ(a.cause_of_stage, b.cause_of_stage);
      EXPECT_EQ(a.witness_inputs, b.witness_inputs);
      EXPECT_EQ(a.witness_example, b.witness_example);
    }
    if (round < 10) ExpectNoBeginningIsRead<std::vector<stages::Violation>>(bytes);
  }
}

TEST(WitnessBytes, EverySampleComesBackAsItWas) {
  stages::RandomValues random(3);
  for (int round = 0; round < kWitnesses; ++round) {
    const Sample sent{random.Enumerator<Sample::Outcome>(2), random.Text()};
    const std::string bytes = ToBytes(sent);
    Sample received;
    ASSERT_TRUE(FromBytes(bytes, &received));
    EXPECT_EQ(sent.outcome, received.outcome);
    EXPECT_EQ(sent.message, received.message);
    ExpectNoBeginningIsRead<Sample>(bytes);
  }
}

TEST(WitnessBytes, WhatIsNotKnownIsAnError) {
  wire::Witness witness;
  ASSERT_TRUE(witness.ParseFromString(ToBytes(Witness())));
  Witness read;
  EXPECT_TRUE(FromBytes(witness.SerializeAsString(), &read));
  EXPECT_FALSE(FromBytes(witness.SerializeAsString() + std::string("\xa0\x06\x01", 3), &read));
  witness.set_outcome(static_cast<wire::WitnessOutcome>(4));
  EXPECT_FALSE(FromBytes(witness.SerializeAsString(), &read));
  witness.set_outcome(wire::WITNESS_NONE);
  witness.set_undefined_by(static_cast<wire::UndefinedBy>(7));
  EXPECT_FALSE(FromBytes(witness.SerializeAsString(), &read));
  witness.set_undefined_by(wire::UNDEFINED_NOTHING);
  witness.set_file("no witness");
  EXPECT_FALSE(FromBytes(witness.SerializeAsString(), &read));

  wire::Violations violations;
  violations.set_complete(true);
  violations.add_violations()->set_verdict(static_cast<wire::Verdict>(4));
  std::vector<stages::Violation> read_violations;
  EXPECT_FALSE(FromBytes(violations.SerializeAsString(), &read_violations));

  wire::Sample sample;
  sample.set_complete(true);
  sample.set_outcome(static_cast<wire::SampleOutcome>(-1));
  Sample read_sample;
  EXPECT_FALSE(FromBytes(sample.SerializeAsString(), &read_sample));
}

}  // namespace
}  // namespace planproof::strategy
