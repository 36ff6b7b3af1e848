// Elements, figures, canvases and the tip under the pointer. Times are microseconds.
const tip = document.getElementById('tip');
const redraws = [];
// Drawing functions of pictures by their kind.
const kinds = {};

function time(us) {
  const m = Math.abs(us);
  if (m >= 1e6) return (us / 1e6).toFixed(3) + ' s';
  if (m >= 1e3) return (us / 1e3).toFixed(3) + ' ms';
  return us.toFixed(3) + ' µs';
}
const percent = (f) => (100 * f).toFixed(1) + ' %';
const number = (n) => n.toLocaleString('en');
const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k === 'text') e.textContent = v; else if (k === 'style') e.style.cssText = v; else e.setAttribute(k, v);
  }
  e.append(...children.filter((c) => c != null));
  return e;
}
function showTip(event, text) {
  tip.textContent = text; tip.hidden = false;
  const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
  const y = event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18;
  tip.style.left = Math.max(4, x) + 'px'; tip.style.top = Math.max(4, y) + 'px';
}
const hideTip = () => { tip.hidden = true; };
function canvasOf(parent, height, label) {
  const c = make('canvas', { role: 'img', 'aria-label': label });
  parent.append(c);
  const g = c.getContext('2d');
  const fit = () => {
    const scale = devicePixelRatio || 1, w = c.clientWidth || 600;
    c.width = Math.round(w * scale); c.height = Math.round(height * scale); c.style.height = height + 'px';
    g.setTransform(scale, 0, 0, scale, 0, 0);
    return w;
  };
  return { c, g, fit };
}
// Categories with their colours, in the order of their numbers.
function legend(parent, categories, used) {
  const l = make('div', { class: 'legend' });
  for (const k of [...used].sort((a, b) => a - b)) l.append(make('span', {}, make('i', { style: 'background:' + categories[k].colour }), categories[k].name));
  parent.append(l);
}
