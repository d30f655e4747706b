#include "dumps/safetensors_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dumps/json_object.h"
#include "sdfg/status_macros.h"

namespace planproof::dumps {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr char kMetadata[] = "__metadata__";
constexpr uint64_t kLengthBytes = 8;

struct TypeName {
  const char* name;
  sdfg::DType dtype;
};
constexpr std::array<TypeName, 12> kTypeNames = {{{"F64", sdfg::DType::kFloat64},
                                                  {"F32", sdfg::DType::kFloat32},
                                                  {"F16", sdfg::DType::kFloat16},
                                                  {"BF16", sdfg::DType::kBFloat16},
                                                  {"F8_E4M3", sdfg::DType::kFloat8E4M3},
                                                  {"F8_E5M2", sdfg::DType::kFloat8E5M2},
                                                  {"I64", sdfg::DType::kInt64},
                                                  {"I32", sdfg::DType::kInt32},
                                                  {"I16", sdfg::DType::kInt16},
                                                  {"I8", sdfg::DType::kInt8},
                                                  {"U8", sdfg::DType::kUInt8},
                                                  {"BOOL", sdfg::DType::kBool}}};

sdfg::DType TypeNamed(const std::string& name) {
  for (const TypeName& known : kTypeNames) {
    if (name == known.name) return known.dtype;
  }
  return sdfg::DType::kUnknown;
}

const char* NameOfType(sdfg::DType dtype) {
  for (const TypeName& known : kTypeNames) {
    if (dtype == known.dtype) return known.name;
  }
  return "";
}

struct Range {
  uint64_t begin = 0, end = 0;  // from the end of the header
};

class SafetensorsFile : public TensorFile {
 public:
  explicit SafetensorsFile(RandomAccessFile file) : file_(std::move(file)) {}

  absl::Status ReadHeader() {
    std::array<char, kLengthBytes> prefix = {};
    if (file_.size() < kLengthBytes) return Refuse("/", "neither safetensors nor npz");
    PLAN_RETURN_IF_ERROR(file_.Read(0, kLengthBytes, prefix.data()));
    uint64_t length = 0;
    std::memcpy(&length, prefix.data(), kLengthBytes);
    if (length > kMostHeaderBytes || length > file_.size() - kLengthBytes)
      return Refuse("/", "neither npz nor safetensors: its header is longer than the file");
    std::string text(length, '\0');
    PLAN_RETURN_IF_ERROR(file_.Read(kLengthBytes, length, text.data()));
    data_ = kLengthBytes + length;
    const nlohmann::json header = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!header.is_object()) return Refuse("/", "the header is no JSON object");
    if (header.size() > kMostTensors) return Refuse("/", "too many tensors");
    for (const auto& [name, entry] : header.items()) {
      if (name == kMetadata) continue;
      PLAN_RETURN_IF_ERROR(AddTensor(name, entry));
    }
    return CheckRanges();
  }

  absl::StatusOr<std::string> Read(const std::string& name) override {
    const auto found = ranges_.find(name);
    if (found == ranges_.end()) return absl::InternalError("a tensor that the file does not have");
    std::string bytes(found->second.end - found->second.begin, '\0');
    PLAN_RETURN_IF_ERROR(file_.Read(data_ + found->second.begin, bytes.size(), bytes.data()));
    return bytes;
  }

 private:
  absl::Status Refuse(const std::string& place, const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(file_.path(), ": ", place, ": ", what));
  }

  absl::Status AddTensor(const std::string& name, const nlohmann::json& entry) {
    const std::string place = absl::StrCat("/", name);
    JsonObject object(entry);
    const std::string dtype = object.Text("dtype");
    TensorType type{TypeNamed(dtype), object.Integers("shape")};
    const std::vector<int64_t> offsets = object.Integers("data_offsets");
    if (!object.status().ok()) return Refuse(place, std::string(object.status().message()));
    if (type.dtype == sdfg::DType::kUnknown)
      return Refuse(place, absl::StrCat("elements of type ", dtype, " are not read"));
    const absl::StatusOr<int64_t> count = CountElements(type.shape);
    if (!count.ok()) return Refuse(place, std::string(count.status().message()));
    if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0] ||
        offsets[1] - offsets[0] != *count * BytesOf(type.dtype)) {
      return Refuse(place, "its bytes are not as many as its elements take");
    }
    ranges_[name] = {static_cast<uint64_t>(offsets[0]), static_cast<uint64_t>(offsets[1])};
    tensors_[name] = std::move(type);
    return absl::OkStatus();
  }

  // No byte is read twice, and none is left out.
  absl::Status CheckRanges() const {
    std::vector<std::pair<uint64_t, uint64_t>> sorted;
    for (const auto& [name, range] : ranges_) sorted.emplace_back(range.begin, range.end);
    std::sort(sorted.begin(), sorted.end());
    uint64_t next = 0;
    for (const auto& [begin, end] : sorted) {
      if (begin != next) return Refuse("/", "tensors do not lie one after another");
      next = end;
    }
    if (next != file_.size() - data_)
      return Refuse("/", "its size is not that of its tensors; was it cut short? dump it again");
    return absl::OkStatus();
  }

  RandomAccessFile file_;
  uint64_t data_ = 0;  // where the elements begin
  std::map<std::string, Range> ranges_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TensorFile>> OpenSafetensors(RandomAccessFile file) {
  auto opened = std::make_unique<SafetensorsFile>(std::move(file));
  PLAN_RETURN_IF_ERROR(opened->ReadHeader());
  return std::unique_ptr<TensorFile>(std::move(opened));
}

absl::Status WriteSafetensors(const std::string& path,
                              const std::map<std::string, TensorBytes>& tensors) {
  nlohmann::json header = nlohmann::json::object();
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", NameOfType(tensor.type.dtype)},
                    {"shape", tensor.type.shape},
                    {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  const uint64_t length = text.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), kLengthBytes);
  file << text;
  for (const auto& [name, tensor] : tensors) file << tensor.bytes;
  file.close();
  if (!file) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be written"));
  return absl::OkStatus();
}

}  // namespace planproof::dumps
