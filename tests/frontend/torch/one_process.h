// Traces of one process that tests write.
#ifndef PLANPROOF_TESTS_FRONTEND_TORCH_ONE_PROCESS_H_
#define PLANPROOF_TESTS_FRONTEND_TORCH_ONE_PROCESS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

namespace planproof::frontend::torch {

inline nlohmann::json TensorAt(int number) { return {{"tensor", number}}; }

// Tensors in row-major order, each in memory of its own.
class OneProcess {
 public:
  int Add(const std::string& dtype, const std::vector<int64_t>& shape) {
    int64_t size = 1;
    std::vector<int64_t> strides(shape.size());
    for (size_t k = shape.size(); k-- > 0; size *= shape[k]) strides[k] = size;
    storages_.push_back({{"dtype", dtype}, {"size", size}});
    return AddView(static_cast<int>(storages_.size()) - 1, dtype, shape, strides);
  }
  int AddView(int storage, const std::string& dtype, const std::vector<int64_t>& shape,
              const std::vector<int64_t>& strides) {
    tensors_.push_back(nlohmann::json::array({storage, dtype, 0, shape, strides}));
    return static_cast<int>(tensors_.size()) - 1;
  }
  // With the result y.
  nlohmann::json Trace(nlohmann::json inputs, nlohmann::json operators, int result) const {
    return {{"planproof_torch_trace", 1},
            {"torch", "2"},
            {"rank", 0},
            {"world", 1},
            {"axes", nlohmann::json::array()},
            {"groups", nlohmann::json::array()},
            {"strings", nlohmann::json::array()},
            {"storages", storages_},
            {"tensors", tensors_},
            {"inputs", std::move(inputs)},
            {"operators", std::move(operators)},
            {"results",
             nlohmann::json::array({{{"kind", "output"}, {"name", "y"}, {"tensor", result}}})},
            {"notes", nlohmann::json::array()}};
  }

 private:
  nlohmann::json storages_ = nlohmann::json::array(), tensors_ = nlohmann::json::array();
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_TESTS_FRONTEND_TORCH_ONE_PROCESS_H_
