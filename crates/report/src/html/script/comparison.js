// Two things beside each other. d: a, b, comparable, differences, headings, rows, operations, added, removed; ids begin with the prefix.
function comparison(d, prefix) {
  let s;
  if (d.differences.length) {
    s = section('Conditions that differ', prefix + 'differences', d.comparable ? '' : 'These make times differ by themselves' + (d.rows.length ? ': a ratio says nothing about the code alone.' : ', so there is no ratio.'));
    table(s, prefix + 'difference-table', [['condition', 'text', (r) => r.what], ['a', 'text', (r) => r.a || '–'], ['b', 'text', (r) => r.b || '–']], d.differences, {});
  }
  const columns = [['', 'text', (r) => r[0], null, 'name'], ['a', 'num', (r) => r[2], (r) => time(r[2])], ['b', 'num', (r) => r[3], (r) => time(r[3])],
    ['b − a', 'num', (r) => r[3] - r[2], (r) => time(r[3] - r[2]), 'roomy'], ['b / a', 'num', (r) => (r[4] == null ? Infinity : r[4]), (r) => ratio(r[4], r[5], r[6])]];
  const headings = d.headings || [['Per step', 'step', 'step'], ['Host time per step by category', 'host', 'host'], ['Device time per step by category', 'device', 'device']];
  for (const [title, id, about] of headings) {
    const rows = d.rows.filter((r) => r[1] === about);
    if (rows.length) table(section(title, prefix + id), prefix + id + '-table', columns, rows, {});
  }
  for (const [title, id] of [['Operations, self time per step', 'operations'], ['Only in b', 'added'], ['Only in a', 'removed']]) {
    if (!d[id].length) continue;
    s = section(title, prefix + id); s.classList.add('long');
    table(s, prefix + (id === 'operations' ? 'operation-table' : id + '-table'), columns, d[id], { search: 'search operations', limit: 30 });
  }
}

function comparisonPage() {
  document.getElementById('files').textContent = 'a: ' + data.a + ' · b: ' + data.b + ' · ratios are b / a';
  if (data.warnings.length) list(section('Warnings', 'warnings'), data.warnings);
  comparison(data, '');
}
