// Is the fleet healthy, what is wrong, since when, why, and what to do: the first page.
import {useEffect, useMemo, useState} from 'preact/hooks';
import {ms, get, urlOf} from '../api.js';
import {age, change as changeText, count, enumName, number, plural} from '../format.js';
import {useData} from '../live.js';
import {change, go, link} from '../route.js';
import {colour, onTheme} from '../theme.js';
import {HeatMap} from '../ui/heatmap.jsx';
import {Answer, Empty, Field, Search, T, Tag, When, useListKeys} from '../ui/parts.jsx';
import {advice, collapsed, directionOf, extent, onset, sizeOf, whatOf, whereOf, why} from '../words.js';

const SILENT = 'FLEET_NODE_STATE_SILENT';
const STATES = {
  [SILENT]: {text: 'silent', look: 'bad', mark: '✕'}, FLEET_NODE_STATE_IDLE: {text: 'idle', look: 'plain', mark: '·'},
  FLEET_NODE_STATE_RUNNING: {text: 'running', look: 'good', mark: '▶'},
  FLEET_NODE_STATE_BUSY: {text: 'waits', look: 'warn', mark: '‖'}};
const PROBLEMS_SHOWN = 6;
const ROWS_SHOWN = 20;
const ROWS_MORE = 200;

// --- choosing and grouping ------------------------------------------------------------------------------------

const ONLY = {
  worse: {title: 'worse', test: (f, i) => f.worse[i] > 0},
  silent: {title: 'silent', test: (f, i) => f.state[i] === SILENT},
  reporting: {title: 'reporting', test: (f, i) => f.state[i] !== SILENT},
  busy: {title: 'waiting', test: (f, i) => f.state[i] === 'FLEET_NODE_STATE_BUSY'},
  running: {title: 'running', test: (f, i) => f.state[i] === 'FLEET_NODE_STATE_RUNNING'}};

const GROUP_FIRST = ['class', 'node_class', 'partition', 'rack', 'cluster'];
export const defaultGroup = (fleet) =>
  GROUP_FIRST.find((name) => fleet.labels.some((l) => l.name === name)) ?? fleet.labels[0]?.name ?? '';

// The values of what is grouped by; null: nothing is.
function columnOf(fleet, group) {
  if (group.startsWith('fact:')) return fleet.fact?.index?.length ? fleet.fact : null;
  return fleet.labels.find((l) => l.name === group) ?? null;
}

// What is derived of an answer once, and used at each key stroke.
const derived = new WeakMap();
function indexOf(fleet) {
  if (!derived.has(fleet)) {
    derived.set(fleet, {names: fleet.names.map((name) => name.toLowerCase()),
      values: fleet.labels.map((l) => l.values.map((v) => v.toLowerCase()))});
  }
  return derived.get(fleet);
}

// Words of the search: each must be in the node's name or one of its labels' values.
function matcher(fleet, q) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return null;
  const {names, values} = indexOf(fleet);
  const per = words.map((word) => {
    const [name, value] = word.includes('=') ? word.split('=', 2) : [null, word];
    const columns = [];
    fleet.labels.forEach((l, c) => {
      if (name !== null && name !== l.name.toLowerCase()) return;
      const hits = Uint8Array.from(values[c], (v) => Number(name === null ? v.includes(value) : v === value));
      if (hits.includes(1)) columns.push({index: l.index, hits});
    });
    return {word, columns};
  });
  return (i) => per.every(({word, columns}) => names[i].includes(word) ||
      columns.some(({index, hits}) => hits[index[i]] === 1));
}

function chosenNodes(fleet, q, only) {
  const matches = matcher(fleet, q), test = ONLY[only]?.test;
  const chosen = new Int32Array(fleet.names.length);
  let n = 0;
  for (let i = 0; i < chosen.length; ++i) if ((!test || test(fleet, i)) && (!matches || matches(i))) chosen[n++] = i;
  return chosen.subarray(0, n);
}

const natural = new Intl.Collator('en', {numeric: true});

// Counted first, so that each group is a piece of one array.
function grouped(fleet, nodes, group) {
  const column = columnOf(fleet, group);
  if (!column) return [{name: 'all nodes', nodes}];
  const {index, values} = column, ends = new Int32Array(values.length + 2);
  for (const i of nodes) ++ends[index[i] + 2];  // those without a value come first, as -1
  for (let v = 1; v < ends.length; ++v) ends[v] += ends[v - 1];
  const all = new Int32Array(nodes.length), begins = ends.slice();
  for (const i of nodes) all[ends[index[i] + 1]++] = i;
  const groups = [];
  for (let v = -1; v < values.length; ++v) {
    const list = all.subarray(begins[v + 1], begins[v + 2]);
    if (list.length) groups.push({name: v < 0 ? '(none)' : values[v] || '(empty)', nodes: list});
  }
  return groups.sort((a, b) => natural.compare(a.name, b.name));
}

// --- colours --------------------------------------------------------------------------------------------------

const SIZE_STEPS = [0.05, 0.15, 0.4];  // of a finding
const RATIO_STEPS = [0.02, 0.05, 0.15];  // of a value, to the worse or the better

const silentLook = () => ({fill: colour('map-silent'), ink: colour('map-ink-silent'), mark: 'cross'});
const look = (name, mark = null) => ({fill: colour(`map-${name}`), ink: colour('map-ink'), mark});
const codesOf = (fleet, code) => Uint8Array.from(fleet.names, (_, i) => code(i));
// How many of the steps a size reaches.
const stepOf = (steps, size) => {
  let n = 0;
  while (n < steps.length && size >= steps[n]) ++n;
  return n;
};

function findingLooks(fleet) {
  return {list: [silentLook(), look('ok'), ...[1, 2, 3, 4].map((n) => look(`worse${n}`, 'down'))],
    codes: codesOf(fleet, (i) => (fleet.state[i] === SILENT ? 0 : !fleet.worse[i] ? 1 :
      2 + stepOf(SIZE_STEPS, Math.abs(fleet.worst_change[i]))))};
}

// How much worse than its own last seven days: above 0 is worse.
function harm(fleet, i) {
  const {value, before, better} = fleet.metric;
  const v = Number(value[i]), b = Number(before[i]);
  if (!Number.isFinite(v) || !Number.isFinite(b) || b === 0) return NaN;
  return better === 'BETTER_LOWER' ? v / b - 1 : 1 - v / b;
}

function ratioLooks(fleet) {
  return {list: [silentLook(), look('none', 'dot'), look('ok'), ...[2, 3, 4].map((n) => look(`worse${n}`, 'down')),
    ...[1, 2, 3].map((n) => look(`better${n}`))],
  codes: codesOf(fleet, (i) => {
    if (fleet.state[i] === SILENT) return 0;
    const h = harm(fleet, i);
    if (Number.isNaN(h)) return 1;
    const step = stepOf(RATIO_STEPS, Math.abs(h));
    return step === 0 ? 2 : (h > 0 ? 2 : 5) + step;
  })};
}

const STATE_CODE = {[SILENT]: 0, FLEET_NODE_STATE_IDLE: 1, FLEET_NODE_STATE_RUNNING: 2, FLEET_NODE_STATE_BUSY: 3};
function stateLooks(fleet) {
  return {list: [silentLook(), look('ok'), look('better2', 'dot'), look('worse1', 'down')],
    codes: codesOf(fleet, (i) => STATE_CODE[fleet.state[i]] ?? 1)};
}

function Legend({by}) {
  const entries = {
    findings: [['ok', 'as before'], ['worse1', '▼ worse'], ['worse2', '▼ from 5 %'], ['worse3', '▼ from 15 %'], ['worse4', '▼ from 40 %']],
    state: [['ok', 'idle'], ['better2', '• running'], ['worse1', '▼ waits for the node']],
  }[by] ?? [['better3', 'better from 15 %'], ['better1', 'from 2 %'], ['ok', 'within 2 %'], ['worse2', '▼ worse from 2 %'],
    ['worse3', '▼ from 5 %'], ['worse4', '▼ from 15 %'], ['none', '• no value']];
  return <ul class="legend">{[...entries, ['silent', '✕ silent']].map(([name, text]) =>
    <li key={text}><span class={`swatch map-${name}`} aria-hidden="true"/>{text}</li>)}</ul>;
}

const isSimulated = (fleet) => fleet.labels.some((l) => l.name === 'simulated' && l.values.includes('yes'));

// --- the head of the page ----------------------------------------------------------------------------------------

// The list holds only the gravest of very many.
const problemCount = (fleet, list) => (fleet.problems.length < Number(fleet.counts.findings_worse) ? Number(fleet.counts.findings_worse) : list.length);

function verdict(fleet) {
  const c = fleet.counts, worse = problemCount(fleet, collapsed(fleet.problems));
  if (worse === 0 && c.silent === 0) {
    return {look: 'good', mark: '✓', title: 'Healthy',
      text: `All ${plural(c.reporting, 'node')} report, and nothing is worse than it was.`};
  }
  const parts = [];
  if (worse > 0) parts.push(`${plural(worse, 'problem')} on ${plural(c.worse, 'node')}`);
  if (c.silent > 0) parts.push(`${plural(c.silent, 'node')} silent`);
  return {look: worse > 0 ? 'bad' : 'warn', mark: worse > 0 ? '▼' : '!', title: worse > 0 ? 'Not healthy' : 'Look at this',
    text: `${parts.join(', ')}.`};
}

function Head({fleet, params}) {
  const v = verdict(fleet), c = fleet.counts;
  const item = (name, title, value, look, hint) => {
    const on = params.only === name;
    const body = <><b class={value > 0 ? look : ''}>{count(value)}</b><span>{title}</span></>;
    return <li key={title}>{name === '' ? <span class="count" title={hint}>{body}</span> :
      <button type="button" class="count" aria-pressed={on} title={hint} disabled={!on && Number(value) === 0}
        onClick={() => change({only: on ? '' : name})}>{body}</button>}</li>;
  };
  return <section class="head" aria-label="Summary">
    <h1 class={`verdict ${v.look}`}><span aria-hidden="true">{v.mark} </span>{v.title}<small>{v.text}</small></h1>
    <ul class="counts">
      {item('', 'nodes expected', c.expected, '', 'every node that has ever reported')}
      {item('reporting', 'reporting', c.reporting, '', 'its agent is connected')}
      {item('silent', 'silent', c.silent, 'bad', 'its agent is not connected')}
      {item('worse', 'worse', c.worse, 'bad', 'has an open finding')}
      {item('busy', 'waiting', c.busy, '', 'a benchmark is due, but the node is in use')}
      {item('running', 'running', c.running, '', 'a benchmark runs now')}
      {item('', 'found in 24 h', c.opened_today, '', 'findings of the last 24 hours')}
      {item('', 'gone in 24 h', c.closed_today, '', 'findings that closed in the last 24 hours')}
    </ul>
  </section>;
}

// --- problems ----------------------------------------------------------------------------------------------------

function Problem({finding: f, chosen}) {
  const d = directionOf(f), reason = why(f), first = advice(f)[0];
  return <li class={`problem ${chosen ? 'chosen' : ''}`}>
    <a class="main" href={link(['findings', f.finding_id])}>
      <span class={`size ${d.look}`}><span aria-hidden="true">{d.mark}</span> {sizeOf(f) || enumName(f.kind, 'KIND_')}</span>
      <span class="what"><b>{whatOf(f)}</b> on <b class="name">{whereOf(f)}</b>{extent(f) && <span class="dim"> · {extent(f)}</span>}{f.steps > 1 && <span class="dim"> · in {f.steps} steps</span>}</span>
    </a>
    <span class="since">since <When ms={onset(f)}/></span>
    {(reason || f.explanation) && <p class="why"><T>{reason || f.explanation}</T></p>}
    <p class="todo"><span class="dim">Next: </span>{first.href ? <a href={first.href}>{first.text}</a> : first.text}
      {first.code && <>: <code>{first.code}</code></>}</p>
  </li>;
}

function Problems({fleet}) {
  const [chosen, choose] = useState(-1);
  const list = useMemo(() => collapsed(fleet.problems), [fleet]);
  const shown = list.slice(0, PROBLEMS_SHOWN);
  useListKeys(shown.length, chosen, choose, (i) => go(link(['findings', shown[i].finding_id])));
  const total = problemCount(fleet, list);
  return <section aria-labelledby="problems">
    <h2 id="problems">What is wrong {total > 0 && <span class="dim">worst first</span>}</h2>
    {shown.length === 0 ? <p class="calm">Nothing. A change shows here once a series has enough samples to tell it from noise.</p> :
      <ol class="problems">{shown.map((f, i) => <Problem key={f.finding_id} finding={f} chosen={i === chosen}/>)}</ol>}
    {total > shown.length && <p><a href={link(['findings'])}>All {plural(total, 'problem')}</a></p>}
  </section>;
}

// --- what changed ------------------------------------------------------------------------------------------------

const CHANGE_KINDS = {KIND_FACT_CHANGED: 'changed', KIND_BOOTED: 'booted', KIND_AGENT_STARTED: 'agent started',
  KIND_AGENT_STOPPED: 'agent stopped', KIND_CONFIG_CHANGED: 'configuration', KIND_RECORDS_DROPPED: 'records lost',
  KIND_NOTE: 'note', KIND_MAINTENANCE: 'maintenance', KIND_DEPLOYMENT: 'deployment', KIND_IMPORT: 'import'};

function Changes({fleet}) {
  const [all, showAll] = useState(false);
  const shown = all ? fleet.changes : fleet.changes.slice(0, 6);
  return <section aria-labelledby="changes">
    <h2 id="changes">What changed <span class="dim">last 24 hours</span></h2>
    {shown.length === 0 && <p class="calm">Nothing: no fact of a node, no boot, no deployment, no note.</p>}
    <ul class="changes">{shown.map((c) => <li key={`${c.kind}${c.subject}${c.new_value}${c.message}${c.old_value}`}>
      <span class="tag plain">{CHANGE_KINDS[c.kind] ?? enumName(c.kind, 'KIND_')}</span>{' '}
      {c.kind === 'KIND_FACT_CHANGED' ? <span><T><b>{c.subject}</b></T>: <T>{c.old_value || 'nothing'}</T> → <T>{c.new_value || 'nothing'}</T></span> :
        <T>{c.message}</T>}
      <span class="dim"> · {c.nodes.length === 0 ? 'the fleet' : c.events > 1 && c.nodes.length > 1 ? plural(c.events, 'node') :
        <a href={link(['nodes', c.nodes[0]])}>{c.nodes[0]}</a>} · <When ms={ms(c.last_unix_ns)}/></span>
    </li>)}</ul>
    {fleet.changes.length > shown.length && <button type="button" class="link" onClick={() => showAll(true)}>
      {plural(fleet.changes.length - shown.length, 'more change')}</button>}
  </section>;
}

// --- the list of nodes -----------------------------------------------------------------------------------------

// Equal ones stay in the order of their names, in which they come.
function worstFirst(fleet, nodes, byMetric) {
  const weights = new Float64Array(fleet.names.length);
  for (const i of nodes) {
    const h = byMetric ? harm(fleet, i) : 0;
    weights[i] = byMetric ? (Number.isNaN(h) ? -1e300 : h) :
      (fleet.worse[i] > 0 ? 10 + Math.abs(fleet.worst_change[i]) : 0) + (fleet.state[i] === SILENT ? 1 : 0);
  }
  return Int32Array.from(nodes).sort((a, b) => weights[b] - weights[a] || a - b);
}

function Nodes({fleet, nodes, activity, group, byMetric}) {
  const [most, more] = useState(ROWS_SHOWN);
  const sorted = useMemo(() => worstFirst(fleet, nodes, byMetric), [fleet, nodes, byMetric]);
  const column = columnOf(fleet, group), metric = fleet.metric;
  return <section aria-labelledby="nodes">
    <h2 id="nodes">Nodes <span class="dim">{byMetric ? 'furthest to the worse first' : 'worst first'}, {count(nodes.length)} of {count(fleet.names.length)}</span></h2>
    {nodes.length > 0 && <div class="scroll" tabIndex={0} role="region" aria-label="Nodes"><table>
      <thead><tr><th>Node</th>{column && <th>{group.replace('fact:', '')}</th>}<th>State</th>
        {byMetric ? <><th class="num">Now {metric.unit && `(${metric.unit})`}</th><th class="num">Before</th><th class="num">Change</th></> :
          <><th class="num">Worst</th><th>Since</th><th class="num">Findings</th></>}
        <th>Last run</th><th>Does</th></tr></thead>
      <tbody>{Array.from(sorted.subarray(0, most), (i) => {
        const s = STATES[fleet.state[i]], value = Number(metric?.value?.[i]), before = Number(metric?.before?.[i]);
        return <tr key={fleet.names[i]}>
          <td class="name"><a href={link(['nodes', fleet.names[i]])}>{fleet.names[i]}</a></td>
          {column && <td class="name">{column.index[i] < 0 ? '–' : <T>{column.values[column.index[i]]}</T>}</td>}
          <td><Tag look={s.look} mark={s.mark}>{s.text}</Tag></td>
          {byMetric ? <><td class="num">{number(value)}</td><td class="num">{number(before)}</td>
            <td class={`num ${harm(fleet, i) >= RATIO_STEPS[0] ? 'bad' : ''}`}>{changeText(value / before - 1)}</td></> :
            <><td class={`num ${fleet.worse[i] ? 'bad' : ''}`}>{fleet.worse[i] ? fleet.worst_change[i] ? changeText(fleet.worst_change[i]) : '▼' : '–'}</td>
              <td>{fleet.worse[i] ? age(fleet.worst_since[i] * 1000) : '–'}</td>
              <td class="num">{fleet.worse[i] || '–'}</td></>}
          <td>{age(fleet.last_run[i] * 1000)}</td>
          <td class="does">{fleet.state[i] === SILENT ? `not heard since ${age(fleet.last_seen[i] * 1000)}` : activity.get(i) ?? ''}</td>
        </tr>;
      })}</tbody></table></div>}
    {sorted.length > most && <button type="button" class="link" onClick={() => more(most + ROWS_MORE)}>
      Show {count(Math.min(ROWS_MORE, sorted.length - most))} more</button>}
  </section>;
}

// --- the page ----------------------------------------------------------------------------------------------------

function Controls({fleet, params, group, metrics, facts}) {
  const by = params.by ?? 'findings';
  return <div class="controls">
    <Search q={params.q ?? ''} placeholder="name, rack, label=value" onKeyDown={(e) => {
        if (e.key !== 'Enter') return;
        const found = chosenNodes(fleet, e.target.value, '');
        const exact = fleet.names.indexOf(e.target.value.trim());
        if (exact >= 0 || found.length === 1) go(link(['nodes', fleet.names[exact >= 0 ? exact : found[0]]]));
      }}/>
    <Field label="Group by"><select value={group} onChange={(e) => change({group: e.target.value})}>
      <option value="none">nothing</option>
      <optgroup label="Labels">{fleet.labels.map((l) => <option key={l.name} value={l.name}>{l.name}</option>)}</optgroup>
      <optgroup label="Facts">{facts.map((f) => <option key={f} value={`fact:${f}`}>{f}</option>)}</optgroup>
    </select></Field>
    <Field label="Colour by"><select value={by} onChange={(e) => change({by: e.target.value === 'findings' ? '' : e.target.value})}>
      <option value="findings">worst finding</option><option value="state">state</option>
      <optgroup label="Newest value against its last 7 days">{metrics.map((m) => <option key={m} value={m}>{m.replace('/', ' ')}</option>)}</optgroup>
    </select></Field>
  </div>;
}

function FleetView({fleet, params, metrics, facts}) {
  const [theme, again] = useState(0);
  useEffect(() => onTheme(() => again((n) => n + 1)), []);
  const group = params.group ?? defaultGroup(fleet), q = params.q ?? '', by = params.by ?? 'findings';
  const nodes = useMemo(() => chosenNodes(fleet, q, params.only), [fleet, q, params.only]);
  const groups = useMemo(() => grouped(fleet, nodes, group), [fleet, nodes, group]);
  const byMetric = by.includes('/') && Boolean(fleet.metric?.series);
  const looks = useMemo(() => (byMetric ? ratioLooks(fleet) : by === 'state' ? stateLooks(fleet) : findingLooks(fleet)),
      [fleet, by, byMetric, theme]);
  const activity = useMemo(() => new Map(fleet.activities.map((a) => [a.node, a.text])), [fleet]);
  const say = (i) => {
    const lines = [fleet.names[i]];
    const column = columnOf(fleet, group);
    if (column?.index[i] >= 0) lines.push(`${group.replace('fact:', '')}: ${column.values[column.index[i]]}`);
    lines.push(fleet.state[i] === SILENT ? `silent, last heard ${age(fleet.last_seen[i] * 1000)}` :
      activity.get(i) ?? STATES[fleet.state[i]].text);
    if (fleet.worse[i]) {
      lines.push(`${plural(fleet.worse[i], 'finding')}, worst ${changeText(fleet.worst_change[i])} since ${age(fleet.worst_since[i] * 1000)}`);
    }
    if (byMetric) {
      lines.push(`${number(Number(fleet.metric.value[i]))} ${fleet.metric.unit}, before ${number(Number(fleet.metric.before[i]))}`);
    }
    return lines.join('\n');
  };
  return <>
    <Head fleet={fleet} params={params}/>
    {isSimulated(fleet) && <p class="banner warn" role="note"><b>This fleet is simulated.</b> No benchmark runs; a program plays the nodes that have the label simulated=yes.</p>}
    {fleet.truncated && <p class="banner warn">The fleet is larger than this page reads at once: not everything is counted.</p>}
    <div class="columns"><Problems fleet={fleet}/><Changes fleet={fleet}/></div>
    <section aria-labelledby="map">
      <h2 id="map">Map <span class="dim">{count(nodes.length)}{nodes.length < fleet.names.length && ` of ${count(fleet.names.length)}`} nodes{
        ONLY[params.only] && <> · only {ONLY[params.only].title} <button type="button" class="link" onClick={() => change({only: ''})}>all</button></>}</span></h2>
      <Controls fleet={fleet} params={params} group={group} metrics={metrics} facts={facts}/>
      {by.includes('/') && !byMetric && <p class="calm">No series of {by.replace('/', ' ')}.</p>}
      {nodes.length > 0 ? <HeatMap groups={groups} looks={looks} say={say} label={`Map of ${plural(nodes.length, 'node')}`}
        open={(i) => go(link(['nodes', fleet.names[i]]))}/> :
        <p class="calm">No node matches. <button type="button" class="link" onClick={() => change({q: '', only: ''})}>Show all</button></p>}
      <Legend by={by}/>
    </section>
    <Nodes fleet={fleet} nodes={nodes} activity={activity} group={group} byMetric={byMetric}/>
  </>;
}

const NoNodes = () => <Empty title="No node has reported yet">
  <p>Start an agent on a node and point it at this collector:</p>
  <pre>{'# /etc/fleetmark/agent.yaml\ncollectors: [THIS-HOST:9410]'}</pre>
  <p>then <code>systemctl enable --now fleetmark-agent</code>. It appears here within seconds. To only try this
    page: <code>deploy/quickstart.sh --demo-fleet 200</code>.</p></Empty>;

export function Fleet({params}) {
  const [benchmark, metric] = (params.by ?? '').includes('/') ? params.by.split('/', 2) : [];
  const fact = params.group?.startsWith('fact:') ? params.group.slice(5) : '';
  const answer = useData(urlOf('fleet', {benchmark, metric, fact}));
  // While another metric or fact is read the map stays.
  const [last, keep] = useState(null);
  useEffect(() => { if (answer.data) keep(answer.data); }, [answer.data]);
  // What only fills the lists of choices is read when the map is there.
  const known = useData(last && urlOf('benchmarks'), null, 60000);
  const one = useData(last && urlOf('nodes', {limit: 1}), (signal) => get(urlOf('nodes', {limit: 1}), signal), 60000);
  const metrics = (known.data?.benchmarks ?? []).flatMap((b) => [...new Set(b.metrics.map((m) => `${b.name}/${m.name}`))]);
  const facts = (one.data?.nodes?.[0]?.facts ?? []).map((f) => f.name).sort();
  const shown = answer.data ?? last;
  return <Answer answer={{...answer, data: shown}}>{(fleet) => (fleet.names.length === 0 ? <NoNodes/> :
    <FleetView fleet={fleet} params={params} metrics={metrics} facts={facts}/>)}</Answer>;
}
