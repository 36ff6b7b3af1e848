// Tables are in the page already: sorts them by a click on a heading, searches them, and hides the rows beyond a limit.
function enhance(box) {
  const table = box.querySelector('table'), body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const rows = [...body.rows], limit = Number(table.dataset.limit) || Infinity;
  const search = box.querySelector('input[type=search]'), found = box.querySelector('.found');
  const state = { by: -1, down: true, all: false };
  const more = make('button', { type: 'button', text: 'show all ' + number(rows.length) });
  more.addEventListener('click', () => { state.all = true; draw(); });
  if (rows.length > limit) box.append(make('div', { class: 'tools' }, more));
  if (rows.length > 2) {
    const csv = make('button', { type: 'button', text: 'CSV', 'aria-label': 'keep the table as CSV' });
    csv.addEventListener('click', () => {
      const lines = [heads, ...rows.map((row) => [...row.cells])].map((cells) => cells.filter((c) => !c.classList.contains('bars')).map(csvCell).join(','));
      keep(fileName(table) + '.csv', 'text/csv', lines.join('\n') + '\n');
    });
    box.append(make('div', { class: 'files' }, csv));
  }
  const value = (row) => { const c = row.cells[state.by]; return c.dataset.value == null ? (c.classList.contains('num') ? -Infinity : c.textContent) : Number(c.dataset.value); };
  function draw() {
    const words = search ? search.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    const shown = rows.filter((row) => { const text = row.textContent.toLowerCase(); return words.every((word) => text.includes(word)); });
    if (state.by >= 0) {
      const sign = state.down ? -1 : 1;
      shown.sort((a, b) => { const x = value(a), y = value(b); return sign * (x < y ? -1 : x > y ? 1 : 0); });
    }
    if (found) found.textContent = words.length ? number(shown.length) + ' of ' + number(rows.length) : '';
    more.hidden = state.all || shown.length <= limit;
    body.replaceChildren(...(state.all ? shown : shown.slice(0, limit)));
    heads.forEach((th, i) => th.setAttribute('aria-sort', i !== state.by ? 'none' : state.down ? 'descending' : 'ascending'));
  }
  heads.forEach((th, i) => th.querySelector('button').addEventListener('click', () => {
    if (state.by === i) state.down = !state.down; else { state.by = i; state.down = th.classList.contains('num'); }
    draw();
  }));
  if (search) search.addEventListener('input', draw);
  addEventListener('beforeprint', () => { state.all = true; draw(); });
  draw();
}
