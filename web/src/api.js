// Asks the collector. Answers are docs/api.md's; an error is thrown as ApiError with the collector's own words.

const BASE = 'api/fleetmark/v1/';

export class ApiError extends Error {
  constructor(message, code, status) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

async function errorOf(response) {
  let code = `HTTP ${response.status}`, message = '';
  try {
    ({code, message} = await response.json());
  } catch { /* not ours: a proxy's page */ }
  return new ApiError(message || `the collector answered with HTTP status ${response.status}`, code, response.status);
}

export async function ask(url, options) {
  let response;
  try {
    response = await fetch(url, options);
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new ApiError('The collector does not answer. Is it running, and is the network there?', 'UNREACHABLE', 0);
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

// `params`: name -> value; empty ones are left out.
export function urlOf(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== '' && value !== undefined && value !== null) query.set(name, value);
  }
  const text = query.toString();
  return BASE + path + (text ? `?${text}` : '');
}

export async function get(url, signal) {
  return (await getFresh(url, signal)).data;
}

// With whether the collector says that newer data are there, but not yet in the answer.
export async function getFresh(url, signal) {
  const response = await ask(url, {signal, headers: {Accept: 'application/json'}});
  return {data: await response.json(), stale: response.headers.get('X-Fleetmark-Stale') === '1'};
}

const send = (path, message, signal) => ask(BASE + path,
  {method: 'POST', signal, headers: {'Content-Type': 'application/json'}, body: JSON.stringify(message)});

export const post = async (path, message) => (await send(path, message)).json();

// Every page of a listing, at most `most` entries.
export async function getAll(path, params, key, most = 10000, signal) {
  const items = [];
  let token = '';
  do {
    const page = await get(urlOf(path, {limit: 1000, ...params, page_token: token}), signal);
    items.push(...page[key]);
    token = page.next_page_token;
  } while (token && items.length < most);
  return items;
}

// Follows a run: each RunProgress to `onProgress`. Ends with the run, or throws.
export async function runNow(node, benchmark, onProgress, signal) {
  const response = await send(`nodes/${encodeURIComponent(node)}/run/${encodeURIComponent(benchmark)}`,
    {asked_by: 'dashboard', expires_seconds: 300}, signal);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (true) {
    const {value, done} = await reader.read();
    text += done ? '' : decoder.decode(value, {stream: true});
    const lines = text.split('\n');
    text = lines.pop();
    for (const line of lines.filter((l) => l)) {
      const message = JSON.parse(line);
      if (message.code) throw new ApiError(message.message, message.code, 0);
      onProgress(message);
    }
    if (done) return;
  }
}

// 64-bit nanoseconds come as text.
export const ms = (unixNs) => Number(unixNs ?? 0) / 1e6;
