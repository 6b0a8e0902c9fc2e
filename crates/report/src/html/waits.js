// Who waits for what, and who holds it: threads on the left, objects on the right. A deadlock is a circle of
// arrows, or an arrow to an object from which none goes on. The script of the page is continued here.
// The namespace comes from an element of the page, which so names no address.
function drawn(tag, attributes, ...children) {
  const node = document.createElementNS(document.getElementById('drawing').namespaceURI, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// The nodes and arrows, by number.
function waitGraph(accesses) {
  const threads = [], objects = [], arrows = [];
  const number = (list, name) => { if (!list.includes(name)) list.push(name); return list.indexOf(name); };
  for (const access of accesses) number(threads, access.thread);
  for (const access of accesses) {
    const object = number(objects, access.waits.object);
    arrows.push({ kind: 'waits', thread: threads.indexOf(access.thread), object });
    for (const holder of access.waits.held_by) {
      const thread = number(threads, holder);
      if (!arrows.some(a => a.kind === 'held' && a.thread === thread && a.object === object)) arrows.push({ kind: 'held', thread, object });
    }
  }
  return { threads, objects, arrows };
}

function waitsPanel(finding) {
  const accesses = finding.accesses.filter(access => access.waits);
  if (finding.kind !== 'deadlock' || !accesses.length) return null;
  const { threads, objects, arrows } = waitGraph(accesses);
  const w = { row: 46, box: 30, thread: 10, object: 330, width: 560, left: 170, right: 220, letters: 26 };
  const middle = index => index * w.row + w.row / 2;
  const node = (kind, index, name, text) => drawn('g', { class: kind },
    drawn('rect', { x: w[kind], y: middle(index) - w.box / 2, width: kind === 'thread' ? w.left - w.thread : w.right, height: w.box, rx: kind === 'thread' ? 15 : 4 }),
    drawn('text', { x: w[kind] + 12, y: middle(index) + 5 }, short(text, w.letters)), drawn('title', {}, short(name, 1000)));
  // The two arrows between a thread and an object lie side by side.
  const arrow = ({ kind, thread, object }) => {
    const left = [w.left + 2, middle(thread)], right = [w.object - 2, middle(object)], aside = kind === 'waits' ? -5 : 5;
    const [from, to] = kind === 'waits' ? [left, right] : [right, left];
    return drawn('line', { class: kind, x1: from[0], y1: from[1] + aside, x2: to[0], y2: to[1] + aside, 'marker-end': `url(#${kind}-end)` });
  };
  const head = kind => drawn('marker', { id: kind + '-end', class: kind, viewBox: '0 0 8 8', refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: 'auto' },
    drawn('path', { d: 'M0 0 8 4 0 8z' }));
  const mark = name => { const at = finding.accesses.findIndex(access => access.thread === name); return at < 0 ? '' : `(${at + 1}) `; };
  const height = Math.max(threads.length, objects.length) * w.row;
  const words = arrows.map(a => a.kind === 'waits' ? `${visible(threads[a.thread])} waits for ${short(objects[a.object])}` : `${visible(threads[a.thread])} holds ${short(objects[a.object])}`);
  return make('section', { class: 'panel', id: 'waits' }, make('h3', {}, 'who waits for what'),
    drawn('svg', { viewBox: `0 0 ${w.width} ${height}`, role: 'img', 'aria-label': words.join('; '), style: `max-width:${w.width}px` },
      drawn('defs', {}, head('waits'), head('held')), ...arrows.map(arrow),
      ...threads.map((name, index) => node('thread', index, name, mark(name) + name)), ...objects.map((name, index) => node('object', index, name, name))),
    make('div', { class: 'faint' }, make('span', { class: 'waits' }, '→'), ' waits for, ', make('span', { class: 'held' }, '→'), ' is held by'));
}
