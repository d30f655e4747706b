// Mutates a serialised plan field by field: most changes to its bytes would only break a length.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "frontend/plan/plan.pb.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

class PlanMutator {
 public:
  explicit PlanMutator(unsigned seed) : random_(seed) {}

  void Mutate(Message* root) {
    messages_.clear();
    Collect(root);
    for (int attempt = 0; attempt < 8 && !MutateField(messages_[Below(messages_.size())]);) {
      ++attempt;
    }
  }

 private:
  size_t Below(size_t n) { return random_() % n; }

  void Collect(Message* message) {
    messages_.push_back(message);
    const Reflection* reflection = message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        const int n = field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
        for (int i = 0; i < n && strings_.size() < 200; ++i) {
          strings_.push_back(field->is_repeated()
                                 ? reflection->GetRepeatedString(*message, field, i)
                                 : reflection->GetString(*message, field));
        }
      }
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      if (!field->is_repeated()) {
        Collect(reflection->MutableMessage(message, field));
        continue;
      }
      for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
        Collect(reflection->MutableRepeatedMessage(message, field, i));
      }
    }
  }

  int64_t Number(int64_t old) {
    static constexpr int64_t kInteresting[] = {0,
                                               1,
                                               -1,
                                               2,
                                               3,
                                               7,
                                               64,
                                               INT32_MAX,
                                               1 << 20,
                                               INT32_MIN,
                                               INT64_MAX,
                                               INT64_MIN,
                                               int64_t{1} << 31,
                                               int64_t{1} << 46,
                                               int64_t{1} << 62};
    switch (Below(4)) {
      case 0:
        return kInteresting[Below(std::size(kInteresting))];
      case 1:
        return static_cast<int64_t>(static_cast<uint64_t>(old) + Below(5) - 2);
      case 2:
        return static_cast<int64_t>(Below(16));
      default:
        return old < INT64_MAX / 2 && old > INT64_MIN / 2 ? old * 2 : old / 3;
    }
  }

  std::string Text(const std::string& old) {
    if (!strings_.empty() && Below(2) == 0) return strings_[Below(strings_.size())];
    std::string bytes = old;
    bytes.resize(old.size() + 16);
    bytes.resize(
        LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), old.size(), bytes.size()));
    for (char& c : bytes) c = static_cast<char>(c & 0x7f);  // text fields hold valid UTF-8
    return bytes;
  }

  // False if nothing was changed.
  bool MutateField(Message* message) {
    const auto* descriptor = message->GetDescriptor();
    if (descriptor->field_count() == 0) return false;
    const FieldDescriptor* field =
        descriptor->field(static_cast<int>(Below(descriptor->field_count())));
    const Reflection* reflection = message->GetReflection();
    if (field->name() == "magic") return false;
    if (field->is_repeated()) return MutateRepeated(message, reflection, field);
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        reflection->SetInt32(message, field,
                             static_cast<int32_t>(Number(reflection->GetInt32(*message, field))));
        return true;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection->SetInt64(message, field, Number(reflection->GetInt64(*message, field)));
        return true;
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection->SetBool(message, field, !reflection->GetBool(*message, field));
        return true;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection->SetEnumValue(message, field, static_cast<int>(Below(9)));
        return true;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection->SetString(message, field, Text(reflection->GetString(*message, field)));
        return true;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (reflection->HasField(*message, field)) {
          if (Below(4) != 0) return false;
          reflection->ClearField(message, field);
        } else {
          reflection->MutableMessage(message, field);
        }
        return true;
      default:
        return false;
    }
  }

  bool MutateRepeated(Message* message, const Reflection* reflection,
                      const FieldDescriptor* field) {
    const int n = reflection->FieldSize(*message, field);
    const int at = n > 0 ? static_cast<int>(Below(n)) : 0;
    switch (n == 0 ? 3 : Below(4)) {
      case 0:
        reflection->SwapElements(message, field, at, n - 1);
        reflection->RemoveLast(message, field);
        return true;
      case 1:
        reflection->SwapElements(message, field, at, static_cast<int>(Below(n)));
        return true;
      case 2:
        return MutateElement(message, reflection, field, at);
      default:
        return AddElement(message, reflection, field, n > 0 ? at : -1);
    }
  }

  bool MutateElement(Message* message, const Reflection* reflection, const FieldDescriptor* field,
                     int at) {
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        reflection->SetRepeatedInt32(
            message, field, at,
            static_cast<int32_t>(Number(reflection->GetRepeatedInt32(*message, field, at))));
        return true;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection->SetRepeatedInt64(message, field, at,
                                     Number(reflection->GetRepeatedInt64(*message, field, at)));
        return true;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection->SetRepeatedString(message, field, at,
                                      Text(reflection->GetRepeatedString(*message, field, at)));
        return true;
      default:
        return false;
    }
  }

  // A copy of element `like`, or a new one if it is -1.
  bool AddElement(Message* message, const Reflection* reflection, const FieldDescriptor* field,
                  int like) {
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        reflection->AddInt32(message, field, static_cast<int32_t>(Number(1)));
        return true;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection->AddInt64(message, field, Number(1));
        return true;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection->AddString(message, field, Text("x"));
        return true;
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        Message* added = reflection->AddMessage(message, field);
        if (like >= 0) added->CopyFrom(reflection->GetRepeatedMessage(*message, field, like));
        return true;
      }
      default:
        return false;
    }
  }

  std::minstd_rand random_;
  std::vector<Message*> messages_;
  std::vector<std::string> strings_;
};

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  planproof::plan::PlanFile file;
  if (seed % 16 == 0 || !file.ParseFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  PlanMutator(seed).Mutate(&file);
  std::string bytes;
  if (!file.SerializeToString(&bytes) || bytes.size() > max_size) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
