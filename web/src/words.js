// Findings in words: what it is, where, how large, why, and what to do.
import {ms} from './api.js';
import {change, enumName, metricName, number, plural} from './format.js';
import {link} from './route.js';

export const KIND = {
  KIND_REFERENCE: 'outside its reference', KIND_CHANGE: 'changed', KIND_SPREAD: 'spread changed',
  KIND_DRIFT: 'drifts', KIND_PEER: 'unlike its peers', KIND_FLEET: 'fleet shift', KIND_SILENCE: 'silent',
  KIND_FAILURE: 'failing'};

export const DIRECTION = {
  DIRECTION_WORSE: {text: 'worse', look: 'bad', mark: '▼'},
  DIRECTION_BETTER: {text: 'better', look: 'good', mark: '▲'},
  DIRECTION_NEUTRAL: {text: 'changed', look: 'plain', mark: '◆'},
  DIRECTION_UNSPECIFIED: {text: 'found', look: 'plain', mark: '◆'}};
export const directionOf = (f) => DIRECTION[f.direction] ?? DIRECTION.DIRECTION_UNSPECIFIED;

// A silence or a failure is a fact; other findings have a size.
export const hasSize = (f) => f.kind !== 'KIND_SILENCE' && f.kind !== 'KIND_FAILURE' ||
    (f.kind === 'KIND_FAILURE' && f.before > 0 && f.after > 0);
// Of a reference of 0 there is no relative change, but a difference.
export const sizeOf = (f) => (!hasSize(f) ? '' : f.before === 0 ? number(f.change) : change(f.change));

export function nodesOf(f) {
  const names = new Set((f.members ?? []).map((m) => m.node).filter(Boolean));
  if (f.series?.node) names.add(f.series.node);
  return [...names];
}

// How many series or nodes it is about, in words; '' for one.
export function extent(f) {
  const members = Number(f.member_count ?? 0);
  if (members <= 1) return '';
  const nodes = nodesOf(f).length;
  const complete = members <= (f.members ?? []).length;
  if (complete && nodes > 1) return plural(nodes, 'node');
  if (f.kind === 'KIND_FLEET') return plural(members, 'series', 'series');
  return plural(members, 'member');
}

export const whereOf = (f) => f.series?.node || f.scope || 'the fleet';
export function whatOf(f) {
  const key = f.series ?? {};
  const parts = [key.benchmark, key.metric ? metricName(key) : ''].filter(Boolean);
  if (parts.length) return parts.join(' ');
  return f.kind === 'KIND_SILENCE' ? 'no reports' : 'several benchmarks';
}

export const onset = (f) => ms(f.onset_latest_unix_ns) || ms(f.found_unix_ns);

// The best explanation in one line; '' when none is known.
export function why(f) {
  const best = f.explanations?.[0];
  if (best) {
    return `${best.changed_with} of ${plural(best.total_with, best.units || 'node')} with ${best.attribute} ` +
        `${best.value} changed, ${best.changed_without} of ${plural(best.total_without, 'other')} did`;
  }
  const event = (f.events ?? []).at(-1);
  if (event) return `At that time: ${eventText(event)}`;
  return '';
}

export function eventText(e) {
  if (e.kind === 'KIND_FACT_CHANGED' && e.subject) {
    return `${e.subject}: ${e.old_value || 'nothing'} → ${e.new_value || 'nothing'}`;
  }
  return e.message || enumName(e.kind, 'KIND_');
}

const compareLink = (f) => link(['compare'], {
  benchmark: f.series?.benchmark, metric: f.series?.metric, 'a.node': whereNode(f), 'b.node': '',
  'a.name': whereNode(f), 'b.name': 'all nodes'});
const whereNode = (f) => f.series?.node || nodesOf(f)[0] || '';

// Steps to take, the first one first: {text, code?, href?}.
// `here`: shown on the finding's own page.
export function advice(f, here = false) {
  const node = whereNode(f), benchmark = f.series?.benchmark || f.members?.[0]?.benchmark || '';
  const again = node && benchmark ? {text: 'Measure again', code: `fleetmark run ${node} ${benchmark}`} : null;
  if (f.direction === 'DIRECTION_BETTER') {
    return [{text: 'Nothing is broken. If the change was planned, this is the new normal; if not, find out what changed.'}];
  }
  if (f.kind === 'KIND_SILENCE') {
    return [
      {text: `Is ${node || 'the node'} up, and is the network there? Then look at its agent`,
        code: 'systemctl status fleetmark-agent; journalctl -u fleetmark-agent -n 50'},
      {text: 'When it was taken out of the fleet on purpose, nothing is to be done.'}];
  }
  if (f.kind === 'KIND_FAILURE') {
    return [
      {text: 'Read the log of its last failed run', href: node ? link(['nodes', node], {outcome: 'failed'}) : null},
      again].filter(Boolean);
  }
  const steps = [];
  const best = f.explanations?.[0];
  if (best?.attribute.includes('.')) {  // a fact, such as gpu.driver
    steps.push({text: `Give one node another ${best.attribute} than ${best.value}, as it was before`});
    steps.push({text: 'Measure there again; when the level comes back, undo it on the others', code: again?.code});
  } else if (best) {  // a label, such as rack
    steps.push({text: `Look at what the nodes of ${best.attribute} ${best.value} share: power, cooling, switch, storage, a recent job or change`,
      href: link([], {q: `${best.attribute}=${best.value}`, group: best.attribute})});
    steps.push({text: 'Measure one of them again', code: again?.code});
  } else {
    if ((f.events ?? []).length) steps.push({text: `Look at what changed on the node at that time${here ? ', below' : ''}`, href: here ? null : link(['findings', f.finding_id])});
    const state = f.confirmation?.state;
    if (again && state !== 'STATE_CONFIRMED') steps.push({...again, text: 'Measure again to be sure'});
    if (node) steps.push({text: 'Compare the node with the others', href: compareLink(f)});
    steps.push({text: `Check ${CHECK.find(([words]) => words.test(`${benchmark} ${f.series?.metric}`))?.[1] ?? CHECK_OTHER}`});
  }
  return steps;
}

const CHECK_OTHER = 'clocks, temperatures and power limits, the kernel\'s log, and what else runs there';
const CHECK = [
  [/disk|io_|fio|write|read/i, 'the disk: SMART values, RAID state, how full it is, the kernel\'s log'],
  [/net|nccl|iperf|link|throughput/i, 'link speed and errors of the network cards, cables and the switch\'s port'],
  [/gpu|cuda|nv/i, 'GPU clocks, temperature, power limit and ECC errors (nvidia-smi -q), the driver'],
  [/mem|stream|bandwidth|latency/i, 'memory: missing or failing modules (EDAC, BMC log), NUMA and huge-page settings'],
  [/gemm|flop|cpu|compute/i, 'CPU frequency and governor, temperature, power limit (turbostat), and what else runs there'],
];

// A series that sinks step by step has a finding for each step: shown is one, from the first level to the last.
export function collapsed(list) {
  const bySeries = new Map();
  const result = [];
  for (const f of list) {
    const alone = Number(f.series_id) && !(f.members ?? []).length && hasSize(f) && f.kind === 'KIND_CHANGE';
    const key = `${f.series_id} ${f.direction} ${f.state}`;
    if (!alone) result.push(f);
    else if (bySeries.has(key)) bySeries.get(key).push(f);
    else {
      const steps = [f];
      bySeries.set(key, steps);
      result.push(steps);
    }
  }
  return result.map((f) => {
    if (!Array.isArray(f)) return f;
    if (f.length === 1) return f[0];
    const steps = [...f].sort((a, b) => onset(a) - onset(b)), first = steps[0], last = steps.at(-1);
    return {...last, steps: steps.length, before: first.before, change: last.after / first.before - 1,
      onset_earliest_unix_ns: first.onset_earliest_unix_ns, onset_latest_unix_ns: first.onset_latest_unix_ns,
      explanation: `the level went from ${number(first.before)} to ${number(last.after)} in ${steps.length} steps`};
  });
}

// Graver ones first, as the collector sorts them.
export function byGravity(a, b) {
  const rank = (f) => (f.kind === 'KIND_SILENCE' || f.kind === 'KIND_FAILURE' ? 0 : 1);
  return rank(a) - rank(b) || Number(b.member_count ?? 0) - Number(a.member_count ?? 0) ||
      Math.abs(b.change) - Math.abs(a.change) || onset(a) - onset(b);
}
