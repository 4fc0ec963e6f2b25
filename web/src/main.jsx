// The page's frame: navigation, theme, keys, and what is wrong with the collector or the connection.
import {render} from 'preact';
import {useEffect, useErrorBoundary, useState} from 'preact/hooks';
import {age, getZone, setZone, time} from './format.js';
import {isPrefixed, setPrefix} from './keys.js';
import {start, useLive} from './live.js';
import {useWho} from './login.js';
import {Alerts} from './pages/alerts.jsx';
import {Benchmarks} from './pages/benchmarks.jsx';
import {Compare} from './pages/compare.jsx';
import {Findings} from './pages/findings.jsx';
import {Fleet} from './pages/fleet.jsx';
import {NodePage} from './pages/node.jsx';
import {RunPage} from './pages/run.jsx';
import {SeriesPage} from './pages/series.jsx';
import {go, link, useRoute} from './route.js';
import {choose, chosen} from './theme.js';
import {Login, Who} from './ui/login.jsx';
import {Dialog, Empty} from './ui/parts.jsx';
import 'uplot/dist/uPlot.min.css';
import './style.css';

const VIEWS = [
  {path: [], key: 'f', title: 'Fleet'},
  {path: ['alerts'], key: 'a', title: 'Alerts'},
  {path: ['findings'], key: 'i', title: 'Findings'},
  {path: ['compare'], key: 'c', title: 'Compare'},
  {path: ['benchmarks'], key: 'b', title: 'Benchmarks'},
];
const THEMES = ['system', 'light', 'dark'];

const KEYS = [
  ['g then f, a, i, c, b', 'fleet, alerts, findings, compare, benchmarks'],
  ['/', 'search'],
  ['j, k', 'next and previous of a list'],
  ['Enter', 'open what is chosen'],
  ['arrow keys', 'move over the map; move and zoom a chart'],
  ['x, X, *', 'alerts: choose, choose up to here, choose all'],
  ['a, u, s', 'alerts: acknowledge, take it back, silence'],
  ['Esc', 'close, leave the search, choose none'],
  ['?', 'this list'],
];

function useKeys(showHelp) {
  useEffect(() => {
    const onKey = (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const typing = event.target.closest?.('input:not([type=checkbox]), textarea, select');
      if (typing) {
        if (event.key === 'Escape') typing.blur();
        return;
      }
      const view = VIEWS.find((v) => v.key === event.key);
      if (view && isPrefixed()) {
        go(link(view.path));
      } else if (event.key === '?') {
        showHelp(true);
      } else if (event.key === '/') {
        const field = document.querySelector('input[type=search]');
        if (!field) return;
        field.focus();
        event.preventDefault();
      }
      setPrefix(event.key === 'g');
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

function Freshness() {
  const live = useLive();
  const [, tick] = useState(0);
  useEffect(() => {
    const handle = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(handle);
  }, []);
  if (!live.at && !live.error) return <span class="fresh">connecting…</span>;
  return <span class={`fresh ${live.connected ? 'on' : 'off'}`} title={live.at ? `last answer ${time(live.at)}` : ''}>
    <span aria-hidden="true">{live.connected ? '●' : '○'}</span> {live.connected ? 'live' : `no answer since ${age(live.at)}`}
  </span>;
}

function Banners() {
  const live = useLive();
  const problems = live.status?.problems ?? [];
  return <div aria-live="polite">
    {live.error && live.error.status !== 401 && <p class="banner bad">
      <b>The collector does not answer.</b> {live.at ? `What you see is of ${age(live.at)}. ` : ''}
      This page tries again by itself. On the collector's machine: <code>systemctl status fleetmark-collector</code>
    </p>}
    {problems.length > 0 && <div class="banner warn"><b>The collector has a problem.</b>
      <ul>{problems.map((p) => <li key={p}>{p}</li>)}</ul></div>}
  </div>;
}

function Settings({onHelp}) {
  const [theme, setTheme] = useState(chosen());
  const [zone, set] = useState(getZone());
  return <div class="settings">
    <button type="button" class="quiet" title="times in UTC or as this machine has them" onClick={() => {
      const next = zone === 'utc' ? 'local' : 'utc';
      setZone(next);
      set(next);
      window.dispatchEvent(new Event('hashchange'));
    }}>{zone === 'utc' ? 'UTC' : 'local time'}</button>
    <button type="button" class="quiet" title="light or dark" onClick={() => {
      const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      choose(next);
      setTheme(next);
    }}>{{system: '◐ system', light: '☀ light', dark: '☾ dark'}[theme]}</button>
    <button type="button" class="quiet" title="keys" aria-label="keyboard shortcuts" onClick={onHelp}>?</button>
  </div>;
}

function Page({route}) {
  const [name, id] = route.path;
  switch (name) {
    case undefined: return <Fleet params={route.params}/>;
    case 'nodes': return id ? <NodePage key={id} name={id} params={route.params}/> : <Fleet params={route.params}/>;
    case 'series': return <SeriesPage key={id} id={id} params={route.params}/>;
    case 'alerts': return <Alerts id={id} params={route.params}/>;
    case 'findings': return <Findings id={id} params={route.params}/>;
    case 'runs': return <RunPage key={id} id={id}/>;
    case 'compare': return <Compare params={route.params}/>;
    case 'benchmarks': return <Benchmarks name={id} params={route.params}/>;
    default: return <Empty title="There is no such page"><a href={link([])}>Go to the fleet</a></Empty>;
  }
}

// A fault in one page leaves the frame, so that the others can be reached.
function Guarded({route}) {
  const [error, reset] = useErrorBoundary((e) => console.error(e));
  useEffect(() => { if (error) reset(); }, [route.path.join('/')]);
  if (error) {
    return <Empty title="This page has failed">
      <p>{String(error.message ?? error)}</p><p>Reload it; when it fails again, report the line above.</p></Empty>;
  }
  return <Page route={route}/>;
}

function App() {
  const route = useRoute();
  const who = useWho();
  const stranger = useLive().error?.status === 401;
  const [help, showHelp] = useState(false);
  useKeys(showHelp);
  const view = route.path[0] ?? '';
  const current = VIEWS.find((v) => (v.path[0] ?? '') === view) ?? VIEWS[0];
  useEffect(() => {
    const parts = [route.path.at(-1) && VIEWS.every((v) => v.path[0] !== route.path.at(-1)) ? route.path.at(-1) : '',
      current.title, 'Fleetmark'];
    document.title = parts.filter(Boolean).join(' · ');
    window.scrollTo(0, 0);
    // So that a screen reader, and the tab key, go on from the new page.
    document.getElementById('main')?.focus({preventScroll: true});
  }, [route.path.join('/')]);
  return <>
    <a class="skip" href="#main" onClick={(e) => {
      e.preventDefault();
      document.getElementById('main').focus();
    }}>Skip to the content</a>
    <header class="top">
      <a class="brand" href={link([])}><img src="icon.svg" alt="" width="24" height="24"/> Fleetmark</a>
      <nav aria-label="Pages">{VIEWS.map((v) =>
        <a key={v.title} href={link(v.path)} aria-current={v === current ? 'page' : undefined}>{v.title}</a>)}</nav>
      <div class="right"><Who who={who}/><Freshness/><Settings onHelp={() => showHelp(true)}/></div>
    </header>
    <Banners/>
    <main id="main" tabIndex={-1}>{stranger ? <Login/> : <Guarded route={route}/>}</main>
    <Dialog open={help} title="Keys" onClose={() => showHelp(false)}>
      <dl class="keys">{KEYS.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
    </Dialog>
  </>;
}

start();
render(<App/>, document.getElementById('app'));
