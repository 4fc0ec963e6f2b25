// One series over any time: samples, or summaries where there are more than can be seen.
import {useMemo, useRef, useState} from 'preact/hooks';
import {getAll, get, ms, urlOf} from '../api.js';
import {ARROW, BETTER, csv, duration, labels, metricName, number, plural, time} from '../format.js';
import {useData} from '../live.js';
import {change, link} from '../route.js';
import {baseline} from '../stats.js';
import {Chart, readout} from '../ui/chart.jsx';
import {Answer, T, Tag, When, download} from '../ui/parts.jsx';
import {Spread} from '../ui/spread.jsx';
import {directionOf, eventText, onset, sizeOf} from '../words.js';

const DAY_MS = 864e5;
const RANGES = {'24h': 1, '7d': 7, '30d': 30, '365d': 365};
const POINTS = 1500;
const SAMPLES_OF_EXPORT = 100000;
const SAMPLES_OF_SPREAD = 250;

// What the URL says: `range` before now, or `from` and `to` in Unix milliseconds, or everything.
function viewOf(params, series) {
  const first = ms(series.first_unix_ns), now = Date.now();
  if (params.from && params.to && Number(params.to) > Number(params.from)) return {from: Number(params.from), to: Number(params.to)};
  if (RANGES[params.range]) return {from: now - RANGES[params.range] * DAY_MS, to: now};
  const from = first || now - DAY_MS;
  return {from, to: Math.max(now, from + 1000)};
}

// Rounded down, so that a sample at the very begin is within.
const seconds = (t) => (Math.floor(t) / 1000).toFixed(3);

function Exports({series, view, canvas}) {
  const [state, set] = useState('');
  const name = `${series.key.node}-${series.key.benchmark}-${series.key.metric}`;
  const samples = () => get(urlOf(`series/${series.series_id}/samples`, {from: seconds(view.from), to: seconds(view.to), limit: SAMPLES_OF_EXPORT}));
  const act = (make) => async () => {
    set('reading…');
    try {
      set(await make() ?? '');
    } catch (e) {
      set(e.message);
    }
  };
  const cut = (data) => (data.truncated ? `only the first ${data.samples.length} samples were written` : '');
  return <p class="actions"><span class="dim">Export what is shown:</span>
    <button type="button" onClick={act(async () => {
      const data = await samples();
      download(`${name}.csv`, 'text/csv', csv(['time', 'value', 'unit', 'run_id', 'relative_spread'], data.samples.map((s) =>
        [new Date(ms(s.time_unix_ns)).toISOString(), s.value, series.key.unit, s.run_id, s.relative_spread])));
      return cut(data);
    })}>CSV</button>
    <button type="button" onClick={act(async () => {
      const data = await samples();
      download(`${name}.json`, 'application/json', JSON.stringify(data, null, 1));
      return cut(data);
    })}>JSON</button>
    <button type="button" onClick={() => canvas.current?.toBlob((blob) => blob && download(`${name}.png`, 'image/png', blob))}>Picture</button>
    {state && <span role="status">{state}</span>}</p>;
}

// The samples on both sides of a change.
function BeforeAndAfter({series, finding}) {
  const at = onset(finding), id = series.series_id;
  const answer = useData(`spread:${id}:${finding.finding_id}`, async (signal) => Promise.all([
    get(urlOf(`series/${id}/samples`, {to: seconds(ms(finding.onset_earliest_unix_ns) + 1), newest: true, limit: SAMPLES_OF_SPREAD}), signal),
    get(urlOf(`series/${id}/samples`, {from: seconds(at - 1), limit: SAMPLES_OF_SPREAD}), signal)]), 30000);
  const sorted = (data) => data.samples.map((s) => Number(s.value)).filter(Number.isFinite).sort((a, b) => a - b);
  const d = directionOf(finding);
  return <section aria-labelledby={`f-${finding.finding_id}`}>
    <h2 id={`f-${finding.finding_id}`}><Tag look={d.look} mark={d.mark}>{sizeOf(finding)}</Tag> since <When ms={at} also/>
      {finding.state === 'STATE_CLOSED' && <span class="dim"> · closed</span>} <a class="more" href={link(['findings', finding.finding_id])}>evidence</a></h2>
    <Answer answer={answer}>{([before, after]) => <Spread label="before and after" unit={series.key.unit} groups={[
      {name: 'before', values: sorted(before), look: 'plain'}, {name: 'after', values: sorted(after), look: d.look}].filter((g) => g.values.length)}/>}</Answer>
  </section>;
}

function SeriesView({series, params, findings, events}) {
  const wanted = viewOf(params, series);
  // A view that ends now does not move with each second.
  const stable = useMemo(() => wanted, [params.from, params.to, params.range, series.last_unix_ns, Math.floor(Date.now() / 60000)]);
  const url = urlOf(`series/${series.series_id}/curve`, {from: seconds(Math.max(0, stable.from)), to: seconds(stable.to), points: POINTS});
  const read = useData(url);
  const kept = useRef(null), canvas = useRef(null);
  if (read.data) kept.current = read.data;
  const curve = read.data ?? kept.current;  // while another time is read, what is there stays
  const [hover, setHover] = useState(null);
  const mine = findings.filter((f) => f.series_id === series.series_id || (f.members ?? []).some((m) => m.series_id === series.series_id));
  // One that is a member of another is told by that.
  const members = new Set(mine.flatMap((f) => (f.members ?? []).map((m) => m.finding_id)));
  const told = mine.filter((f) => !members.has(f.finding_id)).sort((a, b) => onset(b) - onset(a));
  const open = told.find((f) => f.state === 'STATE_OPEN') ?? null;
  const drawn = useMemo(() => {
    if (!curve) return null;
    const values = curve.value.map(Number), summaries = curve.bucket_seconds > 0;
    return {times: curve.time_ms, values, low: summaries ? curve.low.map(Number) : null, high: summaries ? curve.high.map(Number) : null,
      count: curve.count, base: baseline(curve.time_ms, values, open)};
  }, [curve, open]);
  const marks = useMemo(() => events.filter((e) => e.kind !== 'KIND_AGENT_STARTED' && e.kind !== 'KIND_AGENT_STOPPED')
      .map((e) => ({ms: ms(e.time_unix_ns), text: eventText(e)})), [events]);
  const last = ms(series.last_unix_ns), silentMs = Date.now() - last;
  const key = series.key;
  const shownEvents = marks.filter((m) => m.ms >= stable.from && m.ms <= stable.to);
  const zoomOut = () => change({from: '', to: '', range: ''});
  return <>
    <section class="head"><h1>{key.benchmark} <b>{metricName(key)}</b><small> on <a class="name" href={link(['nodes', key.node])}>{key.node}</a></small></h1>
      <p><b class="big">{number(series.last_value)} {key.unit}</b> <When ms={last}/>{BETTER[series.better] && <span class="dim"> · {ARROW[series.better]} {BETTER[series.better]}</span>}
        {open ? <> <Tag look={directionOf(open).look} mark={directionOf(open).mark}>{sizeOf(open)} since <When ms={onset(open)}/></Tag></> : <> <Tag look="good" mark="✓">as before</Tag></>}</p>
      <p class="dim">{plural(series.samples, 'sample')} since <When ms={ms(series.first_unix_ns)}/> · plugin {key.plugin} {key.plugin_version}
        {key.params_digest && <> · parameters {key.params_digest}</>}</p></section>
    <section aria-label="Chart">
      <div class="controls"><div class="buttons" role="group" aria-label="Time">{[...Object.keys(RANGES), ''].map((r) =>
        <button key={r} type="button" aria-pressed={!params.from && (params.range ?? '') === r} onClick={() => change({range: r, from: '', to: ''})}>
          {r === '' ? 'all' : r === '365d' ? 'year' : r}</button>)}
        {[['◂', -0.5, 0.5, 'earlier'], ['▸', 0.5, 1.5, 'later'], ['+', 0.25, 0.75, 'zoom in'], ['−', -0.5, 1.5, 'zoom out']].map(([text, a, b, title]) =>
          <button key={text} type="button" title={title} aria-label={title} onClick={() => {
            const w = stable.to - stable.from, shift = title === 'earlier' ? [-0.5, 0.5] : [a, b];
            change({from: Math.round(stable.from + w * shift[0]), to: Math.round(stable.from + w * shift[1]), range: ''});
          }}>{text}</button>)}</div>
        <ul class="legend"><li><span class="swatch band"/>as expected</li>{drawn?.low && <li><span class="swatch range"/>least to greatest</li>}
          {open && <li><span class="swatch onset"/>changed here</li>}{shownEvents.length > 0 && <li><span class="swatch mark"/>event</li>}</ul>
      </div>
      {read.error && !read.data && <p class="banner warn" role="status">{read.error.message}</p>}
      {drawn ? <Chart {...drawn} view={stable} marks={shownEvents} finding={open} label={`${key.benchmark} ${metricName(key)} on ${key.node}`} unit={key.unit}
        until={silentMs > 2 * 36e5 && last < stable.to ? last : 0} onHover={setHover} onReset={zoomOut} canvasRef={canvas}
        onView={(from, to, replace) => change({from: Math.round(from), to: Math.round(to), range: ''}, {replace})}/> : <p class="loading" role="status">Reading…</p>}
      <p class="readout">{drawn && readout({...drawn, unit: key.unit}, hover) ||
        (curve?.time_ms.length === 0 ? 'No samples in this time.' : curve?.bucket_seconds > 0 ?
          `Each point is the median of ${duration(curve.bucket_seconds)}.${Number(curve.samples_from_unix_ns) ? ` Before ${time(ms(curve.samples_from_unix_ns))} only summaries are kept.` : ''}` :
          'Each point is a sample.')} <span class="dim">Drag to zoom, shift and drag to move, double click for all.</span></p>
      <Exports series={series} view={stable} canvas={canvas}/>
    </section>
    {shownEvents.length > 0 && <section aria-labelledby="events"><h2 id="events">Events in this time</h2>
      <ul class="changes">{shownEvents.slice(0, 20).map((m, i) => <li key={i}><T>{m.text}</T><span class="dim"> · <When ms={m.ms} also/></span></li>)}</ul></section>}
    {told.slice(0, 5).map((f) => <BeforeAndAfter key={f.finding_id} series={series} finding={f}/>)}
  </>;
}

export function SeriesPage({id, params}) {
  const info = useData(`series-info:${id}`, (signal) => get(urlOf(`series/${encodeURIComponent(id)}/samples`, {newest: true, limit: 1}), signal));
  const series = info.data?.series;
  const node = series?.key.node;
  const findings = useData(node ? `series-findings:${id}` : null, (signal) => Promise.all([
    getAll('findings', {node, benchmark: series.key.benchmark}, 'findings', 500, signal),
    getAll('findings', {state: 'open', top_level: true}, 'findings', 2000, signal)]).then(([a, b]) =>
    [...new Map([...a, ...b].map((f) => [f.finding_id, f])).values()]));
  const events = useData(node ? urlOf('events', {node, limit: 500}) : null);
  return <Answer answer={info}>{() => <SeriesView series={series} params={params} findings={findings.data ?? []}
    events={events.data?.events ?? []}/>}</Answer>;
}
