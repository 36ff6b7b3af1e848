// The page of a measured run.

// Phases as bars with the middle half of the steps marked. rows: [name, us per batch, share, us per sample, low us, high us, bytes]
function phaseBars(parent, rows, colorOf) {
  const most = Math.max(...rows.map((r) => Math.max(r[1], r[5])), 1e-9);
  const head = ['', '', 'per batch', 'per sample', 'share'].map((text) => make('div', { class: 'num', text }));
  parent.append(make('div', { class: 'phase head' }, ...head));
  for (const [name, us, share, sample, low, high] of rows) {
    const middle = 'left:' + (100 * low / most) + '%;width:' + (100 * (high - low) / most) + '%';
    parent.append(make('div', { class: 'phase', title: name + ': middle half of the steps ' + time(low) + ' to ' + time(high) },
      make('div', { class: 'name', text: name }),
      make('div', { class: 'track' }, make('div', { class: 'fill', style: 'width:' + (100 * us / most) + '%;background:' + colorOf(name) }), make('i', { style: middle })),
      make('div', { class: 'num', text: time(us) }), make('div', { class: 'num', text: time(sample) }), make('div', { class: 'num', text: percent(share) })));
  }
}
const phaseColor = (name) => color(String(name).split('/')[0]);

// Everything about one run; ids begin with the prefix, headings end with the name.
function runSections(run, prefix, name) {
  const of = name ? ', ' + name : '';
  let s = section('Phases of a step' + of, prefix + 'phases', 'Mean wall time over ' + number(run.steps.count) + ' steps; the phases sum to the step. The line is where the middle half of the steps lies.');
  phaseBars(s, run.phases, phaseColor);
  if (run.background.length) {
    s.append(make('div', { class: 'side', text: 'threads that work ahead: beside the step’s time, not part of it' }));
    phaseBars(s, run.background, phaseColor);
  }
  s = section('Steps' + of, prefix + 'steps', 'Length of each step, coloured by phase; the dashed line is the median. Click a step for its parts.' + (run.steps.left_out ? ' The last ' + number(run.steps.left_out) + ' are not drawn.' : ''));
  const label = (k) => run.steps.names[k];
  const tell = (r) => r[0] + ': ' + time(r[1]) + ', of which ' + largest(r[2], label) + '.';
  stepStrip(s, { rows: run.steps.list, median: run.steps.median, label, tell, id: prefix + 'step' });
  if (run.memory.length > 1) memoryCurve(section('Memory' + of, prefix + 'memory', run.memory_text), run.memory);
  if (run.parts.length) {
    s = section('Layers and terms' + of, prefix + 'parts', 'Inside the phases’ time, not beside it.');
    table(s, prefix + 'part-table', [['part', 'text', (r) => r[0], null, 'name'], ['per batch', 'num', (r) => r[1], (r) => time(r[1])], ['share', 'num', (r) => r[2], (r) => percent(r[2])],
      ['per sample', 'num', (r) => r[3], (r) => time(r[3])], ['middle half', 'num', (r) => r[5], (r) => time(r[4]) + ' to ' + time(r[5]), 'roomy']], run.parts, { by: 1, limit: 15 });
  }
  if (run.flame) flameGraph('Flame graph' + of, prefix + 'flame', run.flame, (k) => run.flame.categories[k] || 'unattributed');
}

function conditions(rows) {
  const s = section('Conditions', 'conditions', 'Figures hold under these, and are compared only with figures under the same.');
  table(s, 'condition-table', [['condition', 'text', (r) => r[0]], ['value', 'text', (r) => r[1], null, 'name']], rows, { limit: 40 });
}

function runPage() {
  document.getElementById('files').textContent = data.subtitle;
  findings();
  runSections(data.run, '', '');
  if (data.comparison) {
    section('Compared with another run', 'comparison', 'a: ' + data.comparison.a + ' · b: ' + data.comparison.b + ' · ratios are b / a');
    comparison(data.comparison, 'comparison-');
  }
  conditions(data.conditions);
}
