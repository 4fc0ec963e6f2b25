#include "cli/commands/input.h"

#include <fstream>
#include <iostream>

#include "absl/strings/str_cat.h"

namespace fleetmark::cli {
namespace {

std::string ReadUpTo(std::istream& in, size_t limit) {
  std::string text;
  char buffer[1 << 16];
  while (text.size() <= limit && (in.read(buffer, sizeof(buffer)), in.gcount() > 0)) {
    text.append(buffer, static_cast<size_t>(in.gcount()));
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> ReadInput(const std::string& path, size_t limit) {
  if (path == "-") return ReadUpTo(std::cin, limit);
  std::ifstream file(path, std::ios::binary);
  // A folder opens, but nothing can be read of it.
  if (!file || (file.peek(), file.bad())) return absl::NotFoundError(absl::StrCat(path, " can't be read"));
  file.clear();
  return ReadUpTo(file, limit);
}

}  // namespace fleetmark::cli
