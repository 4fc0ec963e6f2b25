// Light or dark: as the system has it, or as the reader chose.
const KEY = 'fleetmark.theme';
const dark = window.matchMedia('(prefers-color-scheme: dark)');
let listeners = new Set();

export const chosen = () => localStorage.getItem(KEY) ?? 'system';
export const isDark = () => (chosen() === 'system' ? dark.matches : chosen() === 'dark');

function apply() {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
  listeners.forEach((f) => f());
}

export function choose(theme) {
  if (theme === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  apply();
}

// What is drawn on a canvas is drawn anew when the colours change.
export function onTheme(f) {
  listeners.add(f);
  return () => listeners.delete(f);
}

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

dark.addEventListener('change', apply);
apply();
