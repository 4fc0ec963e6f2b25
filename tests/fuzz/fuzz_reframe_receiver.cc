// Bodies of ReFrame's httpjson handler, as anybody may send them.
#include <cstddef>
#include <cstdint>
#include <string>

#include "collector/remote/reframe_receiver.h"
#include "common/model/series.h"

namespace {

using namespace fleetmark;             // NOLINT
using namespace fleetmark::collector;  // NOLINT

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  HttpRequest request;
  request.body.assign(reinterpret_cast<const char*>(data), size);
  request.headers = {{"content-type", "application/json"}};
  TakeReframeRecord(request, [](const v1::ImportRunsRequest& runs) -> absl::StatusOr<v1::ImportRunsResponse> {
    // What is taken is fit to be stored, and for the wire.
    for (const v1::NodeRun& run : runs.runs()) {
      if (!CheckRun(run.run()).ok()) __builtin_trap();
    }
    v1::ImportRunsRequest again;
    if (!again.ParseFromString(runs.SerializeAsString())) __builtin_trap();
    return v1::ImportRunsResponse();
  });
  return 0;
}
