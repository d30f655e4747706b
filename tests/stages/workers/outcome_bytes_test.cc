// What workers answer about claims survives the way as bytes, and nothing else is taken for it.
#include "stages/workers/outcome_bytes.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "stages/workers/outcome.pb.h"
#include "tests/stages/workers/random_values.h"

namespace planproof::stages {
namespace {

constexpr int kTrials = 500;

std::vector<Condition> RandomConditions(RandomValues* random) {
  std::vector<Condition> conditions(random->Size());
  for (Condition& condition : conditions) {
    condition.kind = random->Enumerator<solver::PremiseKind>(2);
    condition.operator_name = random->Text();
    condition.term = random->Text();
    condition.never = random->Flag();
    condition.declared = random->Text();
  }
  return conditions;
}

ClaimOutcome RandomOutcome(RandomValues* random) {
  ClaimOutcome o;
  o.status = random->Enumerator<ClaimStatus>(3);
  o.method = random->Enumerator<ProofMethod>(6);
  o.reason = random->Text();
  o.limit = random->Enumerator<Limit>(3);
  o.logical_term = random->Text();
  o.parallel_term = random->Text();
  o.difference = random->Text();
  o.premises = RandomConditions(random);
  o.restrictions = RandomConditions(random);
  o.unsatisfiable = random->Flag();
  o.box.resize(random->Size());
  for (auto& [low, high] : o.box) {
    low = random->Integer<int64_t>();
    high = random->Integer<int64_t>();
  }
  o.mentioned.resize(random->Size());
  for (int32_t& tensor : o.mentioned) tensor = random->Integer<int32_t>();
  o.cells = random->Integer<int64_t>();
  o.evaluate_s = random->Real();
  return o;
}

void ExpectEqual(const ClaimOutcome& a, const ClaimOutcome& b) {
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.method, b.method);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.limit, b.limit);
  EXPECT_EQ(a.logical_term, b.logical_term);
  EXPECT_EQ(a.parallel_term, b.parallel_term);
  EXPECT_EQ(a.difference, b.difference);
  EXPECT_EQ(a.premises, b.premises);
  EXPECT_EQ(a.restrictions, b.restrictions);
  EXPECT_EQ(a.unsatisfiable, b.unsatisfiable);
  EXPECT_EQ(a.box, b.box);
  EXPECT_EQ(a.mentioned, b.mentioned);
  EXPECT_EQ(a.cells, b.cells);
  EXPECT_EQ(std::bit_cast<uint64_t>(a.evaluate_s), std::bit_cast<uint64_t>(b.evaluate_s));
}

bool Readable(const std::string& bytes) {
  ClaimOutcome outcome;
  return FromBytes(bytes, &outcome);
}

ClaimOutcome ProofWithRestriction() {
  ClaimOutcome proof;
  proof.status = ClaimStatus::kProved;
  proof.method = ProofMethod::kNormalForm;
  proof.restrictions = {{.operator_name = "div", .term = "y[i0]", .declared = "a divisor"}};
  proof.unsatisfiable = true;
  proof.box = {{-3, 4}};
  proof.mentioned = {7};
  return proof;
}

TEST(OutcomeBytes, EveryOutcomeComesBackAsItWas) {
  RandomValues random(1);
  for (int round = 0; round < kTrials; ++round) {
    const ClaimOutcome sent = RandomOutcome(&random);
    const std::string bytes = ToBytes(sent);
    ClaimOutcome received = RandomOutcome(&random);  // what stood there before is gone
    ASSERT_TRUE(FromBytes(bytes, &received)) << round;
    ExpectEqual(sent, received);
    EXPECT_EQ(ToBytes(received), bytes);
  }
}

TEST(OutcomeBytes, NoBeginningOfAnOutcomeIsOne) {
  RandomValues random(2);
  for (int round = 0; round < 30; ++round) {
    const std::string bytes = ToBytes(round == 0 ? ProofWithRestriction() : RandomOutcome(&random));
    for (size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_FALSE(Readable(bytes.substr(0, size))) << size << " of " << bytes.size();
    }
  }
}

// Whatever is done to the bytes, they are refused or mean another outcome, written as they are.
TEST(OutcomeBytes, ChangedBytesAreRefusedOrWhatIsWrittenForWhatIsRead) {
  RandomValues random(3);
  int refused = 0;
  for (int round = 0; round < kTrials; ++round) {
    std::string bytes = ToBytes(RandomOutcome(&random));
    for (size_t change = 0; change <= random.Size(); ++change) {
      bytes[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
    }
    ClaimOutcome outcome;
    if (FromBytes(bytes, &outcome)) {
      EXPECT_EQ(ToBytes(outcome), bytes);
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, kTrials / 10);
}

wire::ClaimOutcome Message(const ClaimOutcome& outcome) {
  wire::ClaimOutcome message;
  EXPECT_TRUE(message.ParseFromString(ToBytes(outcome)));
  return message;
}

TEST(OutcomeBytes, UnknownEnumeratorsAreErrors) {
  const wire::ClaimOutcome whole = Message(ProofWithRestriction());
  ASSERT_TRUE(Readable(whole.SerializeAsString()));
  for (const int value : {-1, 100, 256, 257, 1 << 20}) {
    wire::ClaimOutcome message = whole;
    message.set_status(static_cast<wire::ClaimStatus>(value));
    EXPECT_FALSE(Readable(message.SerializeAsString())) << value;
    message = whole;
    message.set_method(static_cast<wire::ProofMethod>(value));
    EXPECT_FALSE(Readable(message.SerializeAsString())) << value;
    message = whole;
    message.set_limit(static_cast<wire::Limit>(value));
    EXPECT_FALSE(Readable(message.SerializeAsString())) << value;
    message = whole;
    message.mutable_restrictions(0)->set_kind(static_cast<wire::PremiseKind>(value));
    EXPECT_FALSE(Readable(message.SerializeAsString())) << value;
  }
}

TEST(OutcomeBytes, UnknownFieldsAreErrors) {
  const std::string unknown("\xa0\x06\x01", 3);  // field 100, the number 1
  const wire::ClaimOutcome whole = Message(ProofWithRestriction());
  EXPECT_FALSE(Readable(whole.SerializeAsString() + unknown));
  EXPECT_FALSE(Readable(unknown + whole.SerializeAsString()));
  wire::ClaimOutcome message = whole;
  ASSERT_TRUE(message.mutable_restrictions(0)->MergeFromString(unknown));
  EXPECT_FALSE(Readable(message.SerializeAsString()));
}

TEST(OutcomeBytes, FieldsThatStandTwiceOrInAnotherOrderAreErrors) {
  const std::string bytes = ToBytes(ProofWithRestriction());
  ASSERT_EQ(bytes.substr(0, 2), std::string("\x08\x01", 2));  // status: proved
  EXPECT_FALSE(Readable("\x08\x02" + bytes));
  EXPECT_FALSE(Readable(bytes.substr(2) + bytes.substr(0, 2)));
  EXPECT_FALSE(Readable(std::string("\x08\x81\x00", 3) + bytes.substr(2)));  // a longer 1
  EXPECT_FALSE(Readable(bytes + bytes));
}

TEST(OutcomeBytes, OutcomesOfTheFormBeforeAreErrors) {
  // Numbers of eight bytes: status, method, limit, unsatisfiable, cells, nanoseconds; lengths.
  std::string proved(8 * 14, '\0');
  proved[0] = static_cast<char>(ClaimStatus::kProved);
  EXPECT_FALSE(Readable(proved));
}

TEST(SignBytes, SignsComeBackAndNothingElseIsRead) {
  RandomValues random(4);
  for (int round = 0; round < kTrials; ++round) {
    std::vector<LogicalSign> sent(random.Size()), received(3);
    for (LogicalSign& sign : sent)
      sign = {random.Integer<int32_t>(), random.Enumerator<solver::Sign>(2)};
    const std::string bytes = ToBytes(sent);
    ASSERT_TRUE(FromBytes(bytes, &received));
    EXPECT_EQ(sent, received);
    for (size_t size = 0; size < bytes.size(); ++size)
      ASSERT_FALSE(FromBytes(bytes.substr(0, size), &received));
  }
  wire::LogicalSigns message;
  message.set_complete(true);
  message.add_tensors(1);
  std::vector<LogicalSign> signs;
  EXPECT_FALSE(FromBytes(message.SerializeAsString(), &signs)) << "a tensor without a sign";
  message.add_signs(wire::SIGN_POSITIVE);
  EXPECT_TRUE(FromBytes(message.SerializeAsString(), &signs));
  message.set_signs(0, static_cast<wire::Sign>(3));
  EXPECT_FALSE(FromBytes(message.SerializeAsString(), &signs));
}

}  // namespace
}  // namespace planproof::stages
