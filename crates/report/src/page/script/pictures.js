// Pictures that several pages show. Categories are {name, colour}; other fields give their numbers.
const largest = (parts, categories) => [...parts].sort((p, q) => q.us - p.us).slice(0, 5).map((p) => categories[p.category].name + ' ' + time(p.us)).join(', ') || 'nothing';

// Steps as stacked columns. data: categories, median_us, steps of {name, us, is_slow, parts, launched}; parts are {category, us}.
function steps(s, id, data) {
  const { steps: rows, categories } = data;
  const { c, g, fit } = canvasOf(s, 140, 'length of every step');
  const out = make('div', { id: id + '-detail', class: 'soft' });
  const most = Math.max(...rows.map((r) => r.us));
  let width = 1;
  const at = (e) => rows[Math.min(rows.length - 1, Math.max(0, Math.floor((e.offsetX / width) * rows.length)))];
  function draw() {
    width = fit(); g.clearRect(0, 0, width, 140);
    const w = width / rows.length, gap = w > 5 ? 2 : 0;
    rows.forEach((r, i) => {
      const h = 106 * r.us / most; let y = 124 - h;
      const all = r.parts.reduce((n, p) => n + p.us, 0) || 1;
      g.fillStyle = ink('--track'); g.fillRect(i * w, y, Math.max(1, w - gap), h);
      for (const p of [...r.parts].sort((p, q) => q.category - p.category)) { const part = h * p.us / all; g.fillStyle = categories[p.category].colour; g.fillRect(i * w, y, Math.max(1, w - gap), part); y += part; }
      if (r.is_slow) { g.fillStyle = ink('--mark'); g.fillRect(i * w, 126, Math.max(1, w - gap), 4); }
    });
    g.fillStyle = ink('--soft'); g.font = '11px system-ui';
    if (width / rows.length > 70) rows.forEach((r, i) => { g.fillText(r.name, i * w + 2, 136, w - 6); });
    g.textAlign = 'right'; g.fillText(time(most), width - 2, 10); g.textAlign = 'left';
    if (data.median_us) { const y = 124 - 106 * data.median_us / most; g.strokeStyle = ink('--ink'); g.setLineDash([4, 4]); g.beginPath(); g.moveTo(0, y); g.lineTo(width, y); g.stroke(); g.setLineDash([]); }
  }
  c.addEventListener('mousemove', (e) => { const r = at(e); showTip(e, r.name + (r.is_slow ? ' (slow)' : '') + '\n' + time(r.us)); });
  c.addEventListener('mouseleave', hideTip);
  c.addEventListener('click', (e) => { const r = at(e); out.textContent = r.name + ': ' + time(r.us) + ', of which ' + largest(r.parts, categories) + '.' + (r.launched ? ' Device time launched from it: ' + largest(r.launched, categories) + '.' : ''); });
  s.append(out);
  legend(s, categories, new Set(rows.flatMap((r) => r.parts.map((p) => p.category))));
  redraws.push(draw); draw();
}

// Stacks of one or more threads. data: categories, names, lanes of {label, nodes}; nodes are lists of equal length: parent, name, category, total_ns, self_ns, count.
function flame(s, id, data) {
  const { lanes, categories } = data;
  const tools = make('div', { class: 'tools' });
  const choose = make('select', { id: id + '-lane', 'aria-label': 'lane' });
  lanes.forEach((l, i) => choose.append(make('option', { value: i, text: l.label })));
  const find = make('input', { type: 'search', id: id + '-search', placeholder: 'highlight names', 'aria-label': 'highlight names' });
  const found = make('span', { class: 'soft', id: id + '-found' });
  tools.append(choose, find, found);
  const box = make('div', { class: 'flame', id: id + '-box' });
  s.append(tools, box);
  let lane = null, nodes = null, children = null, root = null;
  function open(index) {
    lane = lanes[index]; nodes = lane.nodes; children = new Map(); root = null;
    nodes.parent.forEach((parent, i) => { const k = parent == null ? -1 : parent; if (!children.has(k)) children.set(k, []); children.get(k).push(i); });
    for (const list of children.values()) list.sort((a, b) => nodes.total_ns[b] - nodes.total_ns[a]);
    draw();
  }
  const nameOf = (i) => data.names[nodes.name[i]] || '(no name)';
  function draw() {
    const width = box.clientWidth || 900, out = [], search = find.value.toLowerCase();
    let deepest = 0, hits = 0;
    const sum = (list) => list.reduce((n, i) => n + nodes.total_ns[i], 0);
    const whole = root == null ? sum(children.get(-1) || []) : nodes.total_ns[root];
    function put(label, text, x, w, depth, fill, click, dim) {
      const e = make('div', { style: 'left:' + x + 'px;width:' + Math.max(1, w) + 'px;top:' + depth * 18 + 'px;background:' + fill, class: dim ? 'dim' : '' });
      if (w > 26) e.textContent = label;
      e.addEventListener('click', click);
      e.addEventListener('mousemove', (ev) => showTip(ev, text));
      e.addEventListener('mouseleave', hideTip);
      out.push(e); deepest = Math.max(deepest, depth);
    }
    put(root == null ? lane.label : '↑ ' + nameOf(root), root == null ? lane.label : nameOf(root) + '\nclick to go back', 0, width, 0, '#c9ced8', () => { root = root == null ? null : nodes.parent[root]; draw(); hideTip(); }, false);
    function level(list, x, depth) {
      for (const i of list) {
        const w = width * nodes.total_ns[i] / (whole || 1);
        if (w < 0.6) break;
        const hit = search && nameOf(i).toLowerCase().includes(search);
        if (hit) hits++;
        const category = categories[nodes.category[i]] || { name: 'unattributed', colour: '#a7adb8' };
        put(nameOf(i), nameOf(i) + '\n' + category.name + '\ntotal ' + time(nodes.total_ns[i] / 1000) + ', self ' + time(nodes.self_ns[i] / 1000) + ', ' + number(nodes.count[i]) + ' times', x, w, depth, category.colour, () => { root = i; draw(); hideTip(); }, search && !hit);
        if (depth < 80) level(children.get(i) || [], x, depth + 1);
        x += w;
      }
    }
    level(children.get(root == null ? -1 : root) || [], 0, 1);
    box.style.height = (deepest + 1) * 18 + 'px';
    found.textContent = search ? hits + ' boxes' : '';
    box.replaceChildren(...out);
  }
  choose.addEventListener('change', () => open(Number(choose.value)));
  find.addEventListener('input', draw);
  redraws.push(draw); open(0);
}

const mebibytes = (n) => (n / 1048576).toFixed(1) + ' MiB';

// Memory over time, from zero up. data: points of {us, bytes, after}.
function memory(s, id, { points }) {
  const { c, g, fit } = canvasOf(s, 90, 'memory over time');
  const most = Math.max(...points.map((p) => p.bytes), 1), t0 = points[0].us, t1 = points[points.length - 1].us;
  let width = 1;
  function draw() {
    width = fit(); g.clearRect(0, 0, width, 90); g.beginPath(); g.moveTo(0, 88);
    for (const p of points) g.lineTo(width * (p.us - t0) / ((t1 - t0) || 1), 88 - 80 * Math.max(0, p.bytes) / most);
    g.lineTo(width, 88); g.closePath(); g.globalAlpha = 0.25; g.fillStyle = ink('--accent'); g.fill(); g.globalAlpha = 1; g.strokeStyle = ink('--accent'); g.stroke();
    g.strokeStyle = ink('--line'); g.lineWidth = 1;
    for (const part of [0, 0.5, 1]) { const y = Math.round(88 - 80 * part) + 0.5; g.beginPath(); g.moveTo(0, y); g.lineTo(width, y); g.stroke(); }
    g.fillStyle = ink('--soft'); g.font = '11px system-ui'; g.fillText(mebibytes(most), 3, 19); g.fillText(mebibytes(most / 2), 3, 59); g.fillText('0', 3, 86);
    g.textAlign = 'right'; g.fillText(time(t1 - t0), width - 3, 86); g.textAlign = 'left';
  }
  c.addEventListener('mousemove', (e) => {
    const t = t0 + (t1 - t0) * e.offsetX / width; let p = points[0];
    for (const q of points) if (q.us <= t) p = q; else break;
    showTip(e, 'at ' + time(t) + (p.after ? ', after ' + p.after : '') + '\n' + mebibytes(p.bytes));
  });
  c.addEventListener('mouseleave', hideTip);
  redraws.push(draw); draw();
}
