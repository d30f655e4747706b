// Dumps of training runs, written by a test.
#ifndef PLANPROOF_TESTS_DUMP_FILES_H_
#define PLANPROOF_TESTS_DUMP_FILES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "dumps/safetensors_file.h"

namespace planproof {

inline dumps::TensorBytes Float32(sdfg::Shape shape, const std::vector<float>& elements) {
  dumps::TensorBytes tensor;
  tensor.type = {sdfg::DType::kFloat32, std::move(shape)};
  tensor.bytes.assign(reinterpret_cast<const char*>(elements.data()), elements.size() * 4);
  return tensor;
}

// Tensors of one rank, in order.
using RankTensors = std::vector<std::pair<std::string, dumps::TensorBytes>>;

struct TestRank {
  std::vector<int64_t> coordinates;
  RankTensors tensors;
};

inline nlohmann::json ManifestOf(int rank, const std::vector<TestRank>& ranks,
                                 const nlohmann::json& mesh, const std::string& dtype) {
  nlohmann::json names = nlohmann::json::array();
  for (const auto& [name, tensor] : ranks[rank].tensors) names.push_back(name);
  return {{"planproof_dump", 1},
          {"rank", rank},
          {"ranks", ranks.size()},
          {"mesh", mesh},
          {"coordinates", ranks[rank].coordinates},
          {"dtype", dtype},
          {"file", "rank" + std::to_string(rank) + ".safetensors"},
          {"tensors", names}};
}

inline void WriteDump(const std::string& directory, const nlohmann::json& mesh,
                      const std::vector<TestRank>& ranks, const std::string& dtype = "float32") {
  std::filesystem::create_directories(directory);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string path = directory + "/rank" + std::to_string(rank);
    std::map<std::string, dumps::TensorBytes> tensors(ranks[rank].tensors.begin(),
                                                      ranks[rank].tensors.end());
    ASSERT_TRUE(dumps::WriteSafetensors(path + ".safetensors", tensors).ok());
    std::ofstream(path + ".json") << ManifestOf(static_cast<int>(rank), ranks, mesh, dtype);
  }
}

// A reference with perturbed runs in which each number of each tensor is one epsilon larger, then
// one smaller.
inline void WriteReference(const std::string& directory, const RankTensors& tensors,
                           int samples = 2) {
  WriteDump(directory, nlohmann::json::array(), {{{}, tensors}});
  for (int sample = 1; sample <= samples; ++sample) {
    RankTensors changed = tensors;
    for (auto& [name, tensor] : changed) {
      if (tensor.type.dtype != sdfg::DType::kFloat32) continue;
      for (size_t at = 0; at < tensor.bytes.size(); at += 4) {
        float value = 0;
        std::memcpy(&value, tensor.bytes.data() + at, 4);
        value *= 1 + (sample % 2 == 1 ? 0x1p-23f : -0x1p-23f);
        std::memcpy(tensor.bytes.data() + at, &value, 4);
      }
    }
    WriteDump(directory + "/perturbed" + std::to_string(sample), nlohmann::json::array(),
              {{{}, changed}});
  }
}

}  // namespace planproof

#endif  // PLANPROOF_TESTS_DUMP_FILES_H_
