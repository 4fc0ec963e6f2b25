// What is shown is in the URL's hash, "#/nodes/n1?range=7d", so that a view can be kept, sent, and gone back to.
import {useEffect, useState} from 'preact/hooks';

export function parse(hash) {
  const text = hash.replace(/^#\/?/, '');
  const at = text.indexOf('?');
  const path = (at < 0 ? text : text.slice(0, at)).split('/').filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return {path, params: Object.fromEntries(new URLSearchParams(at < 0 ? '' : text.slice(at + 1)))};
}

// `path`: names, which are escaped here.
export function link(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== '' && value !== undefined && value !== null) query.set(name, value);
  }
  const text = query.toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text ? `?${text}` : ''}`;
}

let listeners = [];
const tell = () => listeners.forEach((f) => f());
window.addEventListener('hashchange', tell);
window.addEventListener('popstate', tell);

export const here = () => parse(location.hash);

// Changes parameters of the view. A step that a reader would want to go back over is a new entry of the
// history; typing and dragging replace the last.
export function change(changes, {replace = false} = {}) {
  const {path, params} = here();
  const next = link(path, {...params, ...changes});
  if (next === location.hash) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', next);
  tell();
}

export function go(hash) {
  location.hash = hash;
}

export function useRoute() {
  const [route, set] = useState(here);
  useEffect(() => {
    const update = () => set(here());
    listeners.push(update);
    update();
    return () => { listeners = listeners.filter((f) => f !== update); };
  }, []);
  return route;
}
