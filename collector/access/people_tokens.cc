#include "collector/access/people_tokens.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <tuple>

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

constexpr char kVersion[] = "fmt1";
constexpr size_t kIdBytes = 8;
constexpr size_t kSecretBytes = 32;
constexpr size_t kMaxFileBytes = 4096;
constexpr size_t kMaxNameBytes = 100;
constexpr int kFields = 6;

struct Kept {
  std::string secret_digest;
  TokenEntry entry;
};

bool IsHex(std::string_view text, size_t bytes) {
  return text.size() == 2 * bytes && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

absl::StatusOr<Kept> ReadKept(const std::string& folder, const std::string& id) {
  const std::string path = absl::StrCat(folder, "/", id);
  FM_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  const absl::Status bad = absl::DataLossError(absl::StrCat(path, " is no token's file"));
  const std::vector<std::string> parts =
      absl::StrSplit(absl::StripAsciiWhitespace(text), absl::MaxSplits(' ', kFields - 1));
  int64_t expires = 0, created = 0;
  if (parts.size() != kFields || !absl::SimpleAtoi(parts[1], &expires) ||
      !absl::SimpleAtoi(parts[2], &created)) {
    return bad;
  }
  const absl::StatusOr<Role> role = ParseRole(parts[3]);
  const absl::StatusOr<Areas> areas = ParseAreas(parts[4]);
  if (!role.ok() || !areas.ok()) return bad;
  return Kept{parts[0],
              {id, parts[5], *role, *areas, absl::FromUnixSeconds(created), absl::FromUnixSeconds(expires)}};
}

absl::StatusOr<std::vector<std::string>> Ids(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> out;
  for (auto it = std::filesystem::directory_iterator(folder, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (IsHex(name, kIdBytes)) out.push_back(name);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return ErrnoStatus(error.value(), absl::StrCat("read ", folder));
  }
  return out;
}

absl::Status CheckName(const std::string& name) {
  const bool printable = std::none_of(
      name.begin(), name.end(), [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); });
  if (!name.empty() && name.size() <= kMaxNameBytes && printable && absl::StripAsciiWhitespace(name) == name)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a token's name must have 1 to ", kMaxNameBytes,
                                                 " bytes, without control characters or spaces around it"));
}

}  // namespace

absl::StatusOr<std::string> MakePeopleToken(const std::string& folder, const TokenEntry& entry) {
  FM_RETURN_IF_ERROR(CheckName(entry.name));
  FM_RETURN_IF_ERROR(MakeFolders(folder, 0700));
  FM_ASSIGN_OR_RETURN(const std::vector<std::string> ids, Ids(folder));
  if (ids.size() >= kMaxPeopleTokens) {
    return absl::ResourceExhaustedError(absl::StrCat(kMaxPeopleTokens, " tokens are there; revoke some"));
  }
  FM_ASSIGN_OR_RETURN(const std::string id, RandomHex(kIdBytes));
  FM_ASSIGN_OR_RETURN(const std::string secret, RandomHex(kSecretBytes));
  const std::string line = absl::StrCat(Sha256Hex(secret), " ", absl::ToUnixSeconds(entry.expires), " ",
                                        absl::ToUnixSeconds(entry.created), " ", RoleName(entry.role), " ");
  FM_RETURN_IF_ERROR(ReplaceFile(absl::StrCat(folder, "/", id),
                                 absl::StrCat(line, AreasText(entry.areas), " ", entry.name, "\n"), 0600));
  return absl::StrCat(kVersion, ".", id, ".", secret);
}

absl::StatusOr<TokenEntry> CheckPeopleToken(const std::string& folder, std::string_view token,
                                            absl::Time now) {
  const std::vector<std::string> parts = absl::StrSplit(std::string(token), '.');
  if (parts.size() != 3 || parts[0] != kVersion || !IsHex(parts[1], kIdBytes) ||
      !IsHex(parts[2], kSecretBytes)) {
    return absl::PermissionDeniedError("what was shown is no token");
  }
  const absl::StatusOr<Kept> kept = ReadKept(folder, parts[1]);
  if (absl::IsNotFound(kept.status())) {
    return absl::PermissionDeniedError(absl::StrCat("token ", parts[1], " is revoked, or never was"));
  }
  FM_RETURN_IF_ERROR(kept.status());
  if (!EqualInConstantTime(Sha256Hex(parts[2]), kept->secret_digest)) {
    return absl::PermissionDeniedError(absl::StrCat("token ", parts[1], " was shown with a wrong secret"));
  }
  if (kept->entry.expires <= now) {
    return absl::PermissionDeniedError(
        absl::StrCat("token ", parts[1], " of '", kept->entry.name, "' has expired"));
  }
  return kept->entry;
}

absl::StatusOr<std::vector<TokenEntry>> ListPeopleTokens(const std::string& folder) {
  FM_ASSIGN_OR_RETURN(const std::vector<std::string> ids, Ids(folder));
  std::vector<TokenEntry> out;
  for (const std::string& id : ids) {
    absl::StatusOr<Kept> kept = ReadKept(folder, id);
    if (absl::IsNotFound(kept.status())) continue;  // revoked meanwhile
    FM_RETURN_IF_ERROR(kept.status());
    out.push_back(std::move(kept->entry));
  }
  std::sort(out.begin(), out.end(), [](const TokenEntry& a, const TokenEntry& b) {
    return std::tie(a.name, a.expires, a.id) < std::tie(b.name, b.expires, b.id);
  });
  return out;
}

absl::StatusOr<size_t> RevokePeopleTokens(const std::string& folder, const std::string& id_or_name) {
  FM_ASSIGN_OR_RETURN(const std::vector<TokenEntry> all, ListPeopleTokens(folder));
  size_t removed = 0;
  for (const TokenEntry& entry : all) {
    if (entry.id != id_or_name && entry.name != id_or_name) continue;
    const std::string path = absl::StrCat(folder, "/", entry.id);
    if (unlink(path.c_str()) == 0) {
      ++removed;
    } else if (errno != ENOENT) {
      return ErrnoStatus(errno, absl::StrCat("remove ", path));
    }
  }
  if (removed == 0)
    return absl::NotFoundError(absl::StrCat("no token has the id or name '", id_or_name, "'"));
  FM_RETURN_IF_ERROR(SyncFolder(folder));
  return removed;
}

}  // namespace fleetmark::collector
