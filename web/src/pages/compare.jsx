// Two groups side by side: other nodes, another time, another driver or plugin version.
import {useEffect, useMemo, useState} from 'preact/hooks';
import {urlOf} from '../api.js';
import {change as changeText, csv, labels, number, plural} from '../format.js';
import {useData} from '../live.js';
import {change, link} from '../route.js';
import {Answer, Empty, Field, Tag, download} from '../ui/parts.jsx';
import {Spread} from '../ui/spread.jsx';
import {directionOf} from '../words.js';

const SUGGESTIONS = 300;

// What the URL may hold for a group, apart from labels.
const FIELDS = ['node', 'fact', 'from', 'to', 'plugin_version', 'params_digest'];
const isOfRequest = (name) => name === 'benchmark' || name === 'metric' || /^label\./.test(name) ||
    /^[ab]\.(node_label\..+|label\..+)$/.test(name) || FIELDS.some((f) => name === f || name === `a.${f}` || name === `b.${f}`);

const requestOf = (params) => Object.fromEntries(Object.entries(params).filter(([name, value]) => isOfRequest(name) && value));

const labelOf = (params, group) => {
  const prefix = `${group}.node_label.`;
  const name = Object.keys(params).find((n) => n.startsWith(prefix) && params[n]);
  return name ? `${name.slice(prefix.length)}=${params[name]}` : '';
};

export function nameOf(params, group) {
  const parts = [params[`${group}.node`], labelOf(params, group), params[`${group}.fact`],
    params[`${group}.plugin_version`] && `plugin ${params[`${group}.plugin_version`]}`].filter(Boolean);
  const from = params[`${group}.from`], to = params[`${group}.to`];
  if (from || to) parts.push(`${from || 'begin'} to ${to || 'now'}`);
  return parts.join(', ') || 'all nodes';
}

// --- the form ---------------------------------------------------------------------------------------------------

// A field that is taken when it is left, or by Enter.
function Text({label, value, placeholder, list, onTake}) {
  const [text, set] = useState(value);
  useEffect(() => set(value), [value]);
  const take = () => { if (text.trim() !== value) onTake(text.trim()); };
  return <Field label={label}><input value={text} placeholder={placeholder} list={list} maxLength={1200} onInput={(e) => set(e.target.value)}
    onBlur={take} onKeyDown={(e) => { if (e.key === 'Enter') take(); }}/></Field>;
}

function Group({id, title, params}) {
  const set = (name) => (value) => change({[`${id}.${name}`]: value});
  const setLabel = (text) => {
    const [name, ...rest] = text.split('=');
    const clear = Object.fromEntries(Object.keys(params).filter((n) => n.startsWith(`${id}.node_label.`)).map((n) => [n, '']));
    change({...clear, ...(rest.length ? {[`${id}.node_label.${name.trim()}`]: rest.join('=').trim()} : {})});
  };
  const of = (name) => params[`${id}.${name}`] ?? '';
  return <fieldset><legend>{title}: {nameOf(params, id)}</legend>
    <Text label="Label" value={labelOf(params, id)} placeholder="class=gpu" list="labels" onTake={setLabel}/>
    <Text label="Fact" value={of('fact')} placeholder="gpu.driver=570.86" onTake={set('fact')}/>
    <Text label="Node" value={of('node')} placeholder="one node's name" onTake={set('node')}/>
    <Text label="From" value={of('from')} placeholder="-7d, or 2026-01-31" onTake={set('from')}/>
    <Text label="To" value={of('to')} placeholder="now" onTake={set('to')}/>
    <Text label="Plugin version" value={of('plugin_version')} placeholder="any" onTake={set('plugin_version')}/>
  </fieldset>;
}

function Form({params}) {
  const known = useData(urlOf('benchmarks'), null, 60000);
  const fleet = useData(urlOf('fleet'), null, 600000);
  const benchmarks = known.data?.benchmarks ?? [];
  const metrics = [...new Set((benchmarks.find((b) => b.name === params.benchmark)?.metrics ?? []).map((m) => m.name))];
  const options = (fleet.data?.labels ?? []).flatMap((l) => l.values.map((v) => `${l.name}=${v}`)).slice(0, SUGGESTIONS);
  const swap = () => {
    const changes = {};
    for (const [name, value] of Object.entries(params)) {
      if (!/^[ab]\./.test(name)) continue;
      const other = (name[0] === 'a' ? 'b' : 'a') + name.slice(1);
      changes[other] = value;
      if (!(other in params)) changes[name] = changes[name] ?? '';
    }
    change(changes);
  };
  return <section aria-label="What is compared">
    <datalist id="labels">{options.map((o) => <option key={o} value={o}/>)}</datalist>
    <div class="groups"><Group id="a" title="A" params={params}/><Group id="b" title="B" params={params}/></div>
    <div class="controls below">
      <Field label="Benchmark"><select value={params.benchmark ?? ''} onChange={(e) => change({benchmark: e.target.value, metric: ''})}>
        <option value="">all</option>{benchmarks.map((b) => <option key={b.name}>{b.name}</option>)}</select></Field>
      <Field label="Metric"><select value={params.metric ?? ''} disabled={!params.benchmark} onChange={(e) => change({metric: e.target.value})}>
        <option value="">all</option>{metrics.map((m) => <option key={m}>{m}</option>)}</select></Field>
      <div class="buttons"><button type="button" onClick={swap}>Swap A and B</button>
        <button type="button" onClick={() => change({'a.from': '-14d', 'a.to': '-7d', 'b.from': '-7d', 'b.to': ''})}>Last week against this week</button></div>
    </div>
  </section>;
}

// --- the answer -------------------------------------------------------------------------------------------------

const isClear = (c) => c.direction !== 'DIRECTION_NEUTRAL' || (c.change_low !== undefined && (c.change_low > 0 || c.change_high < 0));
const sizeText = (c, v) => (c.absolute ? `${v > 0 ? '+' : ''}${number(v, 3)} ${c.unit}` : changeText(v));

// The interval on one scale for all rows: 0 in the middle.
function Interval({c, most}) {
  if (c.change_low === undefined || c.absolute) return null;
  const W = 200, x = (v) => W / 2 + Math.max(-1, Math.min(1, v / most)) * (W / 2 - 4);
  const look = isClear(c) ? directionOf(c).look : '';
  return <svg class="interval" viewBox={`0 0 ${W} 24`} preserveAspectRatio="none" role="img" aria-label={`from ${sizeText(c, c.change_low)} to ${sizeText(c, c.change_high)}`}>
    <line class="zero" x1={W / 2} x2={W / 2} y1={0} y2={24}/>
    <line class={`range ${look}`} x1={x(c.change_low)} x2={x(c.change_high)} y1={12} y2={12} vector-effect="non-scaling-stroke"/>
    <rect class={`at ${look}`} x={x(c.change) - 1.5} width={3} y={6} height={12}/>
  </svg>;
}

function Row({c, most, names, openRow, toggle}) {
  const d = directionOf(c), clear = isClear(c), what = `${c.benchmark} ${c.metric}${Object.keys(c.labels).length ? ` (${labels(c.labels)})` : ''}`;
  return <>
    <tr><td><button type="button" class="link" aria-expanded={openRow} onClick={toggle}>{what}</button></td>
      <td class="num">{number(c.a.median)}</td><td class="num">{number(c.b.median)}</td><td>{c.unit}</td>
      <td class={`num ${clear ? d.look : ''}`}><b>{sizeText(c, c.change)}</b></td>
      <td>{c.change_low !== undefined && <><span class="dim">{sizeText(c, c.change_low)} to {sizeText(c, c.change_high)}</span><Interval c={c} most={most}/></>}</td>
      <td>{c.change_low === undefined ? <Tag>too few values</Tag> : clear ? <Tag look={d.look} mark={d.mark}>B is {c.direction === 'DIRECTION_NEUTRAL' ? 'different' : d.text}</Tag> : <Tag>no clear difference</Tag>}</td></tr>
    {openRow && <tr><td colSpan={7}>
      <Spread label={what} unit={c.unit} groups={[{name: `A: ${names[0]}`, values: c.a.values.map(Number), look: 'a'}, {name: `B: ${names[1]}`, values: c.b.values.map(Number), look: 'b'}].filter((g) => g.values.length)}/>
      <p class="dim">{c.explanation} {plural(c.a.nodes, 'node')} and {plural(c.a.samples, 'sample')} in A, {plural(c.b.nodes, 'node')} and {plural(c.b.samples, 'sample')} in B. A value of B is above one of A {number(100 * c.superiority, 3)} % of the time.</p></td></tr>}
  </>;
}

function Results({data, params}) {
  const all = data.comparisons, clear = all.filter(isClear);
  const only = params.all !== '1' && clear.length > 0;
  const shown = only ? clear : all;
  const names = [nameOf(params, 'a'), nameOf(params, 'b')];
  const [open, setOpen] = useState(shown.length === 1 ? 0 : -1);
  const most = useMemo(() => Math.max(0.02, ...shown.filter((c) => !c.absolute && c.change_low !== undefined).flatMap((c) => [Math.abs(c.change_low), Math.abs(c.change_high)])), [data, only]);
  if (all.length === 0) {
    return <Empty title="Nothing in common"><p>The two groups share no benchmark with values in their times. {data.nodes_a} and {data.nodes_b} nodes have some.</p></Empty>;
  }
  const worse = clear.filter((c) => c.direction === 'DIRECTION_WORSE').length, better = clear.filter((c) => c.direction === 'DIRECTION_BETTER').length;
  return <section aria-labelledby="result">
    <h2 id="result">{clear.length === 0 ? 'No clear difference' : `B is ${[worse && `worse in ${worse}`, better && `better in ${better}`, clear.length - worse - better && `different in ${clear.length - worse - better}`].filter(Boolean).join(', ')} of ${plural(all.length, 'metric')}`}
      <span class="dim"> A: {plural(data.nodes_a, 'node')}, B: {plural(data.nodes_b, 'node')}</span></h2>
    <div class="controls"><div class="buttons">
      <button type="button" aria-pressed={only} disabled={!clear.length} onClick={() => change({all: only ? '1' : ''})}>only clear ones</button></div>
    <div class="buttons end"><button type="button" onClick={() => download('compare.csv', 'text/csv', csv(
      ['benchmark', 'metric', 'labels', 'unit', 'median_a', 'median_b', 'change', 'change_low', 'change_high', 'nodes_a', 'nodes_b', 'direction'],
      shown.map((c) => [c.benchmark, c.metric, labels(c.labels), c.unit, c.a.median, c.b.median, c.change, c.change_low, c.change_high, c.a.nodes, c.b.nodes, c.direction])))}>CSV</button>
    <button type="button" onClick={() => download('compare.json', 'application/json', JSON.stringify(data, null, 1))}>JSON</button></div></div>
    <div class="scroll" tabIndex={0} role="region" aria-label="Comparison"><table><thead><tr><th>Metric</th><th class="num">A</th><th class="num">B</th><th>Unit</th><th class="num">B against A</th><th>95 % interval</th><th>Verdict</th></tr></thead>
      <tbody>{shown.map((c, i) => <Row key={`${c.benchmark}/${c.metric}/${labels(c.labels)}/${c.unit}`} c={c} most={most} names={names} openRow={open === i} toggle={() => setOpen(open === i ? -1 : i)}/>)}</tbody></table></div>
    <p class="dim">A row opens to show the values. Medians of nodes are compared; of one or two nodes, their samples.</p>
  </section>;
}

export function Compare({params}) {
  const request = requestOf(params);
  const chosen = Object.keys(request).some((name) => /^[ab]\./.test(name));
  const answer = useData(chosen ? urlOf('compare', request) : null, null, 30000);
  return <>
    <h1>Compare <span class="dim">two groups of nodes, two times, or two versions</span></h1>
    <Form params={params}/>
    {chosen ? <Answer answer={answer}>{(data) => <Results data={data} params={params}/>}</Answer> :
      <Empty title="Choose what A and B are"><p>For example two drivers: fact <code>gpu.driver=560.35</code> as A and <code>gpu.driver=570.86</code> as B;
        or <a href={link(['compare'], {'a.from': '-14d', 'a.to': '-7d', 'b.from': '-7d'})}>last week against this week</a>.</p></Empty>}
  </>;
}
