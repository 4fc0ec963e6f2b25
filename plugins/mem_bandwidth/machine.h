// What the kernel says of this machine's memory, read from files under `root`, which is "/" but in tests.
//
// Thread-safety: functions without state.
#ifndef FLEETMARK_PLUGINS_MEM_BANDWIDTH_MACHINE_H_
#define FLEETMARK_PLUGINS_MEM_BANDWIDTH_MACHINE_H_

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fleetmark::mem_bandwidth {

// "0-3,8" is 0, 1, 2, 3, 8. Stops at the first thing that it can't read.
std::vector<int> ParseCpuList(std::string_view text);

// The NUMA nodes that have some of `cpus`, with those; all of them on node 0 if the kernel names no node.
std::map<int, std::vector<int>> NumaNodes(const std::filesystem::path& root, const std::vector<int>& cpus);

// The sizes of the last-level caches of `cpus` added up; 0 if the kernel doesn't say.
size_t LastLevelCacheBytes(const std::filesystem::path& root, const std::vector<int>& cpus);

// What can be allocated without swapping; 0 if the kernel doesn't say.
size_t AvailableMemoryBytes(const std::filesystem::path& root);

// The size of one of the three arrays: four times the caches, as STREAM's rule says, but at least 64 MiB and
// all three together at most a quarter of the available memory. A multiple of 1 MiB.
size_t ChooseArrayBytes(size_t cache_bytes, size_t available_bytes);

}  // namespace fleetmark::mem_bandwidth

#endif  // FLEETMARK_PLUGINS_MEM_BANDWIDTH_MACHINE_H_
