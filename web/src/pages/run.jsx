// One run in full, with its log.
import {urlOf} from '../api.js';
import {useData} from '../live.js';
import {Answer, download} from '../ui/parts.jsx';
import {RunDetails} from '../ui/runs.jsx';

export function RunPage({id}) {
  const answer = useData(urlOf(`runs/${encodeURIComponent(id)}`), null, 600000);
  return <Answer answer={answer}>{({run: {node, run}}) => <article>
    <h1>Run <span class="dim">{run.benchmark} on {node}</span></h1>
    <RunDetails node={node} run={run}/>
    <p><button type="button" onClick={() => download(`run-${id}.json`, 'application/json', JSON.stringify({node, run}, null, 2))}>JSON</button></p>
  </article>}</Answer>;
}
