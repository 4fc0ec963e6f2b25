// A series as a chart that zooms and pans: dragging chooses a time, the wheel zooms, shift with a drag or the arrow
// keys move. What is drawn follows at once; the points for the new time are asked for when the hand rests.
import {useEffect, useLayoutEffect, useRef} from 'preact/hooks';
import uPlot from 'uplot';
import {getZone, number, time} from '../format.js';
import {colour, onTheme} from '../theme.js';

const HEIGHT = 340;
const REST_MS = 180;
const LEAST_RANGE_MS = 1000;

// What is not a line: the expected band, the onset, events, and where nothing came any more.
function painter(latest) {
  return (u) => {
    const {base, finding, marks, until} = latest.current;
    const c = u.ctx, {left, top, width, height} = u.bbox;
    const x = (ms) => u.valToPos(ms / 1000, 'x', true), y = (v) => u.valToPos(v, 'y', true);
    c.save();
    c.beginPath();
    c.rect(left, top, width, height);
    c.clip();
    if (base) {
      c.fillStyle = colour('band');
      const a = y(base.high), b = y(base.low);
      c.fillRect(left, a, width, Math.max(1, b - a));
    }
    if (finding) {
      const a = x(Number(finding.onset_earliest_unix_ns) / 1e6), b = x(Number(finding.onset_latest_unix_ns) / 1e6);
      c.fillStyle = colour(finding.direction === 'DIRECTION_BETTER' ? 'onset-better' : 'onset');
      c.fillRect(a, top, Math.max(3, b - a), height);
    }
    if (until) {
      const a = Math.max(left, x(until));
      c.strokeStyle = colour('line');
      c.lineWidth = 1;
      for (let at = a; at < left + width + height; at += 12) {
        c.beginPath();
        c.moveTo(at, top);
        c.lineTo(at - height, top + height);
        if (at - height > a || at > a) {
          c.save();
          c.beginPath();
          c.rect(a, top, left + width - a, height);
          c.clip();
          c.beginPath();
          c.moveTo(at, top);
          c.lineTo(at - height, top + height);
          c.stroke();
          c.restore();
        }
      }
    }
    c.strokeStyle = colour('accent');
    c.fillStyle = colour('accent');
    c.setLineDash([4, 4]);
    for (const m of marks) {
      const at = Math.round(x(m.ms)) + 0.5;
      c.beginPath();
      c.moveTo(at, top + 10);
      c.lineTo(at, top + height);
      c.stroke();
      c.beginPath();
      c.moveTo(at - 5, top);
      c.lineTo(at + 5, top);
      c.lineTo(at, top + 9);
      c.closePath();
      c.fill();
    }
    c.restore();
  };
}

// Marks of the time axis: the hour, and the day where it begins or is new; days alone over longer times.
function ticks(u, splits) {
  const span = u.scales.x.max - u.scales.x.min;
  let last = '';
  return splits.map((s) => {
    const text = time(s * 1000), day = text.slice(0, 10), clock = text.slice(11, span < 600 ? 19 : 16);
    const shown = span > 6 * 86400 ? (span > 300 * 86400 ? day.slice(0, 7) : day.slice(5)) : day === last ? clock : `${clock}\n${day}`;
    last = day;
    return shown;
  });
}

function options(props, width, latest, view) {
  const axis = {stroke: colour('muted'), grid: {stroke: colour('line'), width: 1}, ticks: {stroke: colour('line'), width: 1},
    font: '12px system-ui, sans-serif'};
  const summaries = props.low !== null;
  const edge = {stroke: 'transparent', width: 0, points: {show: false}};
  return {
    width, height: HEIGHT, legend: {show: false}, padding: [8, 8, 0, 0],
    tzDate: (s) => (getZone() === 'utc' ? uPlot.tzDate(new Date(s * 1000), 'Etc/UTC') : new Date(s * 1000)),
    cursor: {drag: {x: true, y: false, setScale: false}, points: {size: 7}},
    scales: {x: {time: true, auto: false, min: view.from / 1000, max: view.to / 1000}, y: {range: (u, a, b) => {
      const {base} = latest.current;
      let least = a, most = b;
      if (base && Number.isFinite(base.low)) {
        least = Math.min(least ?? Infinity, base.low);
        most = Math.max(most ?? -Infinity, base.high);
      }
      if (least === null || !Number.isFinite(least)) return [0, 1];
      const pad = (most - least) * 0.06 || Math.abs(most) * 0.05 || 1;
      return [least - pad, most + pad];
    }}},
    axes: [{...axis, values: ticks, space: 70}, {...axis, size: 68, values: (u, list) => list.map((v) => number(v, 5))}],
    series: [{}, {stroke: colour('data'), width: 1.6, spanGaps: false, points: {show: !summaries && props.values.length <= 300, size: 4}},
      ...(summaries ? [edge, edge] : [])],
    bands: summaries ? [{series: [3, 2], fill: colour('range')}] : [],
    hooks: {
      drawAxes: [painter(latest)],
      setCursor: [(u) => {
        const i = u.cursor.idx;
        latest.current.onHover(i === null || i === undefined || u.cursor.left < 0 ? null : i);
      }],
      setSelect: [(u) => {
        if (u.select.width < 6) return;
        const from = u.posToVal(u.select.left, 'x') * 1000, to = u.posToVal(u.select.left + u.select.width, 'x') * 1000;
        u.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
        latest.current.onView(from, to, false);
      }],
    },
  };
}

// `view`: {from, to} ms; `onView(from, to, replace)`. `times`, `values`, and of buckets `low` and `high`.
export function Chart(props) {
  const box = useRef(null), plot = useRef(null), latest = useRef(props), canvas = useRef(null);
  latest.current = props;
  const rest = useRef(0);

  const data = () => [props.times.map((t) => t / 1000), props.values, ...(props.low ? [props.low, props.high] : [])];

  useLayoutEffect(() => {
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(latest.current, box.current.clientWidth, latest, latest.current.view), data(), box.current);
      canvas.current = plot.current.ctx.canvas;
      if (latest.current.canvasRef) latest.current.canvasRef.current = canvas.current;
    };
    make();
    const off = onTheme(make);
    const observer = new ResizeObserver(() => {
      const width = box.current.clientWidth;
      if (width > 0 && plot.current.width !== width) plot.current.setSize({width, height: HEIGHT});
    });
    observer.observe(box.current);
    return () => {
      off();
      observer.disconnect();
      plot.current.destroy();
      plot.current = null;
    };
  }, [props.low === null, props.values.length <= 300, getZone()]);

  useEffect(() => { plot.current?.setData(data(), false); plot.current?.redraw(); }, [props.times, props.values]);
  useEffect(() => plot.current?.redraw(), [props.marks, props.finding, props.base]);
  useEffect(() => {
    plot.current?.setScale('x', {min: props.view.from / 1000, max: props.view.to / 1000});
  }, [props.view.from, props.view.to]);

  // Moves what is drawn at once, and the view when no other step follows.
  const show = (from, to) => {
    if (to - from < LEAST_RANGE_MS) return;
    plot.current.setScale('x', {min: from / 1000, max: to / 1000});
    clearTimeout(rest.current);
    rest.current = setTimeout(() => latest.current.onView(from, to, true), REST_MS);
  };
  useEffect(() => () => clearTimeout(rest.current), []);
  const now = () => ({from: plot.current.scales.x.min * 1000, to: plot.current.scales.x.max * 1000});
  const zoom = (factor, middle) => {
    const {from, to} = now();
    const m = middle ?? (from + to) / 2;
    show(m - (m - from) * factor, m + (to - m) * factor);
  };
  const pan = (part) => {
    const {from, to} = now();
    const by = (to - from) * part;
    show(from + by, to + by);
  };

  useEffect(() => {
    const onWheel = (e) => {
      if (!e.ctrlKey && !e.shiftKey && Math.abs(e.deltaX) <= Math.abs(e.deltaY)) {
        // A plain wheel scrolls the page, unless the chart has the focus.
        if (document.activeElement !== box.current) return;
      }
      e.preventDefault();
      const r = plot.current.over.getBoundingClientRect();
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan(e.deltaX / r.width);
      else zoom(e.deltaY > 0 ? 1.2 : 1 / 1.2, plot.current.posToVal(e.clientX - r.left, 'x') * 1000);
    };
    let drag = null;
    const onDown = (e) => {
      box.current.focus({preventScroll: true});
      if (!e.shiftKey) return;
      drag = {x: e.clientX, ...now()};
      e.stopPropagation();
      e.preventDefault();
    };
    const onMove = (e) => {
      if (!drag) return;
      const per = (drag.to - drag.from) / plot.current.over.clientWidth;
      show(drag.from - (e.clientX - drag.x) * per, drag.to - (e.clientX - drag.x) * per);
    };
    const onUp = () => { drag = null; };
    const el = box.current;
    el.addEventListener('wheel', onWheel, {passive: false});
    el.addEventListener('mousedown', onDown, true);
    window.addEventListener('mousemove', onMove);
    window.addEventListener('mouseup', onUp);
    return () => {
      el.removeEventListener('wheel', onWheel);
      el.removeEventListener('mousedown', onDown, true);
      window.removeEventListener('mousemove', onMove);
      window.removeEventListener('mouseup', onUp);
    };
  }, []);

  const onKey = (e) => {
    const act = {ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), ArrowUp: () => zoom(1 / 1.5), ArrowDown: () => zoom(1.5),
      '+': () => zoom(1 / 1.5), '-': () => zoom(1.5), Home: () => latest.current.onReset()}[e.key];
    if (!act) return;
    act();
    e.preventDefault();
    e.stopPropagation();
  };
  return <div class="chart" ref={box} tabIndex={0} role="application" onKeyDown={onKey} onDblClick={() => props.onReset()}
    aria-label={`${props.label}. Left and right move, up and down zoom, Home shows all.`}/>;
}

export const readout = (props, i) => (i === null || !Number.isFinite(props.values[i]) ? null :
  `${number(props.values[i], 6)} ${props.unit}${props.low ? ` (${number(props.low[i])} to ${number(props.high[i])}, ${props.count[i]} samples)` : ''}, ${time(props.times[i])}`);
