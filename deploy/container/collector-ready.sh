#!/bin/bash
# Does the collector in this container do its work? Asks /readyz at FLEETMARK_HTTP (HOST:PORT), with bash alone, as the image
# has no curl.
at=${FLEETMARK_HTTP:-127.0.0.1:9412}
exec 3<>"/dev/tcp/${at%:*}/${at##*:}" || exit 1
printf 'GET /readyz HTTP/1.0\r\nHost: %s\r\n\r\n' "$at" >&3
read -r -t 5 _ status _ <&3
[[ $status == 200 ]]
