#include "agent/plan_file.h"

#include "absl/strings/str_cat.h"

#include "common/base/digest.h"
#include "common/base/file.h"
#include "common/model/limits.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kDigestDigits = 64;  // of SHA-256, before the message

std::string PathIn(const std::string& data_dir) { return absl::StrCat(data_dir, "/plan.pb"); }

}  // namespace

absl::StatusOr<v1::Plan> LoadPlan(const std::string& data_dir) {
  const absl::StatusOr<std::string> text = ReadFile(PathIn(data_dir), limits::kMessageBytes + kDigestDigits);
  if (absl::IsNotFound(text.status())) return v1::Plan();
  if (!text.ok()) return text.status();
  v1::Plan plan;
  const bool whole = text->size() >= kDigestDigits &&
                     Sha256Hex(text->substr(kDigestDigits)) == text->substr(0, kDigestDigits) &&
                     plan.ParseFromString(text->substr(kDigestDigits));
  if (!whole) return absl::DataLossError(absl::StrCat(PathIn(data_dir), ": is damaged"));
  return plan;
}

absl::Status SavePlan(const std::string& data_dir, const v1::Plan& plan) {
  const std::string bytes = plan.SerializeAsString();
  return ReplaceFile(PathIn(data_dir), Sha256Hex(bytes) + bytes);
}

}  // namespace fleetmark::agent
