'use strict';
// Names from the program are data: they reach the document through textContent only.
const data = JSON.parse(document.getElementById('data').textContent);
const ROW = 22, LANE = 300, BARS = 4;

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === 'class') node.className = value;
    else if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) node.append(child);
  }
  return node;
}
const visible = text => String(text).replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u061c\ufeff]/g,
  c => c === '\n' ? '\\n' : c === '\t' ? '\\t' : '\\u{' + c.codePointAt(0).toString(16) + '}');
const short = (text, most = 300) => { const t = visible(text); return t.length > most ? t.slice(0, most) + '…' : t; };
const placeText = p => !p ? '?' : p.file ? visible(p.file) + (p.line ? ':' + p.line + (p.column ? ':' + p.column : '') : '') : visible(p.function || '?');
const placeShort = p => !p || !p.file ? '' : visible(p.file.split('/').pop()) + (p.line ? ':' + p.line : '');
const grouped = n => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
const threadName = a => visible(a.thread) + (a.name ? ' ‘' + short(a.name, 60) + '’' : '');

function head() {
  const r = data.report, s = r.stats;
  const covers = [];
  if (r.verdict === 'verified') {
    covers.push(r.property === 'race' ? 'No data race, whatever the schedule; deadlocks and failures may be there.'
      : 'No data race, deadlock, failed assertion, crash or misuse, whatever the schedule.');
    const under = { tso: 'TSO, the memory model of x86', rc11: 'RC11, the repaired memory model of C11 and C++11' };
    covers.push('For these arguments and this input, under '
      + (under[r.memory_model] || 'sequential consistency, with time-outs at any moment') + '.');
  }
  if (r.findings.some(f => f.kind === 'data-race') && r.granularity === 'sync')
    covers.push('A program with a data race can have more races and failures than listed: fix and check again, or use --granularity access.');
  if (r.reason) covers.push((r.verdict === 'bug' ? 'There may be more: ' : 'Not complete: ') + visible(r.reason.text));
  if ((r.unseen || []).length) covers.push('Without hooks of raddle: ' + r.unseen.map(visible).join(', '));
  for (const one of r.suppressed || []) covers.push('Suppressed: ' + visible(one));
  for (const note of r.notes || []) covers.push('Note: ' + visible(note));
  for (const limit of r.limits) covers.push('Not modelled: ' + visible(limit));
  const dark = () => document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  const turn = () => { document.documentElement.dataset.theme = dark() ? 'light' : 'dark'; redraw(); };
  document.getElementById('head').append(
    make('div', { class: 'row' }, make('span', { class: 'verdict ' + r.verdict, id: 'verdict' }, r.verdict),
      make('h1', {}, [r.program, ...r.args].map(word => short(word)).join(' ')),
      make('button', { class: 'theme', id: 'theme', onclick: turn, title: 'dark or light (t)' }, 'dark / light')),
    make('div', { class: 'figures faint' }, `${grouped(s.executions)} executions, ${grouped(s.transitions)} transitions, ${grouped(s.events)} events, `
      + `${s.threads} threads, ${s.seconds.toFixed(2)} s · strategy ${visible(r.strategy)}, granularity ${visible(r.granularity)}, raddle ${visible(r.raddle)}`),
    ...(covers.length ? [make('ul', { class: 'covers' }, covers.map(text => make('li', {}, text)))] : []));
}

// Lines of a file as the page has them: [number, text] or null for a gap.
function sourceLines(file) {
  const excerpt = data.sources[file];
  if (!excerpt) return null;
  const lines = [];
  for (const [first, part] of excerpt.parts) {
    if (lines.length || first > 1) lines.push(null);
    part.forEach((text, index) => lines.push([first + index, text]));
  }
  return lines;
}

// Where a place's column is a column of bytes, finds the word there.
function wordAt(text, column) {
  if (!column) return null;
  const bytes = new TextEncoder().encode(text);
  if (column > bytes.length) return null;
  const start = new TextDecoder().decode(bytes.slice(0, column - 1)).length;
  const match = /^[\p{L}\p{N}_]+|^./u.exec(text.slice(start));
  return match ? [start, start + match[0].length] : null;
}

class SourceView {
  constructor() {
    this.title = make('h3', {}, 'source');
    this.box = make('div', { class: 'source', tabindex: '0', role: 'region', 'aria-label': 'source' });
    this.node = make('section', { class: 'panel' }, this.title, this.box);
    this.file = null;
    this.rows = new Map();
  }
  show(file, pointers, here) {
    if (file !== this.file) { this.file = file; this.fill(file, pointers); }
    for (const row of this.box.querySelectorAll('.here')) row.classList.remove('here');
    const row = here && this.rows.get(here);
    if (!row) return;
    row.classList.add('here');
    const top = row.offsetTop - this.box.clientHeight / 2;
    if (row.offsetTop < this.box.scrollTop || row.offsetTop + 30 > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top;
  }
  fill(file, pointers) {
    this.rows.clear();
    const changed = file && data.sources[file] && data.sources[file].changed;
    this.title.textContent = 'source: ' + (file ? visible(file) : 'not known') + (changed ? ' (the code that ran: the file has changed since)' : '');
    const lines = file ? sourceLines(file) : null;
    if (!lines) { this.box.replaceChildren(make('p', { class: 'faint', style: 'padding:0 10px' }, 'The source file could not be read when this report was made.')); return; }
    const table = make('table', {});
    for (const line of lines) {
      if (!line) { table.append(make('tr', { class: 'gap' }, make('td', { class: 'no' }, '⋮'), make('td', {}, '…'))); continue; }
      const [number, text] = line;
      const mine = pointers.filter(p => p.place.file === file && p.place.line === number);
      const cell = make('td', {});
      let at = 0;
      for (const pointer of mine.map(p => wordAt(text, p.place.column)).filter(Boolean).sort((a, b) => a[0] - b[0])) {
        if (pointer[0] < at) continue;
        cell.append(visible(text.slice(at, pointer[0])).replaceAll('\\t', '\t'), make('span', { class: 'word' }, visible(text.slice(pointer[0], pointer[1]))));
        at = pointer[1];
      }
      cell.append(visible(text.slice(at)).replaceAll('\\t', '\t'));
      const row = make('tr', mine.length ? { class: 'hit' } : {}, make('td', { class: 'no' }, String(number)), cell);
      table.append(row);
      this.rows.set(number, row);
      for (const pointer of mine)
        table.append(make('tr', { class: 'hit' }, make('td', { class: 'no' }),
          make('td', { class: 'note' }, make('span', { class: 'mark m' + pointer.number }, String(pointer.number)), ' ' + pointer.text)));
    }
    this.box.replaceChildren(table);
  }
}

function accessText(finding, access) {
  let text;
  if (access.waits) text = threadName(access) + ' waits for ' + short(access.waits.object)
    + (access.waits.held_by.length ? ', held by ' + access.waits.held_by.map(h => visible(h)).join(', ') : '');
  else text = visible(access.op) + (access.size ? ' of ' + access.size + (access.size === 1 ? ' byte' : ' bytes') : '') + ' by ' + threadName(access);
  if (access.held) text += '; holds ' + access.held.map(h => short(h.lock, 80) + (h.shared ? ' (shared)' : '')).join(', ');
  else if (access.locks.length) text += '; holds ' + access.locks.map(l => short(l, 80)).join(', ');
  else if (finding.kind === 'data-race') text += '; no lock held';
  return text;
}

function accessPanel(finding, access, number, source) {
  const frames = access.stack.length ? access.stack : [access.place];
  const open = place => () => place.file && source.show(place.file, pointers(finding), place.line);
  return make('section', { class: 'panel access' },
    make('h3', {}, make('span', { class: 'mark m' + number }, String(number)), ' ', accessText(finding, access)),
    access.created ? make('div', { class: 'faint' }, 'created by ' + visible(access.created.by) + ' at ' + placeText(access.created.place)) : null,
    (access.held || []).map(h => make('div', { class: 'faint' }, 'holds ' + short(h.lock, 80) + ', locked at ' + placeText(h.place))),
    make('ol', { class: 'stack mono', start: '0' }, frames.map(place => make('li', {}, short(place.function || '?') + '  ',
      place.file ? make('button', { onclick: open(place), class: 'mono' }, placeText(place)) : make('span', { class: 'faint' }, placeText(place))))));
}

const pointers = finding => finding.accesses.map((access, index) => ({ place: access.place, number: index + 1, text: accessText(finding, access) }));

function objectPanel(finding) {
  const o = finding.object;
  if (!o) return null;
  const sort = { global: 'global variable', heap: 'heap block', stack: 'local variable', tls: 'thread-local variable' }[o.kind];
  const parts = [sort + (o.name ? ' ' + short(o.name) : '') + (o.size !== null ? ' of ' + o.size + ' bytes' : '') + (o.offset ? ', from byte ' + o.offset : '')];
  if (o.allocated) parts.push('allocated at ' + placeText(o.allocated) + (o.allocated.function ? ' in ' + short(o.allocated.function) : ''));
  return make('section', { class: 'panel' }, make('h3', {}, 'object'), parts.map(text => make('div', {}, text)));
}

function wordsPanel(title, words) {
  if (!words || !words.trim()) return null;
  const lines = words.split('\n').map(line => make('div', {}, visible(line)));
  return make('section', { class: 'panel' }, make('h3', {}, title), make('div', { class: 'mono' }, lines));
}

// A word for a shell, whatever is in it.
const shellWord = text => /^[A-Za-z0-9_.\/-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";

function commands(finding) {
  if (!finding.witness) return null;
  const name = finding.witness.startsWith('.raddle/') ? finding.id : finding.witness;
  const replay = 'raddle replay ' + shellWord(name);
  const lines = finding.target ? [replay + ' --target ' + shellWord(finding.target)] : [replay, replay + ' --gdb'];
  lines.push('raddle show ' + shellWord(name));
  const copy = (text, button) => {
    const done = () => { button.textContent = 'copied'; setTimeout(() => { button.textContent = 'copy'; }, 1200); };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => select(button));
    else select(button);
  };
  const select = button => getSelection().selectAllChildren(button.parentNode.firstChild);
  return make('section', { class: 'panel' }, make('h3', {}, 'run it again'),
    lines.map(line => make('div', { class: 'command' }, make('code', {}, visible(line)),
      make('button', { onclick: event => copy(line, event.target) }, 'copy'))));
}

// Moves through the events of a story.
class Player {
  constructor(finding, story, source) {
    Object.assign(this, { finding, story, source, step: 0 });
    this.slider = make('input', { type: 'range', min: '0', max: String(Math.max(0, story.events.length - 1)), value: '0', id: 'slider', 'aria-label': 'step of the schedule',
      oninput: () => this.go(Number(this.slider.value)) });
    this.count = make('span', { class: 'mono', id: 'count', 'aria-live': 'polite' });
    this.overview = make('canvas', { height: String(18 * story.threads.length + 4), 'aria-hidden': 'true', onclick: event => this.pick(event) });
    this.lanes = new Lanes(story, index => this.go(index));
    this.threads = make('tbody', {});
    this.values = make('tbody', {});
    this.indexValues();
    const button = (text, title, by) => make('button', { title, 'aria-label': title, onclick: by }, text);
    this.node = make('div', {},
      make('section', { class: 'panel' }, make('h3', {}, 'schedule'),
        make('div', { class: 'faint' }, this.note()),
        make('div', { class: 'player' }, button('|◀', 'first event', () => this.go(0)), button('◀', 'previous event', () => this.go(this.step - 1)),
          button('▶', 'next event', () => this.go(this.step + 1)), button('▶|', 'last event', () => this.go(Infinity)), button('switch ▶', 'next switch of threads', () => this.go(this.nextSwitch(1))),
          this.slider, this.count),
        this.overview, this.lanes.node,
        make('div', { class: 'keys faint' }, make('kbd', {}, '←'), ' ', make('kbd', {}, '→'), ' step, ', make('kbd', {}, 's'), ' ', make('kbd', {}, 'S'), ' next and previous switch, ',
          make('kbd', {}, '1'), ' ', make('kbd', {}, '2'), ' the accesses, ', make('kbd', {}, 'Home'), ' ', make('kbd', {}, 'End'), ', ', make('kbd', {}, 'n'), ' next finding, ', make('kbd', {}, 't'), ' dark or light')),
      make('div', { class: 'grid wide' },
        make('section', { class: 'panel' }, make('h3', {}, 'threads at this step'),
          make('table', { class: 'state', id: 'threads' }, make('thead', {}, make('tr', {}, ['thread', 'last', 'next', 'holds', 'waits for'].map(t => make('th', {}, t)))), this.threads)),
        make('section', { class: 'panel' }, make('h3', {}, 'shared values known at this step'),
          make('table', { class: 'state', id: 'values' }, make('thead', {}, make('tr', {}, ['object', 'value', 'set by'].map(t => make('th', {}, t)))), this.values))));
  }
  note() {
    const f = this.finding, preemptions = f.preemptions === 0 ? 'without a preemption' : `with ${f.preemptions} preemption${f.preemptions === 1 ? '' : 's'}`;
    const end = { adjacent: '; at its end both threads stand before their accesses', unordered: '; nothing orders the second access after the first' }[f.witness_kind] || '';
    return preemptions + end + (this.story.left_out ? `; the first ${this.story.left_out} events are left out` : '');
  }
  // Events by thread, and changes of values, so that any step is shown without walking through all events before it.
  indexValues() {
    this.ofThread = this.story.threads.map(() => []);
    this.changes = new Map();
    this.story.events.forEach((event, index) => {
      this.ofThread[event.thread].push(index);
      if (event.object !== undefined && event.value !== undefined) {
        if (!this.changes.has(event.object)) this.changes.set(event.object, []);
        this.changes.get(event.object).push(index);
      }
    });
  }
  static last(sorted, at) {
    let low = 0, high = sorted.length;
    while (low < high) { const middle = (low + high) >> 1; if (sorted[middle] <= at) low = middle + 1; else high = middle; }
    return low - 1;
  }
  go(step) {
    const events = this.story.events;
    this.step = Math.max(0, Math.min(events.length - 1, step));
    if (!events.length) return;
    this.slider.value = String(this.step);
    const event = events[this.step];
    this.count.textContent = `${this.step + 1} / ${events.length}` + (event.step ? `  (--break-at ${event.step})` : '');
    this.slider.setAttribute('aria-valuetext', `${this.story.threads[event.thread].thread}: ${short(event.text)}`);
    this.lanes.show(this.step);
    const place = this.story.places[event.place];
    if (place && place.file) this.source.show(place.file, pointers(this.finding), place.line);
    this.state();
    this.draw();
  }
  pick(event) { this.go(Math.floor(event.offsetX / this.overview.clientWidth * this.story.events.length)); }
  nextSwitch(by) {
    const events = this.story.events;
    let at = this.step + by;
    while (at > 0 && at < events.length && events[at].thread === events[at - 1].thread) at += by;
    return at;
  }
  mark(number) { const at = this.story.events.findLastIndex(event => event.mark === number); if (at >= 0) this.go(at); }
  covering(stretches, thread) {
    return stretches.filter(s => s.thread === thread && s.from <= this.step && (s.to === null || s.to > this.step))
      .map(s => s.object === null ? 'the end of a thread' : short(this.story.objects[s.object], 120));
  }
  state() {
    const { events, threads, places, holds, waits } = this.story, now = events[this.step].thread;
    const told = index => index === undefined ? '' : short(events[index].text, 120) + '  ' + placeShort(places[events[index].place]);
    this.threads.replaceChildren(...threads.map((actor, number) => {
      const list = this.ofThread[number], at = Player.last(list, this.step);
      return make('tr', number === now ? { class: 'now' } : {}, make('td', {}, threadName(actor)), make('td', { class: 'mono' }, told(list[at])), make('td', { class: 'mono' }, told(list[at + 1])),
        make('td', { class: 'mono' }, this.covering(holds, number).join(', ')), make('td', { class: 'mono' }, this.covering(waits, number).join(', ')));
    }));
    const rows = [];
    for (const [object, list] of this.changes) {
      const at = Player.last(list, this.step);
      if (at < 0) continue;
      const event = events[list[at]];
      rows.push([list[at], make('tr', {}, make('td', { class: 'mono' }, short(this.story.objects[object], 120)), make('td', { class: 'mono' }, short(event.value, 80)),
        make('td', { class: 'mono' }, visible(threads[event.thread].thread) + ' ' + placeShort(places[event.place])))]);
    }
    rows.sort((a, b) => b[0] - a[0]);
    this.values.replaceChildren(...rows.slice(0, 50).map(row => row[1]));
    if (!rows.length) this.values.append(make('tr', {}, make('td', { class: 'faint', colspan: '3' }, 'none yet')));
  }
  draw() {
    const canvas = this.overview, width = canvas.clientWidth || 800, ratio = devicePixelRatio || 1, rows = this.story.threads.length;
    if (canvas.width !== Math.round(width * ratio)) { canvas.width = Math.round(width * ratio); canvas.height = Math.round((18 * rows + 4) * ratio); canvas.style.height = 18 * rows + 4 + 'px'; }
    const c = canvas.getContext('2d'), style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue(name).trim();
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, 18 * rows + 4);
    const events = this.story.events, x = index => index / Math.max(1, events.length) * width, thin = Math.max(1, width / Math.max(1, events.length) - 1);
    c.fillStyle = colour('--wait');
    for (const s of this.story.waits) c.fillRect(x(s.from), 18 * s.thread + 9, Math.max(1, x(s.to === null ? events.length : s.to) - x(s.from)), 3);
    c.fillStyle = colour('--hold');
    for (const s of this.story.holds) c.fillRect(x(s.from), 18 * s.thread + 15, Math.max(1, x(s.to === null ? events.length : s.to) - x(s.from)), 3);
    const kinds = { sync: colour('--accent'), access: colour('--faint'), end: colour('--bad') };
    events.forEach((event, index) => { c.fillStyle = kinds[event.kind]; c.fillRect(x(index), 18 * event.thread + 4, thin, 9); });
    c.fillStyle = colour('--text');
    c.fillRect(x(this.step) + thin / 2 - 1, 0, 2, 18 * rows + 4);
  }
}

// A lane per thread; only the rows in sight are in the document.
class Lanes {
  constructor(story, pick) {
    Object.assign(this, { story, pick, now: 0, first: -1, last: -1 });
    this.used = story.threads.map((_, number) => story.events.some(event => event.thread === number));
    this.lane = [];
    let count = 0;
    this.used.forEach((used, number) => { this.lane[number] = used ? count++ : -1; });
    this.width = Math.max(1, count) * LANE;
    this.body = make('div', { class: 'body', style: `height:${story.events.length * ROW + 4}px;width:${this.width}px` });
    const heads = story.threads.map((actor, number) => this.used[number] ? make('div', { style: `width:${LANE}px`, title: threadName(actor) }, threadName(actor)) : null);
    this.node = make('div', { class: 'lanes', id: 'lanes', tabindex: '0', role: 'region', 'aria-label': 'schedule, a lane per thread', onscroll: () => this.paint() }, make('div', { class: 'heads' }, heads), this.body);
    new ResizeObserver(() => this.paint()).observe(this.node);
  }
  show(step) {
    this.now = step;
    const top = step * ROW, height = this.node.clientHeight - 30;
    if (top < this.node.scrollTop || top + 2 * ROW > this.node.scrollTop + height) this.node.scrollTop = Math.max(0, top - height / 2);
    const left = this.lane[this.story.events[step].thread] * LANE;
    if (left < this.node.scrollLeft || left + LANE > this.node.scrollLeft + this.node.clientWidth) this.node.scrollLeft = left;
    this.paint(true);
  }
  paint(force) {
    const height = Math.max(this.node.clientHeight, 420);
    const first = Math.max(0, Math.floor(this.node.scrollTop / ROW) - 10), last = Math.min(this.story.events.length, first + Math.ceil(height / ROW) + 22);
    if (!force && first === this.first && last === this.last) return;
    [this.first, this.last] = [first, last];
    const nodes = [];
    const bars = (stretches, kind) => {
      const depth = new Map();
      for (const s of stretches) {
        const to = s.to === null ? this.story.events.length : s.to;
        const used = depth.get(s.thread) || [];
        let slot = used.findIndex(end => end <= s.from);
        if (slot < 0) slot = used.length;
        used[slot] = to;
        depth.set(s.thread, used);
        if (to < first || s.from > last || this.lane[s.thread] < 0 || slot >= BARS) continue;
        const top = Math.max(s.from, first) * ROW + 2, bottom = Math.min(to, last) * ROW;
        const name = s.object === null ? '' : short(this.story.objects[s.object]);
        nodes.push(make('div', { class: 'bar ' + kind, title: (kind === 'wait' ? 'waits for ' : 'holds ') + name,
          style: `left:${this.lane[s.thread] * LANE + (kind === 'wait' ? 19 : 3 + slot * 6)}px;top:${top}px;height:${Math.max(4, bottom - top)}px` }));
      }
    };
    bars(this.story.holds, 'hold');
    bars(this.story.waits, 'wait');
    for (let index = first; index < last; index++) {
      const event = this.story.events[index];
      if (index > 0 && this.story.events[index - 1].thread !== event.thread) nodes.push(make('div', { class: 'switch', style: `top:${index * ROW}px` }));
      nodes.push(make('div', { class: `ev mono ${event.kind}${index === this.now ? ' now' : ''}`, title: short(event.text, 2000) + '\n' + placeText(this.story.places[event.place]),
        style: `top:${index * ROW}px;left:${this.lane[event.thread] * LANE}px;width:${LANE - 4}px`, onclick: () => this.pick(index) },
        event.mark ? make('span', { class: 'mark m' + event.mark }, String(event.mark)) : null, event.mark ? ' ' : null, short(event.text, 120),
        make('span', { class: 'where' }, placeShort(this.story.places[event.place]))));
    }
    this.body.replaceChildren(...nodes);
  }
}

// Headlines with what follows from them, as indices. A finding whose headline is not there is a headline itself.
const headlineOf = finding => data.report.findings.findIndex(other => finding.group && other.id === finding.group && !other.group);
const groups = data.report.findings.map((finding, index) => ({ headline: index, followers: data.report.findings.map((_, other) => other)
  .filter(other => headlineOf(data.report.findings[other]) === index) })).filter(group => headlineOf(data.report.findings[group.headline]) < 0);
const inOrder = groups.flatMap(group => [group.headline, ...group.followers]);
const places = count => count === 1 ? '1 more place follows from it' : count + ' more places follow from it';

// What follows from a headline, folded; of a follower, the way back.
function groupPanel(index) {
  const finding = data.report.findings[index], above = headlineOf(finding);
  const button = (to, text) => make('button', { onclick: () => show(to), 'data-to': String(to), title: short(data.report.findings[to].message, 1000) }, text);
  if (above >= 0) return make('section', { class: 'panel', id: 'above' }, make('h3', {}, 'follows from'), button(above, describe(data.report.findings[above])));
  const followers = groups.find(group => group.headline === index).followers;
  if (!followers.length) return null;
  return make('section', { class: 'panel', id: 'cause' }, make('h3', {}, 'cause'),
    finding.cause ? make('div', {}, short(finding.cause, 1000)) : null,
    make('details', { id: 'followers' }, make('summary', {}, places(followers.length)),
      make('ul', {}, followers.map(to => make('li', {}, button(to, describe(data.report.findings[to])))))));
}
const describe = finding => `${visible(finding.id)}  ${short(finding.message, 200)}`;

let player = null, selected = 0;
const redraw = () => player && player.draw();

function show(index) {
  selected = index;
  const finding = data.report.findings[index], above = headlineOf(finding);
  for (const button of document.querySelectorAll('nav button')) button.setAttribute('aria-selected', String(Number(button.dataset.index) === (above < 0 ? index : above)));
  const source = new SourceView();
  const story = data.stories[finding.id];
  player = story && story.events.length ? new Player(finding, story, source) : null;
  const panels = finding.accesses.map((access, number) => accessPanel(finding, access, number + 1, source));
  const box = make('article', { class: 'finding ' + finding.severity, id: 'finding' },
    make('h2', {}, make('span', { class: 'id' }, `${finding.severity}[${visible(finding.id)}] `), short(finding.message, 2000)),
    groupPanel(index),
    make('div', { class: 'grid' }, make('div', {}, panels, objectPanel(finding), waitsPanel(finding), wordsPanel('the test says', finding.expectation), wordsPanel('standard error of the program', finding.stderr), commands(finding)), source.node),
    player ? player.node : make('p', { class: 'faint' }, 'There is no schedule for this finding.'));
  document.querySelector('#main > article, #main > p')?.remove();
  document.getElementById('main').append(box);
  const first = finding.accesses.find(access => access.place.file);
  if (player) { player.go(Infinity); }
  if (first) source.show(first.place.file, pointers(finding), first.place.line);
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 't') { document.getElementById('theme').click(); return; }
  if (event.key === 'n' && data.report.findings.length) { show(inOrder[(inOrder.indexOf(selected) + 1) % inOrder.length]); return; }
  if (!player) return;
  const moves = { ArrowRight: () => player.step + 1, ArrowLeft: () => player.step - 1, PageDown: () => player.step + 20, PageUp: () => player.step - 20,
    Home: () => 0, End: () => Infinity, s: () => player.nextSwitch(1), S: () => player.nextSwitch(-1) };
  if (event.key in moves) { player.go(moves[event.key]()); event.preventDefault(); }
  else if (event.key >= '1' && event.key <= '9') player.mark(Number(event.key));
}

head();
const findings = data.report.findings;
if (findings.length) {
  document.getElementById('main').append(make('nav', { role: 'tablist', 'aria-label': 'findings' }, groups.map(group => {
    const finding = findings[group.headline], more = group.followers.length ? `  (+${group.followers.length})` : '';
    return make('button', { role: 'tab', 'data-index': String(group.headline), onclick: () => show(group.headline), title: short(finding.message, 1000) }, `${visible(finding.id)}  ${short(finding.message, 90)}${more}`);
  })));
  show(groups[0].headline);
} else {
  document.getElementById('main').append(make('p', { class: 'finding' }, 'Nothing was found.'));
}
document.addEventListener('keydown', keys);
addEventListener('resize', redraw);
