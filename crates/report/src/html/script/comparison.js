// Two things beside each other. d: a, b, comparable, differences, headings, rows, operations, added, removed; ids begin with the prefix.
function comparison(d, prefix) {
  let s;
  if (d.headline) s = section(d.headline, prefix + 'headline', d.changed || '');
  if (d.rows.length) changes(s || section('What changed', prefix + 'headline'), d);
  if (d.differences.length) {
    s = section('Conditions that differ', prefix + 'differences', d.comparable ? '' : 'These make times differ by themselves' + (d.rows.length ? ': a ratio says nothing about the code alone.' : ', so there is no ratio.'));
    table(s, prefix + 'difference-table', [['condition', 'text', (r) => r.what], ['a', 'text', (r) => r.a || '–'], ['b', 'text', (r) => r.b || '–']], d.differences, {});
  }
  const columns = [['', 'text', (r) => r[0], null, 'name'], ['a', 'num', (r) => r[2], (r) => time(r[2])], ['b', 'num', (r) => r[3], (r) => time(r[3])],
    ['b − a', 'num', (r) => r[3] - r[2], (r) => time(r[3] - r[2]), 'roomy'], ['b / a', 'num', (r) => (r[4] == null ? Infinity : r[4]), (r) => (r[2] === 0 && r[3] === 0 ? '–' : ratio(r[4], r[5], r[6]))]];
  for (const [title, id, about] of d.headings) {
    const rows = d.rows.filter((r) => r[1] === about);
    if (rows.length) table(section(title, prefix + id), prefix + id + '-table', columns, rows, {});
  }
  for (const [title, id] of [[d.operations_heading || '', 'operations'], ['Only in b', 'added'], ['Only in a', 'removed']]) {
    if (!d[id].length) continue;
    s = section(title, prefix + id); s.classList.add('long');
    table(s, prefix + (id === 'operations' ? 'operation-table' : id + '-table'), columns, d[id], { search: 'search operations', limit: 30 });
  }
}

// Differences as bars from the middle: to the left less time (better), to the right more.
function changes(s, d) {
  // Threads that sleep are no change; among operations they come last.
  const asleep = ['waiting in python', 'idle inside annotations'];
  const first = (rows) => rows.slice(0, 10);
  const rows = d.rows.slice(1).concat(first(d.operations), first(d.added), first(d.removed)).filter((r) => r[3] !== r[2] && !asleep.includes(r[0]));
  const shown = [d.rows[0]].concat(rows.sort((x, y) => Math.abs(y[3] - y[2]) - Math.abs(x[3] - x[2])).slice(0, 10));
  const most = Math.max(...shown.map((r) => Math.abs(r[3] - r[2])), 1e-9);
  s.append(make('p', { class: 'soft', text: 'b − a, the whole first, then what changed most: green is less time, red is more.' }));
  for (const r of shown) {
    const by = r[3] - r[2], part = 50 * Math.abs(by) / most;
    const fill = make('div', { class: 'fill ' + (by > 0 ? 'worse' : 'better'), style: 'width:' + part + '%;left:' + (by > 0 ? 50 : 50 - part) + '%' });
    s.append(make('div', { class: 'change', title: r[0] }, make('div', { class: 'name', text: r[0] }), make('div', { class: 'track' }, fill, make('b', {})), make('div', { class: 'num ' + (by > 0 ? 'worse' : 'better'), text: (by > 0 ? '+' : '−') + time(Math.abs(by)) })));
  }
}

function comparisonPage() {
  document.getElementById('files').textContent = 'a: ' + data.a + ' · b: ' + data.b + ' · ratios are b / a';
  comparison(data, '');
  if (data.warnings.length) list(section('Warnings', 'warnings'), data.warnings);
}
