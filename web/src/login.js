// Who is logged in, where the collector asks (docs/api.md). The token itself is kept by the browser in a cookie that
// no script can read.
import {useEffect, useState} from 'preact/hooks';
import {ask, get, urlOf} from './api.js';
import {setMe} from './me.js';

export async function logIn(token) {
  await ask(urlOf('login'), {method: 'POST', headers: {Authorization: `Bearer ${token}`}});
  window.location.reload();
}

export async function logOut() {
  await ask(urlOf('logout'), {method: 'POST'});
  window.location.reload();
}

// {name, role, asked}, or null while that is not known.
export function useWho() {
  const [who, set] = useState(null);
  useEffect(() => {
    get(urlOf('whoami')).then((found) => {
      set(found);
      if (found.asked && found.name) setMe(found.name);  // which the collector puts into the history anyway
    }, () => {});
  }, []);
  return who;
}
