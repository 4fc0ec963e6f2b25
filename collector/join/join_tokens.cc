#include "collector/join/join_tokens.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "common/base/digest.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/tls/key_request.h"

namespace fleetmark::collector {
namespace {

constexpr char kVersion[] = "fmj1";
constexpr size_t kIdBytes = 8;
constexpr size_t kSecretBytes = 32;
constexpr size_t kMaxFileBytes = 4096;

// "SHA256 EXPIRES NODE\n"
struct Kept {
  std::string secret_digest;
  absl::Time expires;
  std::string node;
};

absl::StatusOr<Kept> ReadKept(const std::string& path) {
  FM_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  const std::vector<std::string> parts = absl::StrSplit(absl::StripAsciiWhitespace(text), ' ');
  int64_t expires = 0;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[1], &expires)) {
    return absl::DataLossError(absl::StrCat(path, " is no token's file"));
  }
  return Kept{parts[0], absl::FromUnixSeconds(expires), parts[2]};
}

bool IsHex(const std::string& text, size_t bytes) {
  if (text.size() != 2 * bytes) return false;
  for (const char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c)) && (c < 'a' || c > 'f')) return false;
  }
  return true;
}

absl::StatusOr<std::vector<std::string>> Files(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> out;
  for (auto it = std::filesystem::directory_iterator(folder, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    if (IsHex(it->path().filename().string(), kIdBytes)) out.push_back(it->path().string());
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("read ", folder));
  return out;
}

// So that no power cut brings a used token back.
absl::Status SyncFolder(const std::string& folder) {
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) != 0) return ErrnoStatus(errno, absl::StrCat("sync ", folder));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> MakeJoinToken(const std::string& folder, const std::string& node,
                                          const std::string& fingerprint, absl::Time expires) {
  FM_ASSIGN_OR_RETURN(const std::vector<std::string> files, Files(folder));
  if (files.size() >= kMaxJoinTokens) {
    return absl::ResourceExhaustedError(absl::StrCat(kMaxJoinTokens, " tokens wait to be used"));
  }
  FM_ASSIGN_OR_RETURN(const std::string id, RandomHex(kIdBytes));
  FM_ASSIGN_OR_RETURN(const std::string secret, RandomHex(kSecretBytes));
  FM_RETURN_IF_ERROR(
      ReplaceFile(absl::StrCat(folder, "/", id),
                  absl::StrCat(Sha256Hex(secret), " ", absl::ToUnixSeconds(expires), " ", node, "\n"), 0600));
  return absl::StrCat(kVersion, ".", id, ".", secret, ".", fingerprint);
}

absl::Status UseJoinToken(const std::string& folder, const std::string& token, const std::string& node,
                          absl::Time now) {
  const std::vector<std::string> parts = absl::StrSplit(token, '.');
  if (parts.size() != 4 || parts[0] != kVersion || !IsHex(parts[1], kIdBytes) ||
      !IsHex(parts[2], kSecretBytes)) {
    return absl::PermissionDeniedError("what was shown is no token");
  }
  const std::string path = absl::StrCat(folder, "/", parts[1]);
  const absl::StatusOr<Kept> kept = ReadKept(path);
  if (absl::IsNotFound(kept.status())) {
    return absl::PermissionDeniedError(absl::StrCat("token ", parts[1], " is used, removed, or never was"));
  }
  if (!kept.ok()) return kept.status();
  if (!EqualInConstantTime(Sha256Hex(parts[2]), kept->secret_digest)) {
    return absl::PermissionDeniedError(absl::StrCat("token ", parts[1], " was shown with a wrong secret"));
  }
  if (unlink(path.c_str()) != 0) {
    if (errno == ENOENT) {
      return absl::PermissionDeniedError(absl::StrCat("token ", parts[1], " was used at the same time"));
    }
    return ErrnoStatus(errno, absl::StrCat("remove ", path));
  }
  FM_RETURN_IF_ERROR(SyncFolder(folder));
  if (kept->expires <= now) {
    return absl::PermissionDeniedError(
        absl::StrCat("token ", parts[1], " of node '", kept->node, "' has expired"));
  }
  if (kept->node != node) {
    return absl::PermissionDeniedError(
        absl::StrCat("token ", parts[1], " is node '", kept->node, "'s, and was shown by '", node, "'"));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> RemoveJoinTokens(const std::string& folder, const std::string& node, absl::Time now) {
  FM_ASSIGN_OR_RETURN(const std::vector<std::string> files, Files(folder));
  size_t removed = 0;
  for (const std::string& path : files) {
    const absl::StatusOr<Kept> kept = ReadKept(path);
    if (!kept.ok()) continue;  // used meanwhile
    if (node.empty() ? kept->expires <= now : kept->node == node) removed += unlink(path.c_str()) == 0;
  }
  return removed;
}

}  // namespace fleetmark::collector
