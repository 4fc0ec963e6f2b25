// Keeps the page up to date: the collector's server-sent events say that something is new; without them (a proxy
// that holds them back, too many readers) it asks every few seconds. Data that is shown stays when the collector
// goes away, and is read anew when it is back.
import {useEffect, useRef, useState} from 'preact/hooks';
import {ApiError, get, urlOf} from './api.js';

const RETRY_MS = 2000;
const POLL_MS = 5000;
const LEAST_BETWEEN_READS_MS = 4000;
const SILENCE_MS = 20000;  // the collector says something every 5 s

let state = {status: null, connected: false, at: 0, error: null, version: 0};
let listeners = new Set();

function update(changes) {
  state = {...state, ...changes};
  listeners.forEach((f) => f(state));
}

function take(status) {
  // A collector that was started anew may have lost nothing, but everything is to be read again.
  update({status, connected: true, at: Date.now(), error: null, version: state.version + 1});
}

let source = null;
let timer = null;

async function poll() {
  try {
    take(await get(urlOf('status')));
  } catch (error) {
    update({connected: false, error});
  }
}

function follow() {
  clearTimeout(timer);
  source = new EventSource(urlOf('changes'));
  source.addEventListener('status', (event) => take(JSON.parse(event.data)));
  source.addEventListener('error', async () => {
    source.close();
    await poll();
    timer = setTimeout(follow, state.connected ? POLL_MS : RETRY_MS);
  });
}

export function start() {
  follow();
  // A page that nobody sees gives its connection back: a browser has six for one address, over all its tabs.
  document.addEventListener('visibilitychange', () => {
    source?.close();
    clearTimeout(timer);
    if (!document.hidden) follow();
  });
  // A connection that hangs without an error.
  setInterval(() => {
    if (state.connected && source?.readyState === EventSource.OPEN && Date.now() - state.at > SILENCE_MS) poll();
  }, POLL_MS);
}

export function useLive() {
  const [value, set] = useState(state);
  useEffect(() => {
    listeners.add(set);
    set(state);
    return () => listeners.delete(set);
  }, []);
  return value;
}

// The answer at `url` (null: nothing is asked), read anew when something has changed, but not too often. Of
// another url it starts from nothing; of the same, the old answer stays until the new one is there. `read`
// replaces the plain request. What takes long is asked for less often.
export function useData(url, read, least = LEAST_BETWEEN_READS_MS) {
  const live = useLive();
  const [answer, set] = useState({url: null, data: null, error: null, at: 0});
  const last = useRef({url: null, at: 0, took: 0});
  const [again, setAgain] = useState(0);
  useEffect(() => {
    if (url === null) return undefined;
    const abort = new AbortController();
    const fresh = last.current.url !== url;
    const wait = fresh ? 0 : Math.max(0, last.current.at + Math.max(least, 10 * last.current.took) - Date.now());
    const handle = setTimeout(async () => {
      last.current = {url, at: Date.now(), took: 0};
      try {
        const data = await (read ? read(abort.signal) : get(url, abort.signal));
        last.current.took = Date.now() - last.current.at;
        set({url, data, error: null, at: Date.now()});
      } catch (error) {
        if (error.name === 'AbortError') {
          last.current.at = 0;
          return;
        }
        set((old) => ({url, data: old.url === url ? old.data : null, at: old.at,
          error: error instanceof ApiError ? error : new ApiError(String(error), 'PAGE', 0)}));
      }
    }, wait);
    return () => {
      clearTimeout(handle);
      abort.abort();
    };
  }, [url, live.version, again]);
  const mine = answer.url === url;
  return {data: mine ? answer.data : null, error: mine ? answer.error : null, at: answer.at,
    loading: url !== null && !(mine && (answer.data || answer.error)),
    reload: () => { last.current.at = 0; setAgain((n) => n + 1); }};
}
