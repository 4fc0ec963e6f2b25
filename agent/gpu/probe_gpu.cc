#include "agent/gpu/probe_gpu.h"

#include <dirent.h>

#include <algorithm>

namespace fleetmark::gpu_probe {
namespace {

constexpr size_t kMaxFileBytes = 64 * 1024;
constexpr size_t kMaxNames = 4096;

// A newline in a value would begin a line of its own.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

}  // namespace

std::string ReadText(const std::string& path) {
  FILE* file = fopen(path.c_str(), "re");
  if (file == nullptr) return "";
  std::string text(kMaxFileBytes, '\0');
  text.resize(fread(text.data(), 1, text.size(), file));
  fclose(file);
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

std::vector<std::string> ListFolder(const std::string& path) {
  std::vector<std::string> names;
  DIR* dir = opendir(path.c_str());
  if (dir == nullptr) return names;
  while (const dirent* entry = readdir(dir)) {
    if (entry->d_name[0] != '.' && names.size() < kMaxNames) names.emplace_back(entry->d_name);
  }
  closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

std::string DescribeProcess(const std::string& root, long pid) {
  const std::string number = std::to_string(pid);
  return number + " " + ReadText(root + "/proc/" + number + "/comm");
}

bool Print(std::vector<ProbeGpu> gpus, FILE* out) {
  std::sort(gpus.begin(), gpus.end(),
            [](const ProbeGpu& a, const ProbeGpu& b) { return a.pci_address < b.pci_address; });
  for (const ProbeGpu& gpu : gpus) {
    fprintf(out, "gpu=%s\n", gpu.pci_address.c_str());
    for (const auto& [key, value] : gpu.lines) fprintf(out, "%s=%s\n", key.c_str(), OneLine(value).c_str());
  }
  fprintf(out, "end=%zu\n", gpus.size());
  return fflush(out) == 0;
}

}  // namespace fleetmark::gpu_probe
