// One series as a small chart: its samples, and where a finding says that the level changed. The chart ends
// now, so that a series that has stopped is seen to have stopped.

import {element, svg} from './dom.js';
import {age, number, time} from './format.js';

const WIDTH = 400;
const HEIGHT = 150;
const PLOT = {left: 46, right: 390, top: 10, bottom: 128};

// Two to four round values within [low, high].
function ticks(low, high) {
  const step = 10 ** Math.floor(Math.log10((high - low) / 2));
  const best = [5, 2, 1].map((k) => k * step).find((s) => (high - low) / s >= 2) ?? step;
  const values = [];
  for (let v = Math.ceil(low / best) * best; v <= high; v += best) values.push(v);
  return values.slice(0, 6);
}

function scale(from, to, begin, end) {
  return (value) => begin + ((value - from) / (to - from || 1)) * (end - begin);
}

// With room above and below, and never so close that noise fills the height.
function valueRange(samples) {
  const values = samples.map((s) => s.value);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const middle = (low + high) / 2;
  const half = Math.max((high - low) * 0.6, Math.abs(middle) * 0.05, 1e-12);
  return [middle - half, middle + half];
}

function onsetMark(finding, x) {
  const begin = Math.max(PLOT.left, x(finding.earliest));
  const end = Math.min(PLOT.right, x(finding.latest));
  if (end < PLOT.left) return [];
  return [
    svg('rect', {class: 'onset', x: begin, y: PLOT.top, width: Math.max(3, end - begin), height: PLOT.bottom - PLOT.top}),
    svg('line', {class: 'onset-line', x1: end, x2: end, y1: PLOT.top, y2: PLOT.bottom}),
    svg('text', {class: 'flag', x: end + (end > PLOT.right - 60 ? -5 : 5), y: PLOT.top + 9,
      'text-anchor': end > PLOT.right - 60 ? 'end' : 'start'}, finding.label),
  ];
}

// Shows the sample nearest to the pointer, or the one that arrow keys choose.
function followCursor(plot, samples, x, y, about, still) {
  const line = svg('line', {class: 'cursor', y1: PLOT.top, y2: PLOT.bottom, visibility: 'hidden'});
  const dot = svg('circle', {class: 'sample', r: 4, visibility: 'hidden'});
  plot.append(line, dot);
  let at = samples.length - 1;
  const show = (index) => {
    at = Math.max(0, Math.min(samples.length - 1, index));
    const s = samples[at];
    for (const [name, value] of [['x1', x(s.ms)], ['x2', x(s.ms)], ['visibility', 'visible']]) line.setAttribute(name, value);
    for (const [name, value] of [['cx', x(s.ms)], ['cy', y(s.value)], ['visibility', 'visible']]) dot.setAttribute(name, value);
    about.replaceChildren(`${s.value} at ${time(s.ms)}`);
  };
  const hide = () => {
    line.setAttribute('visibility', 'hidden');
    dot.setAttribute('visibility', 'hidden');
    about.replaceChildren(...still());
  };
  plot.addEventListener('pointermove', (event) => {
    const box = plot.getBoundingClientRect();
    const px = ((event.clientX - box.left) / box.width) * WIDTH;
    const distances = samples.map((s) => Math.abs(x(s.ms) - px));
    show(distances.indexOf(Math.min(...distances)));
  });
  plot.addEventListener('pointerleave', hide);
  plot.addEventListener('blur', hide);
  plot.addEventListener('keydown', (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9}[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show(at + step);
  });
}

// `samples`: {ms, value}, ascending. `findings`: {earliest, latest, label, look, text}. `begin`: the left
// edge in ms, or undefined for the first sample's time.
export function chart(title, unit, better, samples, findings, begin, now) {
  const about = element('p', {class: 'about'});
  const last = samples.at(-1);
  const caption = element('figcaption', {}, element('h3', {}, title),
    element('span', {class: 'value'}, last ? `${number(last.value)} ${unit}` : ''));
  const figure = element('figure', {class: findings.length > 0 ? 'has-finding' : ''}, caption, about);
  const still = () => [
    ...findings.slice(0, 1).flatMap((f) => [element('span', {class: f.look}, f.text), ' · ']),
    `${better}${last ? ` · ${samples.length} ${samples.length === 1 ? 'sample' : 'samples'}, last ${age(last.ms, now)}` : ''}`,
  ];
  about.replaceChildren(...still());
  if (!last) {
    about.append(' · no sample in this range; choose a longer one');
    return figure;
  }
  const [low, high] = valueRange(samples);
  const from = begin ?? samples[0].ms;
  const x = scale(from, now, PLOT.left, PLOT.right);
  const y = scale(low, high, PLOT.bottom, PLOT.top);
  const plot = svg('svg', {class: 'chart', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', tabindex: 0,
    'aria-label': `${title}: ${samples.length} samples, the last ${number(last.value)} ${unit}; arrow keys read them`});
  for (const value of ticks(low, high)) {
    plot.append(svg('line', {class: 'grid', x1: PLOT.left, x2: PLOT.right, y1: y(value), y2: y(value)}),
      svg('text', {x: PLOT.left - 6, y: y(value) + 4, 'text-anchor': 'end'}, number(value)));
  }
  plot.append(svg('text', {x: PLOT.left, y: HEIGHT - 6}, age(from, now)),
    svg('text', {x: PLOT.right, y: HEIGHT - 6, 'text-anchor': 'end'}, 'now'));
  for (const finding of findings) plot.append(...onsetMark(finding, x));
  plot.append(svg('polyline', {class: 'line', points: samples.map((s) => `${x(s.ms)},${y(s.value)}`).join(' ')}));
  const radius = samples.length > 150 ? 1.3 : 2.2;
  plot.append(...samples.map((s) => svg('circle', {class: 'sample', cx: x(s.ms), cy: y(s.value), r: radius})));
  followCursor(plot, samples, x, y, about, still);
  figure.append(plot);
  return figure;
}
