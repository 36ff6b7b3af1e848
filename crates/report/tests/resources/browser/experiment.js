// Runs inside the page of an experiment after it was drawn and leaves what is there in the document.
window.addEventListener('load', () => {
  const seen = {};
  const rows = (id) => [...document.querySelectorAll('#' + id + ' tbody tr')].map((r) => [...r.children].map((c) => c.textContent));
  try {
    seen.ready = document.body.dataset.ready;
    seen.sections = [...document.querySelectorAll('main section')].map((s) => s.id);
    seen.cells = rows('cell-table');
    seen.ratios = rows('ratio-table');
    seen.parts = rows('decomposition-dango-perturbation');
    seen.widths = [...document.querySelectorAll('#decomposition .track')].map((t) => [...t.querySelectorAll('.fill')].map((d) => Math.round(parseFloat(d.style.width))));
    seen.options = [...document.querySelector('#options-dango table').tBodies[0].rows].map((r) => r.cells[0].textContent + ' ' + r.cells[2].textContent);
    seen.decisions = rows('decision-table').length;
    seen.paper = getComputedStyle(document.body).backgroundColor;
    seen.overflow = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  } catch (error) { seen.error = String(error && error.stack || error); }
  const out = document.createElement('pre');
  out.id = 'seen'; out.textContent = JSON.stringify(seen);
  document.body.append(out);
});
