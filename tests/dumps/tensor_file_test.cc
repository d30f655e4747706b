// Files of tensors: safetensors and npz, whole and damaged.
#include "dumps/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minizip/zip.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "dumps/npz_file.h"
#include "tests/dump_files.h"
#include "tests/temporary_directory.h"

namespace planproof::dumps {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

std::string Content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class TensorFiles : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = directory_.path() + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  // A safetensors file with this header.
  std::string WithHeader(const std::string& header, const std::string& data = "") {
    const uint64_t length = header.size();
    return Write("x.safetensors",
                 std::string(reinterpret_cast<const char*>(&length), 8) + header + data);
  }
  static std::string Refusal(const std::string& path) {
    const auto file = TensorFile::Open(path);
    EXPECT_TRUE(absl::IsInvalidArgument(file.status())) << path << file.status();
    return std::string(file.status().message());
  }
  std::string WriteNpz(const std::string& header, const std::string& elements, int level,
                       const std::string& name = "a.npy") {
    const std::string path = directory_.path() + "x.npz";
    zipFile archive = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
    zip_fileinfo info = {};
    zipOpenNewFileInZip64(archive, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                          level == 0 ? 0 : Z_DEFLATED, level, 1);
    const auto length = static_cast<uint16_t>(header.size());
    const std::string member = "\x93NUMPY\x01\x00"s +
                               std::string(reinterpret_cast<const char*>(&length), 2) + header +
                               elements;
    zipWriteInFileInZip(archive, member.data(), static_cast<unsigned>(member.size()));
    zipCloseFileInZip(archive);
    zipClose(archive, nullptr);
    return path;
  }

  TemporaryDirectory directory_{"tensor_files"};
};

TEST_F(TensorFiles, SafetensorsAreReadAsTheyWereWritten) {
  const std::string path = directory_.path() + "x";
  const TensorBytes b = Float32({2, 1}, {1, 2}), a = Float32({}, {3}), none = Float32({0, 4}, {});
  ASSERT_TRUE(WriteSafetensors(path, {{"b", b}, {"a", a}, {"none", none}}).ok());
  const auto file = TensorFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->tensors().at("b").shape, (sdfg::Shape{2, 1}));
  EXPECT_EQ(*(*file)->Read("b"), b.bytes);
  EXPECT_EQ(*(*file)->Read("a"), a.bytes);
  EXPECT_EQ(*(*file)->Read("none"), "");
}

TEST_F(TensorFiles, NpzIsReadStoredAndDeflated) {
  const std::string elements = Float32({2, 3}, {1, 2, 3, 4, 5, 6}).bytes;
  for (const int level : {0, 9}) {
    const auto file = TensorFile::Open(WriteNpz(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", elements, level));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ((*file)->tensors().at("a").shape, (sdfg::Shape{2, 3}));
    EXPECT_EQ((*file)->tensors().at("a").dtype, sdfg::DType::kFloat32);
    EXPECT_EQ(*(*file)->Read("a"), elements);
    EXPECT_EQ(*(*file)->Read("a"), elements) << "the second time";
  }
}

TEST_F(TensorFiles, NumpyHeadersAreTakenLiterally) {
  const auto type = ParseNpyHeader("{'descr': '<i8', 'fortran_order': False, 'shape': (7,), }\n");
  ASSERT_TRUE(type.ok()) << type.status();
  EXPECT_EQ(type->dtype, sdfg::DType::kInt64);
  EXPECT_EQ(type->shape, sdfg::Shape{7});
  EXPECT_TRUE(ParseNpyHeader("{'descr': '|b1', 'fortran_order': False, 'shape': (), }").ok());
  const auto says = [](const std::string& text) {
    return std::string(ParseNpyHeader(text).status().message());
  };
  EXPECT_THAT(says("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
              HasSubstr("elements of type '|O' are not read"));
  EXPECT_THAT(says("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }"),
              HasSubstr("ascontiguousarray"));
  EXPECT_THAT(says("{'descr': __import__('os'), 'fortran_order': False, 'shape': (1,), }"),
              HasSubstr("plain numbers is expected"));
  EXPECT_THAT(says("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"),
              HasSubstr("too large"));
}

TEST_F(TensorFiles, DamagedArchivesAreRefused) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  const std::string elements = Float32({2}, {1, 2}).bytes;
  EXPECT_THAT(Refusal(WriteNpz(header, elements + "x", 0)),
              HasSubstr("a.npy: its size is not that of its elements"));
  EXPECT_THAT(Refusal(Write("y.npz", "PK\x03\x04 and no more")), HasSubstr("a damaged archive"));
  const std::string whole = Content(WriteNpz(header, elements, 0));
  EXPECT_THAT(Refusal(Write("z.npz", whole.substr(0, whole.size() / 2))), HasSubstr("damaged"));
  // One bit of an element: the checksum tells.
  std::string flipped = whole;
  flipped[flipped.find(elements)] ^= 1;
  const auto file = TensorFile::Open(Write("f.npz", flipped));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT((*file)->Read("a").status().message(), HasSubstr("a: is damaged"));
}

TEST_F(TensorFiles, HeadersOfSafetensorsAreNotBelieved) {
  EXPECT_THAT(Refusal(Write("x", "short")), HasSubstr("neither safetensors nor npz"));
  EXPECT_THAT(Refusal(Write("x", "\xff\xff\xff\xff\xff\xff\xff\x7f{}")),
              HasSubstr("its header is longer than the file"));
  EXPECT_THAT(Refusal(WithHeader("[1]")), HasSubstr("no JSON object"));
  EXPECT_THAT(Refusal(WithHeader(R"({"a": 3})")), HasSubstr("/a: an object is expected"));
  EXPECT_THAT(Refusal(WithHeader(R"({"a": {"dtype": "F32", "shape": [1]}})")),
              HasSubstr("\"data_offsets\" is missing"));
  const auto with = [this](const char* dtype, const char* shape, const char* offsets) {
    return Refusal(WithHeader("{\"a\": {\"dtype\": \""s + dtype + "\", \"shape\": " + shape +
                                  ", \"data_offsets\": " + offsets + "}}",
                              "abcd"));
  };
  EXPECT_THAT(with("C64", "[1]", "[0, 8]"), HasSubstr("elements of type C64 are not read"));
  EXPECT_THAT(with("F32", "[2]", "[0, 4]"), HasSubstr("not as many as its elements take"));
  EXPECT_THAT(with("F32", "[1]", "[4, 0]"), HasSubstr("not as many as its elements take"));
  EXPECT_THAT(with("F32", "[-1]", "[0, 4]"), HasSubstr("an extent is negative"));
  EXPECT_THAT(with("F32", "[4294967296, 4294967296]", "[0, 4]"), HasSubstr("too many elements"));
  EXPECT_THAT(with("F32", "[1.5]", "[0, 4]"), HasSubstr("no list of whole numbers"));
  EXPECT_THAT(with("U8", "[2]", "[0, 2]"), HasSubstr("its size is not that of its tensors"));
  EXPECT_THAT(with("U8", "[2]", "[2, 4]"), HasSubstr("do not lie one after another"));
  std::string ones = "[1";
  for (int i = 0; i < 40; ++i) ones += ", 1";
  EXPECT_THAT(with("F32", (ones + "]").c_str(), "[0, 4]"), HasSubstr("41 dimensions"));
}

TEST_F(TensorFiles, OnlyRegularFilesAreOpened) {
  EXPECT_TRUE(absl::IsNotFound(TensorFile::Open("/nowhere").status()));
  EXPECT_THAT(Refusal(directory_.path()), HasSubstr("it is no file"));
  EXPECT_THAT(Refusal("/dev/zero"), HasSubstr("it is no file"));
}

}  // namespace
}  // namespace planproof::dumps
