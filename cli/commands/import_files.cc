#include "cli/commands/import_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "common/base/status.h"

namespace fleetmark::cli {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string>& EndingsOf(const std::string& format) {
  static const auto* endings =
      new std::map<std::string, std::vector<std::string>>{{"csv", {".csv"}},
                                                          {"googlebenchmark", {".json", ".csv", ".txt"}},
                                                          {"openmetrics", {".om", ".prom", ".txt"}},
                                                          {"reframe", {".json", ".log", ".out"}},
                                                          {"superbench", {".jsonl"}}};
  static const std::vector<std::string> none;
  const auto it = endings->find(format);
  return it == endings->end() ? none : it->second;
}

// ReFrame sets a log whose header changes aside as NAME.log.h0, .h1, …
std::string WithoutGeneration(const std::string& name) {
  size_t end = name.size();
  while (end > 0 && absl::ascii_isdigit(static_cast<unsigned char>(name[end - 1]))) --end;
  const bool is_one = end < name.size() && absl::EndsWith(name.substr(0, end), ".log.h");
  return is_one ? name.substr(0, end - 2) : name;
}

bool IsOfFormat(const std::string& format, const std::string& name) {
  const std::string plain = format == "reframe" ? WithoutGeneration(name) : name;
  const auto& endings = EndingsOf(format);
  return std::any_of(endings.begin(), endings.end(),
                     [&plain](const std::string& ending) { return absl::EndsWith(plain, ending); });
}

absl::Status AddFolder(const std::string& format, const std::string& folder,
                       std::vector<std::string>* files) {
  std::error_code error;
  std::vector<std::string> found;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    const bool regular = it->symlink_status(ignored).type() == fs::file_type::regular;
    if (regular && IsOfFormat(format, it->path().filename().string())) found.push_back(it->path().string());
    if (files->size() + found.size() > kMaxImportFiles) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxImportFiles, " files"));
    }
  }
  if (error) return absl::NotFoundError(absl::StrCat(folder, " can't be read: ", error.message()));
  if (found.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, " holds no file that ends with ", absl::StrJoin(EndingsOf(format), ", ")));
  }
  std::sort(found.begin(), found.end());
  files->insert(files->end(), found.begin(), found.end());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ImportFiles(const std::string& format,
                                                     const std::vector<std::string>& named) {
  std::vector<std::string> files;
  for (const std::string& path : named) {
    std::error_code ignored;
    if (path != "-" && fs::is_directory(path, ignored)) {
      FM_RETURN_IF_ERROR(AddFolder(format, path, &files));
    } else {
      files.push_back(path);
    }
  }
  return files;
}

std::string TimeInPath(const std::string& path) {
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  for (const std::string& part : parts) {
    if (part.size() != std::string_view("2026-03-04_10-11-12").size() || part[10] != '_') continue;
    const bool digits = std::all_of(part.begin(), part.end(), [](char c) {
      return absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '-' || c == '_';
    });
    if (digits) return part;
  }
  return "";
}

std::string SystemInPath(const std::string& path) {
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  for (size_t i = 0; i + 3 < parts.size(); ++i) {
    if (parts[i] == "perflogs") return parts[i + 1];
  }
  return "";
}

}  // namespace fleetmark::cli
