'use strict';
(function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const page = document.getElementById('page');
  const tip = document.getElementById('tip');
  const known = {
    'forward': '#4c8bf5', 'backward': '#8e6bd8', 'loss': '#d06bb5', 'optimiser': '#e0883a', 'data loading': '#d9534f',
    'graph processing': '#c2913a', 'communication': '#e3b505', 'memory copies': '#7a9e9f', 'kernels': '#2a9d6f',
    'runtime': '#6c8ea4', 'waiting for the device': '#b9c0cb', 'memory allocation': '#a3745b', 'python': '#5bb5c9',
    'operators outside any phase': '#7fb2f0', 'unattributed': '#a7adb8', 'idle inside annotations': '#d5dae1', 'synchronisation': '#aab4c3', 'waiting in python': '#c8cdd6',
    'from launch to device': '#f0b7a1', 'between device events': '#dbe1e8',
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
  function bars(parent, rows) { // [name, us, share, color]
    const most = Math.max(...rows.map((r) => r[2]), 1e-9);
    for (const [name, us, share, c] of rows) {
      parent.append(make('div', { class: 'bar' },
        make('div', { class: 'name', text: name, title: name }),
        make('div', { class: 'track' }, make('div', { class: 'fill', style: 'width:' + (100 * share / most) + '%;background:' + c })),
        make('div', { class: 'num', text: time(us) }), make('div', { class: 'num', text: percent(share) })));
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
  function legend(parent, numbers) {
    const l = make('div', { class: 'legend' });
    for (const n of numbers) l.append(make('span', {}, make('i', { style: 'background:' + color(cat(n)) }), cat(n)));
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

  function analysis() {
    document.getElementById('files').textContent = data.files.map((f) =>
      f.name + (f.rank == null ? '' : ', rank ' + f.rank + (f.world == null ? '' : ' of ' + f.world)) + (f.devices.length ? ', ' + f.devices[0] : '')).join(' · ');
    let s = section('What stands out', 'verdicts');
    if (data.verdicts.length) list(s, data.verdicts); else s.append(make('p', { class: 'soft', text: 'Nothing.' }));
    const facts = make('div', { class: 'facts' });
    for (const [k, v] of data.facts) facts.append(make('div', {}, make('b', { text: v }), make('span', { text: k })));
    s.append(make('p', {}), facts);
    if (data.warnings.length) { s = section('Warnings', 'warnings'); list(s, data.warnings); }

    s = section('Where the time went', 'categories', 'Own time by category, summed over threads and streams; each instant of a lane counts once.');
    for (const [side, flag] of [['host', 0], ['device', 1]]) {
      const rows = data.shares.filter((r) => r[3] === flag);
      if (!rows.length) continue;
      s.append(make('div', { class: 'side', text: side }));
      bars(s, rows.map((r) => [cat(r[0]), r[1], r[4], color(cat(r[0]))]));
    }
    if (data.steps.list.length) steps();
    if (data.critical) critical();
    timeline();
    flame();
    operations();
    if (data.python.length) {
      s = section('Python functions', 'python', 'Time in each function with the native operations it called, without deeper Python functions.');
      table(s, 'python-table', [['function', 'text', (r) => r[0], null, 'name'], ['with native', 'num', (r) => r[1], (r) => time(r[1])],
        ['of host', 'num', (r) => r[2], (r) => percent(r[2])], ['python alone', 'num', (r) => r[3], (r) => time(r[3])], ['calls', 'num', (r) => r[4], (r) => number(r[4])]], data.python, { limit: 15 });
    }
    for (const d of data.devices) device(d);
    if (data.ranks) ranks();
    for (const m of data.memory) if (m.points.length > 1) memory(m);
    s = section('Threads and streams', 'lanes'); s.classList.add('long');
    table(s, 'lane-table', [['lane', 'text', (r) => r[0], null, 'name'], ['events', 'num', (r) => r[1], (r) => number(r[1])], ['busy', 'num', (r) => r[2], (r) => time(r[2])],
      ['idle', 'num', (r) => r[3], (r) => time(r[3])], ['largest parts', 'text', (r) => r[4]]], data.lanes, { by: 2, limit: 20 });
  }

  function steps() {
    const rows = data.steps.list;
    const s = section('Steps', 'steps', 'Length of each step; colours are the host time inside it by category. Click a step for its parts.');
    const { c, g, fit } = canvasOf(s, 130, 'length of every step');
    const out = make('div', { id: 'step-detail', class: 'soft' });
    const most = Math.max(...rows.map((r) => r[1]));
    let width = 1;
    const at = (e) => rows[Math.min(rows.length - 1, Math.max(0, Math.floor((e.offsetX / width) * rows.length)))];
    function draw() {
      width = fit(); g.clearRect(0, 0, width, 130);
      const w = width / rows.length, gap = w > 5 ? 2 : 0;
      rows.forEach((r, i) => {
        const h = 118 * r[1] / most; let y = 124 - h;
        const all = r[2].reduce((n, p) => n + p[1], 0) || 1;
        g.fillStyle = ink('--track'); g.fillRect(i * w, y, Math.max(1, w - gap), h);
        for (const [k, us] of [...r[2]].sort((p, q) => q[0] - p[0])) { const part = h * us / all; g.fillStyle = color(cat(k)); g.fillRect(i * w, y, Math.max(1, w - gap), part); y += part; }
        if (r[4]) { g.fillStyle = ink('--mark'); g.fillRect(i * w, 126, Math.max(1, w - gap), 4); }
      });
      if (data.steps.median) { const y = 124 - 118 * data.steps.median / most; g.strokeStyle = ink('--ink'); g.setLineDash([4, 4]); g.beginPath(); g.moveTo(0, y); g.lineTo(width, y); g.stroke(); g.setLineDash([]); }
    }
    const parts = (r, i) => r[i].slice(0, 5).map((p) => cat(p[0]) + ' ' + time(p[1])).join(', ') || 'nothing';
    c.addEventListener('mousemove', (e) => { const r = at(e); showTip(e, r[0] + (r[4] ? ' (slow)' : '') + '\n' + time(r[1])); });
    c.addEventListener('mouseleave', hideTip);
    c.addEventListener('click', (e) => { const r = at(e); out.textContent = r[0] + ': ' + time(r[1]) + '. Host: ' + parts(r, 2) + '. Device, launched from it: ' + parts(r, 3) + '.'; });
    s.append(out);
    legend(s, [...new Set(rows.flatMap((r) => r[2].map((p) => p[0])))].slice(0, 12));
    redraws.push(draw); draw();
  }

  function critical() {
    const p = data.critical;
    const s = section('Critical path of the slowest step', 'critical', p.step + ', ' + time(p.us) + ': what its end waited for, back to its start.');
    const cols = make('div', { class: 'cols' }), a = make('div'), b = make('div');
    bars(a, p.parts.map((r) => [r[1], r[2], r[3], color(r[1])]));
    bars(b, p.operations.slice(0, 10).map((r) => [r[0], r[1], r[2], ink('--accent')]));
    cols.append(a, b); s.append(cols);
  }

  function timeline() {
    const files = data.timeline.filter((f) => f.lanes.length);
    if (!files.length) return;
    const s = section('Timeline', 'timeline', 'Every thread and stream in equal intervals, by category. Scroll or use the buttons to zoom, drag to move.');
    const lanes = files.flatMap((f) => f.lanes.map((l) => ({ ...l, bin: f.bin, bins_all: f.bins })));
    const total = Math.max(...files.map((f) => f.bin * f.bins));
    const view = { from: 0, to: total };
    const tools = make('div', { class: 'tools' });
    const button = (text, id, f) => { const b = make('button', { type: 'button', text, id }); b.addEventListener('click', f); tools.append(b); };
    button('+', 'zoom-in', () => zoom(0.5, 0.5)); button('−', 'zoom-out', () => zoom(2, 0.5));
    button('◀', 'go-left', () => move(-0.25)); button('▶', 'go-right', () => move(0.25));
    button('all', 'zoom-all', () => { view.from = 0; view.to = total; draw(); });
    const where = make('span', { class: 'soft', id: 'timeline-window' }); tools.append(where); s.append(tools);
    const rowHeight = 30, height = lanes.length * rowHeight + 18;
    const { c, g, fit } = canvasOf(s, height, 'time of every lane by category');
    c.classList.add('grab');
    let width = 1;
    function clamp() {
      const least = Math.min(total, 20 * Math.min(...lanes.map((l) => l.bin)));
      let span = Math.min(total, Math.max(least, view.to - view.from));
      view.from = Math.max(0, Math.min(total - span, view.from)); view.to = view.from + span;
    }
    function zoom(factor, at) { const span = view.to - view.from, mid = view.from + span * at; view.from = mid - span * factor * at; view.to = view.from + span * factor; clamp(); draw(); }
    function move(part) { const d = (view.to - view.from) * part; view.from += d; view.to += d; clamp(); draw(); }
    function first(lane, time) { // the first bin at or after a time
      let lo = 0, hi = lane.bins.length; const want = Math.floor(time / lane.bin);
      while (lo < hi) { const mid = (lo + hi) >> 1; if (lane.bins[mid][0] < want) lo = mid + 1; else hi = mid; }
      return lo;
    }
    // Bins that fall on one pixel are merged, so a frame costs what is on screen, not what is in the trace.
    function pixel(lane, from, to) {
      const sums = new Map(); let n = Math.max(1, (to - from) / lane.bin);
      for (let i = first(lane, from); i < lane.bins.length && lane.bins[i][0] * lane.bin < to; i++) {
        const b = lane.bins[i];
        for (let k = 1; k < b.length; k += 2) sums.set(b[k], (sums.get(b[k]) || 0) + b[k + 1] / 1000 / n);
      }
      return sums;
    }
    function draw() {
      width = fit(); g.clearRect(0, 0, width, height);
      where.textContent = time(view.from) + ' to ' + time(view.to);
      const span = view.to - view.from, step = span / width;
      lanes.forEach((lane, row) => {
        const top = row * rowHeight + 13, h = rowHeight - 15;
        g.fillStyle = ink('--track'); g.fillRect(0, top, width, h);
        const wide = Math.max(1, lane.bin / step);
        for (let x = 0; x < width; x += wide) {
          const from = view.from + x * step;
          let y = top + h;
          const sums = pixel(lane, from, from + wide * step);
          for (const [k, part] of [...sums].sort((p, q) => p[0] - q[0])) { const d = Math.min(1, part) * h; y -= d; g.fillStyle = color(cat(k)); g.fillRect(x, Math.max(top, y), wide + 0.3, d); }
        }
        g.fillStyle = ink('--soft'); g.font = '11px system-ui'; g.fillText(lane.label, 2, top - 3, width - 4);
      });
      g.fillStyle = ink('--soft'); g.font = '11px system-ui';
      for (let i = 0; i <= 4; i++) { const t = view.from + span * i / 4; g.textAlign = i === 0 ? 'left' : i === 4 ? 'right' : 'center'; g.fillText(time(t), width * i / 4, height - 2); }
      g.textAlign = 'left';
    }
    c.addEventListener('wheel', (e) => { e.preventDefault(); zoom(Math.exp(Math.sign(e.deltaY) * 0.25), e.offsetX / width); }, { passive: false });
    let held = null;
    c.addEventListener('pointerdown', (e) => { held = { x: e.offsetX, from: view.from, to: view.to }; c.setPointerCapture(e.pointerId); });
    c.addEventListener('pointerup', () => { held = null; });
    c.addEventListener('pointermove', (e) => {
      if (held) { const d = (held.x - e.offsetX) / width * (held.to - held.from); view.from = held.from + d; view.to = held.to + d; clamp(); draw(); hideTip(); return; }
      const row = Math.floor(e.offsetY / rowHeight), lane = lanes[row];
      if (!lane) return hideTip();
      const t = view.from + (view.to - view.from) * e.offsetX / width, step = Math.max(lane.bin, (view.to - view.from) / width);
      const parts = [...pixel(lane, t, t + step)].sort((p, q) => q[1] - p[1]).slice(0, 5).map(([k, f]) => cat(k) + ' ' + percent(Math.min(1, f)));
      showTip(e, lane.label + '\nat ' + time(t) + '\n' + (parts.join('\n') || 'idle'));
    });
    c.addEventListener('pointerleave', hideTip);
    const used = new Set(lanes.flatMap((l) => l.bins.flatMap((b) => b.filter((_, i) => i % 2 === 1))));
    legend(s, [...used].sort((a, b) => a - b));
    const left = files.reduce((n, f) => n + f.left_out, 0);
    if (left) s.append(make('p', { class: 'soft', text: left + ' less busy lanes are not drawn.' }));
    redraws.push(draw); draw();
  }

  function flame() {
    const lanes = data.flame.lanes;
    if (!lanes.length) return;
    const s = section('Flame graph', 'flame', 'What ran inside what, equal stacks added up. Click to look closer, click the top bar to go back.' + (data.flame.cut ? ' Only the largest places are drawn.' : ''));
    const tools = make('div', { class: 'tools' });
    const choose = make('select', { id: 'flame-lane', 'aria-label': 'lane' });
    lanes.forEach((l, i) => choose.append(make('option', { value: i, text: l.label })));
    const find = make('input', { type: 'search', id: 'flame-search', placeholder: 'highlight names', 'aria-label': 'highlight names' });
    const found = make('span', { class: 'soft', id: 'flame-found' });
    tools.append(choose, find, found);
    const box = make('div', { class: 'flame', id: 'flame-box' });
    s.append(tools, box);
    let lane = null, children = null, root = null;
    function open(index) {
      lane = lanes[index]; children = new Map(); root = null;
      lane.nodes.forEach((n, i) => { const k = n[0] == null ? -1 : n[0]; if (!children.has(k)) children.set(k, []); children.get(k).push(i); });
      for (const list of children.values()) list.sort((a, b) => lane.nodes[b][3] - lane.nodes[a][3]);
      draw();
    }
    const nameOf = (i) => data.flame.names[lane.nodes[i][1]] || '(no name)';
    function draw() {
      const width = box.clientWidth || 900, out = [], search = find.value.toLowerCase();
      let deepest = 0, hits = 0;
      const sum = (list) => list.reduce((n, i) => n + lane.nodes[i][3], 0);
      const whole = root == null ? sum(children.get(-1) || []) : lane.nodes[root][3];
      function put(label, text, x, w, depth, fill, click, dim) {
        const e = make('div', { style: 'left:' + x + 'px;width:' + Math.max(1, w) + 'px;top:' + depth * 18 + 'px;background:' + fill, class: dim ? 'dim' : '' });
        if (w > 26) e.textContent = label;
        e.addEventListener('click', click);
        e.addEventListener('mousemove', (ev) => showTip(ev, text));
        e.addEventListener('mouseleave', hideTip);
        out.push(e); deepest = Math.max(deepest, depth);
      }
      put(root == null ? lane.label : '↑ ' + nameOf(root), root == null ? lane.label : nameOf(root) + '\nclick to go back', 0, width, 0, '#c9ced8', () => { root = root == null ? null : lane.nodes[root][0]; draw(); hideTip(); }, false);
      function level(list, x, depth) {
        for (const i of list) {
          const n = lane.nodes[i], w = width * n[3] / (whole || 1);
          if (w < 0.6) break;
          const hit = search && nameOf(i).toLowerCase().includes(search);
          if (hit) hits++;
          put(nameOf(i), nameOf(i) + '\n' + cat(n[2]) + '\ninside ' + time(n[3] / 1000) + ', own ' + time(n[4] / 1000) + ', ' + number(n[5]) + ' times', x, w, depth, color(cat(n[2])), () => { root = i; draw(); hideTip(); }, search && !hit);
          if (depth < 80) level(children.get(i) || [], x, depth + 1);
          x += w;
        }
      }
      level(children.get(root == null ? -1 : root) || [], 0, 1);
      box.style.height = (deepest + 1) * 18 + 'px';
      found.textContent = search ? hits + ' places' : '';
      box.replaceChildren(...out);
    }
    choose.addEventListener('change', () => open(Number(choose.value)));
    find.addEventListener('input', draw);
    redraws.push(draw); open(0);
  }

  function operations() {
    const s = section('Operations', 'operations', data.operations_left_out ? data.operations_left_out + ' operations with less own time are left out; the JSON document has all.' : '');
    s.classList.add('long');
    table(s, 'operation-table', [['operation', 'text', (r) => r[0], null, 'name'], ['own time', 'num', (r) => r[2], (r) => time(r[2])], ['inside', 'num', (r) => r[3], (r) => time(r[3])],
      ['count', 'num', (r) => r[4], (r) => number(r[4])], ['category', 'text', (r) => cat(r[1]), (r) => chip(cat(r[1]))]], data.operations, { search: 'search operations', by: 1, limit: 40 });
  }

  function device(d) {
    const s = section('Device' + (data.devices.length > 1 ? ', ' + d.name : ''), 'device');
    const cols = make('div', { class: 'cols' }), a = make('div', { class: 'scroll' }), b = make('div');
    const t = make('table', {}, make('tr', {}, make('th', { text: '' }), make('th', { class: 'num', text: 'whole trace' }), make('th', { class: 'num', text: 'HTA’s rule' })));
    for (const [k, x, y] of d.rows) t.append(make('tr', {}, make('td', { text: k }), make('td', { class: 'num', text: x }), make('td', { class: 'num', text: y || '–' })));
    a.append(t);
    b.append(make('div', { class: 'side', text: 'device time by the phase that launched it' }));
    bars(b, d.phases.map((r) => [r[0], r[1], r[2], color(r[0])]));
    cols.append(a, b); s.append(cols, make('div', { class: 'side', text: 'idle time per stream by cause, and its queue' }));
    table(s, 'stream-table', [['stream', 'text', (r) => r[0]], ['events', 'num', (r) => r[1], (r) => number(r[1])], ['idle', 'num', (r) => r[2], (r) => time(r[2])], ['host wait', 'num', (r) => r[3], (r) => time(r[3])],
      ['kernel wait', 'num', (r) => r[4], (r) => time(r[4])], ['other', 'num', (r) => r[5], (r) => time(r[5])], ['queue mean', 'num', (r) => r[6]], ['queue max', 'num', (r) => r[7]]], d.streams, { limit: 20 });
  }

  function ranks() {
    const s = section('Ranks', 'ranks');
    const or = (v) => (v == null ? '–' : time(v));
    table(s, 'rank-table', [['rank', 'num', (r) => r.rank], ['file', 'text', (r) => r.file, null, 'name'], ['median step', 'num', (r) => r.median_step_us, (r) => or(r.median_step_us)], ['compute', 'num', (r) => r.compute_us, (r) => or(r.compute_us)],
      ['communication', 'num', (r) => r.communication_us, (r) => or(r.communication_us)], ['slowest in steps', 'num', (r) => r.slowest_in]], data.ranks.ranks, {});
    table(s, 'rank-steps', [['step', 'text', (r) => r.name], ['slowest rank', 'num', (r) => r.slowest_rank], ['spread', 'num', (r) => r.spread_us, (r) => time(r.spread_us)]], data.ranks.steps, { limit: 30 });
  }

  function memory(m) {
    const s = section('Memory, device ' + m.device + ' (type:id)', 'memory-' + m.device.replace(/[^a-z0-9]/gi, '-'), m.text);
    const { c, g, fit } = canvasOf(s, 90, 'allocated memory over time');
    const most = Math.max(...m.points.map((p) => p[1]), 1), t0 = m.points[0][0], t1 = m.points[m.points.length - 1][0];
    let width = 1;
    function draw() {
      width = fit(); g.clearRect(0, 0, width, 90); g.beginPath(); g.moveTo(0, 88);
      for (const [t, v] of m.points) g.lineTo(width * (t - t0) / ((t1 - t0) || 1), 88 - 80 * Math.max(0, v) / most);
      g.lineTo(width, 88); g.closePath(); g.globalAlpha = 0.25; g.fillStyle = ink('--accent'); g.fill(); g.globalAlpha = 1; g.strokeStyle = ink('--accent'); g.stroke();
    }
    c.addEventListener('mousemove', (e) => {
      const t = t0 + (t1 - t0) * e.offsetX / width; let p = m.points[0];
      for (const q of m.points) if (q[0] <= t) p = q; else break;
      showTip(e, 'at ' + time(t) + '\n' + (p[1] / 1048576).toFixed(1) + ' MiB allocated');
    });
    c.addEventListener('mouseleave', hideTip);
    redraws.push(draw); draw();
  }

  function comparison() {
    document.getElementById('files').textContent = 'a: ' + data.a + ' · b: ' + data.b + ' · ratios are b / a';
    let s;
    if (data.warnings.length) { s = section('Warnings', 'warnings'); list(s, data.warnings); }
    if (data.differences.length) {
      s = section('Conditions that differ', 'differences', data.comparable ? '' : 'These make times differ by themselves' + (data.rows.length ? ': a ratio says nothing about the code alone.' : ', so there is no ratio.'));
      table(s, 'difference-table', [['condition', 'text', (r) => r.what], ['a', 'text', (r) => r.a || '–'], ['b', 'text', (r) => r.b || '–']], data.differences, {});
    }
    const bounds = (r) => (r[4] == null || r[5] == null ? '' : ' (' + r[5].toFixed(3) + ' to ' + r[6].toFixed(3) + ')');
    const mark = (r) => make('span', { class: r[5] != null && r[5] > 1.02 ? 'slow' : '' }, r[4] == null ? 'new' : r[4].toFixed(3), make('span', { class: 'bounds', text: bounds(r) }));
    const columns = [['', 'text', (r) => r[0], null, 'name'], ['a', 'num', (r) => r[2], (r) => time(r[2])], ['b', 'num', (r) => r[3], (r) => time(r[3])],
      ['b − a', 'num', (r) => r[3] - r[2], (r) => time(r[3] - r[2]), 'roomy'], ['b / a', 'num', (r) => (r[4] == null ? Infinity : r[4]), mark]];
    const headings = data.headings || [['Per step', 'step', 'step'], ['Host time per step by category', 'host', 'host'], ['Device time per step by category', 'device', 'device']];
    for (const [title, id, about] of headings) {
      const rows = data.rows.filter((r) => r[1] === about);
      if (rows.length) table(section(title, id), id + '-table', columns, rows, {});
    }
    for (const [title, id] of [['Operations, own time per step', 'operations'], ['Only in b', 'added'], ['Only in a', 'removed']]) {
      if (!data[id].length) continue;
      s = section(title, id); s.classList.add('long');
      table(s, id === 'operations' ? 'operation-table' : id + '-table', columns, data[id], { search: 'search operations', limit: 30 });
    }
  }

  if (data.kind === 'comparison') comparison(); else analysis();
  let waiting = 0;
  const again = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => redraws.forEach((f) => f())); };
  addEventListener('resize', again);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
  document.body.dataset.ready = 'yes';
})();
