// Runs as a table, and one run in full.
import {ms} from '../api.js';
import {duration, enumName, labels, metricName, number} from '../format.js';
import {link} from '../route.js';
import {Outcome, T, When} from './parts.jsx';

const TRIGGER = {TRIGGER_SCHEDULE: 'schedule', TRIGGER_CONFIRM: 'to confirm a finding', TRIGGER_MANUAL: 'by hand',
  TRIGGER_EPILOG: 'after a job', TRIGGER_IMPORT: 'import'};

const firstResult = (run) => (run.metrics?.length ?
  `${metricName(run.metrics[0])} ${number(run.metrics[0].value)} ${run.metrics[0].unit}${run.metrics.length > 1 ? ` and ${run.metrics.length - 1} more` : ''}` : '');

const startOf = (run) => ms(run.started_unix_ns) || ms(run.scheduled_unix_ns);

export function Runs({runs, withNode = false}) {
  return <div class="scroll" tabIndex={0} role="region" aria-label="Runs"><table>
    <thead><tr><th>Started</th>{withNode && <th>Node</th>}<th>Benchmark</th><th>Outcome</th><th class="num">Took</th><th>Result or reason</th></tr></thead>
    <tbody>{runs.map(({node, run}) => <tr key={run.run_id}>
      <td><a href={link(['runs', run.run_id])}><When ms={startOf(run)}/></a></td>
      {withNode && <td class="name"><a href={link(['nodes', node])}>{node}</a></td>}
      <td>{run.benchmark}</td><td><Outcome value={run.outcome}/></td>
      <td class="num">{run.duration_seconds ? duration(run.duration_seconds) : '–'}</td>
      <td class="does">{run.outcome === 'OUTCOME_OK' ? firstResult(run) : <T>{run.reason}</T>}</td></tr>)}</tbody>
  </table></div>;
}

const Pair = ({name, children}) => <div><dt>{name}</dt><dd>{children}</dd></div>;

export function RunDetails({node, run}) {
  return <>
    <dl class="facts">
      <Pair name="Outcome"><Outcome value={run.outcome}/> <T>{run.reason}</T></Pair>
      {node && <Pair name="Node"><a href={link(['nodes', node])}>{node}</a></Pair>}
      <Pair name="Benchmark">{run.benchmark} <span class="dim">{run.plugin} {run.plugin_version}{run.suite && `, suite ${run.suite}`}</span></Pair>
      <Pair name="Started"><When ms={startOf(run)} also/></Pair>
      <Pair name="Took">{run.duration_seconds ? duration(run.duration_seconds) : '–'}</Pair>
      <Pair name="Because of">{TRIGGER[run.trigger] ?? 'unknown'}</Pair>
      {run.ending && run.ending !== 'ENDING_UNSPECIFIED' && <Pair name="Ended by">{enumName(run.ending, 'ENDING_')}
        {run.signal ? `, signal ${run.signal}` : run.exit_status ? `, status ${run.exit_status}` : ''}</Pair>}
      {run.params_json && run.params_json !== '{}' && <Pair name="Parameters"><code>{run.params_json}</code></Pair>}
      {Object.keys(run.conditions ?? {}).length > 0 && <Pair name="Conditions">{labels(run.conditions)}</Pair>}
      {run.usage && <Pair name="Used">{number(run.usage.cpu_seconds, 3)} s of CPU, {number(Number(run.usage.max_rss_bytes) / 2 ** 20, 3)} MiB</Pair>}
    </dl>
    {[...(run.warnings ?? []), ...(run.notes ?? [])].length > 0 && <ul class="notes">
      {[...run.warnings, ...run.notes].map((w, i) => <li key={i}>{w}</li>)}</ul>}
    {run.metrics?.length > 0 && <div class="scroll" tabIndex={0} role="region" aria-label="Metrics"><table><thead><tr><th>Metric</th><th class="num">Value</th><th>Unit</th>
      <th class="num">Spread</th></tr></thead><tbody>{run.metrics.map((m, i) => <tr key={i}><td>{metricName(m)}</td>
      <td class="num">{number(m.value, 6)}</td><td>{m.unit}</td><td class="num">{m.relative_spread ? `${number(100 * m.relative_spread, 2)} %` : '–'}</td></tr>)}</tbody></table></div>}
    <h3>Log {run.log_truncated && <span class="dim">its end</span>}</h3>
    {run.log_tail ? <pre class="log" tabIndex={0}>{run.log_tail}</pre> : <p class="calm">The plugin wrote nothing.</p>}
  </>;
}
