// "g" and then a letter goes to a page; meanwhile the letter means nothing else.
const WITHIN_MS = 1500;
let at = 0;
export const setPrefix = (on) => { at = on ? Date.now() : 0; };
export const isPrefixed = () => Date.now() - at < WITHIN_MS;
