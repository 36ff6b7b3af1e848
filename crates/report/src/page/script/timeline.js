// Every thread and stream in equal intervals. data: categories, total_us, lanes of {label, bin_us, bins}; bins are lists of equal length: at, category, and part in thousandths; an interval has an entry for each category.
function timeline(s, id, data) {
  const { lanes, categories, total_us: total } = data;
  const view = { from: 0, to: total };
  const tools = make('div', { class: 'tools' });
  const button = (text, id, f) => { const b = make('button', { type: 'button', text, id }); b.addEventListener('click', f); tools.append(b); };
  button('+', 'zoom-in', () => zoom(0.5, 0.5)); button('−', 'zoom-out', () => zoom(2, 0.5));
  button('◀', 'go-left', () => move(-0.25)); button('▶', 'go-right', () => move(0.25));
  button('all', 'zoom-all', () => { view.from = 0; view.to = total; draw(); });
  const where = make('span', { class: 'soft', id: id + '-window' }); tools.append(where); s.append(tools);
  const rowHeight = 30, height = lanes.length * rowHeight + 18;
  const { c, g, fit } = canvasOf(s, height, 'time of every lane by category');
  c.classList.add('grab');
  let width = 1;
  function clamp() {
    const least = Math.min(total, 20 * Math.min(...lanes.map((l) => l.bin_us)));
    let span = Math.min(total, Math.max(least, view.to - view.from));
    view.from = Math.max(0, Math.min(total - span, view.from)); view.to = view.from + span;
  }
  function zoom(factor, at) { const span = view.to - view.from, mid = view.from + span * at; view.from = mid - span * factor * at; view.to = view.from + span * factor; clamp(); draw(); }
  function move(part) { const d = (view.to - view.from) * part; view.from += d; view.to += d; clamp(); draw(); }
  function first(lane, time) { // the first bin at or after a time
    let lo = 0, hi = lane.bins.at.length; const want = Math.floor(time / lane.bin_us);
    while (lo < hi) { const mid = (lo + hi) >> 1; if (lane.bins.at[mid] < want) lo = mid + 1; else hi = mid; }
    return lo;
  }
  // Bins that fall on one pixel are merged, so a frame costs what is on screen, not what is in the trace.
  function pixel(lane, from, to) {
    const sums = new Map(), n = Math.max(1, (to - from) / lane.bin_us);
    for (let i = first(lane, from); i < lane.bins.at.length && lane.bins.at[i] * lane.bin_us < to; i++) {
      const k = lane.bins.category[i];
      sums.set(k, (sums.get(k) || 0) + lane.bins.part[i] / 1000 / n);
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
      const wide = Math.max(1, lane.bin_us / step);
      for (let x = 0; x < width; x += wide) {
        const from = view.from + x * step;
        let y = top + h;
        const sums = pixel(lane, from, from + wide * step);
        for (const [k, part] of [...sums].sort((p, q) => p[0] - q[0])) { const d = Math.min(1, part) * h; y -= d; g.fillStyle = categories[k].colour; g.fillRect(x, Math.max(top, y), wide + 0.3, d); }
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
    const t = view.from + (view.to - view.from) * e.offsetX / width, step = Math.max(lane.bin_us, (view.to - view.from) / width);
    const parts = [...pixel(lane, t, t + step)].sort((p, q) => q[1] - p[1]).slice(0, 5).map(([k, f]) => categories[k].name + ' ' + percent(Math.min(1, f)));
    showTip(e, lane.label + '\nat ' + time(t) + '\n' + (parts.join('\n') || 'idle'));
  });
  c.addEventListener('pointerleave', hideTip);
  legend(s, categories, new Set(lanes.flatMap((l) => [...new Set(l.bins.category)])));
  redraws.push(draw); draw();
}
