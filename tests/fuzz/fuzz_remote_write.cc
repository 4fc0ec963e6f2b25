// Bodies of remote writes, as anybody may send them.
#include <cstddef>
#include <cstdint>
#include <string>

#include "collector/remote/write_receiver.h"
#include "collector/remote/write_request.h"
#include "common/model/series.h"

namespace {

using namespace fleetmark;             // NOLINT
using namespace fleetmark::collector;  // NOLINT

void Take(std::string body) {
  HttpRequest request;
  request.body = std::move(body);
  request.headers = {{"content-type", "application/x-protobuf"}, {"content-encoding", "snappy"}};
  TakeRemoteWrite(request, [](const v1::ImportRunsRequest& runs) -> absl::StatusOr<v1::ImportRunsResponse> {
    // What is taken is fit to be stored, and for the wire.
    for (const v1::NodeRun& run : runs.runs()) {
      if (!CheckRun(run.run()).ok()) __builtin_trap();
    }
    v1::ImportRunsRequest again;
    if (!again.ParseFromString(runs.SerializeAsString())) __builtin_trap();
    return v1::ImportRunsResponse();
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Take(text);                  // as it is
  Take(SnappyCompress(text));  // past the decompression
  return 0;
}
