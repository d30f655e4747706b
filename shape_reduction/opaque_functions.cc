#include "shape_reduction/opaque_functions.h"

#include <cstdlib>

#include "sdfg/real_functions.h"

namespace planproof::shape_reduction {

OpaqueName ParseOpaqueName(const std::string& name) {
  OpaqueName result;
  const size_t open = name.find('(');
  result.base = name.substr(0, open);
  if (open == std::string::npos) return result;
  size_t at = open + 1;
  while (at < name.size() && name[at] != ')') {
    size_t end = name.find_first_of(",)", at);
    if (end == std::string::npos) end = name.size();
    const std::string item = name.substr(at, end - at);
    const size_t equals = item.find('=');
    if (equals != std::string::npos) {
      result.attributes[item.substr(0, equals)] = item.substr(equals + 1);
    }
    at = end + 1;
  }
  return result;
}

int64_t OpaqueName::Get(const std::string& key, int64_t otherwise) const {
  const auto it = attributes.find(key);
  if (it == attributes.end()) return otherwise;
  char* stop = nullptr;
  const long long number = std::strtoll(it->second.c_str(), &stop, 10);
  return stop == it->second.c_str() || *stop != '\0' ? otherwise : number;
}

bool OpaqueName::Is(const std::string& key, const std::string& value) const {
  const auto it = attributes.find(key);
  return it != attributes.end() && it->second == value;
}

double HashOpaque(const std::string& name, const std::vector<double>& row,
                  const std::vector<double>& reals, const std::vector<int64_t>& ints) {
  if (row.empty() && ints.empty()) {
    if (const std::optional<double> value = sdfg::RealFunctionValue(name, reals)) return *value;
  }
  uint64_t hash = 0x9e3779b97f4a7c15u;
  auto mix = [&hash](uint64_t value) {
    hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    hash *= 0xff51afd7ed558ccdu;
    hash ^= hash >> 33;
  };
  for (char c : name) mix(static_cast<unsigned char>(c));
  auto mix_real = [&](double value) {
    if (!std::isfinite(value)) return mix(std::isnan(value) ? 1 : 2);
    mix(static_cast<uint64_t>(static_cast<int64_t>(std::llround(std::fmod(value, 1e9) * 1e6))));
  };
  for (double value : row) mix_real(value);
  for (double value : reals) mix_real(value);
  for (int64_t value : ints) mix(static_cast<uint64_t>(value));
  return static_cast<double>(hash >> 11) * 0x1p-53;
}

}  // namespace planproof::shape_reduction
