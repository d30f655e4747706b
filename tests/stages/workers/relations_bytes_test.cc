// What the worker that infers relations answers survives the way as bytes.
#include "stages/workers/relations_bytes.h"

#include <gtest/gtest.h>

#include "tests/stages/workers/random_values.h"

namespace planproof::stages {
namespace {

constexpr int kRelations = 300;

sdfg::IndexDigit RandomDigit(RandomValues* random) {
  return {.dim = random->Integer<int32_t>(),
          .div = random->Integer<int64_t>(),
          .mod = random->Integer<int64_t>(),
          .offset = random->Integer<int64_t>()};
}

sdfg::IndexMap RandomMap(RandomValues* random) {
  sdfg::IndexMap map;
  map.constant = random->Integer<int64_t>();
  for (size_t k = random->Size(); k > 0; --k) {
    const sdfg::IndexDigit digit = RandomDigit(random);
    map.terms.push_back({.dim = digit.dim,
                         .scale = random->Integer<int64_t>(),
                         .div = digit.div,
                         .mod = digit.mod,
                         .offset = digit.offset,
                         .gate = RandomDigit(random)});
  }
  return map;
}

InferredRelations RandomRelations(RandomValues* random) {
  InferredRelations inferred;
  inferred.relations.resize(random->Size());
  for (InferredRelation& relation : inferred.relations) {
    relation.parallel = random->Integer<int32_t>();
    relation.logical = random->Integer<int32_t>();
    relation.factor = solver::Rational(static_cast<int64_t>(random->Below(1000)) - 500,
                                       static_cast<int64_t>(random->Below(1000)) + 1);
    for (size_t d = random->Size(); d > 0; --d) relation.map.push_back(RandomMap(random));
  }
  inferred.unrelated.resize(random->Size());
  for (sdfg::TensorId& tensor : inferred.unrelated) tensor = random->Integer<int32_t>();
  inferred.tensors = random->Integer<int64_t>();
  inferred.classes = random->Integer<int64_t>();
  return inferred;
}

TEST(RelationsBytes, EveryAnswerComesBackAsItWas) {
  RandomValues random(1);
  for (int round = 0; round < kRelations; ++round) {
    const InferredRelations sent = RandomRelations(&random);
    InferredRelations received = RandomRelations(&random);  // what stood there before is gone
    ASSERT_TRUE(FromBytes(ToBytes(sent), &received)) << round;
    EXPECT_EQ(sent, received) << round;
  }
}

TEST(RelationsBytes, NoBeginningOfAnAnswerIsOne) {
  RandomValues random(2);
  for (int round = 0; round < 20; ++round) {
    const std::string bytes = ToBytes(RandomRelations(&random));
    InferredRelations read;
    for (size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_FALSE(FromBytes(bytes.substr(0, size), &read)) << size << " of " << bytes.size();
    }
  }
}

TEST(RelationsBytes, ChangedBytesAreRefusedOrWhatIsWrittenForWhatIsRead) {
  RandomValues random(3);
  int refused = 0;
  for (int round = 0; round < kRelations; ++round) {
    std::string bytes = ToBytes(RandomRelations(&random));
    bytes[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
    InferredRelations read;
    if (FromBytes(bytes, &read)) {
      EXPECT_EQ(ToBytes(read), bytes);
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, kRelations / 20);
}

}  // namespace
}  // namespace planproof::stages
