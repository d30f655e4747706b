// Directories of dumps: manifests that fit together, and those that do not.
#include "dumps/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/dump_files.h"
#include "tests/temporary_directory.h"

namespace planproof::dumps {
namespace {

using testing::HasSubstr;

const nlohmann::json kMesh = nlohmann::json::parse(R"([["dp", 1], ["tp", 2]])");
const std::vector<TestRank> kRanks = {{{0, 0}, {{"forward/a", Float32({1}, {1})}}},
                                      {{0, 1}, {{"forward/a", Float32({1}, {2})}}}};

class Dumps : public testing::Test {
 protected:
  Dumps() { WriteDump(path_, kMesh, kRanks); }

  // A rank's manifest with one member changed.
  void Change(int rank, const char* key, const nlohmann::json& value) {
    nlohmann::json manifest = ManifestOf(rank, kRanks, kMesh, "float32");
    manifest[key] = value;
    std::ofstream(path_ + "/rank" + std::to_string(rank) + ".json") << manifest;
  }
  std::string Refusal() const {
    const absl::StatusOr<Dump> dump = ReadDump(path_);
    EXPECT_TRUE(absl::IsInvalidArgument(dump.status())) << dump.status();
    return std::string(dump.status().message());
  }

  TemporaryDirectory directory_{"dumps"};
  const std::string path_ = directory_.path() + "run";
};

TEST_F(Dumps, RanksAreReadWithTheirPlaces) {
  const absl::StatusOr<Dump> dump = ReadDump(path_);
  ASSERT_TRUE(dump.ok()) << dump.status();
  ASSERT_EQ(dump->ranks.size(), 2u);
  EXPECT_EQ(dump->axes()[1], (Axis{"tp", 2}));
  EXPECT_EQ(dump->ranks[1].manifest.coordinates, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(dump->dtype(), sdfg::DType::kFloat32);
}

TEST_F(Dumps, AManifestIsCheckedByItself) {
  for (const auto& [key, value, says] :
       std::vector<std::tuple<const char*, nlohmann::json, const char*>>{
           {"planproof_dump", 2, "\"planproof_dump\" is no whole number from 1 to 1"},
           {"rank", 1, "it is of rank 1"},
           {"ranks", 3, "the mesh has 2 ranks, \"ranks\" says 3"},
           {"ranks", 1e30, "no whole number"},
           {"mesh", nlohmann::json::parse(R"([["dp", 2], ["dp", 1]])"),
            "\"mesh\" is no list of axes"},
           {"mesh", nlohmann::json::parse(R"([["dp", -2], ["tp", -1]])"),
            "\"mesh\" is no list of axes"},
           {"mesh", nlohmann::json::parse(R"([["dp", 16384], ["tp", 16384]])"),
            "of at most 16384 ranks"},
           {"coordinates", {0, 2}, "\"coordinates\" are none of the mesh"},
           {"coordinates", {0}, "\"coordinates\" are none of the mesh"},
           {"dtype", "int64", "no floating-point type: int64"},
           {"file", "../rank0.safetensors", "\"file\" is no name of a file beside this one"},
           {"tensors", {"forward/a", "forward/a"}, "two tensors are called forward/a"},
           {"tensors", {"forward/b"}, "\"tensors\" has forward/b, rank0.safetensors has not"},
           {"tensors", "forward/a", "\"tensors\" is no list of texts"}}) {
    Change(0, key, value);
    EXPECT_THAT(Refusal(), HasSubstr(says)) << key;
    EXPECT_THAT(Refusal(), HasSubstr("/run/rank0.json: "));
  }
  std::ofstream(path_ + "/rank0.json") << "no JSON";
  EXPECT_THAT(Refusal(), HasSubstr("rank0.json: it is no JSON"));
}

TEST_F(Dumps, ManifestsOfDifferentRunsAreRefused) {
  Change(1, "dtype", "bfloat16");
  EXPECT_THAT(Refusal(), HasSubstr("rank1.json: it has another \"dtype\" than rank 0"));
  Change(1, "mesh", nlohmann::json::parse(R"([["dp", 2], ["tp", 1]])"));
  EXPECT_THAT(Refusal(), HasSubstr("\"coordinates\" are none of the mesh"));
  Change(1, "mesh", nlohmann::json::parse(R"([["pp", 1], ["tp", 2]])"));
  EXPECT_THAT(Refusal(), HasSubstr("another mesh than rank 0"));
  Change(1, "coordinates", {0, 0});
  EXPECT_THAT(Refusal(), HasSubstr("another rank has the same coordinates"));
}

TEST_F(Dumps, AMissingRankIsNamed) {
  std::filesystem::remove(path_ + "/rank1.json");
  EXPECT_THAT(Refusal(), HasSubstr("rank1.json: there is no such file; a dump has rankN.json"));
  EXPECT_TRUE(absl::IsNotFound(ReadDump("/nowhere").status()));
}

TEST_F(Dumps, AReferenceIsOneProcessWithPerturbedRuns) {
  const auto refusal = [](const std::string& path) {
    return std::string(ReadReferenceDump(path).status().message());
  };
  EXPECT_THAT(refusal(path_), HasSubstr("a reference is a run of one process, this one has 2"));
  const std::string reference = directory_.path() + "reference";
  const RankTensors tensors = {{"forward/a", Float32({2}, {1, 2})}};
  WriteReference(reference, tensors, 0);
  EXPECT_THAT(refusal(reference), HasSubstr("it has no perturbed1"));
  WriteReference(reference, tensors, 2);
  ASSERT_TRUE(ReadReferenceDump(reference).ok()) << refusal(reference);
  EXPECT_EQ(ReadReferenceDump(reference)->perturbed.size(), 2u);
  const auto perturbed = [&](const RankTensors& other, const char* dtype = "float32") {
    WriteDump(reference + "/perturbed2", nlohmann::json::array(), {{{}, other}}, dtype);
    return refusal(reference);
  };
  EXPECT_THAT(perturbed({{"forward/b", Float32({2}, {1, 2})}}), HasSubstr("it has no forward/a"));
  EXPECT_THAT(perturbed({{"forward/a", Float32({1}, {1})}}), HasSubstr("another shape"));
  EXPECT_THAT(perturbed(tensors, "bfloat16"), HasSubstr("another type"));
}

TEST(TensorKinds, AreTheFirstWordOfAName) {
  EXPECT_EQ(KindOf("forward/layers.0"), TensorKind::kForward);
  EXPECT_EQ(KindOf("gradient/w"), TensorKind::kGradient);
  EXPECT_EQ(KindOf("forwards/layers.0"), TensorKind::kOther);
  EXPECT_EQ(KindOf(""), TensorKind::kOther);
}

}  // namespace
}  // namespace planproof::dumps
