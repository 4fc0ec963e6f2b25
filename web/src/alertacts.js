// What can be done with alerts: each act names its key, which alerts take it, and how the collector is asked.
//
// A new act, such as a verdict on an alert, is one more entry here, with a form in ui/alertforms.jsx.
import {post} from './api.js';

export const STATE = {
  STATE_PENDING: {text: 'being confirmed', look: 'plain', mark: '…'}, STATE_FIRING: {text: 'firing', look: 'bad', mark: '▼'},
  STATE_ACKNOWLEDGED: {text: 'acknowledged', look: 'warn', mark: '✓'}, STATE_SILENCED: {text: 'silenced', look: 'plain', mark: '‖'},
  STATE_RESOLVED: {text: 'resolved', look: 'good', mark: '✓'}};
export const stateOf = (a) => STATE[a.life?.state] ?? STATE.STATE_PENDING;
export const isOver = (a) => a.life?.state === 'STATE_RESOLVED';

export const SEVERITY = {
  ALERT_SEVERITY_CRITICAL: {text: 'critical', look: 'bad', rank: 0}, ALERT_SEVERITY_WARNING: {text: 'warning', look: 'warn', rank: 1},
  ALERT_SEVERITY_INFO: {text: 'info', look: 'plain', rank: 2}};
export const severityOf = (a) => SEVERITY[a.severity] ?? SEVERITY.ALERT_SEVERITY_INFO;

export const CLASS = {ALERT_CLASS_SLOW: 'slow', ALERT_CLASS_SHIFT: 'shift', ALERT_CLASS_FAILING: 'failing', ALERT_CLASS_SILENT: 'silent'};

const fires = (a) => ['STATE_FIRING', 'STATE_ACKNOWLEDGED', 'STATE_SILENCED'].includes(a.life?.state);

const ackPath = (alert) => `alerts/${encodeURIComponent(alert.alert_id)}/ack`;

export const ACTS = {
  ack: {key: 'a', title: 'Acknowledge', done: 'acknowledged', takes: (a) => fires(a) && !a.life.acknowledged,
    hint: 'Somebody is on it: it is not told again and not escalated until it is resolved.',
    ask: (alert, {by, note}) => post(ackPath(alert), {by, note})},
  unack: {key: 'u', title: 'Take back', done: 'open again', takes: (a) => fires(a) && Boolean(a.life.acknowledged),
    hint: 'It is told again, as one that nobody knows of.',
    ask: (alert, {by, note}) => post(ackPath(alert), {by, note, undo: true})},
  silence: {key: 's', title: 'Silence', done: 'silenced', takes: (a) => !isOver(a),
    hint: 'Nobody is told of what matches, until the time is over.',
    ask: (alert, {by, note, match, toMs}) => post('silences', {silence: {match: match ?? matchOf(alert), by, note, to_unix_ns: nanoseconds(toMs)}})},
};

// Milliseconds as the JSON of 64-bit nanoseconds.
export const nanoseconds = (timeMs) => `${Math.round(timeMs)}000000`;

// What a silence of one alert matches: that class of that subject.
export function matchOf(alert) {
  const match = {};
  for (const name of ['alertname', 'subject']) if (alert.labels?.[name]) match[name] = alert.labels[name];
  return match;
}

// Whether a text matches, as the collector tells it: * is any text, ? any character. Of two places that a * may end
// at, only the last is ever gone back to, so that no pattern takes long.
function glob(pattern, text) {
  const p = [...pattern], t = [...text];
  let i = 0, k = 0, star = -1, from = 0;
  while (k < t.length) {
    if (p[i] === '*') {
      star = i++;
      from = k;
    } else if (i < p.length && (p[i] === '?' || p[i] === t[k])) {
      ++i;
      ++k;
    } else if (star >= 0) {
      i = star + 1;
      k = ++from;
    } else {
      return false;
    }
  }
  while (p[i] === '*') ++i;
  return i === p.length;
}
export const matches = (match, labels) => Object.entries(match).every(([name, pattern]) =>
  labels?.[name] !== undefined && glob(pattern, labels[name]));

export const worstFirst = (a, b) => Number(isOver(a)) - Number(isOver(b)) || severityOf(a).rank - severityOf(b).rank ||
    (a.alert_id < b.alert_id ? 1 : -1);
