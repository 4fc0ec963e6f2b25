// The forms of what is done with alerts: who, why, for how long, and on what it will act before it does.
import {useMemo, useState} from 'preact/hooks';
import {ACTS, matchOf, matches, stateOf} from '../alertacts.js';
import {plural, time} from '../format.js';
import {me, setMe} from '../me.js';
import {Dialog, Field, T, Tag} from './parts.jsx';

const HOURS = {1: '1 hour', 4: '4 hours', 24: '1 day', 72: '3 days', 168: '1 week', 720: '30 days'};
const SHOWN = 8;
const AT_ONCE = 4;

// Asks for each, a few at a time: [{alert, error}].
async function askAll(alerts, ask) {
  const results = [];
  let next = 0;
  const work = async () => {
    while (next < alerts.length) {
      const alert = alerts[next++];
      try {
        await ask(alert);
        results.push({alert, error: null});
      } catch (error) {
        results.push({alert, error});
      }
    }
  };
  await Promise.all(Array.from({length: AT_ONCE}, work));
  return results;
}

const Affected = ({alerts}) => <ul class="affected">{alerts.slice(0, SHOWN).map((a) =>
  <li key={a.alert_id}><Tag look={stateOf(a).look}>{stateOf(a).text}</Tag> <T>{a.title}</T></li>)}
  {alerts.length > SHOWN && <li class="dim">and {alerts.length - SHOWN} more</li>}</ul>;

// Which labels a silence of one alert asks for.
function Match({alert, match, setMatch, open}) {
  const hit = open.filter((a) => matches(match, a.labels));
  const names = Object.keys(alert.labels ?? {}).sort();
  return <fieldset class="match"><legend>What it matches</legend>
    {names.map((name) => <label key={name} class="check"><input type="checkbox" checked={name in match} onChange={(e) => {
      const next = {...match};
      if (e.target.checked) next[name] = alert.labels[name];
      else delete next[name];
      setMatch(next);
    }}/> <span><T>{name}</T>=<b><T>{alert.labels[name]}</T></b></span></label>)}
    <p role="status">{Object.keys(match).length === 0 ? 'Choose at least one label.' : `Now ${plural(hit.length, 'open alert')}.`}</p>
  </fieldset>;
}

function Form({name, alerts, open, onClose, onDone}) {
  const act = ACTS[name], one = alerts.length === 1 ? alerts[0] : null;
  const [by, setBy] = useState(me()), [note, setNote] = useState('');
  const [hours, setHours] = useState('4'), [match, setMatch] = useState(() => (one ? matchOf(one) : null));
  const [busy, setBusy] = useState(false), [failed, setFailed] = useState([]);
  const isSilence = name === 'silence';
  const toMs = useMemo(() => Date.now() + Number(hours) * 36e5, [hours]);
  const submit = async (e) => {
    e.preventDefault();
    setMe(by);
    setBusy(true);
    setFailed([]);
    const left = failed.length ? failed.map((f) => f.alert) : alerts;
    const results = await askAll(left, (alert) => act.ask(alert, {by: by.trim(), note: note.trim(), match: one ? match : null, toMs: Date.now() + Number(hours) * 36e5}));
    setBusy(false);
    const bad = results.filter((r) => r.error);
    setFailed(bad);
    onDone(name, results.filter((r) => !r.error).map((r) => r.alert));
    if (bad.length === 0) onClose();
  };
  const ready = by.trim() && (!isSilence || (note.trim() && (!one || Object.keys(match).length > 0)));
  return <form class="act" onSubmit={submit}>
    <p class="dim">{act.hint}</p>
    <Affected alerts={alerts}/>
    {isSilence && one && <Match alert={one} match={match} setMatch={setMatch} open={open}/>}
    {isSilence && !one && <p class="dim">One silence for each: of its kind and subject.</p>}
    <div class="controls">
      {isSilence && <Field label="For"><select value={hours} onChange={(e) => setHours(e.target.value)}>
        {Object.entries(HOURS).map(([h, text]) => <option key={h} value={h}>{text}</option>)}</select></Field>}
      {name !== 'unack' && <Field label={isSilence ? 'Reason' : 'Note'}><input class="long" value={note} maxLength={500} autofocus autocomplete="off" required={isSilence}
        onInput={(e) => setNote(e.target.value)}/></Field>}
      <Field label="Your name"><input value={by} maxLength={100} autocomplete="username" required autofocus={name === 'unack'} onInput={(e) => setBy(e.target.value)}/></Field>
    </div>
    {isSilence && <p class="dim">Until {time(toMs)}.</p>}
    {failed.length > 0 && <div class="banner bad" role="alert"><b>{plural(failed.length, 'alert')} could not be asked for.</b>
      <ul>{failed.slice(0, SHOWN).map(({alert, error}) => <li key={alert.alert_id}><T>{alert.title}</T>: {error.message}</li>)}</ul></div>}
    <p class="actions"><button type="submit" class="primary" disabled={busy || !ready}>{busy ? 'Asking…' : failed.length ? 'Try again' : act.title}</button>
      <button type="button" onClick={onClose}>Cancel</button></p>
  </form>;
}

// `what`: {name, alerts} or null. `open`: all open alerts, which a silence may match. `onDone(name, alerts)`.
export function ActDialog({what, open, onClose, onDone}) {
  const title = what ? `${ACTS[what.name].title}${what.alerts.length > 1 ? ` ${plural(what.alerts.length, 'alert')}` : ''}` : '';
  return <Dialog open={what !== null} title={title} onClose={onClose}>
    {what && <Form key={what.name + what.alerts.map((a) => a.alert_id).join()} {...what} open={open} onClose={onClose} onDone={onDone}/>}
  </Dialog>;
}
