// The page of an experiment: many cells measured in turns. A figure is [median, low, high] over rounds.

const timed = (f) => make('span', {}, time(f[0]), make('span', { class: 'bounds', text: f[1] == null ? '' : ' (' + time(f[1]) + ' to ' + time(f[2]) + ')' }));
// A time that is the difference of two is never below zero; where the rounds do not put it above, nobody knows it.
const apart = (f) => (f[1] == null ? f[0] : f[1]) >= 0 ? timed(f) : make('span', { text: 'not told apart from 0' + (f[2] > 0 ? ', at most ' + time(f[2]) : '') });
// Digits behind the point where they say something: 146,300 and 4.24.
const figure = (n, digits) => Math.abs(n) >= 1e4 ? number(Math.round(n)) : n.toFixed(digits);
const counted = (f, digits) => make('span', {}, figure(f[0], digits), make('span', { class: 'bounds', text: f[1] == null ? '' : ' (' + figure(f[1], digits) + ' to ' + figure(f[2], digits) + ')' }));
const partColor = { 'data pipeline': '#d9534f', 'loop and untracked': '#9aa0a6', 'forward and loss': '#4c8bf5', 'backward': '#8e6bd8', 'clip and optimiser': '#e0883a' };

// The parts of every model's step as stacked bars, found out in two ways.
function twoWays() {
  const s = section('Where a step goes, found out twice', 'decomposition', 'By the phases inside a full step, and by what each mode takes longer than the one before. Where both bars look alike, both can be trusted.');
  for (const d of data.decomposition) {
    const label = d.model + (data.decomposition.some((e) => e !== d && e.model === d.model) ? ', ' + d.processor : '');
    // Every model on a scale of its own: beside a step of seconds one of milliseconds would be a line.
    const sum = (at) => d.components.reduce((all, part) => all + Math.max(0, part[at][0]), 0);
    const most = Math.max(sum(2), sum(3), 1e-9);
    s.append(make('div', { class: 'side', text: label + ': ' + time(d.step[0]) + ' per step; bars on a scale of its own' }));
    for (const [way, at] of [['by phases', 2], ['by difference', 3]]) {
      const track = make('div', { class: 'track stack' });
      for (const part of d.components) {
        const us = Math.max(0, part[at][0]);
        track.append(make('div', { style: 'width:' + (100 * us / most) + '%;background:' + partColor[part[0]], title: part[0] + ': ' + (at === 3 ? apart : timed)(part[at]).textContent }));
      }
      s.append(make('div', { class: 'two' }, make('div', { class: 'name', text: way }), track));
    }
    table(s, 'decomposition-' + d.model + '-' + d.processor, [['part', 'text', (r) => r[0], (r) => make('span', { class: 'chip' }, make('i', { class: 'dot', style: 'background:' + partColor[r[0]] }), r[0])], ['share', 'num', (r) => r[1], (r) => percent(r[1])],
      ['by phases', 'num', (r) => r[2][0], (r) => timed(r[2])], ['by difference', 'num', (r) => r[3][0], (r) => apart(r[3])], ['of modes', 'text', (r) => r[4], null, 'roomy'],
      ['disagreement', 'num', (r) => r[5][0], (r) => timed(r[5]), 'roomy'], ['agree', 'text', (r) => (r[6] ? 'yes' : 'no'), (r) => make('span', { class: r[6] ? '' : 'slow', text: r[6] ? 'yes' : 'no' })]], d.components, {});
  }
}

function cells() {
  const s = section('Every cell', 'cells', 'A mode runs exactly the phases it names. Medians over rounds and where they would lie had other rounds been measured.');
  table(s, 'cell-table', [['cell', 'text', (r) => r[0], null, 'name'], ['it/s', 'num', (r) => r[2][0], (r) => counted(r[2], 2)], ['per batch', 'num', (r) => r[3][0], (r) => timed(r[3])],
    ['per sample', 'num', (r) => r[4][0], (r) => timed(r[4])], ['CPU time per sample', 'num', (r) => r[5][0], (r) => timed(r[5]), 'roomy']], data.cells, { limit: 60 });
  if (data.ratios.length) {
    s.append(make('div', { class: 'side', text: 'beside each other' }));
    table(s, 'ratio-table', [['ratio', 'text', (r) => r[0], null, 'name'], ['per batch', 'num', (r) => r[2][0], (r) => ratio(...r[2])], ['per sample', 'num', (r) => r[3][0], (r) => ratio(...r[3])], ['CPU time', 'num', (r) => r[4][0], (r) => ratio(...r[4]), 'roomy']], data.ratios, { limit: 60 });
  }
}

// The same steps on several numbers of ranks.
function ranks() {
  const s = section('Ranks', 'ranks', 'Samples and CPU time are those of all ranks together; waiting and exchange are shares of the first rank\u2019s step. Times as fast and CPU time are compared with the first row of each model and mode, round by round.');
  table(s, 'rank-table', [['cell', 'text', (r) => r[0], null, 'name'], ['ranks', 'num', (r) => r[1]], ['samples/s', 'num', (r) => r[2][0], (r) => counted(r[2], 1)], ['times as fast', 'num', (r) => r[3][0], (r) => counted(r[3], 2)],
    ['CPU time per sample', 'num', (r) => r[4][0], (r) => timed(r[4])], ['times the CPU time', 'num', (r) => r[5][0], (r) => counted(r[5], 2), 'roomy'], ['waiting', 'num', (r) => r[6], (r) => percent(r[6])], ['exchange', 'num', (r) => r[7], (r) => percent(r[7])]], data.ranks, { limit: 60 });
}

// Gains as bars around 1, with the interval drawn over them.
function switches(a) {
  const s = section('Options tried' + (data.ablation.length > 1 ? ', ' + a.model : ''), 'options-' + a.model, 'Each beside the baseline (' + time(a.baseline[0]) + ' per sample) in every round, in full steps. Gain: how many times as fast.');
  const most = Math.max(...a.tried.map((r) => Math.max(r[2][0], r[2][2] || 0)), 1);
  for (const [name, keys, gain, , verdict, , note] of a.tried) {
    const fill = verdict === 'faster' ? '#2a9d6f' : verdict === 'slower' ? '#d9534f' : '#a7adb8';
    const track = make('div', { class: 'track' }, make('div', { class: 'fill', style: 'width:' + (100 * gain[0] / most) + '%;background:' + fill }));
    const at = (value) => Math.min(100, Math.max(0, 100 * value / most));
    if (gain[1] != null) track.append(make('i', { style: 'left:' + at(gain[1]) + '%;width:' + (at(gain[2]) - at(gain[1])) + '%' }));
    track.append(make('b', { style: 'left:' + (100 / most) + '%' }));
    s.append(make('div', { class: 'option', title: keys + (note ? '\n' + note : '') }, make('div', { class: 'name', text: name }), track, make('div', { class: 'num' }, counted(gain, 2))));
  }
  table(s, 'option-table-' + a.model, [['switch', 'text', (r) => r[0]], ['keys', 'text', (r) => r[1], null, 'name'], ['per sample', 'num', (r) => r[3][0], (r) => timed(r[3])], ['', 'text', (r) => r[4]], ['gain by CPU time', 'num', (r) => r[7][0], (r) => counted(r[7], 2), 'roomy'],
    ['buffers', 'num', (r) => r[5], null, 'roomy'], ['besides', 'text', (r) => r[6] || '', null, 'roomy']], a.tried, { limit: 40 });
  if (a.not_applicable.length) {
    s.append(make('div', { class: 'side', text: 'not applicable' }));
    list(s, a.not_applicable.map((r) => r[0] + ': ' + r[1]));
  }
}

function tree(b) {
  const s = section('A step as a tree, ' + b.model, 'tree-' + b.model, 'Means over all steps of the recorded run; the rows below one sum to it.');
  const t = make('table', {}, make('tr', {}, make('th', { text: '' }), make('th', { class: 'num', text: 'per batch' }), make('th', { class: 'num', text: 'per sample' }), make('th', { class: 'num', text: 'share' })));
  for (const [depth, name, us, sample, share] of b.rows) {
    const cell = make('td', { style: 'padding-left:' + (8 + 18 * depth) + 'px' }, depth < 2 ? make('b', { text: name }) : name);
    t.append(make('tr', {}, cell, make('td', { class: 'num', text: time(us) }), make('td', { class: 'num', text: time(sample) }), make('td', { class: 'num', text: percent(share) })));
  }
  s.append(make('div', { class: 'scroll' }, t));
}

// Links to every section, above the first.
function contents() {
  const page = document.getElementById('page'), nav = make('nav', { class: 'contents', 'aria-label': 'contents' });
  for (const s of page.querySelectorAll(':scope > section[id]')) nav.append(make('a', { href: '#' + s.id, text: s.querySelector('h2').textContent }));
  page.prepend(nav);
}

function experimentPage() {
  document.getElementById('files').textContent = data.subtitle;
  findings();
  let s = section('Decisions', 'decisions', 'Questions the figures answer.');
  table(s, 'decision-table', [['question', 'text', (r) => r[0]], ['measured', 'text', (r) => r[1]], ['yes if', 'text', (r) => r[2], null, 'roomy'], ['answer', 'text', (r) => r[3], (r) => make('b', { text: r[3] })]], data.decisions, { limit: 40 });
  s = section('Next steps', 'next'); list(s, data.next_steps);
  if (data.ranks.length) ranks();
  if (data.decomposition.length) twoWays();
  cells();
  data.ablation.forEach(switches);
  data.breakdown.forEach(tree);
  for (const r of data.runs) runSections(r.run, r.model + '-', r.model + ', full and recorded');
  conditions(data.conditions);
  contents();
}
