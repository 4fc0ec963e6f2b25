// The part of NVIDIA's management library that the probe calls, declared here from its published interface
// (docs.nvidia.com/deploy/nvml-api) and found at run time: the probe is built and runs where there is none.
//
// Thread-safety: none; one thread. Ownership: the library stays loaded until the process ends.
#ifndef FLEETMARK_AGENT_GPU_NVML_API_H_
#define FLEETMARK_AGENT_GPU_NVML_API_H_

namespace fleetmark::gpu_probe {

using NvmlDevice = struct NvmlDeviceTag*;
using NvmlReturn = int;

inline constexpr NvmlReturn kNvmlSuccess = 0;
inline constexpr NvmlReturn kNvmlInsufficientSize = 7;
inline constexpr NvmlReturn kNvmlDriverNotLoaded = 9;
inline constexpr NvmlReturn kNvmlLibraryNotFound = 12;
inline constexpr NvmlReturn kNvmlFunctionNotFound = 13;

inline constexpr unsigned kNvmlClockSm = 1;
inline constexpr unsigned kNvmlClockMemory = 2;
inline constexpr unsigned kNvmlTemperatureGpu = 0;

struct NvmlPciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];
};

struct NvmlUtilization {
  unsigned gpu;  // percent
  unsigned memory;
};

// Of the _v3 call. Early drivers of release 535 have one more 64-bit member at the end.
struct NvmlProcess {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};
inline constexpr unsigned kNvmlLongProcessBytes = 32;

// Null where the library does not have the function.
struct Nvml {
  NvmlReturn (*Init)();
  NvmlReturn (*Shutdown)();
  const char* (*ErrorString)(NvmlReturn);
  NvmlReturn (*DriverVersion)(char*, unsigned);
  NvmlReturn (*Count)(unsigned*);
  NvmlReturn (*ByIndex)(unsigned, NvmlDevice*);
  NvmlReturn (*Name)(NvmlDevice, char*, unsigned);
  NvmlReturn (*Uuid)(NvmlDevice, char*, unsigned);
  NvmlReturn (*Pci)(NvmlDevice, NvmlPciInfo*);
  NvmlReturn (*Vbios)(NvmlDevice, char*, unsigned);
  NvmlReturn (*EccMode)(NvmlDevice, unsigned*, unsigned*);
  NvmlReturn (*MigMode)(NvmlDevice, unsigned*, unsigned*);
  NvmlReturn (*MigMaxCount)(NvmlDevice, unsigned*);
  NvmlReturn (*MigByIndex)(NvmlDevice, unsigned, NvmlDevice*);
  NvmlReturn (*Persistence)(NvmlDevice, unsigned*);
  NvmlReturn (*Clock)(NvmlDevice, unsigned, unsigned*);
  NvmlReturn (*MaxClock)(NvmlDevice, unsigned, unsigned*);
  NvmlReturn (*ApplicationsClock)(NvmlDevice, unsigned, unsigned*);
  NvmlReturn (*PowerLimit)(NvmlDevice, unsigned*);  // milliwatts
  NvmlReturn (*EnforcedPowerLimit)(NvmlDevice, unsigned*);
  NvmlReturn (*Utilization)(NvmlDevice, NvmlUtilization*);
  NvmlReturn (*Temperature)(NvmlDevice, unsigned, unsigned*);
  NvmlReturn (*ThrottleReasons)(NvmlDevice, unsigned long long*);
  NvmlReturn (*Processes)(NvmlDevice, unsigned*, NvmlProcess*);
};

// False when there is no library, or one too old to have what is needed at least.
bool LoadNvml(Nvml* nvml);

}  // namespace fleetmark::gpu_probe

#endif  // FLEETMARK_AGENT_GPU_NVML_API_H_
