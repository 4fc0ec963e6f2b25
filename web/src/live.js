// Keeps the page up to date: the collector's server-sent events say that something is new; without them (a proxy
// that holds them back, too many readers) it asks every few seconds. Data that is shown stays when the collector
// goes away, and is read anew when it is back.
import {useEffect, useRef, useState} from 'preact/hooks';
import {ApiError, get, getFresh, urlOf} from './api.js';

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

// Reads one address again and again: at once, then whenever it is wanted, but not too often. A read that is under
// way is never broken off for a newer one, which would only come later; what is wanted meanwhile is read after it.
class Reader {
  constructor(read, least, tell) {
    Object.assign(this, {read, least, tell, abort: new AbortController(), busy: false, again: false, timer: null, next: 0});
  }

  want(soon = false) {
    if (this.busy) {
      this.again = true;
    } else if (soon || this.timer === null) {
      this.schedule(soon ? 0 : Math.max(0, this.next - Date.now()));
    }
  }

  schedule(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.go(), wait);
  }

  async go() {
    this.timer = null;
    this.busy = true;
    const begin = Date.now();
    let error = null, data = null, stale = false;
    try {
      ({data, stale} = await this.read(this.abort.signal));
    } catch (e) {
      if (this.abort.signal.aborted) return;
      error = e instanceof ApiError ? e : new ApiError(String(e), 'PAGE', 0);
    }
    if (this.abort.signal.aborted) return;
    // What takes long is asked for less often.
    this.next = Date.now() + Math.max(this.least, 10 * (Date.now() - begin));
    this.busy = false;
    this.tell(data, error);
    const retry = error !== null && (error.status === 0 || error.status === 429 || error.status >= 500);
    if (stale || this.again || retry) this.schedule(Math.max(0, this.next - Date.now()));
    this.again = false;
  }

  stop() {
    clearTimeout(this.timer);
    this.abort.abort();
  }
}

// The answer at `url` (null: nothing is asked), read anew when something has changed, but not too often. Of
// another url it starts from nothing; of the same, the old answer stays until the new one is there. `read`
// replaces the plain request.
export function useData(url, read, least = LEAST_BETWEEN_READS_MS) {
  const live = useLive();
  const [answer, set] = useState({url: null, data: null, error: null, at: 0});
  const reader = useRef(null), how = useRef(read);
  how.current = read;
  useEffect(() => {
    if (url === null) return undefined;
    const plain = async (signal) => (how.current ? {data: await how.current(signal)} : getFresh(url, signal));
    reader.current = new Reader(plain, least, (data, error) => set((old) => (error === null ?
      {url, data, error, at: Date.now()} : {url, data: old.url === url ? old.data : null, error, at: old.at})));
    reader.current.want();
    return () => reader.current.stop();
  }, [url]);
  const seen = useRef(live.version);
  useEffect(() => {
    if (seen.current !== live.version && url !== null) reader.current.want();
    seen.current = live.version;
  }, [live.version]);
  const mine = answer.url === url;
  return {data: mine ? answer.data : null, error: mine ? answer.error : null, at: answer.at,
    loading: url !== null && !(mine && (answer.data || answer.error)), reload: () => reader.current?.want(true)};
}
