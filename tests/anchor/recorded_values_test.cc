// Files of recorded values: what is read of them, and what is refused.
#include "anchor/recorded_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anchor/digest.h"
#include "tests/anchor/recorded_files.h"
#include "tests/temporary_directory.h"

namespace planproof::anchor {
namespace {

using frontend::RecordedProgram;
using sdfg::DType;
using testing::HasSubstr;

class RecordedFile : public testing::Test {
 protected:
  RecordedFile() {
    program_.path = directory_.path() + "rank0.trace";
    program_.values_path = path();
    program_.storages = {{DType::kFloat32, 4}, {DType::kInt64, 2}};
    program_.results.emplace_back();
    program_.results[0].dtype = DType::kBFloat16;
    program_.results[0].shape = {2};
    arrays_["storage_0"] = Stored<float>({1, 2, 3, 4});
    arrays_["storage_1"] = Stored<int64_t>({5, -6});
    arrays_["result_0"] = Stored<uint16_t>({0x3f80, 0xbf80});
  }
  std::string path() const { return directory_.path() + "rank0.values.npz"; }
  absl::StatusOr<RecordedValues> Open() {
    WriteText(path(), NpzOf(arrays_));
    return RecordedValues::Open(program_);
  }
  // Why a result, or all, is refused.
  std::string Refusal() {
    absl::StatusOr<RecordedValues> file = Open();
    if (!file.ok()) return std::string(file.status().message());
    const auto storage = file->Before(0, 0, 4);
    if (!storage.ok()) return std::string(storage.status().message());
    return std::string(file->Result(0).status().message());
  }

  TemporaryDirectory directory_{"recorded_values"};
  RecordedProgram program_;
  std::map<std::string, NpyArray> arrays_;
};

TEST_F(RecordedFile, ViewsOfStoragesAndResultsAreRead) {
  auto file = Open();
  ASSERT_TRUE(file.ok()) << file.status();
  const auto transposed = file->Before({0, DType::kFloat32, 0, {2, 2}, {1, 2}});
  ASSERT_TRUE(transposed.ok()) << transposed.status();
  EXPECT_EQ(transposed->doubles, (std::vector<double>{1, 3, 2, 4}));
  EXPECT_EQ(file->Before(1, 1, 1)->integers, (std::vector<int64_t>{-6}));
  EXPECT_EQ(file->Result(0)->doubles, (std::vector<double>{1, -1}));
  EXPECT_FALSE(file->HasHeld(0));
  EXPECT_TRUE(file->Sketches()->empty());
}

TEST_F(RecordedFile, WithoutAFileNothingIsKnown) {
  EXPECT_TRUE(absl::IsNotFound(RecordedValues::Open(program_).status()));
  program_.given = false;
  EXPECT_TRUE(absl::IsNotFound(Open().status()));
}

TEST_F(RecordedFile, AnotherRecordingsValuesAreRefused) {
  program_.version = 2;
  EXPECT_TRUE(absl::IsNotFound(Open().status()));  // the trace names none
  program_.values_digest = *Sha256OfFile(path());
  EXPECT_TRUE(Open().ok());
  arrays_["storage_0"] = Stored<float>({1, 2, 3, 5});
  EXPECT_TRUE(absl::IsInvalidArgument(Open().status()));
  EXPECT_THAT(Refusal(), HasSubstr("these are not the values of"));
  EXPECT_THAT(Refusal(), HasSubstr("another SHA-256"));
}

TEST_F(RecordedFile, SizesThatDoNotFitAreRefused) {
  arrays_["result_0"] = Stored<uint16_t>({0x3f80});
  EXPECT_THAT(Refusal(), HasSubstr("result_0: 2 bytes do not fit the trace, which says 4"));
  arrays_["storage_0"] = Stored<float>({1, 2, 3, 4, 5});
  EXPECT_THAT(Refusal(), HasSubstr("storage_0: 20 bytes do not fit the trace, which says 16"));
  arrays_["storage_0"] = Stored<float>({1, 2});
  EXPECT_THAT(Refusal(), HasSubstr("element 2 is not there"));
}

TEST_F(RecordedFile, OtherTypesAreRefused) {
  arrays_["result_0"].descr = "<i4";
  arrays_["result_0"].shape = {1};
  EXPECT_THAT(Refusal(), HasSubstr("one dimension of bytes is expected"));
}

// A member that says to unpack to more than any program's values may have.
TEST_F(RecordedFile, TooManyBytesAreRefusedBeforeTheyAreRead) {
  WriteText(path(), NpzOf(arrays_));
  arrays_["storage_9"] = {"|u1", {int64_t{1} << 40}, ""};
  EXPECT_FALSE(Open().ok());
}

TEST_F(RecordedFile, DamagedFilesAreRefused) {
  std::string text = NpzOf(arrays_);
  const size_t data = text.find(BytesOfAll<float>({1, 2, 3, 4}));
  text[data] ^= 1;
  WriteText(path(), text);
  auto file = RecordedValues::Open(program_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(absl::IsInvalidArgument(file->Before(0, 0, 4).status()));
  WriteText(path(), text.substr(0, text.size() / 2));
  EXPECT_TRUE(absl::IsInvalidArgument(RecordedValues::Open(program_).status()));
}

TEST_F(RecordedFile, SketchesAreReadWithTheirPlaces) {
  program_.operators.resize(3);
  arrays_["sketch_places"] = {"<i8", {1, 2}, BytesOfAll<int64_t>({2, 1})};
  arrays_["sketches"] = {"<f8", {1, 5}, BytesOfAll<double>({5, 1, 2, 3, 4})};
  auto file = Open();
  ASSERT_TRUE(file.ok()) << file.status();
  const auto sketches = file->Sketches();
  ASSERT_TRUE(sketches.ok()) << sketches.status();
  ASSERT_EQ(sketches->size(), 1u);
  EXPECT_EQ((*sketches)[0].position, 2);
  EXPECT_EQ((*sketches)[0].number, 1);
  EXPECT_EQ((*sketches)[0].numbers, (std::array<double, 5>{5, 1, 2, 3, 4}));
  arrays_["sketch_places"].bytes = BytesOfAll<int64_t>({3, 0});
  EXPECT_TRUE(absl::IsInvalidArgument(Open()->Sketches().status()));
}

TEST(Digest, IsThatOfTheStandard) {
  TemporaryDirectory directory("digest");
  WriteText(directory.path() + "abc", "abc");
  EXPECT_EQ(*Sha256OfFile(directory.path() + "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace planproof::anchor
