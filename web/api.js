// The collector's JSON interface: fields named as in proto/fleetmark/v1, 64-bit integers as strings.

const BASE = '/api/fleetmark/v1/';
const TIMEOUT_MS = 15000;

// `parameters` that are undefined or empty are left out. Throws an Error whose message is for people.
export async function get(what, parameters = {}) {
  const url = new URL(BASE + what, location.origin);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') url.searchParams.set(name, value);
  }
  let response;
  try {
    response = await fetch(url, {signal: AbortSignal.timeout(TIMEOUT_MS)});
  } catch {
    throw new Error('The collector does not answer. Is fleetmark-collector still running?');
  }
  const body = await response.json().catch(() => null);
  if (!response.ok) {
    throw new Error(`The collector says: ${body?.message ?? `${response.status} ${response.statusText}`}.`);
  }
  if (body === null) throw new Error('The collector\'s answer is not JSON. Is a proxy in between?');
  return body;
}

// Nanoseconds as a string to milliseconds; 0 is never.
export const millis = (ns) => Number(ns ?? 0) / 1e6;
