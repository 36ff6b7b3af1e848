// Pictures that several pages show.

// Steps as stacked columns. rows: [name, us, [[number, us], …], _, slow]; spec: rows, median, label (number to name), tell (row to text), id.
function stepStrip(s, spec) {
  const rows = spec.rows;
  const { c, g, fit } = canvasOf(s, 140, 'length of every step');
  const out = make('div', { id: spec.id + '-detail', class: 'soft' });
  const most = Math.max(...rows.map((r) => r[1]));
  let width = 1;
  const at = (e) => rows[Math.min(rows.length - 1, Math.max(0, Math.floor((e.offsetX / width) * rows.length)))];
  function draw() {
    width = fit(); g.clearRect(0, 0, width, 140);
    const w = width / rows.length, gap = w > 5 ? 2 : 0;
    rows.forEach((r, i) => {
      const h = 106 * r[1] / most; let y = 124 - h;
      const all = r[2].reduce((n, p) => n + p[1], 0) || 1;
      g.fillStyle = ink('--track'); g.fillRect(i * w, y, Math.max(1, w - gap), h);
      for (const [k, us] of [...r[2]].sort((p, q) => q[0] - p[0])) { const part = h * us / all; g.fillStyle = color(spec.label(k)); g.fillRect(i * w, y, Math.max(1, w - gap), part); y += part; }
      if (r[4]) { g.fillStyle = ink('--mark'); g.fillRect(i * w, 126, Math.max(1, w - gap), 4); }
    });
    g.fillStyle = ink('--soft'); g.font = '11px system-ui';
    if (width / rows.length > 70) rows.forEach((r, i) => { g.fillText(r[0], i * w + 2, 136, w - 6); });
    g.textAlign = 'right'; g.fillText(time(most), width - 2, 10); g.textAlign = 'left';
    if (spec.median) { const y = 124 - 106 * spec.median / most; g.strokeStyle = ink('--ink'); g.setLineDash([4, 4]); g.beginPath(); g.moveTo(0, y); g.lineTo(width, y); g.stroke(); g.setLineDash([]); }
  }
  c.addEventListener('mousemove', (e) => { const r = at(e); showTip(e, r[0] + (r[4] ? ' (slow)' : '') + '\n' + time(r[1])); });
  c.addEventListener('mouseleave', hideTip);
  c.addEventListener('click', (e) => { out.textContent = spec.tell(at(e)); });
  s.append(out);
  legend(s, [...new Set(rows.flatMap((r) => r[2].map((p) => p[0])))].sort((a, b) => a - b).slice(0, 12).map(spec.label));
  redraws.push(draw); draw();
}
const largest = (parts, label) => [...parts].sort((p, q) => q[1] - p[1]).slice(0, 5).map((p) => label(p[0]) + ' ' + time(p[1])).join(', ') || 'nothing';

// Stacks of one or more threads. graph: {names, lanes, cut}; label turns a category's number into its name.
function flameGraph(title, id, graph, label) {
  const lanes = graph.lanes;
  if (!lanes.length) return;
  const s = section(title, id, 'What ran inside what, equal stacks added up; the largest stand first, not in order of time. Click to look closer, click the top bar to go back.' + (graph.cut ? ' Only the largest places are drawn.' : ''));
  const tools = make('div', { class: 'tools' });
  const choose = make('select', { id: id + '-lane', 'aria-label': 'lane' });
  lanes.forEach((l, i) => choose.append(make('option', { value: i, text: l.label })));
  const find = make('input', { type: 'search', id: id + '-search', placeholder: 'highlight names', 'aria-label': 'highlight names' });
  const found = make('span', { class: 'soft', id: id + '-found' });
  tools.append(choose, find, found);
  const box = make('div', { class: 'flame', id: id + '-box' });
  s.append(tools, box);
  let lane = null, children = null, root = null;
  function open(index) {
    lane = lanes[index]; children = new Map(); root = null;
    lane.nodes.forEach((n, i) => { const k = n[0] == null ? -1 : n[0]; if (!children.has(k)) children.set(k, []); children.get(k).push(i); });
    for (const list of children.values()) list.sort((a, b) => lane.nodes[b][3] - lane.nodes[a][3]);
    draw();
  }
  const nameOf = (i) => graph.names[lane.nodes[i][1]] || '(no name)';
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
        put(nameOf(i), nameOf(i) + '\n' + label(n[2]) + '\ninside ' + time(n[3] / 1000) + ', own ' + time(n[4] / 1000) + ', ' + number(n[5]) + ' times', x, w, depth, color(label(n[2])), () => { root = i; draw(); hideTip(); }, search && !hit);
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

const mebibytes = (n) => (n / 1048576).toFixed(1) + ' MiB';

// Memory over time, from zero up. points: [us, bytes, what happened]
function memoryCurve(s, points) {
  const { c, g, fit } = canvasOf(s, 90, 'memory over time');
  const most = Math.max(...points.map((p) => p[1]), 1), t0 = points[0][0], t1 = points[points.length - 1][0];
  let width = 1;
  function draw() {
    width = fit(); g.clearRect(0, 0, width, 90); g.beginPath(); g.moveTo(0, 88);
    for (const [t, v] of points) g.lineTo(width * (t - t0) / ((t1 - t0) || 1), 88 - 80 * Math.max(0, v) / most);
    g.lineTo(width, 88); g.closePath(); g.globalAlpha = 0.25; g.fillStyle = ink('--accent'); g.fill(); g.globalAlpha = 1; g.strokeStyle = ink('--accent'); g.stroke();
    g.strokeStyle = ink('--line'); g.lineWidth = 1;
    for (const part of [0, 0.5, 1]) { const y = Math.round(88 - 80 * part) + 0.5; g.beginPath(); g.moveTo(0, y); g.lineTo(width, y); g.stroke(); }
    g.fillStyle = ink('--soft'); g.font = '11px system-ui'; g.fillText(mebibytes(most), 3, 19); g.fillText(mebibytes(most / 2), 3, 59); g.fillText('0', 3, 86);
    g.textAlign = 'right'; g.fillText(time(t1 - t0), width - 3, 86); g.textAlign = 'left';
  }
  c.addEventListener('mousemove', (e) => {
    const t = t0 + (t1 - t0) * e.offsetX / width; let p = points[0];
    for (const q of points) if (q[0] <= t) p = q; else break;
    showTip(e, 'at ' + time(t) + (p[2] ? ', after ' + p[2] : '') + '\n' + mebibytes(p[1]));
  });
  c.addEventListener('mouseleave', hideTip);
  redraws.push(draw); draw();
}
