// Archives as Python's own library reads them.
#include "witness/npz_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/temporary_directory.h"

namespace planproof::witness {
namespace {

// Checks every entry's sum, and prints names, headers and numbers.
constexpr char kPrint[] = R"(
import ast, struct, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
for name in archive.namelist():
    data = archive.read(name)
    assert data[:8] == b'\x93NUMPY\x01\x00'
    length, = struct.unpack('<H', data[8:10])
    assert (10 + length) % 64 == 0 and data[9 + length:10 + length] == b'\n'
    header = ast.literal_eval(data[10:10 + length].decode().strip())
    kind = {'<f8': 'd', '<i8': 'q'}[header['descr']]
    print(name, header['shape'], struct.unpack('<%d%s' % ((len(data) - 10 - length) // 8, kind), data[10 + length:]))
)";

TEST(NpzFile, PythonReadsWhatWasWritten) {
  const TemporaryDirectory directory("npz");
  const std::string& path = directory.path();
  std::ofstream(path + "print.py") << kPrint;
  if (std::system("python3 -c ''") != 0) GTEST_SKIP() << "python3 is not there";
  const auto bytes =
      ToNpz({{.name = "x", .shape = {2, 2}, .reals = {0.5, -1, 1e300, 0}},
             {.name = "ids", .shape = {3}, .is_integer = true, .integers = {1, -2, 3}},
             {.name = "scalar", .shape = {}, .reals = {7}},
             {.name = "none", .shape = {0, 4}}});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  std::ofstream(path + "a.npz", std::ios::binary) << *bytes;
  ASSERT_EQ(
      std::system(("python3 " + path + "print.py " + path + "a.npz >" + path + "out").c_str()), 0);
  std::ifstream in(path + "out");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_EQ(text,
            "x.npy (2, 2) (0.5, -1.0, 1e+300, 0.0)\n"
            "ids.npy (3,) (1, -2, 3)\n"
            "scalar.npy () (7.0,)\n"
            "none.npy (0, 4) ()\n");
}

TEST(NpzFile, EqualArraysMakeEqualFiles) {
  const NpzArray array{.name = "x", .shape = {1}, .reals = {1}};
  EXPECT_EQ(*ToNpz({array}), *ToNpz({array}));
}

TEST(NpzFile, NoArraysAreAnEmptyArchive) {
  const auto bytes = ToNpz({});
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->size(), 22u);
}

}  // namespace
}  // namespace planproof::witness
