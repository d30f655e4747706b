// Mutates a plan in JSON value by value: most changes to its bytes would only break the syntax.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using Json = nlohmann::ordered_json;

class JsonMutator {
 public:
  explicit JsonMutator(unsigned seed) : random_(seed) {}

  void Mutate(Json* root) {
    Collect(root);
    Json* at = values_[Below(values_.size())];
    const Json other = *values_[Below(values_.size())];
    switch (Below(6)) {
      case 0:
        *at = other;
        return;
      case 1:
        Remove(at);
        return;
      case 2:
        if (at->is_array()) {
          at->push_back(at->empty() ? other : Json((*at)[Below(at->size())]));
        } else if (at->is_object()) {
          (*at)[keys_.empty() ? "x" : keys_[Below(keys_.size())]] = other;
        } else {
          Scalar(at);
        }
        return;
      default:
        Scalar(at);
    }
  }

 private:
  size_t Below(size_t n) { return random_() % n; }

  void Collect(Json* value) {
    values_.push_back(value);
    if (value->is_object()) {
      for (auto it = value->begin(); it != value->end(); ++it) {
        keys_.push_back(it.key());
        Collect(&it.value());
      }
    } else if (value->is_array()) {
      for (Json& element : *value) Collect(&element);
    } else if (value->is_string()) {
      strings_.push_back(value->get<std::string>());
    }
  }

  void Remove(Json* at) {
    if (at->is_array() && !at->empty()) {
      at->erase(Below(at->size()));
    } else if (at->is_object() && !at->empty()) {
      at->erase(std::next(at->begin(), static_cast<std::ptrdiff_t>(Below(at->size()))));
    } else {
      *at = nullptr;
    }
  }

  void Scalar(Json* at) {
    static constexpr int64_t kNumbers[] = {
        0, 1, -1, 2, 3, 4, 8, 64, 1 << 20, INT32_MAX, INT64_MAX, INT64_MIN, int64_t{1} << 46};
    if (at->is_string()) {
      std::string text = at->get<std::string>();
      if (Below(3) == 0 && !strings_.empty()) {
        text = strings_[Below(strings_.size())];
      } else {
        const size_t size = text.size();
        text.resize(size + 16);
        text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, text.size()));
        for (char& c : text) c = static_cast<char>(c & 0x7f);  // JSON strings hold valid UTF-8
      }
      *at = text;
    } else if (at->is_number()) {
      const auto old = at->is_number_integer() ? at->get<int64_t>() : 1;
      *at = Below(2) == 0 ? kNumbers[Below(std::size(kNumbers))]
                          : old / 2 + static_cast<int64_t>(Below(3));
    } else if (at->is_boolean()) {
      *at = !at->get<bool>();
    } else {
      const size_t kind = Below(4);
      if (kind == 0) *at = kNumbers[Below(std::size(kNumbers))];
      if (kind == 1 && !strings_.empty()) *at = strings_[Below(strings_.size())];
      if (kind == 2) *at = Json::array();
      if (kind == 3) *at = Json::object();
    }
  }

  std::minstd_rand random_;
  std::vector<Json*> values_;
  std::vector<std::string> keys_, strings_;
};

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  Json json = seed % 8 == 0 ? Json(Json::value_t::discarded)
                            : Json::parse(data, data + size, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return LLVMFuzzerMutate(data, size, max_size);
  JsonMutator(seed).Mutate(&json);
  const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
