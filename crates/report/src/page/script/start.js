// Draws the pictures of the page, and again when the window or the colours change.
Object.assign(kinds, { steps, flame, memory, timeline });
for (const { kind, id, data } of JSON.parse(document.getElementById('data').textContent)) {
  const s = document.getElementById(id + '-picture');
  s.replaceChildren();
  kinds[kind](s, id, data);
}
document.querySelectorAll('.table').forEach(enhance);
offerFiles();
let waiting = 0;
const again = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => redraws.forEach((f) => f())); };
addEventListener('resize', again);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
document.body.dataset.ready = 'yes';
