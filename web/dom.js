// Making elements. Text from the collector only ever becomes text, never markup.

export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return node;
}

// `columns`: [title, class]; `rows`: {key, current, cells}. A cell is a node or text. The focus stays on the
// row and link that it was on.
export function table(place, columns, rows, whenEmpty) {
  if (rows.length === 0) {
    place.replaceChildren(element('p', {class: 'empty'}, ...whenEmpty));
    return;
  }
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
  const head = element('tr', {}, columns.map(([title, kind]) => element('th', {scope: 'col', class: kind}, title)));
  const body = rows.map((row) => element('tr', {'aria-current': row.current ? 'true' : undefined},
    row.cells.map((cell, i) => element('td', {class: columns[i][1]}, cell ?? ''))));
  place.replaceChildren(element('table', {}, element('thead', {}, head), element('tbody', {}, body)));
  if (focused) [...place.querySelectorAll('[data-focus]')].find((e) => e.dataset.focus === focused)?.focus();
}

export const code = (text) => element('code', {}, text);
