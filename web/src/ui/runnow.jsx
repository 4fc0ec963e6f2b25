// Runs a benchmark now and follows it: how far it is, how it ended, and its log.
import {useEffect, useRef, useState} from 'preact/hooks';
import {runNow} from '../api.js';
import {link} from '../route.js';
import {Dialog} from './parts.jsx';
import {RunDetails} from './runs.jsx';

const STATE = {STATE_QUEUED: 'It waits for its turn', STATE_RUNNING: 'It runs', STATE_FINISHED: 'It has ended', STATE_REFUSED: 'The node refused it'};

export function RunNow({node, benchmark, disabled}) {
  const [open, show] = useState(false);
  const [progress, set] = useState(null);
  const [error, fail] = useState(null);
  const abort = useRef(null);
  useEffect(() => () => abort.current?.abort(), []);
  const start = async () => {
    abort.current = new AbortController();
    set(null);
    fail(null);
    show(true);
    try {
      await runNow(node, benchmark, set, abort.current.signal);
    } catch (e) {
      if (e.name !== 'AbortError') fail(e);
    }
  };
  const ended = progress?.state === 'STATE_FINISHED' || progress?.state === 'STATE_REFUSED';
  return <>
    <button type="button" disabled={disabled} title={disabled ? 'the node is not connected, or the plugin can\'t be used there' : ''} onClick={start}>Run now</button>
    <Dialog open={open} title={`${benchmark} on ${node}`} onClose={() => { show(false); abort.current?.abort(); }}>
      <div aria-live="polite">
        {!error && !ended && <p class="running"><progress max={1} value={progress?.state === 'STATE_RUNNING' ? progress.fraction : undefined} aria-label="how far"/>
          {' '}{progress ? STATE[progress.state] ?? '' : 'Asking'}{progress?.message ? `: ${progress.message}` : '…'}</p>}
        {error && <p class="banner bad">{error.message}</p>}
        {progress?.state === 'STATE_REFUSED' && <p class="banner warn">The node refused it: {progress.message}</p>}
        {!ended && !error && <p class="dim">Closing this does not stop the run.</p>}
      </div>
      {progress?.run && <><RunDetails node={node} run={progress.run}/><p><a href={link(['runs', progress.run.run_id])}>Open this run</a></p></>}
      {(ended || error) && <p><button type="button" onClick={start}>Run again</button></p>}
    </Dialog>
  </>;
}
