// The inbox: alerts by cause, what is done about each, one by one or many at once, by mouse or by keys.
import {useEffect, useLayoutEffect, useMemo, useRef, useState} from 'preact/hooks';
import {ACTS, CLASS, SEVERITY, STATE, isOver, severityOf, stateOf, worstFirst} from '../alertacts.js';
import {getAll, get, ms, post, urlOf} from '../api.js';
import {csv, enumName, labels, plural} from '../format.js';
import {isPrefixed} from '../keys.js';
import {useData} from '../live.js';
import {me} from '../me.js';
import {change, go, here, link} from '../route.js';
import {ActDialog} from '../ui/alertforms.jsx';
import {Answer, Copy, Empty, Field, Search, Steps, T, Tag, When, download} from '../ui/parts.jsx';
import {advice} from '../words.js';
import {Evidence, Picture} from './findings.jsx';

const MOST = 2000;
const ROWS = 100;
const UNDO_MS = 15000;
const STATES = {'': 'open', firing: 'firing', acknowledged: 'acknowledged', silenced: 'silenced', pending: 'being confirmed', resolved: 'resolved', all: 'all'};
const RESOLVED_TOO = ['resolved', 'all'];

const since = (a) => ms(a.life.firing_unix_ns) || ms(a.life.opened_unix_ns);

function matching(list, params) {
  const words = (params.q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  return list.filter((a) => {
    if (params.class && CLASS[a.class] !== params.class) return false;
    if (params.severity && severityOf(a).text !== params.severity) return false;
    const state = params.state ?? '';
    if (state && state !== 'all' && a.life.state !== `STATE_${state.toUpperCase()}`) return false;
    const text = [a.title, a.subject, ...a.nodes, labels(a.labels), a.life.acknowledged?.by].join(' ').toLowerCase();
    return words.every((w) => text.includes(w));
  });
}

function exportCsv(list) {
  download('alerts.csv', 'text/csv', csv(
    ['alert_id', 'state', 'severity', 'class', 'subject', 'title', 'nodes', 'since', 'acknowledged_by', 'note', 'labels'],
    list.map((a) => [a.alert_id, stateOf(a).text, severityOf(a).text, CLASS[a.class], a.subject, a.title, a.node_count,
      new Date(since(a)).toISOString(), a.life.acknowledged?.by, a.life.acknowledged?.note, labels(a.labels)])));
}

// --- choosing, by mouse and keys -----------------------------------------------------------------------------------

// Which of `list` are chosen, and where the cursor is. Shift chooses a range from the last one.
function useChoice(list) {
  const [chosen, setChosen] = useState(() => new Set());
  const [cursor, setCursor] = useState(-1);
  const from = useRef(-1);
  const there = list.filter((a) => chosen.has(a.alert_id));
  const toggle = (i, range) => {
    const next = new Set(chosen), on = !next.has(list[i].alert_id);
    const begin = range && from.current >= 0 ? Math.min(from.current, i) : i;
    for (let k = begin; k <= Math.max(i, range ? from.current : i); ++k) {
      if (on || range) next.add(list[k].alert_id);
      else next.delete(list[k].alert_id);
    }
    from.current = i;
    setChosen(next);
  };
  const all = () => setChosen(there.length === list.length ? new Set() : new Set(list.map((a) => a.alert_id)));
  return {chosen: there, has: (a) => chosen.has(a.alert_id), cursor: Math.min(cursor, list.length - 1), setCursor, toggle, all,
    none: () => setChosen(new Set())};
}

function useInboxKeys(list, choice, start) {
  // At once with each change, not after the next paint: a key that follows quickly must meet the new choice.
  useLayoutEffect(() => {
    const onKey = (e) => {
      if (e.target.closest?.('input:not([type=checkbox]), textarea, select, dialog') || e.ctrlKey || e.metaKey || e.altKey) return;
      const i = choice.cursor, act = Object.entries(ACTS).find(([, a]) => a.key === e.key);
      const on = choice.chosen.length ? choice.chosen : i >= 0 ? [list[i]] : [];
      const isControl = e.target.closest?.('a, button, summary, input');
      if (e.key === 'j' || e.key === 'J') {
        choice.setCursor(Math.min(i + 1, list.length - 1));
        if (e.key === 'J' && list[i + 1]) choice.toggle(i + 1, true);
      } else if (e.key === 'k') choice.setCursor(Math.max(i - 1, 0));
      else if ((e.key === 'x' || (e.key === ' ' && !isControl)) && i >= 0) choice.toggle(i, e.shiftKey);
      else if (e.key === 'X' && i >= 0) choice.toggle(i, true);
      else if (e.key === '*') choice.all();
      else if (e.key === 'Escape') choice.none();
      else if (e.key === 'Enter' && i >= 0 && !isControl) go(link(['alerts', list[i].alert_id], here().params));
      else if (act && on.length && !isPrefixed()) start(act[0], on);
      else return;
      e.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  });
}

// --- what was just done, and taking it back -------------------------------------------------------------------------

function Done({done, onUndo, onClose}) {
  if (!done) return <div role="status" class="hidden"/>;
  const n = done.alerts.length;
  return <div role="status" class="done">{done.error ? <>It could not be taken back: {done.error.message}</> :
    <><b>{n === 1 ? <T>{done.alerts[0].title}</T> : plural(n, 'alert')}</b> {ACTS[done.name].done}.</>}
    {done.name === 'ack' && !done.error && <button type="button" onClick={onUndo}>Undo</button>}
    <button type="button" class="quiet" aria-label="dismiss" onClick={onClose}>✕</button></div>;
}

// Forms and their results, for a list as for one alert.
function useActs(open, reload, after = () => {}) {
  const [what, begin] = useState(null), [done, setDone] = useState(null);
  useEffect(() => {
    if (!done) return undefined;
    const handle = setTimeout(() => setDone(null), UNDO_MS);
    return () => clearTimeout(handle);
  }, [done]);
  const start = (name, alerts) => {
    const fit = alerts.filter((a) => ACTS[name].takes(a));
    if (fit.length) begin({name, alerts: fit});
  };
  const undo = async () => {
    try {
      for (const alert of done.alerts) await ACTS.unack.ask(alert, {by: me()});
      setDone({...done, name: 'unack'});
    } catch (error) {
      setDone({...done, error});
    }
    reload();
  };
  return {start, view: <><Done done={done} onUndo={undo} onClose={() => setDone(null)}/>
    <ActDialog what={what} open={open} onClose={() => begin(null)} onDone={(name, alerts) => {
      if (alerts.length) setDone({name, alerts});
      reload();
      after();
    }}/></>};
}

const ActButtons = ({alerts, start}) => Object.entries(ACTS).map(([name, act]) => {
  const n = alerts.filter(act.takes).length;
  return <button key={name} type="button" disabled={n === 0} aria-keyshortcuts={act.key} onClick={() => start(name, alerts)}>
    {act.title}{alerts.length > 1 && n > 0 && n < alerts.length ? ` ${n}` : ''} <kbd aria-hidden="true">{act.key}</kbd></button>;
});

// --- the list -------------------------------------------------------------------------------------------------------

function Row({alert: a, i, choice}) {
  const s = stateOf(a), severity = severityOf(a), ack = a.life.acknowledged;
  const mute = a.life.mutes?.[0];
  return <li class={`alert ${choice.cursor === i ? 'chosen' : ''} ${choice.has(a) ? 'picked' : ''}`}>
    <label class="pick"><input type="checkbox" checked={choice.has(a)} aria-label={`choose ${a.title}`} onClick={(e) => {
      choice.setCursor(i);
      choice.toggle(i, e.shiftKey);
    }}/></label>
    <a class="main" href={link(['alerts', a.alert_id], here().params)}><Tag look={severity.look}>{severity.text}</Tag>
      <span class="what"><b><T>{a.title}</T></b></span></a>
    <span class="since"><Tag look={s.look} mark={s.mark}>{s.text}</Tag> {isOver(a) ? <When ms={ms(a.life.resolved_unix_ns)}/> : <When ms={since(a)}/>}</span>
    <p class="why">{a.finding_count > 1 && <>{plural(a.finding_count, 'finding')} · </>}{a.node_count > 1 && <>{plural(a.node_count, 'node')} · </>}
      {a.life.flapping && <>it flaps · </>}{ack && <>acknowledged by <b><T>{ack.by}</T></b>{ack.note && <>: <T>{ack.note}</T></>} · </>}
      {mute && <><T>{mute.text}</T> · </>}{isOver(a) && a.life.resolution && <><T>{a.life.resolution}</T> · </>}<T>{a.main?.explanation ?? ''}</T></p>
  </li>;
}

function Controls({params, list}) {
  const field = (name, label, options) => <Field label={label}><select value={params[name] ?? ''} onChange={(e) => change({[name]: e.target.value})}>
    {Object.entries(options).map(([v, text]) => <option key={v} value={v}>{text}</option>)}</select></Field>;
  const named = (map) => ({'': 'all', ...Object.fromEntries(Object.values(map).map((v) => [v.text ?? v, v.text ?? v]))});
  return <div class="controls"><Search q={params.q ?? ''} placeholder="node, subject, who…"/>
    {field('state', 'State', STATES)}{field('severity', 'Severity', named(SEVERITY))}{field('class', 'Kind', named(CLASS))}
    <div class="buttons end"><button type="button" disabled={!list.length} onClick={() => exportCsv(list)}>CSV</button>
      <button type="button" disabled={!list.length} onClick={() => download('alerts.json', 'application/json', JSON.stringify(list, null, 1))}>JSON</button></div></div>;
}

function Inbox({params}) {
  const all = RESOLVED_TOO.includes(params.state);
  const answer = useData(`alerts?${all}`, (signal) => getAll('alerts', {all: all ? 'true' : ''}, 'alerts', MOST, signal));
  const [most, more] = useState(ROWS);
  const list = useMemo(() => matching(answer.data ?? [], params).sort(worstFirst).slice(0, most), [answer.data, params.q, params.state, params.class, params.severity, most]);
  const choice = useChoice(list);
  const acts = useActs((answer.data ?? []).filter((a) => !isOver(a)), answer.reload, choice.none);
  useInboxKeys(list, choice, acts.start);
  useEffect(() => { document.querySelector('.alert.chosen')?.scrollIntoView({block: 'nearest'}); }, [choice.cursor]);
  const filtered = params.q || params.class || params.severity || params.state;
  return <>
    <h1>Alerts {answer.data && <span class="dim">{plural(list.length, 'alert')}</span>}</h1>
    <Controls params={params} list={list}/>
    {acts.view}
    <Answer answer={answer}>{() => (list.length === 0 ? <Empty title={filtered ? 'No alert matches' : 'No open alert'}>
      <p>An alert comes of findings that are sure enough. {filtered ? <a href={link(['alerts'])}>Show all that are open</a> :
        <><a href={link(['findings'])}>All findings</a>, <a href={link(['alerts'], {state: 'all'})}>resolved alerts</a></>}</p></Empty> :
      <section aria-label="Alerts">
        <div class="bulk" role="group" aria-label="Chosen alerts">
          <label class="check"><input type="checkbox" checked={choice.chosen.length === list.length} onClick={choice.all} aria-label="choose all"/>
            <span>{choice.chosen.length ? `${choice.chosen.length} chosen` : 'all'}</span></label>
          <ActButtons alerts={choice.chosen} start={acts.start}/>
          <span class="dim keys-hint">j k move · x choose · ? all keys</span></div>
        <ol class="alerts">{list.map((a, i) => <Row key={a.alert_id} alert={a} i={i} choice={choice}/>)}</ol>
        {list.length === most && <button type="button" class="link" onClick={() => more(most + ROWS)}>Show more</button>}</section>)}</Answer>
    <Silences/>
  </>;
}

// --- silences -------------------------------------------------------------------------------------------------------

function Silences() {
  const answer = useData(urlOf('silences'));
  const [error, fail] = useState(null);
  const list = answer.data?.silences ?? [];
  if (list.length === 0) return null;
  const end = async (s) => {
    fail(null);
    try {
      await post(`silences/${encodeURIComponent(s.silence_id)}/end`, {by: me() || 'dashboard'});
    } catch (e) {
      fail(e);
    }
    answer.reload();
  };
  return <section aria-labelledby="silences"><h2 id="silences">Silences <span class="dim">{list.length}</span></h2>
    {error && <p class="banner bad" role="alert">{error.message}</p>}
    <div class="scroll" tabIndex={0} role="region" aria-label="Silences"><table><thead><tr><th>What</th><th>Until</th><th>By</th><th>Reason</th><th></th></tr></thead>
      <tbody>{list.map((s) => <tr key={s.silence_id}><td class="wrap"><T>{labels(s.match)}</T>{s.maintenance && <> <Tag>maintenance</Tag></>}{s.at && <span class="dim"> {s.days.join(' ') || 'daily'} {s.at} {s.time_zone}</span>}</td>
        <td><When ms={ms(s.to_unix_ns)}/></td><td class="name"><T>{s.by}</T></td><td class="does"><T>{s.note}</T></td>
        <td><button type="button" aria-label={`end the silence of ${labels(s.match)}`} onClick={() => end(s)}>End now</button></td></tr>)}</tbody></table></div></section>;
}

// --- one alert ------------------------------------------------------------------------------------------------------

const KIND_LOOK = {KIND_FIRING: 'bad', KIND_REOPENED: 'bad', KIND_DEAD: 'bad', KIND_RESOLVED: 'good', KIND_ACKNOWLEDGED: 'warn'};

const History = ({list}) => <section aria-labelledby="history"><h2 id="history">History <span class="dim">newest first</span></h2>
  <ol class="changes">{[...list].reverse().map((c) => <li key={c.sequence}><Tag look={KIND_LOOK[c.kind] ?? 'plain'}>{enumName(c.kind, 'KIND_')}</Tag>{' '}
    <T>{c.text}</T>{c.receivers?.length > 0 && <> to <T>{c.receivers.join(', ')}</T></>}
    <span class="dim"> · <b><T>{c.by || 'collector'}</T></b> · <When ms={ms(c.time_unix_ns)} also/></span></li>)}</ol></section>;

function Head({alert: a}) {
  const s = stateOf(a), ack = a.life.acknowledged;
  return <>
    <h1 class={`verdict ${isOver(a) ? 'good' : severityOf(a).look}`}><T>{a.title}</T>
      <small><Tag look={s.look} mark={s.mark}>{s.text}</Tag> {severityOf(a).text}, since <When ms={since(a)} also/>{isOver(a) && <>, resolved <When ms={ms(a.life.resolved_unix_ns)} also/></>}</small></h1>
    {ack && <p>Acknowledged by <b><T>{ack.by}</T></b> <When ms={ms(ack.time_unix_ns)}/>{ack.note && <>: <T>{ack.note}</T></>}</p>}
    {(a.life.mutes ?? []).map((m) => <p key={m.kind + m.by}><Tag mark="‖">{enumName(m.kind, 'KIND_')}</Tag> <T>{m.text}</T></p>)}
    {a.life.resolution && <p>{a.life.resolution}</p>}
    <p class="labels">{Object.entries(a.labels ?? {}).sort().map(([k, v]) => <span key={k} class="label"><T>{k}</T>=<b><T>{v}</T></b></span>)}</p>
  </>;
}

function About({alert: a}) {
  return <section aria-labelledby="about"><h2 id="about">What it is about</h2>
    <ul class="changes">{a.findings.map((f) => <li key={f.finding_id}><Tag look={f.open ? 'bad' : 'plain'}>{f.open ? 'open' : 'gone'}</Tag>{' '}
      <a href={link(['findings', f.finding_id])}><T>{f.text}</T></a></li>)}</ul>
    {a.nodes.length > 0 && <p class="nodes">{a.nodes.slice(0, 50).map((n) => <a key={n} class="label" href={link(['nodes', n])}><T>{n}</T></a>)}
      {a.node_count > a.nodes.length && <span class="dim">and {a.node_count - a.nodes.length} more</span>}</p>}</section>;
}

function One({id}) {
  const answer = useData(urlOf(`alerts/${encodeURIComponent(id)}`));
  const open = useData('alerts?open', (signal) => getAll('alerts', {}, 'alerts', MOST, signal));
  const a = answer.data?.alert;
  const acts = useActs(open.data ?? [], answer.reload);
  const alone = useMemo(() => ({cursor: 0, chosen: [], setCursor() {}, toggle() {}, all() {}, none() {}}), []);
  useInboxKeys(a ? [a] : [], alone, acts.start);
  return <Answer answer={answer}>{(data) => <article>
    <p><a href={link(['alerts'], here().params)}>← all alerts</a></p>
    <Head alert={data.alert}/>
    <p class="actions"><ActButtons alerts={[data.alert]} start={acts.start}/></p>
    {acts.view}
    {data.alert.main && <>
      <section class="do" aria-labelledby="do"><h2 id="do">What to do</h2><Steps steps={advice(data.alert.main)}/>
        {data.alert.runbook_url && <p>Runbook: <Copy text={data.alert.runbook_url}/></p>}</section>
      <Picture f={data.alert.main}/>
      <Evidence f={data.alert.main}/></>}
    <About alert={data.alert}/>
    <History list={data.history}/>
    <section><details><summary><h2>As it is told</h2></summary><pre tabIndex={0}>{data.text}</pre></details></section>
    <p class="actions"><button type="button" onClick={() => download(`alert-${data.alert.alert_id}.json`, 'application/json', JSON.stringify(data, null, 1))}>JSON</button></p>
  </article>}</Answer>;
}

export const Alerts = ({id, params}) => (id ? <One key={id} id={id}/> : <Inbox params={params}/>);
