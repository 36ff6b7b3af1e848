// The application: suggestions of genes, forms that apply at once, zoom, and curves of many runs.
const query = new URLSearchParams(location.search);
{
  const list = document.getElementById('genes');
  let asked = 0;
  const suggest = (input) => {
    clearTimeout(asked);
    asked = setTimeout(async () => {
      const of = query.get('of') || '', words = input.value, last = words.split(/[ ,]/).pop();
      if (!last) return;
      try {
        const found = await (await fetch('genes.json?' + new URLSearchParams({ of, q: last }))).json();
        const before = words.slice(0, words.length - last.length);
        list.replaceChildren(...found.map((g) => make('option', { value: before + g.name, label: g.name === g.systematic ? '' : g.systematic })));
      } catch { list.replaceChildren(); }
    }, 80);
  };
  document.querySelectorAll('input[list=genes]').forEach((input) => input.addEventListener('input', () => suggest(input)));
  const search = document.querySelector('nav.views form');
  if (search && query.get('of')) search.append(make('input', { type: 'hidden', name: 'of', value: query.get('of') }));
  document.querySelectorAll('form.tools').forEach((form) => form.addEventListener('change', (event) => {
    if (event.target.matches('select, input[type=checkbox]')) form.requestSubmit();
  }));
  // `/` leads to the search from anywhere.
  addEventListener('keydown', (event) => {
    const input = document.getElementById('find-gene');
    if (event.key !== '/' || !input || (event.target instanceof Element && event.target.matches('input, select, textarea'))) return;
    event.preventDefault(); input.focus();
  });
}
// Zoom of drawings: buttons, and the wheel with Ctrl; dragging moves what is enlarged.
document.querySelectorAll('#neighbourhood svg').forEach((svg) => {
  const [, , width, height] = svg.getAttribute('viewBox').split(' ').map(Number);
  let [x, y, scale, drag] = [0, 0, 1, null];
  const show = () => {
    x = Math.min(Math.max(0, x), width - width / scale); y = Math.min(Math.max(0, y), height - height / scale);
    svg.setAttribute('viewBox', [x, y, width / scale, height / scale].map((n) => n.toFixed(1)).join(' '));
    svg.style.overflow = scale > 1 ? 'hidden' : '';
  };
  const zoom = (by, at = [0.5, 0.5]) => {
    const next = Math.min(8, Math.max(1, scale * by));
    x += at[0] * (width / scale - width / next); y += at[1] * (height / scale - height / next);
    scale = next; show();
  };
  const button = (text, label, action) => {
    const b = make('button', { type: 'button', text, 'aria-label': label });
    b.addEventListener('click', action);
    return b;
  };
  svg.before(make('div', { class: 'tools' }, button('+', 'enlarge', () => zoom(1.5)), button('−', 'shrink', () => zoom(1 / 1.5)), button('all', 'show all', () => zoom(1 / 8))));
  svg.addEventListener('wheel', (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    zoom(event.deltaY < 0 ? 1.25 : 0.8, [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height]);
  }, { passive: false });
  svg.addEventListener('pointerdown', (event) => { if (scale > 1 && !event.target.closest('a')) { drag = [event.clientX, event.clientY]; svg.setPointerCapture(event.pointerId); } });
  svg.addEventListener('pointerup', () => { drag = null; });
  svg.addEventListener('pointermove', (event) => {
    if (!drag) return;
    const unit = width / scale / svg.getBoundingClientRect().width;
    x -= (event.clientX - drag[0]) * unit; y -= (event.clientY - drag[1]) * unit;
    drag = [event.clientX, event.clientY]; show();
  });
});
// Curves of runs, live while one is in training. Runs of one model share its colour; the pointer, or the focus in the legend, brings one forward.
kinds.curves = (parent, id, data) => {
  const DASHES = [[], [6, 3], [2, 3], [9, 3, 2, 3]];
  const hidden = new Set(), rows = new Map();
  let runs = data.runs, chosen = null, what = 1;
  const { c, g, fit } = canvasOf(parent, 300, 'curves of runs; the table below has their figures');
  const metric = make('select', { 'aria-label': 'quantity' }, make('option', { value: 1, text: 'validation Pearson' }), make('option', { value: 2, text: 'training loss' }));
  const filter = make('input', { type: 'search', placeholder: 'runs', 'aria-label': 'filter runs', id: id + '-search' });
  const state = make('span', { class: 'soft', role: 'status' });
  const body = make('tbody'), box = make('div', { class: 'scroll legend-list' }, make('table', { id: id + '-legend' },
    make('thead', {}, make('tr', {}, ...['', 'run', 'model', 'state', 'epochs', 'best'].map((text) => make('th', { scope: 'col', class: ['state', 'epochs'].includes(text) ? 'roomy' : '', text })))), body));
  parent.prepend(make('div', { class: 'tools' }, metric, filter, state));
  parent.append(box);
  const matches = (run) => filter.value.toLowerCase().split(/\s+/).every((word) => (run.label + ' ' + run.model).toLowerCase().includes(word));
  const visible = () => runs.filter((run) => !hidden.has(run.label) && matches(run));
  const dash = (run) => DASHES[runs.filter((other) => other.model === run.model).indexOf(run) % DASHES.length];
  function draw() {
    const w = fit(), h = 300, left = 48, bottom = h - 34, shown = visible();
    g.clearRect(0, 0, w, h);
    const points = shown.flatMap((run) => run.points.filter((p) => p[what] != null));
    g.font = '11px system-ui, sans-serif'; g.fillStyle = ink('--soft');
    if (!points.length) { g.fillText('no values', left, h / 2); return; }
    const xs = points.map((p) => p[0]), ys = points.map((p) => p[what]);
    let [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    if (x0 === x1) { x0 -= 0.5; x1 += 0.5; }
    const room = (y1 - y0) * 0.06 || Math.abs(y1) * 0.05 || 0.01; y0 -= room; y1 += room;
    const X = (v) => left + (v - x0) / (x1 - x0) * (w - left - 12), Y = (v) => bottom - (v - y0) / (y1 - y0) * (bottom - 10);
    const step = (low, high, n) => { const r = (high - low) / n, p = 10 ** Math.floor(Math.log10(r)); return [1, 2, 5, 10].map((d) => d * p).find((s) => s >= r); };
    // Multiples of the step: a sum of steps would not meet zero exactly.
    const ticks = (low, high, step) => { const first = Math.ceil(low / step); return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step); };
    g.strokeStyle = ink('--line'); g.lineWidth = 1; g.setLineDash([]);
    const sy = step(y0, y1, 5); g.textAlign = 'right';
    for (const v of ticks(y0, y1, sy)) { g.beginPath(); g.moveTo(left, Y(v)); g.lineTo(w - 12, Y(v)); g.stroke(); g.fillText(+v.toPrecision(6), left - 6, Y(v) + 4); }
    const sx = Math.max(1, step(x0, x1, 6)); g.textAlign = 'center';
    for (const v of ticks(x0, x1, sx)) g.fillText(v, X(v), bottom + 15);
    g.fillText('epoch', (left + w) / 2, h - 4);
    for (const run of [...shown].sort((a, b) => (a.label === chosen) - (b.label === chosen))) {
      const is = run.label === chosen, mine = run.points.filter((p) => p[what] != null);
      g.globalAlpha = chosen && !is ? 0.22 : 0.9; g.lineWidth = is ? 3 : 1.5; g.strokeStyle = g.fillStyle = run.colour; g.setLineDash(is ? [] : dash(run));
      g.beginPath(); mine.forEach((p, i) => g[i ? 'lineTo' : 'moveTo'](X(p[0]), Y(p[what]))); g.stroke();
      if (mine.length < 2) mine.forEach((p) => { g.beginPath(); g.arc(X(p[0]), Y(p[what]), is ? 6 : 4, 0, 7); g.fill(); });
    }
    g.globalAlpha = 1; g.setLineDash([]);
    c.onmousemove = (event) => {
      const at = c.getBoundingClientRect(), mx = event.clientX - at.left, my = event.clientY - at.top;
      let best = null;
      for (const run of shown) for (const p of run.points) if (p[what] != null) { const d = Math.hypot(X(p[0]) - mx, Y(p[what]) - my); if (d < 24 && (!best || d < best.d)) best = { d, run, p }; }
      choose(best && best.run.label);
      if (best) showTip(event, best.run.label + '\n' + metric.selectedOptions[0].text + ' ' + best.p[what].toFixed(4) + ', epoch ' + best.p[0]); else hideTip();
    };
    c.onmouseleave = () => { choose(null); hideTip(); };
  }
  function choose(label) {
    if (label === chosen) return;
    chosen = label;
    for (const [name, row] of rows) row.classList.toggle('chosen', name === chosen);
    draw();
  }
  function list() {
    rows.clear();
    body.replaceChildren(...runs.filter(matches).map((run) => {
      const box = make('input', { type: 'checkbox', 'aria-label': 'show ' + run.label });
      box.checked = !hidden.has(run.label);
      box.addEventListener('change', () => { if (box.checked) hidden.delete(run.label); else hidden.add(run.label); draw(); });
      const swatch = make('span', { class: 'swatch', style: 'border-top: 3px ' + (dash(run).length ? 'dashed ' : 'solid ') + run.colour });
      const row = make('tr', {}, make('td', {}, box, swatch), make('td', {}, make('a', { href: run.address, text: run.label })), make('td', { text: run.model }),
        make('td', { class: 'roomy', text: run.state }), make('td', { class: 'num roomy', text: run.epochs }), make('td', { class: 'num', text: run.best == null ? '–' : run.best.toFixed(4) }));
      row.addEventListener('mouseenter', () => choose(run.label)); row.addEventListener('mouseleave', () => choose(null));
      row.addEventListener('focusin', () => choose(run.label)); row.addEventListener('focusout', () => choose(null));
      rows.set(run.label, row);
      return row;
    }));
    draw();
  }
  metric.addEventListener('change', () => { what = Number(metric.value); draw(); });
  filter.addEventListener('input', list);
  redraws.push(draw);
  list();
  async function poll() {
    try {
      const found = await (await fetch('runs.json')).json(), group = found.groups.find((one) => one.title === data.title);
      if (group) { runs = group.runs; if (!body.contains(document.activeElement)) list(); else draw(); }
      state.textContent = found.training ? 'in training, as of ' + new Date().toLocaleTimeString() : 'no run is in training';
      if (found.training) setTimeout(poll, 3000);
    } catch { state.textContent = 'the program has ended'; }
  }
  if (data.training) setTimeout(poll, 1000);
};
