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

const measured = new Map();
function widthOf(text, context) {
  if (measured.size > 5000) measured.clear();
  if (!measured.has(text)) measured.set(text, context.measureText(text).width);
  return measured.get(text);
}

function layout(groups, width, context) {
  context.font = FONT;
  const widths = groups.map((g) => widthOf(`${short(g.name)} ${g.nodes.length}`, context));
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

// The pixels of one cell of `side` device pixels.
function stampOf({fill, mark, ink}, size, side) {
  const stamp = document.createElement('canvas');
  stamp.width = stamp.height = side;
  const c = stamp.getContext('2d', {willReadFrequently: true});
  c.scale(side / size, side / size);
  c.fillStyle = fill;
  if (size >= 11 && c.roundRect) {
    c.roundRect(0, 0, size, size, 2);
    c.fill();
  } else {
    c.fillRect(0, 0, size, size);
  }
  c.fillStyle = c.strokeStyle = ink;
  c.lineWidth = Math.max(1, size * 0.09);
  if (mark) drawMark(c, mark, 0, 0, size);
  return new Uint32Array(c.getImageData(0, 0, side, side).data.buffer);
}

// Each look is drawn once, and its pixels are copied: ten thousand calls to draw would take longer than all the rest.
function drawCells(c, groups, looks, place, ratio) {
  const side = Math.round(place.size * ratio);
  const stamps = looks.list.map((l) => stampOf(l, place.size, side));
  const image = c.createImageData(c.canvas.width, c.canvas.height);
  const pixels = new Uint32Array(image.data.buffer), {width, height} = image, {codes} = looks;
  groups.forEach((group, g) => {
    const {x, y, columns} = place.blocks[g], {nodes} = group;
    for (let k = 0; k < nodes.length; ++k) {
      const left = Math.round((x + (k % columns) * place.step) * ratio);
      const top = Math.round((y + LABEL_HEIGHT + Math.floor(k / columns) * place.step) * ratio);
      if (left + side > width || top + side > height) continue;
      const stamp = stamps[codes[nodes[k]]];
      for (let from = 0, to = top * width + left; from < stamp.length; from += side, to += width) {
        for (let i = 0; i < side; ++i) pixels[to + i] = stamp[from + i];
      }
    }
  });
  c.putImageData(image, 0, 0);
}

function draw(canvas, groups, looks, place, width) {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.ceil(place.height * ratio);
  canvas.style.height = `${place.height}px`;
  const c = canvas.getContext('2d');
  drawCells(c, groups, looks, place, ratio);
  c.scale(ratio, ratio);
  const text = colour('muted'), strong = colour('text');
  c.textBaseline = 'top';
  groups.forEach((group, g) => {
    const block = place.blocks[g];
    c.font = `600 ${FONT}`;
    c.fillStyle = strong;
    const name = short(group.name);
    c.fillText(name, block.x, block.y + 1);
    const after = widthOf(`${name} `, c) * 1.07;
    c.font = FONT;
    c.fillStyle = text;
    c.fillText(String(group.nodes.length), block.x + after, block.y + 1);
  });
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

// `groups`: [{name, nodes: indexes}]; `looks`: {list: [{fill, ink, mark}], codes: of each node, its place in `list`};
// `say(index)` -> text; `open(index)` when chosen.
export function HeatMap({groups, looks, say, open, label}) {
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
    draw(canvas.current, groups, looks, place.current, width);
    canvas.current.dataset.drawn = String(groups.reduce((n, g) => n + g.nodes.length, 0));
  }, [groups, looks, width, theme]);
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
