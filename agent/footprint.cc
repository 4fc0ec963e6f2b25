#include "agent/footprint.h"

#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace fleetmark::agent {
namespace {

// Segments that were never writable hold nothing but the file's own bytes, so that dropping them loses
// nothing: relocations are made in writable segments alone.
int DropReadOnlySegments(dl_phdr_info* object, size_t, void*) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    // A failure leaves the pages where they are.
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void QuietGrpc() {
  constexpr int kKeep = 0;
  // Only for channels whose calls nobody waits for; the uploader always does.
  setenv("GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS", "0", kKeep);
  // Looks for memory to give back when memory quotas are set, which they are not.
  setenv("GRPC_EXPERIMENTS", "-periodic_resource_quota_reclamation", kKeep);
}

void ReleaseIdleMemory() {
  malloc_trim(0);
  dl_iterate_phdr(DropReadOnlySegments, nullptr);
}

}  // namespace fleetmark::agent
