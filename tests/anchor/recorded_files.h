// Recorded programs that tests write: traces, and files of values beside them.
#ifndef PLANPROOF_TESTS_ANCHOR_RECORDED_FILES_H_
#define PLANPROOF_TESTS_ANCHOR_RECORDED_FILES_H_

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace planproof::anchor {

template <class T>
std::string BytesOfAll(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
}

// An array of a .npz file.
struct NpyArray {
  std::string descr = "|u1";
  std::vector<int64_t> shape;
  std::string bytes;
};
inline NpyArray PlainBytes(std::string bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  return {"|u1", {size}, std::move(bytes)};
}
template <class T>
NpyArray Stored(const std::vector<T>& elements) {
  return PlainBytes(BytesOfAll(elements));
}

// Members are stored, not deflated.
inline std::string NpzOf(const std::map<std::string, NpyArray>& arrays) {
  const auto number = [](uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
  };
  std::string files, directory;
  for (const auto& [name, array] : arrays) {
    std::string shape;
    for (const int64_t extent : array.shape) shape += std::to_string(extent) + ",";
    std::string header =
        "{'descr': '" + array.descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    header.resize(117, ' ');
    header += "\n";
    const std::string member =
        std::string("\x93NUMPY\x01\x00", 8) + number(header.size(), 2) + header + array.bytes;
    const auto* data = reinterpret_cast<const Bytef*>(member.data());
    const std::string path = name + ".npy";
    const std::string common =
        number(20, 2) + number(0, 8) + number(crc32(0, data, static_cast<uInt>(member.size())), 4) +
        number(member.size(), 4) + number(member.size(), 4) + number(path.size(), 2) + number(0, 2);
    directory +=
        "PK\x01\x02" + number(20, 2) + common + number(0, 10) + number(files.size(), 4) + path;
    files += "PK\x03\x04" + common + path + member;
  }
  return files + directory + "PK\x05\x06" + number(0, 4) + number(arrays.size(), 2) +
         number(arrays.size(), 2) + number(directory.size(), 4) + number(files.size(), 4) +
         number(0, 2);
}

inline void WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  ASSERT_TRUE(file.good()) << path;
}

inline void WriteTrace(const std::string& path, const nlohmann::json& trace) {
  gzFile file = gzopen(path.c_str(), "wb");
  const std::string text = trace.dump();
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
}

}  // namespace planproof::anchor

#endif  // PLANPROOF_TESTS_ANCHOR_RECORDED_FILES_H_
