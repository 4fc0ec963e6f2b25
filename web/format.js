// Values as people read them.

const UNITS = [[86400, 'd'], [3600, 'h'], [60, 'm'], [1, 's']];

export function number(value) {
  if (value === undefined || value === null || Number.isNaN(value)) return '–';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) return value.toExponential(3);
  if (size >= 1000) return value.toFixed(0);
  return String(Number(value.toPrecision(4)));
}

export function change(fraction) {
  const percent = fraction * 100;
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(1)} %`;
}

export function seconds(value) {
  if (value < 10) return `${value.toFixed(2)} s`;
  if (value < 100) return `${value.toFixed(1)} s`;
  const whole = Math.round(value);
  return whole < 3600 ? `${Math.floor(whole / 60)} m ${whole % 60} s`
                      : `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} m`;
}

export function age(ms, now = Date.now()) {
  if (!ms) return 'never';
  const away = Math.abs(now - ms) / 1000;
  const [length, name] = UNITS.find(([unit]) => away >= unit) ?? [1, 's'];
  const text = `${Math.floor(away / length)} ${name}`;
  if (away < 1) return 'now';
  return now >= ms ? `${text} ago` : `in ${text}`;
}

// Absolute, in UTC, for titles.
export const time = (ms) => (ms ? new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z') : 'never');

// "OUTCOME_OK" with prefix "OUTCOME_" to "ok".
export const enumerator = (name, prefix) => (name ?? '').replace(prefix, '').toLowerCase().replaceAll('_', ' ');

export function labels(map) {
  return Object.entries(map ?? {}).sort().map(([name, value]) => `${name}=${value}`).join(', ');
}

export const confidence = (p) => `${Math.min(99.99, Math.floor(p * 1e4) / 100)} %`;
