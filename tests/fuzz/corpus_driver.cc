// Stands in for libFuzzer where there is none: runs every file of the kept corpus through the target, then
// a fixed number of seeded mutations of each, so that every build checks what fuzzing once found.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr int kMutationsPerFile = 500;

void RunOne(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

std::string Mutate(std::string input, std::mt19937& rng) {
  const auto pick = [&rng](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(rng); };
  for (size_t edits = 1 + pick(4); edits > 0; --edits) {
    const size_t at = input.empty() ? 0 : pick(input.size());
    switch (pick(4)) {
      case 0:
        input.insert(at, 1, static_cast<char>(pick(256)));
        break;
      case 1:
        if (!input.empty()) input.erase(at, 1 + pick(8));
        break;
      case 2:
        if (!input.empty()) input[at] = static_cast<char>(pick(256));
        break;
      default:
        if (!input.empty()) input.insert(at, input.substr(pick(input.size()), 1 + pick(64)));
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
    return 2;
  }
  std::mt19937 rng(1);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string seed((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    RunOne(seed);
    for (int i = 0; i < kMutationsPerFile; ++i) RunOne(Mutate(seed, rng));
    ++files;
  }
  if (files == 0) {
    fprintf(stderr, "%s holds no file\n", argv[1]);
    return 1;
  }
  printf("%zu files and %zu mutations\n", files, files * kMutationsPerFile);
  return 0;
}
