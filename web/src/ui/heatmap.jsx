// Many nodes as one canvas: a cell each, in groups. Drawn by hand, since thousands of elements of the page would
// take seconds where this takes milliseconds.
//
// Of colour alone nothing depends: a silent node has a cross, one that is worse a mark, and what is under the
// pointer or the cursor is told in words, also to screen readers.
import {useEffect, useLayoutEffect, useRef, useState} from 'preact/hooks';
import {colour, onTheme} from '../theme.js';

const GAP = 1;
const SIZES = [26, 22, 18, 14, 11, 9, 7];
const MOST_HEIGHT = 460;
const LABEL_HEIGHT = 17;
const GROUP_GAP = 14;
const FONT = '11px system-ui, sans-serif';
const LABEL_MOST = 28;  // characters

const short = (text) => (text.length > LABEL_MOST ? `${text.slice(0, LABEL_MOST - 1)}…` : text);

// Where each group is: {x, y, columns}, for cells of `size`. Few groups have a block of rows each; many flow
// beside each other.
function placed(groups, width, size, widths) {
  const step = size + GAP;
  const whole = Math.max(1, Math.floor(width / step));
  const blocks = [];
  let x = 0, y = 0, tallest = 0;
  groups.forEach((group, i) => {
    const n = group.nodes.length;
    const least = Math.ceil((widths[i] + 4) / step);
    const columns = Math.min(whole, Math.max(least, groups.length <= 4 ? n : Math.ceil(Math.sqrt(n * 2.2))));
    const w = columns * step, h = LABEL_HEIGHT + Math.ceil(n / columns) * step;
    if (x > 0 && x + w > width) {
      x = 0;
      y += tallest + GROUP_GAP;
      tallest = 0;
    }
    blocks.push({x, y, columns, h});
    x += w + GROUP_GAP;
    tallest = Math.max(tallest, h);
  });
  return {blocks, size, step, height: y + tallest};
}

function layout(groups, width, context) {
  context.font = FONT;
  const widths = groups.map((g) => context.measureText(`${short(g.name)} ${g.nodes.length}`).width);
  let result;
  for (const size of SIZES) {
    result = placed(groups, width, size, widths);
    if (result.height <= MOST_HEIGHT) break;
  }
  return result;
}

const centre = (place, group, k) => {
  const b = place.blocks[group];
  return {x: b.x + (k % b.columns) * place.step, y: b.y + LABEL_HEIGHT + Math.floor(k / b.columns) * place.step};
};

function drawMark(context, mark, x, y, size) {
  const inset = Math.max(1.5, size * 0.28);
  context.beginPath();
  if (mark === 'cross') {
    context.moveTo(x + inset, y + inset);
    context.lineTo(x + size - inset, y + size - inset);
    context.moveTo(x + size - inset, y + inset);
    context.lineTo(x + inset, y + size - inset);
    context.stroke();
  } else if (mark === 'down') {
    context.moveTo(x + inset, y + size * 0.36);
    context.lineTo(x + size - inset, y + size * 0.36);
    context.lineTo(x + size / 2, y + size * 0.72);
    context.closePath();
    context.fill();
  } else if (mark === 'dot') {
    context.arc(x + size / 2, y + size / 2, Math.max(1, size * 0.14), 0, 7);
    context.fill();
  }
}

function draw(canvas, groups, look, place, width) {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(place.height * ratio);
  canvas.style.height = `${place.height}px`;
  const c = canvas.getContext('2d');
  c.scale(ratio, ratio);
  const text = colour('muted'), strong = colour('text');
  c.textBaseline = 'top';
  groups.forEach((group, g) => {
    const block = place.blocks[g];
    c.font = `600 ${FONT}`;
    c.fillStyle = strong;
    const name = short(group.name);
    c.fillText(name, block.x, block.y + 1);
    const after = c.measureText(`${name} `).width;
    c.font = FONT;
    c.fillStyle = text;
    c.fillText(String(group.nodes.length), block.x + after, block.y + 1);
  });
  // By colour, so that the canvas is not told a new one for each cell.
  const cells = new Map();
  groups.forEach((group, g) => group.nodes.forEach((node, k) => {
    const {fill, mark, ink} = look(node);
    const at = centre(place, g, k);
    if (!cells.has(fill)) cells.set(fill, {ink, list: []});
    cells.get(fill).list.push({...at, mark});
  }));
  const radius = place.size >= 11 ? 2 : 0;
  for (const [fill, {ink, list}] of cells) {
    c.fillStyle = fill;
    if (radius && c.roundRect) {
      c.beginPath();
      for (const {x, y} of list) c.roundRect(x, y, place.size, place.size, radius);
      c.fill();
    } else {
      for (const {x, y} of list) c.fillRect(x, y, place.size, place.size);
    }
    c.fillStyle = c.strokeStyle = ink;
    c.lineWidth = Math.max(1, place.size * 0.09);
    for (const {x, y, mark} of list) if (mark) drawMark(c, mark, x, y, place.size);
  }
}

function hit(place, groups, x, y) {
  for (let g = 0; g < groups.length; ++g) {
    const b = place.blocks[g];
    if (y < b.y || y > b.y + b.h || x < b.x || x >= b.x + b.columns * place.step) continue;
    const row = Math.floor((y - b.y - LABEL_HEIGHT) / place.step);
    const k = row * b.columns + Math.floor((x - b.x) / place.step);
    if (row >= 0 && k < groups[g].nodes.length) return {g, k};
  }
  return null;
}

// The cell that an arrow key leads to.
function moved(place, groups, {g, k}, key) {
  const columns = place.blocks[g].columns, n = groups[g].nodes.length;
  const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns}[key];
  const to = k + step;
  if (to >= 0 && to < n) return {g, k: to};
  const next = g + Math.sign(step);
  if (next < 0 || next >= groups.length) return {g, k: Math.max(0, Math.min(n - 1, to))};
  return {g: next, k: step > 0 ? 0 : groups[next].nodes.length - 1};
}

// `groups`: [{name, nodes: [index]}]; `look(index)` -> {fill, ink, mark}; `say(index)` -> text;
// `open(index)` when chosen.
export function HeatMap({groups, look, say, open, label}) {
  const canvas = useRef(null), box = useRef(null), place = useRef(null);
  const [width, setWidth] = useState(0);
  const [cursor, setCursor] = useState(null);  // {g, k, by}
  const [theme, again] = useState(0);

  useEffect(() => onTheme(() => again((n) => n + 1)), []);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setWidth(Math.floor(box.current.clientWidth)));
    observer.observe(box.current);
    setWidth(Math.floor(box.current.clientWidth));
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (width < 1) return;
    place.current = layout(groups, width, canvas.current.getContext('2d'));
    draw(canvas.current, groups, look, place.current, width);
    canvas.current.dataset.drawn = String(groups.reduce((n, g) => n + g.nodes.length, 0));
  }, [groups, look, width, theme]);
  useEffect(() => setCursor(null), [groups]);

  const nodeAt = (at) => groups[at?.g]?.nodes[at?.k];
  const node = nodeAt(cursor);
  const at = cursor && node !== undefined && place.current ? centre(place.current, cursor.g, cursor.k) : null;
  const tip = useRef(null);
  useLayoutEffect(() => {
    if (!at || !tip.current) return;
    const t = tip.current, size = place.current.size;
    const left = Math.max(0, Math.min(at.x, width - t.offsetWidth));
    t.style.transform = `translate(${left}px, ${at.y + size + 6}px)`;
    const ring = t.previousSibling;
    ring.style.transform = `translate(${at.x - 3}px, ${at.y - 3}px)`;
    ring.style.width = ring.style.height = `${size + 2}px`;
  });

  const onPointer = (e) => {
    if (!place.current) return;
    const r = canvas.current.getBoundingClientRect();
    const found = hit(place.current, groups, e.clientX - r.left, e.clientY - r.top);
    setCursor(found && {...found, by: 'pointer'});
  };
  const onKey = (e) => {
    if (!place.current || groups.length === 0) return;
    if (e.key.startsWith('Arrow')) {
      setCursor({...(cursor ? moved(place.current, groups, cursor, e.key) : {g: 0, k: 0}), by: 'key'});
    } else if (e.key === 'Enter' && node !== undefined) {
      open(node);
    } else if (e.key === 'Escape') {
      setCursor(null);
    } else {
      return;
    }
    e.preventDefault();
    e.stopPropagation();
  };
  return <div class="map" ref={box}>
    <canvas ref={canvas} tabIndex={0} role="application" aria-label={`${label}. Arrow keys move, Enter opens a node.`}
      onPointerMove={onPointer} onPointerLeave={() => setCursor(null)} onKeyDown={onKey}
      onBlur={() => setCursor(null)}
      onClick={(e) => {
        onPointer(e);
        const r = canvas.current.getBoundingClientRect();
        const found = nodeAt(hit(place.current, groups, e.clientX - r.left, e.clientY - r.top));
        if (found !== undefined) open(found);
      }}/>
    {at && <span class="ring" aria-hidden="true"/>}
    {at && <div class="tip" ref={tip} aria-hidden="true">{say(node).split('\n').map((line, i) =>
      i === 0 ? <b key={i}>{line}</b> : <span key={i}>{line}</span>)}</div>}
    <p class="hidden" aria-live="polite">{cursor?.by === 'key' && node !== undefined ? say(node).replaceAll('\n', ', ') : ''}</p>
  </div>;
}
