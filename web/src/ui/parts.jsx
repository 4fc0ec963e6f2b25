// Small pieces that every page uses.
import {useEffect, useRef, useState} from 'preact/hooks';
import {age, time} from '../format.js';
import {change, here} from '../route.js';

export const When = ({ms, also}) =>
  <time dateTime={ms ? new Date(ms).toISOString() : undefined} title={time(ms)}>
    {age(ms)}{also && ms ? <span class="dim"> ({time(ms)})</span> : null}</time>;

// A state in words with a mark, so that it is read without colour.
export const Tag = ({look = 'plain', mark, children}) =>
  <span class={`tag ${look}`}>{mark && <span aria-hidden="true">{mark} </span>}{children}</span>;

const OUTCOME = {
  OUTCOME_OK: ['good', '✓', 'ok'], OUTCOME_FAILED: ['bad', '✗', 'failed'], OUTCOME_INVALID: ['bad', '✗', 'invalid'],
  OUTCOME_TIMEOUT: ['bad', '!', 'timeout'], OUTCOME_SKIPPED: ['plain', '–', 'skipped'],
  OUTCOME_CANCELLED: ['warn', '■', 'cancelled']};
export function Outcome({value}) {
  const [look, mark, text] = OUTCOME[value] ?? ['plain', '', 'unknown'];
  return <Tag look={look} mark={mark}>{text}</Tag>;
}

// Text from outside: what it does to the direction of writing ends with it.
export const T = ({children}) => <bdi>{children}</bdi>;

export const Empty = ({title, children}) =>
  <div class="empty"><h2>{title}</h2>{children}</div>;

export function Trouble({error, onRetry}) {
  return <div class="empty" role="alert">
    <h2>{error.status === 404 ? 'Not there' : 'This could not be read'}</h2>
    <p>{error.message}</p>
    {error.status === 404 ? <p>It may have been removed, or the address is wrong.</p> :
      <p>The page tries again by itself{onRetry && <>, or <button type="button" class="link" onClick={onRetry}>now</button></>}.</p>}
  </div>;
}

export const Loading = ({what = 'Reading'}) => <p class="loading" role="status">{what}…</p>;

// The usual three: not there yet, failed, there. What was read before stays when a later read fails.
export function Answer({answer, children}) {
  if (answer.data) {
    return <>
      {answer.error && <p class="banner warn" role="status">Not up to date: {answer.error.message}</p>}
      {children(answer.data)}
    </>;
  }
  if (answer.error) return <Trouble error={answer.error} onRetry={answer.reload}/>;
  return <Loading/>;
}

export function Dialog({open, title, onClose, children}) {
  const ref = useRef(null);
  useEffect(() => {
    if (open && !ref.current.open) ref.current.showModal();
    if (!open && ref.current.open) ref.current.close();
  }, [open]);
  return <dialog ref={ref} aria-label={title} onClose={onClose}
    onClick={(e) => { if (e.target === ref.current) onClose(); }}>
    {open && <div class="dialog"><header><h2>{title}</h2>
      <button type="button" class="quiet" aria-label="close" onClick={onClose}>✕</button></header>{children}</div>}
  </dialog>;
}

export function Copy({text}) {
  const [done, set] = useState(false);
  return <span class="copy"><code>{text}</code><button type="button" class="quiet" aria-label={`copy: ${text}`} onClick={async () => {
    try {
      await navigator.clipboard.writeText(text);
      set(true);
      setTimeout(() => set(false), 1500);
    } catch { /* no clipboard without https: the text can be marked */ }
  }}>{done ? 'copied' : 'copy'}</button></span>;
}

export function download(name, type, content) {
  const blob = content instanceof Blob ? content : new Blob([content], {type});
  const url = URL.createObjectURL(blob);
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// Steps of advice (words.js).
export const Steps = ({steps}) => <ol class="steps">{steps.map((s) => <li key={s.text}>
  {s.href ? <a href={s.href}>{s.text}</a> : s.text}{s.code && <>: <Copy text={s.code}/></>}</li>)}</ol>;

// Label with a field, in a row of controls.
export const Field = ({label, children}) => <label class="field"><span>{label}</span>{children}</label>;

// A search field that the URL's `q` holds.
export function Search({q, placeholder, onKeyDown}) {
  const [text, setText] = useState(q);
  // What the URL has now, not what it had when this was drawn: the reader may have typed on since.
  useEffect(() => setText(here().params.q ?? ''), [q]);
  return <Field label="Search"><input type="search" value={text} placeholder={placeholder} maxLength={200} onKeyDown={onKeyDown}
    onInput={(e) => {
      setText(e.target.value);
      change({q: e.target.value}, {replace: true});
    }}/></Field>;
}

// j and k go through `count` things; Enter opens.
export function useListKeys(count, chosen, choose, open) {
  useEffect(() => {
    const onKey = (e) => {
      if (e.target.closest?.('input, textarea, select, dialog') || e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === 'j') choose(Math.min(chosen + 1, count - 1));
      else if (e.key === 'k') choose(Math.max(chosen - 1, 0));
      else if (e.key === 'Enter' && chosen >= 0 && e.target.closest?.('a, button, summary, canvas') === null) open(chosen);
      else return;
      e.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  });
}
