// Numbers, times and names as people read them.

export const NONE = '–';

export function number(value, digits = 4) {
  if (value === undefined || value === null || !Number.isFinite(Number(value))) return NONE;
  const v = Number(value);
  if (v === 0) return '0';
  const size = Math.abs(v);
  if (size >= 1e7 || size < 1e-4) return v.toExponential(digits - 1);
  return v.toLocaleString('en', {maximumSignificantDigits: digits});
}

export const count = (value) => Number(value ?? 0).toLocaleString('en');

export function change(value, digits = 1) {
  if (!Number.isFinite(value)) return NONE;
  const percent = value * 100;
  const text = Math.abs(percent) >= 1000 ? percent.toPrecision(3) : percent.toFixed(Math.abs(percent) >= 100 ? 0 : digits);
  return `${percent > 0 ? '+' : ''}${text.replace('-', '−')} %`;
}

export function duration(seconds) {
  const s = Math.abs(seconds);
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 129600) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} days`;
}

export function age(timeMs, now = Date.now()) {
  if (!timeMs) return 'never';
  const seconds = (now - timeMs) / 1000;
  if (Math.abs(seconds) < 2) return 'now';
  return seconds > 0 ? `${duration(seconds)} ago` : `in ${duration(seconds)}`;
}

let zone = localStorage.getItem('fleetmark.zone') === 'local' ? 'local' : 'utc';
export const getZone = () => zone;
export function setZone(next) {
  zone = next;
  localStorage.setItem('fleetmark.zone', next);
}

// "2026-01-02 15:04:05 UTC"; local times with their offset.
export function time(timeMs) {
  if (!timeMs || !Number.isFinite(timeMs)) return 'never';
  const date = new Date(timeMs);
  const two = (v) => String(v).padStart(2, '0');
  if (zone === 'utc') return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const offset = -date.getTimezoneOffset();
  const sign = offset < 0 ? '−' : '+';
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
      `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())} ` +
      `UTC${sign}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
}

export const enumName = (value, prefix) =>
  String(value ?? '').replace(prefix, '').toLowerCase().replaceAll('_', ' ');

export const labels = (map) =>
  Object.entries(map ?? {}).sort().map(([name, value]) => `${name}=${value}`).join(', ');

export function metricName(key) {
  const text = labels(key.labels);
  return text ? `${key.metric ?? key.name} (${text})` : (key.metric ?? key.name);
}

// "3 nodes"
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${Number(n) === 1 ? one : many}`;

export const BETTER = {BETTER_HIGHER: 'higher is better', BETTER_LOWER: 'lower is better'};
export const ARROW = {BETTER_HIGHER: '↑', BETTER_LOWER: '↓'};

export function csv(header, rows) {
  const cell = (v) => {
    const text = v === undefined || v === null ? '' : String(v);
    // A leading sign that a spreadsheet would take for a formula is disarmed, except in numbers.
    const safe = /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text)) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [header, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}
