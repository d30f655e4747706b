#include "witness/witness_file.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace planproof::witness {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr char kFormat[] = "planproof witness 1";
constexpr char kMetadata[] = "__metadata__";
constexpr size_t kLengthBytes = 8;
constexpr size_t kMaxHeaderBytes = size_t{1} << 26;
constexpr size_t kMaxInputs = 1 << 20;
constexpr size_t kMaxDimensions = 64, kMaxDigits = 64;
constexpr int64_t kMaxExtent = int64_t{1} << 46;

absl::Status Malformed(const std::string& place, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", what));
}

// --- Checks of what is written and of what was read ---------------------------------------------

absl::Status CheckDigits(const std::string& place, const Dimension& dim) {
  if (dim.digits.empty() || dim.digits.size() > kMaxDigits)
    return Malformed(place, "a dimension has 1 to 64 digits");
  int64_t extent = 1, blocks = 1;
  for (const Digit& digit : dim.digits) {
    if (digit.extent < 0 || __builtin_mul_overflow(extent, digit.extent, &extent) ||
        extent > kMaxExtent) {
      return Malformed(place, "an extent is negative or beyond 2^46");
    }
    const bool begins =
        digit.extent == 0 ? digit.starts.empty() : !digit.starts.empty() && digit.starts[0] == 0;
    if (!begins) return Malformed(place, "the first interval of a digit starts at 0");
    for (size_t i = 0; i < digit.starts.size(); ++i) {
      if (digit.starts[i] >= digit.extent || (i > 0 && digit.starts[i] <= digit.starts[i - 1]))
        return Malformed(place, "the starts of a digit's intervals ascend within its extent");
    }
    if (__builtin_mul_overflow(blocks, static_cast<int64_t>(digit.starts.size()), &blocks) ||
        blocks > static_cast<int64_t>(kMaxBytes)) {
      return Malformed(place, "too many blocks");
    }
  }
  return absl::OkStatus();
}

// The number of values of a tensor, once its dimensions are seen to be ones.
absl::StatusOr<size_t> CountValues(const std::string& place, const Tensor& tensor) {
  if (tensor.dims.size() > kMaxDimensions) return Malformed(place, "too many dimensions");
  size_t values = 1;
  for (const Dimension& dim : tensor.dims) {
    if (absl::Status status = CheckDigits(place, dim); !status.ok()) return status;
    if (__builtin_mul_overflow(values, static_cast<size_t>(dim.Blocks()), &values) ||
        values > kMaxBytes / sizeof(double)) {
      return Malformed(place, "too many values");
    }
  }
  return values;
}

bool IsIndexOf(const std::vector<int64_t>& index) {
  for (const int64_t i : index) {
    if (i < 0 || i >= kMaxExtent) return false;
  }
  return index.size() <= kMaxDimensions;
}

absl::Status CheckDifference(const Difference& difference) {
  if (!IsIndexOf(difference.logical_index) || !IsIndexOf(difference.parallel_index))
    return Malformed("/difference", "an index is negative or beyond 2^46");
  const Enclosure &l = difference.logical, &p = difference.parallel;
  if (!std::isfinite(l.low) || !std::isfinite(l.high) || l.low > l.high)
    return Malformed("/difference/logical", "the model's value lies in no finite interval");
  if (difference.undefined) return absl::OkStatus();
  if (!(p.low <= p.high) || p.low == INFINITY || p.high == -INFINITY)
    return Malformed("/difference/parallel", "the plan's value lies in no interval");
  return absl::OkStatus();
}

// --- Header
// ---------------------------------------------------------------------------------------

json ToJson(const Tensor& tensor) {
  json dims = json::array();
  for (const Dimension& dim : tensor.dims) {
    json digits = json::array();
    for (const Digit& digit : dim.digits)
      digits.push_back({{"extent", digit.extent}, {"starts", digit.starts}});
    dims.push_back(std::move(digits));
  }
  return {{"dtype", sdfg::DTypeName(tensor.dtype)},
          {"shape", tensor.Shape()},
          {"blocks", std::move(dims)}};
}

// Infinities, which JSON has not, are null.
json ToJson(const Enclosure& enclosure) {
  const auto number = [](double x) { return std::isfinite(x) ? json(x) : json(); };
  return {number(enclosure.low), number(enclosure.high)};
}

json ToJson(const Difference& d) {
  json out = {
      {"what", d.what},
      {"precision", d.precision},
      {"logical",
       {{"tensor", d.logical_tensor},
        {"index", d.logical_index},
        {"value", d.logical_value},
        {"enclosure", ToJson(d.logical)}}},
      {"parallel",
       {{"tensor", d.parallel_tensor}, {"index", d.parallel_index}, {"value", d.parallel_value}}}};
  if (!d.undefined) out["parallel"]["enclosure"] = ToJson(d.parallel);
  return out;
}

// Reads members of objects; the first that is missing or of another kind is remembered.
class Members {
 public:
  Members(const json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object.is_object()) Refuse("expected an object");
  }

  const json& Get(const char* key) {
    static const json* const none = new json();
    const auto at = object_.is_object() ? object_.find(key) : object_.end();
    if (object_.is_object() && at != object_.end()) return *at;
    Refuse(absl::StrCat("\"", key, "\" is missing"));
    return *none;
  }
  std::string Text(const char* key) {
    const json& value = Get(key);
    if (!value.is_string()) Refuse(absl::StrCat("\"", key, "\" is no text"));
    return value.is_string() ? value.get<std::string>() : "";
  }
  std::vector<int64_t> Integers(const char* key) {
    std::vector<int64_t> out;
    const json& value = Get(key);
    bool all = value.is_array();
    for (const json& item : all ? value : json::array()) {
      all = all && item.is_number_integer();
      if (all) out.push_back(item.get<int64_t>());
    }
    if (!all) Refuse(absl::StrCat("\"", key, "\" is no list of integers"));
    return out;
  }
  Enclosure Interval(const char* key) {
    const json& value = Get(key);
    const auto end = [](const json& item, double infinity) -> std::optional<double> {
      if (item.is_null()) return infinity;
      if (!item.is_number()) return std::nullopt;
      return item.get<double>();
    };
    if (value.is_array() && value.size() == 2) {
      const std::optional<double> low = end(value[0], -INFINITY), high = end(value[1], INFINITY);
      if (low && high) return {*low, *high};
    }
    Refuse(absl::StrCat("\"", key, "\" is no pair of numbers"));
    return {};
  }
  void Refuse(const std::string& what) {
    if (status_.ok()) status_ = Malformed(place_, what);
  }
  const absl::Status& status() const { return status_; }

 private:
  const json& object_;
  const std::string place_;
  absl::Status status_;
};

absl::StatusOr<Tensor> TensorFromJson(const std::string& name, const json& object) {
  const std::string place = "/inputs/" + name;
  Members members(object, place);
  Tensor tensor;
  tensor.name = name;
  const std::string dtype = members.Text("dtype");
  tensor.dtype = sdfg::DTypeFromName(dtype);
  const sdfg::Shape shape = members.Integers("shape");
  const json& blocks = members.Get("blocks");
  if (!blocks.is_array() || blocks.size() != shape.size() || shape.size() > kMaxDimensions)
    members.Refuse("\"blocks\" has another number of dimensions than \"shape\"");
  if (dtype != sdfg::DTypeName(tensor.dtype)) members.Refuse("the element type is not known");
  if (!members.status().ok()) return members.status();
  for (const json& dim : blocks) {
    Dimension& read = tensor.dims.emplace_back();
    if (!dim.is_array() || dim.size() > kMaxDigits)
      return Malformed(place, "a dimension has 1 to 64 digits");
    for (const json& digit : dim) {
      Members of_digit(digit, place);
      const json& extent = of_digit.Get("extent");
      if (!extent.is_number_integer()) of_digit.Refuse("\"extent\" is no integer");
      read.digits.push_back({0, of_digit.Integers("starts")});
      if (!of_digit.status().ok()) return of_digit.status();
      read.digits.back().extent = extent.get<int64_t>();
    }
    if (absl::Status status = CheckDigits(place, read); !status.ok()) return status;
  }
  if (tensor.Shape() != shape)
    return Malformed(place, "\"blocks\" has other extents than \"shape\"");
  return tensor;
}

absl::StatusOr<Difference> DifferenceFromJson(const json& object) {
  Members all(object, "/difference");
  Difference d;
  d.what = all.Text("what");
  const json& precision = all.Get("precision");
  const bool bits = precision.is_number_unsigned() && precision.get<uint64_t>() <= (1u << 24);
  if (!bits) all.Refuse("\"precision\" is no number of bits");
  Members logical(all.Get("logical"), "/difference/logical");
  Members parallel(all.Get("parallel"), "/difference/parallel");
  d.logical_tensor = logical.Text("tensor");
  d.logical_index = logical.Integers("index");
  d.logical_value = logical.Text("value");
  d.logical = logical.Interval("enclosure");
  d.parallel_tensor = parallel.Text("tensor");
  d.parallel_index = parallel.Integers("index");
  d.parallel_value = parallel.Text("value");
  for (const Members* members : {&all, &logical, &parallel}) {
    if (!members->status().ok()) return members->status();
  }
  d.precision = precision.get<int>();
  d.undefined = !object["parallel"].contains("enclosure");
  if (!d.undefined) d.parallel = parallel.Interval("enclosure");
  if (!parallel.status().ok()) return parallel.status();
  if (absl::Status status = CheckDifference(d); !status.ok()) return status;
  return d;
}

// The values of a tensor as safetensors describes them: "F64" or "I64", shape of blocks, bytes.
absl::Status ReadValues(const json& entry, std::string_view data, size_t* next, Tensor* tensor) {
  const std::string place = "/" + tensor->name;
  absl::StatusOr<size_t> count = CountValues("/inputs/" + tensor->name, *tensor);
  if (!count.ok()) return count.status();
  Members members(entry, place);
  const std::string type = members.Text("dtype");
  const std::vector<int64_t> shape = members.Integers("shape");
  const std::vector<int64_t> offsets = members.Integers("data_offsets");
  if (!members.status().ok()) return members.status();
  tensor->is_integer = type == "I64";
  if (type != "I64" && type != "F64") return Malformed(place, "values are F64 or I64");
  if (shape != tensor->Blocks()) return Malformed(place, "the shape is not that of the blocks");
  const size_t bytes = *count * sizeof(double);
  // In order and without gaps, so that no byte is read twice and none is left out.
  if (offsets.size() != 2 || offsets[0] != static_cast<int64_t>(*next) ||
      offsets[1] != static_cast<int64_t>(*next + bytes) || *next + bytes > data.size()) {
    return Malformed(place, "the bytes of the values do not follow those before");
  }
  if (tensor->is_integer) {
    tensor->integers.resize(*count);
    if (bytes > 0) std::memcpy(tensor->integers.data(), data.data() + *next, bytes);
  } else {
    tensor->reals.resize(*count);
    if (bytes > 0) std::memcpy(tensor->reals.data(), data.data() + *next, bytes);
    for (const double value : tensor->reals) {
      if (!std::isfinite(value)) return Malformed(place, "an input is a finite number");
    }
  }
  *next += bytes;
  return absl::OkStatus();
}

json Parsed(std::string_view text) {
  return json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
}

}  // namespace

absl::StatusOr<std::string> ToBytes(const Witness& witness) {
  if (absl::Status status = CheckDifference(witness.difference); !status.ok()) return status;
  // In order of the names, as the header will have them.
  std::vector<const Tensor*> inputs;
  for (const Tensor& tensor : witness.inputs) inputs.push_back(&tensor);
  json header = json::object(), described = json::object();
  size_t offset = 0;
  std::string values;
  for (const Tensor* tensor : inputs) {
    const std::string place = "/inputs/" + tensor->name;
    absl::StatusOr<size_t> count = CountValues(place, *tensor);
    if (!count.ok()) return count.status();
    const size_t own = tensor->is_integer ? tensor->integers.size() : tensor->reals.size();
    if (own != *count) return Malformed(place, "not one value per block");
    if (tensor->name == kMetadata || described.contains(tensor->name))
      return Malformed(place, "two inputs of one name");
    for (const double value : tensor->reals) {
      if (!std::isfinite(value)) return Malformed(place, "an input is a finite number");
    }
    const size_t bytes = own * sizeof(double);
    if (offset + bytes > kMaxBytes)
      return absl::ResourceExhaustedError("the inputs of the counterexample exceed 1 GiB");
    header[tensor->name] = {{"dtype", tensor->is_integer ? "I64" : "F64"},
                            {"shape", tensor->Blocks()},
                            {"data_offsets", {offset, offset + bytes}}};
    described[tensor->name] = ToJson(*tensor);
    const char* data = tensor->is_integer ? reinterpret_cast<const char*>(tensor->integers.data())
                                          : reinterpret_cast<const char*>(tensor->reals.data());
    if (bytes > 0) values.append(data, bytes);
    offset += bytes;
  }
  const auto dump = [](const json& j) {
    return j.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  json order = json::array();
  for (const Tensor* tensor : inputs) order.push_back(tensor->name);
  header[kMetadata] = {{"format", kFormat},
                       {"witness", dump({{"inputs", std::move(described)},
                                         {"order", std::move(order)},
                                         {"difference", ToJson(witness.difference)}})}};
  std::string text = dump(header);
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  if (text.size() > kMaxHeaderBytes)
    return absl::ResourceExhaustedError("the description of the counterexample exceeds 64 MiB");
  const uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char*>(&length), kLengthBytes);
  return bytes + text + values;
}

absl::StatusOr<Witness> FromBytes(std::string_view bytes) {
  uint64_t length = 0;
  if (bytes.size() < kLengthBytes || bytes.size() > kMaxBytes + kMaxHeaderBytes + kLengthBytes)
    return Malformed("/", "no witness: its size is no such file's");
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes || length > bytes.size() - kLengthBytes)
    return Malformed("/", "no witness: the header is longer than the file, or than 64 MiB");
  const json header = Parsed(bytes.substr(kLengthBytes, length));
  const std::string_view data = bytes.substr(kLengthBytes + length);
  Members top(header, "/");
  const json& metadata = top.Get(kMetadata);
  Members about(metadata, "/__metadata__");
  const std::string format = about.Text("format"), described = about.Text("witness");
  if (!top.status().ok()) return top.status();
  if (!about.status().ok()) return about.status();
  if (format != kFormat)
    return Malformed("/__metadata__/format", absl::StrCat("expected \"", kFormat, "\""));
  const json content = Parsed(described);
  Members parts(content, "/__metadata__/witness");
  const json& inputs = parts.Get("inputs");
  const json& order = parts.Get("order");
  if (!inputs.is_object() || !order.is_array() || inputs.size() != order.size() ||
      inputs.size() + 1 != header.size() || inputs.size() > kMaxInputs) {
    parts.Refuse("\"inputs\", \"order\" and the tensors of the file are not the same");
  }
  const json& difference = parts.Get("difference");
  if (!parts.status().ok()) return parts.status();
  Witness witness;
  size_t next = 0;
  std::set<std::string> seen;
  for (const json& name : order) {
    const std::string key = name.is_string() ? name.get<std::string>() : "";
    const auto at = inputs.find(key), values = header.find(key);
    if (!name.is_string() || at == inputs.end() || values == header.end() ||
        !seen.insert(key).second) {
      return Malformed("/__metadata__/witness/order", "a name is no input, or stands twice");
    }
    absl::StatusOr<Tensor> tensor = TensorFromJson(key, *at);
    if (!tensor.ok()) return tensor.status();
    if (absl::Status s = ReadValues(*values, data, &next, &*tensor); !s.ok()) return s;
    witness.inputs.push_back(*std::move(tensor));
  }
  if (next != data.size()) return Malformed("/", "bytes are left over behind the last tensor");
  absl::StatusOr<Difference> read = DifferenceFromJson(difference);
  if (!read.ok()) return read.status();
  witness.difference = *std::move(read);
  return witness;
}

absl::Status WriteFile(const std::string& path, const Witness& witness) {
  absl::StatusOr<std::string> bytes = ToBytes(witness);
  if (!bytes.ok()) return bytes.status();
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes->data(), static_cast<std::streamsize>(bytes->size()));
  out.close();
  if (!out) return absl::UnavailableError(path + ": cannot be written");
  return absl::OkStatus();
}

absl::StatusOr<Witness> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return absl::NotFoundError(path + ": cannot be read");
  const std::streamoff size = in.tellg();
  if (size < 0 || static_cast<size_t>(size) > kMaxBytes + kMaxHeaderBytes + kLengthBytes)
    return Malformed(path, "no witness: its size is no such file's");
  std::string bytes(static_cast<size_t>(size), '\0');
  in.seekg(0);
  in.read(bytes.data(), size);
  if (!in) return absl::UnavailableError(path + ": cannot be read");
  absl::StatusOr<Witness> witness = FromBytes(bytes);
  if (witness.ok()) return witness;
  return absl::Status(witness.status().code(),
                      absl::StrCat(path, ":", std::string(witness.status().message())));
}

}  // namespace planproof::witness
