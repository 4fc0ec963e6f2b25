// One node: what it does, what is wrong with it, its series, runs, and what happened to it.
import {useState} from 'preact/hooks';
import {get, getAll, ms, urlOf} from '../api.js';
import {ARROW, BETTER, age, duration, enumName, labels, metricName, number, plural} from '../format.js';
import {useData} from '../live.js';
import {change, link} from '../route.js';
import {baseline} from '../stats.js';
import {Mini} from '../ui/mini.jsx';
import {Answer, Empty, Field, Steps, T, Tag, When} from '../ui/parts.jsx';
import {RunNow} from '../ui/runnow.jsx';
import {Runs} from '../ui/runs.jsx';
import {advice, byGravity, collapsed, directionOf, eventText, nodesOf, onset, sizeOf, whatOf, why} from '../words.js';

const RANGES = {'24h': 'day', '7d': 'week', '30d': '30 days', '365d': 'year'};
const DAY_MS = 864e5;
const POINTS = 240;
const SERIES_SHOWN = 24;
const SERIES_MOST = 1000;
const AT_ONCE = 5;
const CURVES_EVERY_MS = 15000;

// The answers of `urls`, a few at a time.
async function readMany(urls, signal) {
  const answers = new Array(urls.length);
  let next = 0;
  const work = async () => {
    while (next < urls.length) {
      const i = next++;
      answers[i] = await get(urls[i], signal);
    }
  };
  await Promise.all(Array.from({length: AT_ONCE}, work));
  return answers;
}

const findingOf = (series, findings) => findings.find((f) => f.series_id === series.series_id ||
    (f.members ?? []).some((m) => m.series_id === series.series_id));

// --- the head -----------------------------------------------------------------------------------------------

function doing(node) {
  const beat = node.heartbeat ?? {};
  if (node.state !== 'NODE_STATE_CONNECTED') {
    return <>Its agent is not connected; last heard <When ms={ms(node.last_seen_unix_ns)} also/>. Is it up? <code>systemctl status fleetmark-agent</code></>;
  }
  if (beat.running_benchmark) return <>Runs <b>{beat.running_benchmark}</b> now.</>;
  if (beat.waits_for) return <><b>{beat.next_benchmark || 'A benchmark'}</b> is due and waits: <T>{beat.waits_for}</T>.</>;
  const due = ms(beat.next_due_unix_ns);
  return due ? <>Idle; <b>{beat.next_benchmark}</b> is due {age(due)}.</> : <>Idle; nothing is scheduled.</>;
}

function Head({node, open}) {
  const connected = node.state === 'NODE_STATE_CONNECTED';
  const worse = open.filter((f) => f.direction === 'DIRECTION_WORSE');
  const name = node.identity.name, of = node.identity.labels ?? {};
  const look = !connected ? 'warn' : worse.length ? 'bad' : 'good';
  const group = ['class', 'node_class', 'partition', 'cluster'].find((l) => of[l]);
  return <section class="head" aria-label="Summary">
    <h1 class={`verdict ${look}`}><span class="name">{name}</span>
      <small>{!connected ? '✕ silent' : worse.length ? `▼ ${plural(worse.length, 'problem')}` : '✓ healthy: nothing is worse than it was'}</small></h1>
    <p>{doing(node)}</p>
    <p class="labels">{Object.entries(of).sort().map(([k, v]) =>
      <a key={k} class="label" href={link([], {q: `${k}=${v}`, group: k})}><T>{k}</T>=<b><T>{v}</T></b></a>)}</p>
    <p class="dim">Agent {node.agent_version}, first seen <When ms={ms(node.first_seen_unix_ns)}/>
      {node.heartbeat?.budget_used > 0 && <>, {number(100 * node.heartbeat.budget_used, 2)} % of its benchmark time used</>}
      {Math.abs(node.clock_offset_seconds) > 1 && <>, its clock is {duration(node.clock_offset_seconds)} {node.clock_offset_seconds > 0 ? 'ahead' : 'behind'}</>}
      {Number(node.heartbeat?.dropped_records) > 0 && <>, {plural(node.heartbeat.dropped_records, 'record')} lost</>}</p>
    <p class="actions"><a class="button" href={link(['compare'], group ? {'a.node': name, [`b.node_label.${group}`]: of[group]} : {'a.node': name})}>
      Compare with {group ? `its ${group}` : 'the fleet'}</a></p>
  </section>;
}

function NodeFindings({open}) {
  if (open.length === 0) return null;
  return <section aria-labelledby="wrong"><h2 id="wrong">What is wrong, and what to do</h2>
    <ol class="problems">{collapsed(open).sort(byGravity).slice(0, 20).map((f) => <li key={f.finding_id} class="problem">
      <a class="main" href={link(['findings', f.finding_id])}>
        <span class={`size ${directionOf(f).look}`}><span aria-hidden="true">{directionOf(f).mark}</span> {sizeOf(f) || enumName(f.kind, 'KIND_')}</span>
        <span class="what"><b>{whatOf(f)}</b>{!f.series?.node && <span class="dim"> · {f.scope}</span>}</span></a>
      <span class="since">since <When ms={onset(f)} also/></span>
      <p class="why"><T>{why(f) || f.explanation}</T></p><Steps steps={advice(f)}/></li>)}</ol></section>;
}

// --- series ---------------------------------------------------------------------------------------------------

function Multiple({series, curve, finding, marks, from, to}) {
  const times = curve.time_ms, values = curve.value.map(Number);
  const base = baseline(times, values, finding);
  const d = finding && directionOf(finding);
  return <li class={`multiple ${d?.look ?? ''}`}>
    <a href={link(['series', series.series_id])}><span class="dim">{series.key.benchmark}</span> <b>{metricName(series.key)}</b></a>
    <span class="now">{number(series.last_value)} <span class="dim">{series.key.unit} {ARROW[series.better] &&
      <span title={BETTER[series.better]} aria-label={BETTER[series.better]} role="img">{ARROW[series.better]}</span>}</span>
      {finding && <Tag look={d.look} mark={d.mark}>{sizeOf(finding)}</Tag>}</span>
    <Mini times={times} values={values} base={base} marks={marks} finding={finding} from={from} to={to}
      label={`${series.key.benchmark} ${metricName(series.key)}: now ${number(series.last_value)} ${series.key.unit}${finding ? `, ${d.text} by ${sizeOf(finding)}` : ''}`}/>
  </li>;
}

function Multiples({name, series, findings, events, range, params}) {
  const [most, more] = useState(SERIES_SHOWN);
  const benchmarks = [...new Set(series.map((s) => s.key.benchmark))].sort();
  const chosen = series.filter((s) => !params.benchmark || s.key.benchmark === params.benchmark);
  // Those with a finding first, since only some may be shown.
  const shown = [...chosen].sort((a, b) => Boolean(findingOf(b, findings)) - Boolean(findingOf(a, findings)) ||
      a.key.benchmark.localeCompare(b.key.benchmark) || metricName(a.key).localeCompare(metricName(b.key), 'en', {numeric: true})).slice(0, most);
  const urls = shown.map((s) => urlOf(`series/${s.series_id}/curve`, {points: POINTS, from: `-${range}`}));
  const answer = useData(urls.length ? `curves:${urls.join()}` : null, (signal) => readMany(urls, signal), CURVES_EVERY_MS);
  // A young node's lines fill the width.
  const to = Date.now(), first = Math.min(...series.map((s) => ms(s.first_unix_ns)));
  const from = Math.max(first, to - parseInt(range, 10) * (range.endsWith('h') ? 36e5 : DAY_MS));
  const marks = events.filter((e) => e.kind !== 'KIND_AGENT_STARTED' && e.kind !== 'KIND_AGENT_STOPPED')
      .map((e) => ({ms: ms(e.time_unix_ns), text: eventText(e)})).filter((m) => m.ms >= from);
  return <section aria-labelledby="series"><h2 id="series">Measurements</h2>
    <div class="controls">
      <Field label="Time"><select value={range} onChange={(e) => change({range: e.target.value})}>
        {Object.entries(RANGES).map(([r, text]) => <option key={r} value={r}>last {text}</option>)}</select></Field>
      <Field label="Benchmark"><select value={params.benchmark ?? ''} onChange={(e) => change({benchmark: e.target.value})}>
        <option value="">all</option>{benchmarks.map((b) => <option key={b}>{b}</option>)}</select></Field>
      <ul class="legend"><li><span class="swatch band"/>as expected</li><li><span class="swatch onset"/>changed here</li>
        <li><span class="swatch mark"/>event</li></ul>
    </div>
    {series.length === 0 && <p class="calm">Nothing was measured yet. A first result comes when a benchmark is due, or when you run one below.</p>}
    <Answer answer={urls.length ? answer : {data: []}}>{(curves) => <ul class="multiples">{shown.map((s, i) => curves[i] &&
      <Multiple key={s.series_id} series={s} curve={curves[i]} finding={findingOf(s, findings)} marks={marks} from={from} to={to}/>)}</ul>}</Answer>
    {chosen.length > most && <button type="button" class="link" onClick={() => more(most + SERIES_SHOWN)}>
      Show more of {plural(chosen.length, 'series', 'series')}</button>}
  </section>;
}

// --- runs, events, what is known -------------------------------------------------------------------------------

const OUTCOMES = {'': 'all', ok: 'ok', failed: 'failed', invalid: 'invalid', timeout: 'timeout', skipped: 'skipped', cancelled: 'cancelled'};

function NodeRuns({name, params}) {
  const [limit, more] = useState(15);
  const answer = useData(urlOf('runs', {node: name, outcome: params.outcome, benchmark: params.benchmark, limit}));
  return <section aria-labelledby="runs"><h2 id="runs">Runs</h2>
    <div class="controls"><Field label="Outcome"><select value={params.outcome ?? ''} onChange={(e) => change({outcome: e.target.value})}>
      {Object.entries(OUTCOMES).map(([v, text]) => <option key={v} value={v}>{text}</option>)}</select></Field></div>
    <Answer answer={answer}>{(data) => (data.runs.length === 0 ? <p class="calm">No such run.</p> : <>
      <Runs runs={data.runs}/>
      {data.next_page_token && <button type="button" class="link" onClick={() => more(limit * 3)}>Older ones</button>}</>)}</Answer>
  </section>;
}

// Why benchmarks did not run, of the last ones that did not.
function Gate({name, node}) {
  const answer = useData(`gate:${name}`, (signal) => readMany(['skipped', 'cancelled'].map((outcome) =>
    urlOf('runs', {node: name, outcome, limit: 5})), signal), CURVES_EVERY_MS);
  const runs = (answer.data ?? []).flatMap((a) => a.runs).sort((a, b) => (a.run.run_id < b.run.run_id ? 1 : -1)).slice(0, 6);
  const waits = node.heartbeat?.waits_for;
  if (runs.length === 0 && !waits) return null;
  return <section aria-labelledby="gate"><h2 id="gate">What did not run, and why</h2>
    <ul class="changes">{waits && <li key="now"><Tag look="warn" mark="‖">waits now</Tag> <b>{node.heartbeat.next_benchmark}</b>: <T>{waits}</T></li>}
      {runs.map(({run}) => <li key={run.run_id}><Tag look={run.outcome === 'OUTCOME_SKIPPED' ? 'plain' : 'warn'}>{enumName(run.outcome, 'OUTCOME_')}</Tag>{' '}
        <a href={link(['runs', run.run_id])}>{run.benchmark}</a>: <T>{run.reason}</T><span class="dim"> · <When ms={ms(run.started_unix_ns) || ms(run.scheduled_unix_ns)}/></span></li>)}
    </ul></section>;
}

const Events = ({events}) => <section aria-labelledby="events"><h2 id="events">What happened</h2>
  {events.length === 0 ? <p class="calm">Nothing was recorded.</p> : <ul class="changes">{events.slice(0, 30).map((e) =>
    <li key={e.event_id}><span class="tag plain">{enumName(e.kind, 'KIND_')}</span> <T>{eventText(e)}</T>
      <span class="dim"> · <When ms={ms(e.time_unix_ns)}/>{e.author && e.author !== 'agent' && ` · ${e.author}`}</span></li>)}</ul>}</section>;

function Plan({node}) {
  if (node.benchmarks.length === 0) return null;
  return <section aria-labelledby="plan"><h2 id="plan">Benchmarks</h2>
    {node.plan && !node.plan.accepted && <p class="banner warn">The node refused the collector's plan: {node.plan.problems.join('; ')}</p>}
    <div class="scroll" tabIndex={0} role="region" aria-label="Benchmarks"><table><thead><tr><th>Benchmark</th><th>Plugin</th><th>When</th><th>From</th><th></th></tr></thead>
      <tbody>{node.benchmarks.map((b) => {
        const plugin = node.plugins.find((p) => p.name === b.plugin);
        return <tr key={b.name}><td>{b.name}</td><td>{b.plugin} {plugin?.version}{plugin?.problem && <><br/><Tag look="bad" mark="✗">{plugin.problem}</Tag></>}</td>
          <td>{b.enabled ? `${b.schedule}${b.time_zone ? ` ${b.time_zone}` : ''}` : 'not by itself'}</td><td>{b.suite || 'the node'}</td>
          <td><RunNow node={node.identity.name} benchmark={b.name} disabled={node.state !== 'NODE_STATE_CONNECTED' || Boolean(plugin?.problem)}/></td></tr>;
      })}</tbody></table></div></section>;
}

const Facts = ({node}) => <section><details><summary><h2>Facts <span class="dim">{node.facts.length}</span></h2></summary>
  <div class="scroll" tabIndex={0} role="region" aria-label="Facts"><table><tbody>{node.facts.map((f) => <tr key={f.name}><th scope="row">{f.name}</th><td class="does">
    <T>{f.value}</T> <a class="dim" href={link([], {group: `fact:${f.name}`})}>map</a></td></tr>)}</tbody></table></div></details></section>;

export function NodePage({name, params}) {
  const node = useData(urlOf(`nodes/${encodeURIComponent(name)}`));
  const series = useData(`series:${name}`, (signal) => getAll('series', {node: name}, 'series', SERIES_MOST, signal), CURVES_EVERY_MS);
  // Those of the node alone, and those about several that it is among.
  const findings = useData(`findings:${name}`, (signal) => getAll('findings', {state: 'open', top_level: true}, 'findings', 2000, signal));
  const events = useData(urlOf('events', {node: name, limit: 200, from: '-365d'}));
  const range = RANGES[params.range] ? params.range : '30d';
  if (node.error?.status === 404) {
    return <Empty title={`No node is called ${name}`}><p><a href={link([], {q: name})}>Search for it</a></p></Empty>;
  }
  const open = (findings.data ?? []).filter((f) => nodesOf(f).includes(name));
  return <Answer answer={node}>{(n) => <>
    <Head node={n} open={open}/>
    {findings.error && <p class="banner warn">Its findings could not be read: {findings.error.message}</p>}
    <NodeFindings open={open}/>
    <Answer answer={series}>{(list) => <Multiples name={name} series={list} findings={open} events={events.data?.events ?? []}
      range={range} params={params}/>}</Answer>
    <Gate name={name} node={n}/>
    <NodeRuns name={name} params={params}/>
    <Plan node={n}/>
    <Answer answer={events}>{(data) => <Events events={data.events}/>}</Answer>
    <Facts node={n}/>
  </>}</Answer>;
}
