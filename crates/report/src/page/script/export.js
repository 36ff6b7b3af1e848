// Figures as SVG and PNG, and tables as CSV: buttons that appear with a figure or table.
function keep(name, kind, content) {
  const link = make('a', { download: name, href: URL.createObjectURL(new Blob([content], { type: kind })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
const fileName = (element) => {
  const section = element.closest('section'), heading = section && section.querySelector('h2');
  const words = (heading || document.querySelector('h1')).textContent;
  return words.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 60) || 'figure';
};
// A copy with the styles of the page in it, dark on white whatever the page is.
function standalone(svg) {
  const copy = svg.cloneNode(true), from = [svg, ...svg.querySelectorAll('*')], to = [copy, ...copy.querySelectorAll('*')];
  const names = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'stroke-linejoin', 'stroke-linecap', 'font', 'paint-order', 'text-anchor'];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    to[i].style.cssText = names.map((name) => name + ':' + style.getPropertyValue(name)).join(';');
    to[i].removeAttribute('class');
  });
  copy.querySelectorAll('a').forEach((a) => a.replaceWith(...a.childNodes));
  const [x, y, width, height] = svg.getAttribute('viewBox').split(' ').map(Number);
  const room = 12;
  copy.setAttribute('xmlns', 'http' + '://www.w3.org/2000/svg');
  copy.setAttribute('viewBox', [x - room, y - room, width + 2 * room, height + 2 * room].join(' '));
  copy.setAttribute('width', width + 2 * room); copy.setAttribute('height', height + 2 * room);
  copy.style.background = ink('--card');
  return { text: new XMLSerializer().serializeToString(copy), width: width + 2 * room, height: height + 2 * room };
}
function keepPng(svg) {
  const { text, width, height } = standalone(svg), image = new Image(), scale = 3;
  image.onload = () => {
    const canvas = make('canvas', { width: width * scale, height: height * scale });
    canvas.getContext('2d').drawImage(image, 0, 0, width * scale, height * scale);
    canvas.toBlob((blob) => keep(fileName(svg) + '.png', 'image/png', blob));
  };
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
}
// Cells that a spreadsheet would take for a formula are marked as text, unless they are numbers.
function csvCell(cell) {
  let text = cell.textContent.trim();
  if (/^[=+@\t\r-]/.test(text) && cell.dataset.value == null && !/^[-+]?[\d.,]+( ?%)?$/.test(text)) text = "'" + text;
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}
function offerFiles() {
  const button = (text, label, action) => {
    const b = make('button', { type: 'button', text, 'aria-label': label });
    b.addEventListener('click', action);
    return b;
  };
  document.querySelectorAll('main svg').forEach((svg) => svg.after(make('div', { class: 'files' },
    button('SVG', 'keep the figure as SVG', () => keep(fileName(svg) + '.svg', 'image/svg+xml', standalone(svg).text)),
    button('PNG', 'keep the figure as PNG', () => keepPng(svg)))));
}
