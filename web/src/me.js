// Who acts here: a name for the history of what is done, kept in this browser. It is no login.
const KEY = 'fleetmark.me';
export const me = () => localStorage.getItem(KEY) ?? '';
export const setMe = (name) => localStorage.setItem(KEY, name.trim());
