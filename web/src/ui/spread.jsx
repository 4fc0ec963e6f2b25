// Groups of values side by side: each a dot, with a box from quartile to quartile and a line at the median.
import {number} from '../format.js';
import {quantile} from '../stats.js';

const W = 600, ROW = 54, LEFT = 8, RIGHT = 592;
const MOST_DOTS = 250;

// `groups`: [{name, values (ascending), look}]
export function Spread({groups, unit, label}) {
  const all = groups.flatMap((g) => [g.values[0], g.values.at(-1)]).filter(Number.isFinite);
  if (all.length === 0) return null;
  let least = Math.min(...all), most = Math.max(...all);
  if (least === most) {
    least -= Math.abs(least) * 0.01 || 1;
    most += Math.abs(most) * 0.01 || 1;
  }
  const x = (v) => LEFT + ((v - least) / (most - least)) * (RIGHT - LEFT);
  return <figure class="spread"><div class="rows">{groups.map((g) => <div class="row" key={g.name}>
    <p><b>{g.name}</b> <span class="dim">median {number(quantile(g.values, 0.5))} {unit}, n = {g.values.length}</span></p>
    <svg viewBox={`0 0 ${W} ${ROW}`} preserveAspectRatio="none" role="img"
      aria-label={`${label}, ${g.name}: median ${number(quantile(g.values, 0.5))} ${unit}, quartiles ${number(quantile(g.values, 0.25))} and ${number(quantile(g.values, 0.75))}, ${g.values.length} values`}>
      <rect class={`box ${g.look}`} x={x(quantile(g.values, 0.25))} width={Math.max(1, x(quantile(g.values, 0.75)) - x(quantile(g.values, 0.25)))} y={10} height={ROW - 20}/>
      {g.values.filter((v, i) => i % Math.ceil(g.values.length / MOST_DOTS) === 0).map((v, i) =>
        <line key={i} class={`dot ${g.look}`} x1={x(v)} x2={x(v)} y1={16 + ((i * 7) % 11) * 2} y2={16 + ((i * 7) % 11) * 2} vector-effect="non-scaling-stroke"/>)}
      <line class={`mid ${g.look}`} x1={x(quantile(g.values, 0.5))} x2={x(quantile(g.values, 0.5))} y1={4} y2={ROW - 4} vector-effect="non-scaling-stroke"/>
    </svg></div>)}</div>
    <figcaption class="scale"><span>{number(least)} {unit}</span><span>{number(most)} {unit}</span></figcaption></figure>;
}
