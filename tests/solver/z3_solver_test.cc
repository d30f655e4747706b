// Questions about raw terms, with and without Z3.
#include "solver/z3_solver.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/temporary_directory.h"

namespace planproof::solver {
namespace {

class Z3Solver : public testing::Test {
 protected:
  void SetUp() override {
    if (!Z3Missing().empty()) GTEST_SKIP() << Z3Missing();
  }

  static RawId Variable(RawArena* arena, const char* name) {
    return arena->Add({RawOp::kVariable, {}, name, 0, 0, {}});
  }
  SmtQuestion Question(RawId l, RawId r) const {
    SmtQuestion q;
    q.left_arena = &left;
    q.right_arena = &right;
    q.left = l;
    q.right = r;
    return q;
  }
  RawArena left, right;
};

TEST_F(Z3Solver, CancelledDivisionIsEqualUnderItsPremise) {
  const RawId x = Variable(&left, "x"), y = Variable(&left, "y");
  const RawId l = left.Make(RawOp::kDiv, {left.Make(RawOp::kMul, {x, y}), y});
  EXPECT_EQ(AskZ3(Question(l, Variable(&right, "x"))).verdict, SmtVerdict::kEqual);
}

TEST_F(Z3Solver, DivisionInABranchThatIsNotTakenIsNoPremise) {
  // y = 0 ? x + 1 : x * y / y is not x: the division's premise holds only in its branch.
  const RawId x = Variable(&left, "x"), y = Variable(&left, "y");
  const RawId quotient = left.Make(RawOp::kDiv, {left.Make(RawOp::kMul, {x, y}), y});
  const RawId zero = left.Make(RawOp::kEq, {y, left.Constant(0)});
  const RawId other = left.Make(RawOp::kAdd, {x, left.Constant(1)});
  const RawId l = left.Make(RawOp::kIte, {zero, other, quotient});
  EXPECT_NE(AskZ3(Question(l, Variable(&right, "x"))).verdict, SmtVerdict::kEqual);
}

TEST_F(Z3Solver, WhereTheRightSideHasNoValueThoughTheLeftSideHasOneIsFoundOut) {
  auto defined = [&](RawId l, RawId r) {
    SmtQuestion q = Question(l, r);
    q.ask_domain = true;
    const SmtAnswer answer = AskZ3(q);
    EXPECT_EQ(answer.verdict, SmtVerdict::kEqual) << answer.reason;
    return answer.defined;
  };
  auto cancelled = [](RawArena* a, bool exponential) {
    const RawId x = Variable(a, "x"), y = Variable(a, "y");
    const RawId divisor = exponential ? a->Make(RawOp::kExp, {y}) : y;
    return a->Make(RawOp::kDiv, {a->Make(RawOp::kMul, {x, divisor}), divisor});
  };
  const RawId l = Variable(&left, "x"), r = Variable(&right, "x");
  EXPECT_FALSE(defined(l, cancelled(&right, false)));
  EXPECT_TRUE(defined(cancelled(&left, false), r));
  EXPECT_TRUE(defined(cancelled(&left, false), cancelled(&right, false)));
  EXPECT_TRUE(defined(l, cancelled(&right, true)));  // exp(y) is not 0
  // In a branch: y = 0 ? x : x * y / y, and log y in a branch that does not exclude y <= 0.
  const RawId y = Variable(&right, "y"), zero = right.Constant(0);
  const RawId is_zero = right.Make(RawOp::kEq, {y, zero});
  EXPECT_TRUE(defined(l, right.Make(RawOp::kIte, {is_zero, r, cancelled(&right, false)})));
  const RawId log = right.Make(RawOp::kLog, {y});
  const RawId there_and_back = right.Make(RawOp::kAdd, {r, log, right.Make(RawOp::kNeg, {log})});
  const RawId x_positive = right.Make(RawOp::kLess, {zero, r});
  const RawId y_positive = right.Make(RawOp::kLess, {zero, y});
  EXPECT_FALSE(defined(l, right.Make(RawOp::kIte, {x_positive, there_and_back, r})));
  EXPECT_TRUE(defined(l, right.Make(RawOp::kIte, {y_positive, there_and_back, r})));
}

TEST_F(Z3Solver, OpaqueFunctionsOfDifferentNamesDiffer) {
  auto apply = [](RawArena* a, const char* name) {
    return a->Add({RawOp::kApply, {}, name, 0, 0, {}});
  };
  EXPECT_EQ(AskZ3(Question(apply(&left, "a b"), apply(&right, "a b"))).verdict, SmtVerdict::kEqual);
  for (const char* other : {"a_b", "a|b", "a%20b", "a\\b", "ab"}) {
    EXPECT_NE(AskZ3(Question(apply(&left, "a b"), apply(&right, other))).verdict,
              SmtVerdict::kEqual)
        << other;
  }
}

// Random terms over x, y and z, and copies in which one node is another one.
class RandomRawTerm {
 public:
  explicit RandomRawTerm(uint64_t seed) : random_(seed) {}
  int64_t Pick(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(below));
  }

  RawId Make(RawArena* a, int depth) {
    static const char* const kNames[] = {"x", "y", "z"};
    auto part = [&] { return Make(a, depth - 1); };
    switch (depth == 0 ? Pick(2) : Pick(15)) {
      case 0:
        return a->Add({RawOp::kVariable, {}, kNames[Pick(3)], 0, 0, {}});
      case 1:
        return Pick(2) == 0 ? a->Constant(Rational(Pick(4) - 1))
                            : a->Add({RawOp::kVariable, {}, kNames[Pick(3)], 0, 0, {}});
      case 2:
      case 3:
        return a->Make(RawOp::kAdd, {part(), part()});
      case 4:
      case 5:
        return a->Make(RawOp::kMul, {part(), part()});
      case 6:
      case 7:
        return a->Make(RawOp::kDiv, {part(), part()});
      case 8:
        return a->Make(RawOp::kNeg, {part()});
      case 9:
        return a->Add(
            {RawOp::kPow, Pick(2) == 0 ? Rational(1, 2) : Rational(-1), "", 0, 0, {part()}});
      case 10:
        return a->Make(Pick(2) == 0 ? RawOp::kLog : RawOp::kExp, {part()});
      case 11:
        return a->Make(Pick(2) == 0 ? RawOp::kMax : RawOp::kMin, {part(), part()});
      case 12:
        return a->Make(RawOp::kAbs, {part()});
      default: {
        const RawId condition = a->Make(Pick(2) == 0 ? RawOp::kLess : RawOp::kEq, {part(), part()});
        return a->Make(RawOp::kIte, {condition, part(), part()});
      }
    }
  }

  // The term in another arena, with a real node replaced.
  RawId Changed(const RawArena& from, RawId root, RawArena* to) {
    RawId at = static_cast<RawId>(Pick(root + 1));
    while (!IsReal(from[at])) --at;
    std::vector<RawId> image;
    for (RawId id = 0; id <= root; ++id) {
      RawTerm t = from[id];
      for (RawId& arg : t.args) arg = image[static_cast<size_t>(arg)];
      if (id != at) {
        image.push_back(to->Add(std::move(t)));
      } else if (t.args.size() == 2 && Pick(2) == 0) {
        std::swap(t.args[0], t.args[1]);
        image.push_back(to->Add(std::move(t)));
      } else if (Pick(3) == 0) {
        // (t u) / u
        const RawId same = to->Add(std::move(t)), other = Make(to, 1);
        image.push_back(to->Make(RawOp::kDiv, {to->Make(RawOp::kMul, {same, other}), other}));
      } else if (Pick(2) == 0) {
        const RawId same = to->Add(std::move(t)), log = to->Make(RawOp::kLog, {Make(to, 1)});
        image.push_back(to->Make(
            RawOp::kAdd, {to->Make(RawOp::kAdd, {same, log}), to->Make(RawOp::kNeg, {log})}));
      } else {
        image.push_back(Make(to, 1));
      }
    }
    return image[static_cast<size_t>(root)];
  }

  RawValues Values() {
    RawValues values;
    for (const char* name : {"x", "y", "z"}) {
      values[name] = Pick(2) == 0 ? static_cast<double>(Pick(5) - 2)
                                  : static_cast<double>(Pick(4001) - 2000) / 1000;
    }
    return values;
  }

 private:
  std::mt19937_64 random_;
};

TEST_F(Z3Solver, RandomTermsThatAreEqualAreSoInNumbersAndDefinedWhereThatIsSaid) {
  int64_t equal = 0, defined = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    RandomRawTerm random(seed);
    RawArena l, r;
    SmtQuestion q;
    q.left_arena = &l;
    q.right_arena = &r;
    q.left = random.Make(&l, 3);
    q.right = random.Changed(l, q.left, &r);
    q.timeout_s = .3;
    q.ask_domain = true;
    const SmtAnswer answer = AskZ3(q);
    if (answer.verdict != SmtVerdict::kEqual) continue;
    ++equal;
    defined += answer.defined;
    for (int sample = 0; sample < 200; ++sample) {
      const RawValues values = random.Values();
      const RawNumber x = EvaluateRaw(l, q.left, values), y = EvaluateRaw(r, q.right, values);
      if (!x.defined || x.magnitude > 1e9 || y.magnitude > 1e9) continue;
      EXPECT_TRUE(y.defined || !answer.defined) << "seed " << seed;
      if (!y.defined) continue;
      EXPECT_NEAR(x.value, y.value, 1e-6 * (1 + x.magnitude + y.magnitude)) << "seed " << seed;
    }
  }
  EXPECT_GT(equal, 50);
  EXPECT_GT(defined, 20);
  EXPECT_LT(defined, equal);
}

TEST_F(Z3Solver, RootOfASquareIsNotTheArgumentButItsAbsoluteValue) {
  const RawId x = Variable(&left, "x");
  const RawId square = left.Make(RawOp::kMul, {x, x});
  const RawId l = left.Add({RawOp::kPow, Rational(1, 2), "", 0, 0, {square}});
  const RawId r = Variable(&right, "x");
  const SmtAnswer answer = AskZ3(Question(l, r));
  EXPECT_EQ(answer.verdict, SmtVerdict::kDifferent);
  EXPECT_LT(answer.right, 0);
  EXPECT_EQ(AskZ3(Question(l, right.Make(RawOp::kAbs, {r}))).verdict, SmtVerdict::kEqual);
}

TEST_F(Z3Solver, ExponentialsOfSumsAreProducts) {
  const RawId x = Variable(&left, "x"), y = Variable(&left, "y");
  const RawId l = left.Make(RawOp::kExp, {left.Make(RawOp::kAdd, {x, y})});
  const RawId a = right.Make(RawOp::kExp, {Variable(&right, "x")});
  const RawId b = right.Make(RawOp::kExp, {Variable(&right, "y")});
  EXPECT_EQ(AskZ3(Question(l, right.Make(RawOp::kMul, {a, b}))).verdict, SmtVerdict::kEqual);
  EXPECT_EQ(AskZ3(Question(l, right.Make(RawOp::kAdd, {a, b}))).verdict, SmtVerdict::kDifferent);
}

TEST_F(Z3Solver, DifferencesThatNumbersDoNotShowAreNotDefinite) {
  // Z3 may give two uninterpreted functions different values; no number can confirm it.
  const RawId l = left.Add({RawOp::kApply, {}, "f", 0, 0, {Variable(&left, "x")}});
  const RawId r = right.Add({RawOp::kApply, {}, "g", 0, 0, {Variable(&right, "x")}});
  EXPECT_EQ(AskZ3(Question(l, r)).verdict, SmtVerdict::kUnknown);
}

TEST_F(Z3Solver, WithoutTimeNothingIsDecided) {
  SmtQuestion q = Question(Variable(&left, "x"), Variable(&right, "y"));
  q.timeout_s = 0;
  EXPECT_EQ(AskZ3(q).verdict, SmtVerdict::kUnknown);
}

TEST_F(Z3Solver, WritesTheQuestionAsSmtLib) {
  SmtQuestion q = Question(Variable(&left, "x"), Variable(&right, "y"));
  const TemporaryDirectory directory("z3");
  q.dump_file = directory.path() + "question.smt2";
  q.comments = {"claim: x"};
  EXPECT_EQ(AskZ3(q).verdict, SmtVerdict::kDifferent);
  std::ifstream in(q.dump_file);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_NE(text.str().find("; claim: x"), std::string::npos);
  EXPECT_NE(text.str().find("(check-sat)"), std::string::npos);
}

TEST(Z3SolverDeathTest, WithoutTheModuleTheAnswerNamesWhatIsMissing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("PLANPROOF_Z3_MODULE", "/nowhere/libplanproof_z3.so", 1);
        RawArena arena;
        const RawId x = arena.Constant(1);
        SmtQuestion q;
        q.left_arena = q.right_arena = &arena;
        q.left = q.right = x;
        const SmtAnswer answer = AskZ3(q);
        std::fputs(answer.reason.c_str(), stderr);
        std::_Exit(answer.verdict == SmtVerdict::kUnknown ? 0 : 1);
      },
      testing::ExitedWithCode(0), "libz3-dev");
}

}  // namespace
}  // namespace planproof::solver
