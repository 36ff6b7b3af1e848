// What every page is made of: the data, elements, tables, bars, canvases.
const data = JSON.parse(document.getElementById('data').textContent);
const page = document.getElementById('page');
const tip = document.getElementById('tip');
const known = {
  'forward': '#4c8bf5', 'backward': '#8e6bd8', 'loss': '#d06bb5', 'optimiser': '#e0883a', 'data loading': '#d9534f',
  'graph processing': '#c2913a', 'communication': '#e3b505', 'memory copies': '#7a9e9f', 'kernels': '#2a9d6f',
  'runtime': '#6c8ea4', 'waiting for the device': '#b9c0cb', 'memory allocation': '#a3745b', 'python': '#5bb5c9',
  'operators outside any phase': '#7fb2f0', 'unattributed': '#a7adb8', 'idle inside annotations': '#d5dae1', 'synchronisation': '#aab4c3', 'waiting in python': '#c8cdd6',
  'from launch to device': '#f0b7a1', 'between device events': '#dbe1e8',
  'fetch': '#d9534f', 'process': '#c2913a', 'collate': '#e3b505', 'wait': '#b9c0cb', 'clip': '#f0b7a1', 'logging': '#5bb5c9', 'checkpoint': '#7a9e9f',
  'validation': '#2a9d6f', 'untracked': '#a7adb8',
};
const spare = ['#5b8c5a', '#b56576', '#457b9d', '#9c89b8', '#bc6c25', '#52796f', '#e07a5f', '#3d5a80'];
const color = (n) => known[n] || spare[Math.abs([...String(n)].reduce((h, c) => (h * 31 + c.charCodeAt(0)) | 0, 7)) % spare.length];
const cat = (i) => (data.categories && data.categories[i]) || 'unattributed';

function time(us) {
  const m = Math.abs(us);
  if (m >= 1e6) return (us / 1e6).toFixed(3) + ' s';
  if (m >= 1e3) return (us / 1e3).toFixed(3) + ' ms';
  return us.toFixed(3) + ' µs';
}
const percent = (f) => (100 * f).toFixed(1) + ' %';
const number = (n) => n.toLocaleString('en');

function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k === 'text') e.textContent = v; else if (k === 'style') e.style.cssText = v; else e.setAttribute(k, v);
  }
  e.append(...children.filter((c) => c != null));
  return e;
}
function section(title, id, soft) {
  const s = make('section', { id }, make('h2', { text: title }));
  if (soft) s.append(make('p', { class: 'soft', text: soft }));
  page.append(s);
  return s;
}
function showTip(event, text) {
  tip.textContent = text; tip.hidden = false;
  const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
  const y = event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18;
  tip.style.left = Math.max(4, x) + 'px'; tip.style.top = Math.max(4, y) + 'px';
}
const hideTip = () => { tip.hidden = true; };
function list(parent, texts) {
  const ul = make('ul', { class: 'plain' });
  for (const t of texts) ul.append(make('li', { text: t }));
  parent.append(ul);
}
function bars(parent, rows) { // [name, us, share or null, color]
  const most = Math.max(...rows.map((r) => r[2]), 1e-9);
  for (const [name, us, share, c] of rows) {
    parent.append(make('div', { class: 'bar' },
      make('div', { class: 'name', text: name, title: name }),
      make('div', { class: 'track' }, make('div', { class: 'fill', style: 'width:' + (100 * share / most) + '%;background:' + c })),
      make('div', { class: 'num', text: time(us) }), make('div', { class: 'num', text: share == null ? '–' : percent(share) })));
  }
}
function canvasOf(parent, height, label) {
  const c = make('canvas', { role: 'img', 'aria-label': label });
  parent.append(c);
  const g = c.getContext('2d');
  const fit = () => {
    const scale = devicePixelRatio || 1, w = c.clientWidth || 600;
    c.width = Math.round(w * scale); c.height = Math.round(height * scale); c.style.height = height + 'px';
    g.setTransform(scale, 0, 0, scale, 0, 0);
    return w;
  };
  return { c, g, fit };
}
const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const redraws = [];
function legend(parent, names) {
  const l = make('div', { class: 'legend' });
  for (const n of names) l.append(make('span', {}, make('i', { style: 'background:' + color(n) }), n));
  parent.append(l);
}
// A table that can be searched and sorted. columns: [title, 'text'|'num', (row) => value, (row) => shown, default direction]
function table(parent, id, columns, rows, options) {
  const limit = (options && options.limit) || 200;
  const state = { by: options && options.by != null ? options.by : -1, down: true, find: '', all: false };
  const tools = make('div', { class: 'tools' });
  if (options && options.search) {
    const box = make('input', { type: 'search', id: id + '-search', placeholder: options.search, 'aria-label': options.search });
    box.addEventListener('input', () => { state.find = box.value.toLowerCase(); draw(); });
    tools.append(box);
    parent.append(tools);
  }
  const note = make('span', { class: 'soft', id: id + '-note' });
  tools.append(note);
  const head = make('tr');
  columns.forEach((column, i) => {
    const b = make('button', { type: 'button', text: column[0] });
    b.addEventListener('click', () => {
      if (state.by === i) state.down = !state.down; else { state.by = i; state.down = column[1] === 'num'; }
      draw();
    });
    head.append(make('th', { class: (column[1] === 'num' ? 'num ' : '') + (column[4] === 'roomy' ? 'roomy' : ''), scope: 'col' }, b));
  });
  const body = make('tbody');
  parent.append(make('div', { class: 'scroll' }, make('table', { id }, make('thead', {}, head), body)));
  const more = make('button', { type: 'button', text: 'show all' });
  more.addEventListener('click', () => { state.all = true; draw(); });
  const foot = make('div', { class: 'tools' }, more);
  parent.append(foot);
  function draw() {
    let shown = state.find ? rows.filter((r) => columns.some((c) => c[1] === 'text' && String(c[2](r)).toLowerCase().includes(state.find))) : rows.slice();
    if (state.by >= 0) {
      const value = columns[state.by][2], sign = state.down ? -1 : 1;
      shown.sort((a, b) => { const x = value(a), y = value(b); return sign * (x < y ? -1 : x > y ? 1 : 0); });
    }
    note.textContent = state.find ? number(shown.length) + ' of ' + number(rows.length) : '';
    foot.hidden = state.all || shown.length <= limit;
    const cut = state.all ? shown : shown.slice(0, limit);
    body.replaceChildren(...cut.map((r) => make('tr', {}, ...columns.map((c) => {
      const cell = make('td', { class: (c[1] === 'num' ? 'num ' : '') + (c[4] || '') });
      const s = c[3] ? c[3](r) : c[2](r);
      if (s instanceof Node) cell.append(s);
      else if (c[4] === 'name') cell.append(make('div', { class: 'clamp', text: s, title: s }));
      else cell.textContent = s == null ? '–' : s;
      return cell;
    }))));
    [...head.children].forEach((th, i) => th.setAttribute('aria-sort', i !== state.by ? 'none' : state.down ? 'descending' : 'ascending'));
  }
  draw();
}
const chip = (name) => make('span', { class: 'chip' }, make('i', { style: 'display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px;background:' + color(name) }), name);
// What is to be read first: sentences, figures, warnings.
function findings() {
  const s = section('What stands out', 'verdicts');
  if (data.verdicts.length) list(s, data.verdicts); else s.append(make('p', { class: 'soft', text: 'Nothing.' }));
  const facts = make('div', { class: 'facts' });
  for (const [k, v] of data.facts) facts.append(make('div', {}, make('b', { text: v }), make('span', { text: k })));
  s.append(make('p', {}), facts);
  if (data.warnings.length) list(section('Warnings', 'warnings'), data.warnings);
  return s;
}
// A ratio with its bounds, a word where one side has nothing; marked where even the low one is above the threshold.
function ratio(r, low, high) {
  const bounds = !r || low == null ? '' : ' (' + low.toFixed(3) + ' to ' + high.toFixed(3) + ')';
  return make('span', { class: low != null && low > 1.02 ? 'slow' : high != null && high < 0.98 ? 'fast' : '' }, r == null ? 'new' : r === 0 ? 'gone' : r.toFixed(3), make('span', { class: 'bounds', text: bounds }));
}
