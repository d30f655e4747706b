// Names under wrappers are those of the reference, unless two tensors would have one name.
#include "frontend/torch/wrapper_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace planproof::frontend::torch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Trace With(const std::vector<std::string>& names) {
  Trace trace;
  trace.path = "rank0.trace";
  for (const std::string& name : names) {
    trace.inputs.push_back({});
    trace.inputs.back().role = InputRole::kParameter;
    trace.inputs.back().name = name;
    trace.results.push_back({});
    trace.results.back().kind = ResultKind::kGradient;
    trace.results.back().name = name;
  }
  return trace;
}

struct UnderWrappers {
  absl::Status status;
  std::vector<std::string> names, assumptions;
};

UnderWrappers Name(const std::vector<std::string>& reference,
                   const std::vector<std::string>& rank) {
  UnderWrappers named;
  std::vector<Trace> ranks = {With(rank)};
  named.status = NameAsTheReference(With(reference), &ranks, &named.assumptions);
  for (size_t i = 0; i < rank.size(); ++i) {
    named.names.push_back(ranks[0].inputs[i].name);
    if (named.status.ok()) {
      EXPECT_EQ(ranks[0].results[i].name, ranks[0].inputs[i].name);
    }
  }
  return named;
}

TEST(WrapperNames, ComponentsOfWrappersMeanNothing) {
  EXPECT_EQ(WithoutWrappers("_fsdp_wrapped_module.layers.0._checkpoint_wrapped_module.q.weight"),
            "layers.0.q.weight");
  EXPECT_EQ(WithoutWrappers("_orig_mod.module.up.bias"), "up.bias");
  EXPECT_EQ(WithoutWrappers("modules.up"), "modules.up");
  const UnderWrappers named =
      Name({"up.weight", "down.weight"},
           {"module._orig_mod.down.weight", "_fsdp_wrapped_module.up.weight"});
  EXPECT_TRUE(named.status.ok()) << named.status;
  EXPECT_THAT(named.names, ElementsAre("down.weight", "up.weight"));
  EXPECT_THAT(named.assumptions, ElementsAre(HasSubstr("2 names")));
}

TEST(WrapperNames, TheReferenceMayBeWrappedAsWell) {
  EXPECT_THAT(Name({"_orig_mod.up.weight"}, {"module.up.weight"}).names,
              ElementsAre("_orig_mod.up.weight"));
}

TEST(WrapperNames, NamesThatTheReferenceHasStay) {
  const UnderWrappers named =
      Name({"module.up.weight", "up.weight"}, {"up.weight", "module.up.weight"});
  EXPECT_TRUE(named.status.ok()) << named.status;
  EXPECT_THAT(named.names, ElementsAre("up.weight", "module.up.weight"));
  EXPECT_THAT(named.assumptions, IsEmpty());
  EXPECT_THAT(Name({"up.weight"}, {"other.weight"}).names, ElementsAre("other.weight"));
}

TEST(WrapperNames, NamesThatBecomeEqualAreRefused) {
  const absl::Status ranks =
      Name({"up.weight"}, {"module.up.weight", "_orig_mod.up.weight"}).status;
  EXPECT_THAT(std::string(ranks.message()), HasSubstr("is the same name as"));
  const absl::Status reference =
      Name({"module.up.weight", "up.weight"}, {"_orig_mod.up.weight"}).status;
  EXPECT_THAT(std::string(reference.message()), HasSubstr("may be module.up.weight or up.weight"));
}

}  // namespace
}  // namespace planproof::frontend::torch
