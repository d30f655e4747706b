#include "shape_reduction/index_form.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace planproof::shape_reduction {
namespace {

using Values = std::vector<int64_t>;  // by variable

int64_t Evaluate(const IndexForm& form, const Values& at) {
  int64_t value = form.constant;
  for (const DigitTerm& term : form.terms) {
    value += term.scale * (at[term.var] / term.div % term.extent);
  }
  return value;
}

std::string ToString(const IndexForm& form) {
  std::string text = std::to_string(form.constant);
  for (const DigitTerm& term : form.terms) {
    text += " + " + std::to_string(term.scale) + " (v" + std::to_string(term.var) + " div " +
            std::to_string(term.div) + " mod " + std::to_string(term.extent) + ")";
  }
  return text;
}

// Calls visit(values) for all values of the variables.
template <typename Visit>
void ForAll(const std::vector<sdfg::IndexVariable>& vars, const Visit& visit) {
  Values at(vars.size(), 0);
  while (true) {
    visit(at);
    size_t v = vars.size();
    while (v > 0 && ++at[v - 1] == vars[v - 1].extent) at[--v] = 0;
    if (v == 0) return;
  }
}

// Whether the form is on one side of every cut throughout each block: by the first value of it.
bool Separates(const IndexForm& form, const std::vector<int64_t>& cuts,
               const std::vector<sdfg::IndexVariable>& vars, const VariablePartitions& partitions) {
  std::vector<std::vector<int64_t>> first;
  for (size_t v = 0; v < vars.size(); ++v) {
    first.push_back(partitions[static_cast<sdfg::VarId>(v)].Representatives());
  }
  bool separates = true;
  ForAll(vars, [&](const Values& at) {
    Values block = at;
    for (size_t v = 0; v < vars.size(); ++v) {
      block[v] = first[v][partitions[static_cast<sdfg::VarId>(v)].BlockOf(at[v])];
    }
    for (const int64_t cut : cuts) {
      separates &= (Evaluate(form, at) >= cut) == (Evaluate(form, block) >= cut);
    }
  });
  return separates;
}

TEST(IndexForm, BlocksLieOnOneSideOfEveryCut) {
  std::mt19937 random(5);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  int coarse = 0, reversed = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<sdfg::IndexVariable> vars = {{"a", 2 + below(8)}, {"b", 2 + below(8)}};
    // Digits of a mixed-radix number, some of them counted from the other end.
    IndexForm form;
    form.constant = below(21) - 10;
    int64_t stride = 1 + below(2);
    bool mixed = false;
    for (const sdfg::VarId var : {1, 0}) {
      if (below(5) == 0) stride = 1 + below(4);  // or digits that overlap
      const int64_t sign = below(2) == 0 ? 1 : -1;
      mixed |= sign < 0;
      if (vars[var].extent % 2 == 0 && below(3) == 0) {
        form.terms.push_back({var, 1, 2, sign * stride});
        form.terms.push_back({var, 2, vars[var].extent / 2, -sign * stride * 2});
      } else {
        form.terms.push_back({var, 1, vars[var].extent, sign * stride});
      }
      stride *= vars[var].extent;
    }
    std::vector<int64_t> cuts;
    for (int k = 0; k < 1 + round % 3; ++k) cuts.push_back(below(80) - 40);
    VariablePartitions partitions(vars);
    partitions.PullCuts(form, cuts);
    ASSERT_TRUE(Separates(form, cuts, vars, partitions)) << ToString(form);
    const bool fine = partitions[0].IsFull() && partitions[1].IsFull();
    coarse += fine ? 0 : 1;
    reversed += mixed && !fine ? 1 : 0;
  }
  EXPECT_GT(coarse, 1500);
  EXPECT_GT(reversed, 1000);
}

// Rank r of two holds blocks r and 3 - r of a sequence: the second in the order of ranks reversed.
TEST(IndexForm, ReversedRanksNeedNoCutAtEveryPosition) {
  const std::vector<sdfg::IndexVariable> vars = {{"rank", 2}, {"position", 8192}};
  IndexForm form;
  form.constant = 3 * 8192;
  form.terms = {{0, 1, 2, -8192}, {1, 1, 8192, 1}};
  VariablePartitions partitions(vars);
  partitions.PullCuts(form, {2 * 8192, 3 * 8192 + 5});
  EXPECT_EQ(partitions[0].blocks(), 2);
  EXPECT_EQ(partitions[1].blocks(), 2);
  EXPECT_EQ(partitions[1].BlockOf(4), 0);
  EXPECT_EQ(partitions[1].BlockOf(5), 1);
}

}  // namespace
}  // namespace planproof::shape_reduction
