// What runs where and when, what it costs, what failed, and a run now.
import {useState} from 'preact/hooks';
import {ms, urlOf} from '../api.js';
import {duration, enumName, number, plural} from '../format.js';
import {useData} from '../live.js';
import {link} from '../route.js';
import {median} from '../stats.js';
import {Answer, Empty, Field, T, Tag, When} from '../ui/parts.jsx';
import {RunNow} from '../ui/runnow.jsx';
import {Runs} from '../ui/runs.jsx';

const RECENT = 1000;
const UNIT_SECONDS = {s: 1, m: 60, h: 3600, d: 86400};

// Runs a day of "every 1h30m"; null for cron.
function runsPerDay(schedule) {
  const parts = /^every ((?:\d+(?:\.\d+)?[smhd])+)$/.exec(schedule)?.[1].match(/[\d.]+[smhd]/g);
  const seconds = (parts ?? []).reduce((sum, p) => sum + parseFloat(p) * UNIT_SECONDS[p.at(-1)], 0);
  return seconds > 0 ? 86400 / seconds : null;
}

function statistics(runs) {
  const by = new Map();
  for (const {node, run} of runs) {
    if (!by.has(run.benchmark)) by.set(run.benchmark, {runs: 0, bad: 0, durations: [], last: null});
    const s = by.get(run.benchmark);
    s.runs += 1;
    if (run.duration_seconds > 0) s.durations.push(run.duration_seconds);
    if (['OUTCOME_FAILED', 'OUTCOME_INVALID', 'OUTCOME_TIMEOUT'].includes(run.outcome)) {
      s.bad += 1;
      s.last ??= {node, run};  // newest first
    }
  }
  return by;
}

// Seconds of a node's day, or null.
function cost(benchmark, s) {
  const perDay = benchmark.schedules.length === 1 ? runsPerDay(benchmark.schedules[0]) : null;
  return perDay && s?.durations.length ? perDay * median(s.durations) : null;
}

const Cost = ({seconds}) => (seconds === null ? '–' : <>{duration(seconds)} <span class="dim">({number(seconds / 864, 2)} %)</span></>);

function List({data, runs}) {
  const by = statistics(runs);
  const total = data.benchmarks.reduce((sum, b) => sum + (cost(b, by.get(b.name)) ?? 0), 0);
  return <>
    <h1>Benchmarks <span class="dim">{plural(data.benchmarks.length, 'benchmark')}</span></h1>
    {total > 0 && <p>Together they take about <b>{duration(total)}</b> of a node's day ({number(total / 864, 2)} % of its time).</p>}
    <section aria-label="Benchmarks"><div class="scroll" tabIndex={0} role="region" aria-label="Benchmarks"><table><thead><tr><th>Benchmark</th><th class="num">Nodes</th><th>When</th><th>Plugin</th><th>Suite</th>
      <th class="num">One run</th><th class="num">Of a node's day</th><th>Last failure</th></tr></thead>
      <tbody>{data.benchmarks.map((b) => {
        const s = by.get(b.name);
        return <tr key={b.name}><td><a href={link(['benchmarks', b.name])}>{b.name}</a></td>
          <td class="num">{b.nodes}{b.nodes_disabled > 0 && <span class="dim"> ({b.nodes_disabled} off)</span>}</td>
          <td>{b.nodes === 0 ? <Tag>configured nowhere now</Tag> : b.schedules.join(', ') || 'not by itself'}</td><td>{b.plugins.join(', ')}{b.plugins.length > 1 && <> <Tag look="warn" mark="!">differ</Tag></>}</td>
          <td>{b.suites.join(', ')}</td><td class="num">{s?.durations.length ? duration(median(s.durations)) : '–'}</td><td class="num"><Cost seconds={cost(b, s)}/></td>
          <td class="does">{s?.last ? <><a href={link(['runs', s.last.run.run_id])}><T>{s.last.run.reason || enumName(s.last.run.outcome, 'OUTCOME_')}</T></a>
            <span class="dim"> · {s.last.node} · <When ms={ms(s.last.run.started_unix_ns)}/> · {s.bad} of {s.runs} recent runs</span></> : '–'}</td></tr>;
      })}</tbody></table></div></section>
    {data.problems.length > 0 && <section aria-labelledby="problems"><h2 id="problems">Plugins that can't be used</h2><ul class="changes">{data.problems.map((p) =>
      <li key={p.plugin + p.problem}><Tag look="bad" mark="✗">{p.plugin}</Tag> <T>{p.problem}</T> <span class="dim">· on {plural(p.nodes, 'node')}, such as <a href={link(['nodes', p.some_node])}>{p.some_node}</a></span></li>)}</ul></section>}
  </>;
}

function One({benchmark: b}) {
  const [node, setNode] = useState(b.some_nodes[0] ?? '');
  const runs = useData(urlOf('runs', {benchmark: b.name, limit: 200}));
  const bad = ['OUTCOME_FAILED', 'OUTCOME_INVALID', 'OUTCOME_TIMEOUT'];
  return <>
    <p><a href={link(['benchmarks'])}>← all benchmarks</a></p>
    <h1>{b.name} <small>on {plural(b.nodes, 'node')}, {b.schedules.join(', ') || 'not by itself'}</small></h1>
    <section aria-labelledby="now"><h2 id="now">Run now</h2><div class="controls">
      <Field label="Node"><input value={node} list="nodes-of" onInput={(e) => setNode(e.target.value)}/></Field>
      <datalist id="nodes-of">{b.some_nodes.map((n) => <option key={n} value={n}/>)}</datalist>
      <RunNow node={node.trim()} benchmark={b.name} disabled={!node.trim()}/></div></section>
    <section aria-labelledby="about"><h2 id="about">What it is</h2><dl class="facts">
      {[['Plugin', b.plugins.join(', ')], ['Suite', b.suites.join(', ')], ['When', b.schedules.join(', ')], ['Parameters', b.params_json.filter((p) => p !== '{}').join(' or ')],
        ['Nodes', `${b.nodes}${b.nodes_disabled ? `, of these ${b.nodes_disabled} switched off` : ''}`]].filter(([, v]) => v).map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v}</dd></div>)}
      <div><dt>Metrics</dt><dd>{[...new Map(b.metrics.map((m) => [m.name + m.unit, m])).values()].map((m) => <span key={m.name + m.unit}><a class="label" href={link([], {by: `${b.name}/${m.name}`})}>{m.name} <span class="dim">{m.unit}</span></a></span>)}
        <span class="dim"> open as a map</span></dd></div></dl></section>
    <Answer answer={runs}>{(data) => <>
      {data.runs.some(({run}) => bad.includes(run.outcome)) && <section aria-labelledby="failed"><h2 id="failed">Last failures</h2><Runs withNode runs={data.runs.filter(({run}) => bad.includes(run.outcome)).slice(0, 10)}/></section>}
      <section aria-labelledby="last"><h2 id="last">Last runs</h2>{data.runs.length ? <Runs withNode runs={data.runs.slice(0, 20)}/> : <p class="calm">None yet.</p>}</section></>}</Answer>
  </>;
}

export function Benchmarks({name}) {
  const answer = useData(urlOf('benchmarks'));
  const runs = useData(urlOf('runs', {limit: RECENT}), null, 15000);
  return <Answer answer={answer}>{(data) => {
    const one = name && data.benchmarks.find((b) => b.name === name);
    if (name && !one) return <Empty title={`No benchmark is called ${name}`}><a href={link(['benchmarks'])}>All benchmarks</a></Empty>;
    if (one) return <One key={name} benchmark={one}/>;
    if (data.benchmarks.length === 0) return <Empty title="No benchmark is configured"><p>A suite in <code>/etc/fleetmark/suites</code> on the nodes, or one that the collector plans, says what runs. See <code>docs/configuration.md</code>.</p></Empty>;
    return <List data={data} runs={runs.data?.runs ?? []}/>;
  }}</Answer>;
}
