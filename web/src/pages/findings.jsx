// What detection has found, and the evidence for each; what is done about it is the alerts' (alerts.jsx).
import {useEffect, useMemo, useState} from 'preact/hooks';
import {get, getAll, ms, urlOf} from '../api.js';
import {change as changeText, csv, enumName, labels, number, plural, time} from '../format.js';
import {useData} from '../live.js';
import {change, go, here, link} from '../route.js';
import {baseline} from '../stats.js';
import {Mini} from '../ui/mini.jsx';
import {Answer, Empty, Field, Search, Steps, T, Tag, When, download, useListKeys} from '../ui/parts.jsx';
import {KIND, advice, byGravity, collapsed, directionOf, eventText, extent, hasSize, nodesOf, onset, sizeOf, whatOf, whereOf, why} from '../words.js';

const MOST = 5000;
const ROWS = 50;
const DAY_MS = 864e5;
const SORTS = {grave: 'gravest first', new: 'newest first', old: 'oldest first'};

function sorted(list, by) {
  if (by === 'new') return [...list].sort((a, b) => onset(b) - onset(a));
  if (by === 'old') return [...list].sort((a, b) => onset(a) - onset(b));
  return [...list].sort(byGravity);
}

function matching(list, params) {
  const words = (params.q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  return list.filter((f) => {
    if (params.kind && f.kind !== params.kind) return false;
    const text = [whereOf(f), whatOf(f), f.explanation, why(f), ...nodesOf(f)].join(' ').toLowerCase();
    return words.every((w) => text.includes(w));
  });
}

// --- the list ---------------------------------------------------------------------------------------------------

function Row({finding: f, chosen}) {
  const d = directionOf(f);
  return <li class={`problem ${chosen ? 'chosen' : ''}`}>
    <a class="main" href={link(['findings', f.finding_id], here().params)}>
      <span class={`size ${d.look}`}><span aria-hidden="true">{d.mark}</span> {sizeOf(f) || enumName(f.kind, 'KIND_')}</span>
      <span class="what"><b>{whatOf(f)}</b> on <b class="name">{whereOf(f)}</b>{extent(f) && <span class="dim"> · {extent(f)}</span>}{f.steps > 1 && <span class="dim"> · in {f.steps} steps</span>}</span></a>
    <span class="since">{KIND[f.kind]} · since <When ms={onset(f)}/>{f.state === 'STATE_CLOSED' && <> · closed <When ms={ms(f.closed_unix_ns)}/></>}</span>
    <p class="why"><T>{why(f) || f.explanation}</T></p>
  </li>;
}

function exportCsv(list) {
  download('findings.csv', 'text/csv', csv(
    ['finding_id', 'state', 'direction', 'kind', 'where', 'what', 'change', 'change_low', 'change_high', 'before', 'after', 'unit', 'onset', 'confidence', 'explanation'],
    list.map((f) => [f.finding_id, enumName(f.state, 'STATE_'), enumName(f.direction, 'DIRECTION_'), enumName(f.kind, 'KIND_'), whereOf(f), whatOf(f), f.change,
      f.change_low, f.change_high, f.before, f.after, f.series?.unit, new Date(onset(f)).toISOString(), f.confidence, f.explanation])));
}

function List({params}) {
  const state = params.state ?? 'open', direction = params.direction ?? 'worse', sort = params.sort ?? 'grave';
  const answer = useData(`findings?${state}&${direction}`, (signal) => getAll('findings',
      {state: state === 'all' ? '' : state, direction: direction === 'all' ? '' : direction, top_level: true}, 'findings', MOST, signal));
  const [chosen, choose] = useState(-1);
  const [most, more] = useState(ROWS);
  const list = useMemo(() => sorted(collapsed(matching(answer.data ?? [], params)), sort), [answer.data, params.q, params.kind, sort]);
  useListKeys(Math.min(list.length, most), chosen, choose, (i) => go(link(['findings', list[i].finding_id], here().params)));
  useEffect(() => { document.querySelector('.problem.chosen')?.scrollIntoView({block: 'nearest'}); }, [chosen]);
  const kinds = [...new Set((answer.data ?? []).map((f) => f.kind))].sort();
  return <>
    <h1>Findings {answer.data && <span class="dim">{plural(list.length, 'finding')}</span>}</h1>
    <div class="controls">
      <Search q={params.q ?? ''} placeholder="node, benchmark, driver…"/>
      <Field label="State"><select value={state} onChange={(e) => change({state: e.target.value})}>
        <option value="open">open</option><option value="closed">closed</option><option value="all">all</option></select></Field>
      <Field label="Direction"><select value={direction} onChange={(e) => change({direction: e.target.value})}>
        <option value="worse">worse</option><option value="better">better</option><option value="neutral">neither</option><option value="all">all</option></select></Field>
      <Field label="Kind"><select value={params.kind ?? ''} onChange={(e) => change({kind: e.target.value})}>
        <option value="">all</option>{kinds.map((k) => <option key={k} value={k}>{KIND[k] ?? k}</option>)}</select></Field>
      <Field label="Order"><select value={sort} onChange={(e) => change({sort: e.target.value})}>
        {Object.entries(SORTS).map(([v, t]) => <option key={v} value={v}>{t}</option>)}</select></Field>
      <div class="buttons end"><button type="button" disabled={!list.length} onClick={() => exportCsv(list)}>CSV</button>
        <button type="button" disabled={!list.length} onClick={() => download('findings.json', 'application/json', JSON.stringify(list, null, 1))}>JSON</button></div>
    </div>
    <Answer answer={answer}>{() => (list.length === 0 ? <Empty title={params.q || params.kind ? 'No finding matches' : state === 'open' && direction === 'worse' ? 'Nothing is worse than it was' : 'None'}>
      <p>A change shows here once a series has enough samples to tell it from noise.
        {(params.q || params.kind || state !== 'all' || direction !== 'all') && <> <a href={link(['findings'], {state: 'all', direction: 'all'})}>Show all, closed ones too</a></>}</p></Empty> :
      <section aria-label="Findings"><ol class="problems">{list.slice(0, most).map((f, i) => <Row key={f.finding_id} finding={f} chosen={i === chosen}/>)}</ol>
        {list.length > most && <button type="button" class="link" onClick={() => more(most + 200)}>Show more of {plural(list.length, 'finding')}</button>}</section>)}</Answer>
  </>;
}

// --- one finding -------------------------------------------------------------------------------------------------

const Pair = ({name, children}) => <div><dt>{name}</dt><dd>{children}</dd></div>;

const CONFIRMATION = {STATE_PENDING: ['warn', 'it is being measured again'], STATE_CONFIRMED: ['bad', 'confirmed'],
  STATE_REFUTED: ['good', 'refuted: later runs are as before'], STATE_INCONCLUSIVE: ['plain', 'later runs do not tell']};

function Sure({f}) {
  const c = f.confirmation, state = CONFIRMATION[c?.state];
  return <>
    {f.p_value > 0 && <>p = {number(f.p_value, 2)}: by chance alone it would look so {f.p_value < 1e-6 ? 'less than once in a million' : `once in ${number(1 / f.p_value, 2)}`} times. </>}
    {f.score > 0 && <span class="dim">{number(f.score, 3)} times the noise. </span>}
    {state && <><br/><Tag look={state[0]}>{state[1]}</Tag> by {plural(c.reruns, 'further run')}{c.peer_reruns > 0 && <> and {plural(c.peer_reruns, 'run')} of {c.peer}</>}</>}
    {f.budget && <><br/>{f.budget.within ? 'Within the budget of false alarms: it may become an alert.' : 'Not sure enough for an alert within the budget of false alarms.'}</>}
  </>;
}

function Explanations({list}) {
  if (!list?.length) return null;
  return <section aria-labelledby="explain"><h2 id="explain">What they have in common</h2>
    <div class="scroll" tabIndex={0} role="region" aria-label="Explanations"><table><thead><tr><th>Attribute</th><th class="num">With it changed</th><th class="num">Without it changed</th><th class="num">p</th></tr></thead>
      <tbody>{list.map((e, i) => <tr key={i}><td><b>{e.attribute}</b> {e.value} {i === 0 && <Tag look="bad">best</Tag>}
        {e.equivalent?.length > 0 && <div class="dim">the same nodes: {e.equivalent.join(', ')}</div>}</td>
      <td class="num">{e.changed_with} of {e.total_with}</td><td class="num">{e.changed_without} of {e.total_without}</td><td class="num">{number(e.p_value, 2)}</td></tr>)}</tbody></table></div>
    <p class="dim">It coincides; whether it is the cause shows when it is undone on one node.</p></section>;
}

function Members({f}) {
  const [all, show] = useState(false);
  const list = f.members ?? [];
  if (list.length === 0) return null;
  const shown = all ? list : list.slice(0, 12), total = Number(f.member_count);
  return <section aria-labelledby="members"><h2 id="members">What it is about <span class="dim">{plural(total, 'member')}</span></h2>
    <div class="scroll" tabIndex={0} role="region" aria-label="Members"><table><thead><tr><th>Node</th><th>Benchmark</th><th class="num">{f.kind === 'KIND_PEER' ? 'Peers' : 'Before'}</th><th class="num">{f.kind === 'KIND_PEER' ? 'It' : 'After'}</th><th>Unit</th><th class="num">Change</th></tr></thead>
      <tbody>{shown.map((m, i) => <tr key={i}><td class="name">{m.node ? <a href={link(['nodes', m.node])}>{m.node}</a> : '–'} {m.device}</td>
        <td>{Number(m.series_id) ? <a href={link(['series', m.series_id])}>{m.benchmark} {m.metric}</a> : `${m.benchmark} ${m.metric}`}</td>
        <td class="num">{m.before || m.after ? number(m.before) : '–'}</td><td class="num">{m.before || m.after ? number(m.after) : '–'}</td><td>{m.unit}</td>
        <td class="num">{m.change ? changeText(m.change) : '–'}</td></tr>)}</tbody></table></div>
    {list.length > shown.length && <button type="button" class="link" onClick={() => show(true)}>Show all {list.length}</button>}
    {total > list.length && <p class="dim">{plural(total - list.length, 'further one')} are not kept with the finding.</p>}</section>;
}

export function Picture({f}) {
  const id = Number(f.series_id) ? f.series_id : (f.members ?? []).find((m) => Number(m.series_id))?.series_id;
  const at = onset(f), from = at - 14 * DAY_MS, to = Math.min(Date.now(), at + 14 * DAY_MS);
  const answer = useData(id ? urlOf(`series/${id}/curve`, {from: (from / 1000).toFixed(0), to: (to / 1000).toFixed(0), points: 400}) : null, null, 30000);
  if (!id || !answer.data?.time_ms.length) return null;
  const curve = answer.data, values = curve.value.map(Number);
  const marks = (f.events ?? []).map((e) => ({ms: ms(e.time_unix_ns), text: eventText(e)}));
  return <section aria-label="Chart"><div class="wide"><Mini times={curve.time_ms} values={values} base={baseline(curve.time_ms, values, f)} finding={f} marks={marks}
    from={Math.max(from, curve.time_ms[0])} to={to} label={`${whatOf(f)} around the change`}/></div>
  <ul class="legend"><li><span class="swatch band"/>as expected</li><li><span class="swatch onset"/>changed here</li>{marks.length > 0 && <li><span class="swatch mark"/>event</li>}
    <li><a href={link(['series', id])}>{Number(f.series_id) ? 'Whole series' : `${curve.series.key.node}: whole series`}</a></li></ul></section>;
}

export function Evidence({f}) {
  const d = directionOf(f), unit = f.series?.unit ?? '';
  return <>
    <section aria-labelledby="evidence"><h2 id="evidence">Evidence</h2><dl class="facts">
      <Pair name="What was found">{KIND[f.kind]}, {d.text} <span class="dim">· detector: {f.detector}</span></Pair>
      {hasSize(f) && <Pair name={f.kind === 'KIND_PEER' ? 'Its peers' : 'Before'}>{number(f.before, 5)} {unit}{f.samples_before > 0 && <span class="dim"> · {plural(f.samples_before, 'sample')}</span>}</Pair>}
      {hasSize(f) && <Pair name={f.kind === 'KIND_PEER' ? 'It' : 'After'}>{number(f.after, 5)} {unit}{f.samples_after > 0 && <span class="dim"> · {plural(f.samples_after, 'sample')}</span>}</Pair>}
      {hasSize(f) && <Pair name="Size">{sizeOf(f)}{(f.change_low || f.change_high) ? <span class="dim"> · with 95 % confidence {changeText(f.change_low)} to {changeText(f.change_high)}</span> : null}</Pair>}
      <Pair name="Began">{ms(f.onset_earliest_unix_ns) && f.onset_earliest_unix_ns !== f.onset_latest_unix_ns ? <>between {time(ms(f.onset_earliest_unix_ns))} and {time(onset(f))}</> : time(onset(f))}
        <span class="dim"> · found <When ms={ms(f.found_unix_ns)}/></span></Pair>
      {f.reference && <Pair name="Reference">{number(f.reference.value)} {f.reference.unit}{f.reference.lower !== undefined && `, from ${changeText(f.reference.lower)}`}{f.reference.upper !== undefined && `, to ${changeText(f.reference.upper)}`}</Pair>}
      <Pair name="How sure"><Sure f={f}/></Pair>
    </dl></section>
    <Explanations list={f.explanations}/>
    {f.events?.length > 0 && <section aria-labelledby="near"><h2 id="near">What changed there at that time</h2><ul class="changes">{f.events.map((e) =>
      <li key={e.event_id}><span class="tag plain">{enumName(e.kind, 'KIND_')}</span> <T>{eventText(e)}</T><span class="dim"> · {e.node} · <When ms={ms(e.time_unix_ns)} also/></span></li>)}</ul></section>}
    <Members f={f}/>
  </>;
}

function Details({f}) {
  const d = directionOf(f);
  return <article>
    <p><a href={link(['findings'], here().params)}>← all findings</a></p>
    <h1 class={`verdict ${d.look}`}><span aria-hidden="true">{d.mark} </span>{whatOf(f)} {sizeOf(f) || KIND[f.kind]}
      <small>on <span class="name">{f.series?.node ? <a href={link(['nodes', f.series.node])}>{f.series.node}</a> : whereOf(f)}</span>{extent(f) && `, ${extent(f)}`}, since <When ms={onset(f)} also/>
        {f.state === 'STATE_CLOSED' && <>, closed <When ms={ms(f.closed_unix_ns)}/></>}</small></h1>
    <p class="lead">{f.explanation}.</p>
    <section class="do" aria-labelledby="do"><h2 id="do">What to do</h2><Steps steps={advice(f, true)}/></section>
    <Picture f={f}/>
    <Evidence f={f}/>
    {f.series?.labels && Object.keys(f.series.labels).length > 0 && <p class="dim">Labels: {labels(f.series.labels)}</p>}
    <p class="actions"><button type="button" onClick={() => download(`finding-${f.finding_id}.json`, 'application/json', JSON.stringify(f, null, 1))}>JSON</button></p>
  </article>;
}

// The newest are looked through for it, page by page.
async function find(id, signal) {
  let token = '';
  for (let page = 0; page < 20; ++page) {
    const answer = await get(urlOf('findings', {limit: 1000, page_token: token}), signal);
    const found = answer.findings.find((f) => f.finding_id === id);
    if (found) return found;
    token = answer.next_page_token;
    if (!token) break;
  }
  return null;
}

function One({id}) {
  const answer = useData(`finding:${id}`, async (signal) => ({finding: await find(id, signal)}), 10000);
  return <Answer answer={answer}>{({finding}) => (finding ? <Details f={finding}/> :
    <Empty title="This finding is not kept any more"><a href={link(['findings'])}>All findings</a></Empty>)}</Answer>;
}

export const Findings = ({id, params}) => (id ? <One key={id} id={id}/> : <List params={params}/>);
