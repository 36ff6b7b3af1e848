// The page of a trace.
function analysis() {
  document.getElementById('files').textContent = data.files.map((f) =>
    f.name + (f.rank == null ? '' : ', rank ' + f.rank + (f.world == null ? '' : ' of ' + f.world)) + (f.devices.length ? ', ' + f.devices[0] : '')).join(' · ');
  let s = findings();

  s = section('Where the time went', 'categories', 'Self time by category, summed over threads and streams; each instant of a lane counts once.');
  for (const [side, flag] of [['host', 0], ['device', 1]]) {
    const rows = data.shares.filter((r) => r[3] === flag);
    if (!rows.length) continue;
    s.append(make('div', { class: 'side', text: side }));
    bars(s, rows.map((r) => [cat(r[0]), r[1], r[4], color(cat(r[0]))]));
    if (!flag && data.autograd) s.append(make('p', { class: 'soft', text: data.autograd }));
  }
  if (data.shares.some((r) => r[4] == null)) s.append(make('p', { class: 'soft', text: '–: nothing is done there (a thread sleeps, or a span drawn over device work has nothing under it); shares are of the rest of its side.' }));
  if (data.steps.list.length) {
    s = section('Steps', 'steps', 'Length of each step; colours are the host time inside it by category, its threads summed and drawn to the step’s length. Click a step for its parts.');
    const tell = (r) => r[0] + ': ' + time(r[1]) + '. Host: ' + largest(r[2], cat) + '. Device, launched from it: ' + largest(r[3], cat) + '.';
    stepStrip(s, { rows: data.steps.list, median: data.steps.median, label: cat, tell, id: 'step' });
  }
  if (data.critical) critical();
  timeline();
  flameGraph('Flame graph', 'flame', data.flame, cat);
  operations();
  if (data.python.length) {
    s = section('Python functions', 'python', 'Time in each function with the native operations it called, without deeper Python functions.');
    table(s, 'python-table', [['function', 'text', (r) => r[0], null, 'name'], ['with native', 'num', (r) => r[1], (r) => time(r[1])],
      ['of host', 'num', (r) => r[2], (r) => percent(r[2])], ['python alone', 'num', (r) => r[3], (r) => time(r[3])], ['calls', 'num', (r) => r[4], (r) => number(r[4])]], data.python, { limit: 15 });
  }
  for (const d of data.devices) device(d);
  if (data.ranks) ranks();
  for (const m of data.memory) {
    if (m.points.length > 1) memoryCurve(section('Memory, device ' + m.device + ' (type:id)', 'memory-' + m.device.replace(/[^a-z0-9]/gi, '-'), m.text), m.points);
  }
  s = section('Threads and streams', 'lanes'); s.classList.add('long');
  table(s, 'lane-table', [['lane', 'text', (r) => r[0], null, 'name'], ['events', 'num', (r) => r[1], (r) => number(r[1])], ['busy', 'num', (r) => r[2], (r) => time(r[2])],
    ['idle', 'num', (r) => r[3], (r) => time(r[3])], ['largest parts', 'text', (r) => r[4]]], data.lanes, { by: 2, limit: 20 });
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
    const every = width < 480 ? 2 : 1; // labels must not print over each other
    for (let i = 0; i <= 4; i += every) { const t = view.from + span * i / 4; g.textAlign = i === 0 ? 'left' : i === 4 ? 'right' : 'center'; g.fillText(time(t), width * i / 4, height - 2); }
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
  legend(s, [...used].sort((a, b) => a - b).map(cat));
  const left = files.reduce((n, f) => n + f.left_out, 0);
  if (left) s.append(make('p', { class: 'soft', text: left + ' less busy lanes are not drawn.' }));
  redraws.push(draw); draw();
}

function operations() {
  const s = section('Operations', 'operations', data.operations_left_out ? data.operations_left_out + ' operations with less self time are left out; the JSON document has all.' : '');
  s.classList.add('long');
  table(s, 'operation-table', [['operation', 'text', (r) => r[0], null, 'name'], ['self time', 'num', (r) => r[2], (r) => time(r[2])], ['inside', 'num', (r) => r[3], (r) => time(r[3]), 'roomy'],
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
  cols.append(a, b); s.append(cols, make('p', { class: 'soft', text: d.launches }), make('div', { class: 'side', text: 'idle time per stream by cause, and its queue' }));
  table(s, 'stream-table', [['stream', 'text', (r) => r[0]], ['events', 'num', (r) => r[1], (r) => number(r[1])], ['idle', 'num', (r) => r[2], (r) => time(r[2])], ['host wait', 'num', (r) => r[3], (r) => time(r[3])],
    ['kernel wait', 'num', (r) => r[4], (r) => time(r[4])], ['other', 'num', (r) => r[5], (r) => time(r[5])], ['queue mean', 'num', (r) => r[6]], ['queue max', 'num', (r) => r[7]]], d.streams, { limit: 20 });
}

function ranks() {
  const s = section('Ranks', 'ranks');
  const or = (v) => (v == null ? '–' : time(v));
  table(s, 'rank-table', [['rank', 'num', (r) => r.rank], ['file', 'text', (r) => r.file, null, 'name'], ['median step', 'num', (r) => r.median_step_us, (r) => or(r.median_step_us)], ['compute', 'num', (r) => r.compute_us, (r) => or(r.compute_us)],
    ['communication', 'num', (r) => r.communication_us, (r) => or(r.communication_us)], ['slowest by more than 1 %, steps', 'num', (r) => r.slowest_in]], data.ranks.ranks, {});
  table(s, 'rank-steps', [['step', 'text', (r) => r.name], ['slowest rank', 'num', (r) => r.slowest_rank, (r) => r.slowest_rank + (r.is_clear ? '' : ' (by less than 1 %)')], ['spread', 'num', (r) => r.spread_us, (r) => time(r.spread_us)]], data.ranks.steps, { limit: 30 });
}
