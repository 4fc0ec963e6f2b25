#!/bin/sh
sleep "$(printf '%d.%03d' $((FLEETMARK_PARAM_SLEEP_MS / 1000)) $((FLEETMARK_PARAM_SLEEP_MS % 1000)))"
head -c "$FLEETMARK_PARAM_LOG_BYTES" /dev/zero | tr '\0' x >&2
echo "{\"type\":\"metric\",\"name\":\"value\",\"value\":$FLEETMARK_PARAM_VALUE,\"unit\":\"1\"}"
echo "{\"type\":\"metric\",\"name\":\"pid\",\"value\":$$,\"unit\":\"1\"}"
echo '{"type":"done"}'
