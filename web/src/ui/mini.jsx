// A series at a glance: its line, the band where it is expected, what happened, and where it changed.
import {useRef, useState} from 'preact/hooks';
import {number, time} from '../format.js';

const W = 300, H = 84, PAD = 4;

// `times`, `values`; `low`, `high` of buckets; `base`: stats.baseline; `marks`: [{ms, text}]; `from`, `to`: ms.
export function Mini({times, values, base, marks = [], finding, from, to, label}) {
  const [at, set] = useState(null);
  const box = useRef(null);
  const shown = values.filter((v) => Number.isFinite(v));
  if (shown.length === 0) return <p class="calm">No values in this time.</p>;
  let least = Math.min(...shown), most = Math.max(...shown);
  if (base) {
    least = Math.min(least, base.low);
    most = Math.max(most, base.high);
  }
  if (least === most) {
    least -= Math.abs(least) * 0.05 || 1;
    most += Math.abs(most) * 0.05 || 1;
  }
  const x = (t) => ((t - from) / (to - from || 1)) * W;
  const y = (v) => PAD + (1 - (v - least) / (most - least)) * (H - 2 * PAD);
  let line = '', gap = true;
  const dots = values.length <= 60;
  values.forEach((v, i) => {
    if (!Number.isFinite(v)) {
      gap = true;
      return;
    }
    line += `${gap ? 'M' : 'L'}${x(times[i]).toFixed(1)} ${y(v).toFixed(1)}`;
    gap = false;
  });
  const onset = finding && [Number(finding.onset_earliest_unix_ns) / 1e6, Number(finding.onset_latest_unix_ns) / 1e6];
  const pick = (e) => {
    const r = box.current.getBoundingClientRect();
    const t = from + ((e.clientX - r.left) / r.width) * (to - from);
    let best = -1;
    times.forEach((u, i) => { if (Number.isFinite(values[i]) && (best < 0 || Math.abs(u - t) < Math.abs(times[best] - t))) best = i; });
    set(best < 0 ? null : best);
  };
  return <div class="mini" ref={box} onPointerMove={pick} onPointerLeave={() => set(null)}>
    <svg viewBox={`0 0 ${W} ${H}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {base && <rect class="band" x={0} width={W} y={y(base.high)} height={Math.max(1, y(base.low) - y(base.high))}/>}
      {onset && onset[1] >= from && <rect class={finding.direction === 'DIRECTION_BETTER' ? 'onset better' : 'onset'} x={x(Math.max(from, onset[0]))} y={0}
        width={Math.max(2, x(onset[1]) - x(Math.max(from, onset[0])))} height={H}/>}
      {marks.map((m, i) => <line key={i} class="mark" x1={x(m.ms)} x2={x(m.ms)} y1={0} y2={H}/>)}
      <path class="line" d={line} vector-effect="non-scaling-stroke"/>
      {dots && values.map((v, i) => Number.isFinite(v) &&
        <line key={i} class="point" x1={x(times[i])} x2={x(times[i])} y1={y(v)} y2={y(v)} vector-effect="non-scaling-stroke"/>)}
      {at !== null && <line class="cursor" x1={x(times[at])} x2={x(times[at])} y1={0} y2={H}/>}
    </svg>
    {at !== null && <p class="readout">{number(values[at])} <span class="dim">{time(times[at])}</span></p>}
  </div>;
}
