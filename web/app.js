// The fleet at a glance. What is chosen is in the URL's hash (#node=n1&benchmark=stream&range=7d), so that a
// view can be bookmarked and sent; everything else is asked of the collector again every few seconds.

import {get, millis} from './api.js';
import {chart} from './chart.js';
import {code, element, table} from './dom.js';
import {age, change, confidence, enumerator, labels, number, seconds, time} from './format.js';

const POLL_MS = 5000;
const MAX_CHARTS = 60;
const RUNS_SHOWN = 25;
const SAMPLES_PER_CHART = 400;
const RANGE_MS = {'24h': 864e5, '7d': 7 * 864e5, '30d': 30 * 864e5};

const place = (id) => document.getElementById(id);
let lastSuccess = 0;
let polling = false;
let pollAgain = false;

// --- the URL -------------------------------------------------------------------------------------------------

function view() {
  const hash = new URLSearchParams(location.hash.slice(1));
  const range = hash.get('range') ?? '7d';
  return {node: hash.get('node') ?? '', benchmark: hash.get('benchmark') ?? '',
    range: range === 'all' || range in RANGE_MS ? range : '7d'};
}

function hashOf(changes) {
  const hash = new URLSearchParams();
  for (const [name, value] of Object.entries({...view(), ...changes})) {
    if (value && !(name === 'range' && value === '7d')) hash.set(name, value);
  }
  return `#${hash}`;
}

// --- pieces --------------------------------------------------------------------------------------------------

const when = (ms, now) => element('time', {datetime: ms ? time(ms) : undefined, title: time(ms)}, age(ms, now));

const nodeLink = (name, benchmark = '') =>
  element('a', {href: hashOf({node: name, benchmark}), 'data-focus': `${name}/${benchmark}`}, benchmark || name);

const OUTCOME_LOOK = {OUTCOME_OK: 'good', OUTCOME_SKIPPED: 'warn', OUTCOME_CANCELLED: 'warn'};
const outcome = (run) =>
  element('span', {class: `state ${OUTCOME_LOOK[run.outcome] ?? 'bad'}`}, enumerator(run.outcome, 'OUTCOME_'));

const DIRECTION_LOOK = {DIRECTION_WORSE: 'bad', DIRECTION_BETTER: 'good'};
const directionLook = (finding) => DIRECTION_LOOK[finding.direction] ?? 'warn';

// A reference of 0 has no relative change: the contract then gives the difference.
const sizeOf = (finding) => (finding.before === 0 ? number(finding.change) : change(finding.change));

function metricName(key) {
  const text = labels(key.labels);
  return text ? `${key.metric} (${text})` : key.metric;
}

// --- sections ------------------------------------------------------------------------------------------------

function showSummary(status) {
  const item = (title, value, look = '') =>
    element('div', {}, element('dt', {}, title), element('dd', {class: look}, value));
  const away = Number(status.nodes) - Number(status.nodes_connected);
  const worse = Number(status.open_findings_worse);
  place('summary').replaceChildren(
    item('Nodes', away > 0 ? `${status.nodes_connected} of ${status.nodes}` : status.nodes, away > 0 ? 'warn' : ''),
    item('Slower', String(worse), worse > 0 ? 'bad' : 'good'),
    item('Series', status.series),
    item('Runs', status.runs),
    item('Samples', status.samples));
  const problems = status.problems ?? [];
  if (problems.length > 0) trouble(`The collector has a problem: ${problems.join('; ')}`);
}

function showFindings(findings, now) {
  // Members of a finding about several are told by it.
  const rows = findings.filter((f) => !f.group_id).map((f) => ({cells: [
    element('span', {class: `state ${directionLook(f)}`}, enumerator(f.direction, 'DIRECTION_')),
    f.series?.node ? nodeLink(f.series.node) : f.scope,
    f.series?.node ? nodeLink(f.series.node, f.series.benchmark) : f.series?.benchmark ?? '',
    f.series?.metric ? metricName(f.series) : '',
    element('span', {class: `strong ${directionLook(f)}`}, sizeOf(f)),
    `${number(f.before)} → ${number(f.after)} ${f.series?.unit ?? ''}`,
    confidence(f.confidence),
    when(millis(f.onset_latest_unix_ns), now),
    f.explanation,
  ]}));
  table(place('findings'), [['Verdict', 'short'], ['Node', 'short'], ['Benchmark', 'short'], ['Metric'],
    ['Change', 'number short'], ['Level', 'number short'], ['Sure', 'number short'], ['Since', 'short'], ['Why']], rows,
  ['None. A change shows here once a series has enough samples to tell it from noise; ',
    code('fleetmark findings --all'), ' lists closed ones too.']);
}

function doing(node, now) {
  if (node.state !== 'NODE_STATE_CONNECTED') return '';
  const beat = node.heartbeat ?? {};
  if (beat.running_benchmark) return `running ${beat.running_benchmark}`;
  const due = millis(beat.next_due_unix_ns);
  return due ? `${beat.next_benchmark} ${age(due, now)}` : 'idle';
}

// The newest run of a node, from the recent ones.
function lastRun(runs, name) {
  const found = runs.find((r) => r.node === name);
  return found ? [outcome(found.run), ` ${found.run.benchmark}`] : '';
}

function showNodes(nodes, runs, now) {
  const chosen = view().node;
  const rows = nodes.map((node) => {
    const name = node.identity.name;
    const connected = node.state === 'NODE_STATE_CONNECTED';
    const open = Number(node.open_findings);
    return {current: name === chosen, cells: [
      nodeLink(name),
      element('span', {class: `state ${connected ? 'good' : 'bad'}`}, enumerator(node.state, 'NODE_STATE_')),
      when(millis(node.last_seen_unix_ns), now),
      element('span', {}, lastRun(runs, name)),
      when(millis(node.last_run_unix_ns), now),
      element('span', {class: open > 0 ? 'warn strong' : ''}, String(open)),
      doing(node, now),
      labels(node.identity.labels),
    ]};
  });
  table(place('nodes'), [['Name', 'short'], ['State', 'short'], ['Last seen', 'short'], ['Last result', 'short'], ['When', 'short'],
    ['Findings', 'number'], ['Now', 'short'], ['Labels']], rows,
  ['No node has reported yet. Start ', code('fleetmark-agent'), ' on one, with this collector under ',
    code('collectors:'), ' in its configuration.']);
}

function resultOf(run) {
  if (run.outcome !== 'OUTCOME_OK') return run.reason;
  const [first, ...more] = run.metrics ?? [];
  if (!first) return '';
  return `${metricName({metric: first.name, labels: first.labels})} ${number(first.value)} ${first.unit}` +
    (more.length > 0 ? ` and ${more.length} more` : '');
}

function showRuns(runs, now) {
  const {node, benchmark} = view();
  place('runs-title').textContent = node ? `Recent runs of ${benchmark ? `${benchmark} on ` : ''}${node}` : 'Recent runs';
  const rows = runs.map(({node: name, run}) => ({cells: [
    when(millis(run.started_unix_ns) || millis(run.scheduled_unix_ns), now),
    nodeLink(name),
    nodeLink(name, run.benchmark),
    outcome(run),
    seconds(run.duration_seconds),
    enumerator(run.trigger, 'TRIGGER_'),
    resultOf(run),
    code(run.run_id),
  ]}));
  table(place('runs'), [['Started', 'short'], ['Node', 'short'], ['Benchmark', 'short'], ['Outcome', 'short'],
    ['Took', 'number short'], ['Trigger', 'short'], ['Result'], ['Run', 'short soft']], rows,
  ['No run yet. ', code('fleetmark run NODE BENCHMARK'), ' makes one now; ', code('fleetmark nodes'), ' says what is due.']);
}

function findingMarks(series, findings) {
  return findings.filter((f) => f.series_id === series.series_id).map((f) => ({
    earliest: millis(f.onset_earliest_unix_ns) || millis(f.onset_latest_unix_ns),
    latest: millis(f.onset_latest_unix_ns) || millis(f.found_unix_ns),
    label: sizeOf(f),
    look: directionLook(f),
    text: `${enumerator(f.direction, 'DIRECTION_')} by ${sizeOf(f).replace(/^[−+]/, '')}`,
  }));
}

const BETTER = {BETTER_HIGHER: '↑ higher is better', BETTER_LOWER: '↓ lower is better'};

function chooseOptions(select, names, chosen) {
  const known = [...select.options].map((o) => o.value).join('\n');
  if (known !== ['', ...names].join('\n')) {
    select.replaceChildren(element('option', {value: ''}, 'all'), ...names.map((n) => element('option', {value: n}, n)));
  }
  select.value = names.includes(chosen) ? chosen : '';
}

async function showSeries(findings, now) {
  const {node, benchmark, range} = view();
  place('series-section').hidden = !node;
  if (!node) return;
  place('series-title').textContent = `Series of ${node}`;
  place('range').value = range === 'all' ? '' : range;
  const {series} = await get('series', {node, limit: 1000});
  chooseOptions(place('benchmark'), [...new Set(series.map((s) => s.key.benchmark))].sort(), benchmark);
  const wanted = series.filter((s) => !benchmark || s.key.benchmark === benchmark);
  const begin = range === 'all' ? undefined : now - RANGE_MS[range];
  const charts = await Promise.all(wanted.slice(0, MAX_CHARTS).map(async (s) => {
    const answer = await get(`series/${s.series_id}/samples`,
      {newest: true, limit: SAMPLES_PER_CHART, from: begin && new Date(begin).toISOString()});
    const samples = answer.samples.map((x) => ({ms: millis(x.time_unix_ns), value: x.value}));
    // A truncated answer does not reach back to `begin`.
    const edge = begin !== undefined && !answer.truncated && samples.length > 0 ? Math.max(begin, samples[0].ms - 6e4) : undefined;
    return chart(`${s.key.benchmark} ${metricName(s.key)}`, s.key.unit, BETTER[s.better] ?? 'shown, not judged', samples,
      findingMarks(s, findings), edge, now);
  }));
  if (view().node !== node) return;  // another one was chosen meanwhile
  if (charts.length === 0) {
    charts.push(element('p', {class: 'empty'}, 'No series yet. One begins with the first good run: ',
      code(`fleetmark run ${node} BENCHMARK`)));
  } else if (wanted.length > MAX_CHARTS) {
    charts.push(element('p', {class: 'empty'}, `${wanted.length - MAX_CHARTS} more; choose a benchmark.`));
  }
  // Not while somebody reads a chart by keyboard.
  if (!place('series').contains(document.activeElement)) place('series').replaceChildren(...charts);
}

// --- the loop ------------------------------------------------------------------------------------------------

function trouble(text) {
  const box = place('trouble');
  box.hidden = !text;
  if (box.textContent !== text) box.textContent = text;
}

function showFreshness(failed) {
  place('freshness').textContent = lastSuccess === 0 ? 'loading…'
    : failed ? `not updated since ${time(lastSuccess).slice(11)}` : `updated ${time(lastSuccess).slice(11, 19)} UTC`;
}

async function update() {
  const {node, benchmark} = view();
  const [status, {nodes}, {findings}, {runs}, {runs: chosenRuns}] = await Promise.all([
    get('status'),
    get('nodes', {limit: 1000}),
    get('findings', {state: 'STATE_OPEN', limit: 200}),
    get('runs', {limit: 200}),
    get('runs', {limit: RUNS_SHOWN, node, benchmark}),
  ]);
  if (!node && nodes.length === 1) {  // nothing to choose
    location.replace(hashOf({node: nodes[0].identity.name}));
    return;
  }
  const now = Date.now();
  const order = ({state, open_findings: open, identity}) =>
    `${state === 'NODE_STATE_GONE' ? 0 : 1}${String(1e6 - Number(open)).padStart(7, '0')}${identity.name}`;
  nodes.sort((a, b) => order(a).localeCompare(order(b)));  // worst first
  trouble('');
  showSummary(status);
  showFindings(findings, now);
  showNodes(nodes, runs, now);
  showRuns(chosenRuns, now);
  await showSeries(findings, now);
  if (node && !nodes.some((n) => n.identity.name === node)) {
    trouble(`No node is called ${node}. Choose one from the list.`);
  }
}

// One at a time. Old values stay when an update fails.
async function poll() {
  if (polling) {
    pollAgain = true;
    return;
  }
  polling = true;
  try {
    await update();
    lastSuccess = Date.now();
    showFreshness(false);
  } catch (error) {
    trouble(`${error.message} Trying again every ${POLL_MS / 1000} seconds.`);
    showFreshness(true);
  }
  polling = false;
  if (pollAgain) {
    pollAgain = false;
    poll();
  }
}

place('benchmark').addEventListener('change', (event) => { location.hash = hashOf({benchmark: event.target.value}); });
place('range').addEventListener('change', (event) => { location.hash = hashOf({range: event.target.value || 'all'}); });
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();  // the hash is the view
  place('main-content').focus();
});
addEventListener('hashchange', poll);
document.addEventListener('visibilitychange', () => { if (!document.hidden) poll(); });
setInterval(() => { if (!document.hidden) poll(); }, POLL_MS);
poll();
