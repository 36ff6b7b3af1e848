// Runs inside a page of the application, does what a reader would do, and leaves what happened in the document.
window.addEventListener('load', async () => {
  const seen = {}, wait = (ms) => new Promise((done) => setTimeout(done, ms));
  try {
    seen.ready = document.body.dataset.ready;
    seen.text = document.querySelector('main').textContent.slice(0, 300);
    seen.views = document.querySelectorAll('nav.views > a').length;
    seen.svgs = document.querySelectorAll('main svg').length;
    seen.files = document.querySelectorAll('.files button').length;
    seen.unlabelled = [...document.querySelectorAll('input, select, button')].filter((e) => e.type !== 'hidden' && !e.closest('th') && !(e.textContent.trim() || e.getAttribute('aria-label') || e.closest('label'))).length;
    seen.overflow = document.documentElement.scrollWidth > document.documentElement.clientWidth;
    const measured = document.getElementById('measured-table');
    if (measured) {
      const head = [...measured.querySelectorAll('th')].find((th) => th.textContent === 'measured');
      head.querySelector('button').click(); head.querySelector('button').click();
      const up = head.getAttribute('aria-sort');
      head.querySelector('button').click();
      seen.sorted = [up, head.getAttribute('aria-sort')];
    }
    const svg = document.querySelector('#neighbourhood svg');
    if (svg) {
      const button = (label) => document.querySelector('#neighbourhood button[aria-label="' + label + '"]');
      seen.whole = svg.getAttribute('viewBox').split(' ').map(Number).join(' ');
      button('enlarge').click(); seen.zoomed = svg.getAttribute('viewBox').split(' ').map(Number).join(' ');
      button('show all').click(); seen.all = svg.getAttribute('viewBox').split(' ').map(Number).join(' ');
    }
    const file = document.querySelector('.files button[aria-label="keep the figure as SVG"]');
    if (file) {
      const made = URL.createObjectURL;
      let content = null;
      URL.createObjectURL = (blob) => { content = blob; return made.call(URL, blob); };
      HTMLAnchorElement.prototype.click = () => {};
      file.click();
      seen.svgFile = (await content.text()).slice(0, 40);
    }
    document.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }));
    const find = document.getElementById('find-gene');
    find.value = 'Y'; find.dispatchEvent(new Event('input'));
    await wait(600);
    if (!document.getElementById('genes').children.length) { find.value = 'Z'; find.dispatchEvent(new Event('input')); await wait(600); }
    seen.suggested = document.getElementById('genes').children.length;
    const legend = document.querySelector('.legend-list tbody');
    if (legend) {
      seen.runs = legend.rows.length;
      const canvas = document.querySelector('canvas'), pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data, colours = new Set();
      for (let i = 0; i < pixels.length; i += 4) colours.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
      seen.colours = colours.size;
      const filter = document.querySelector('[aria-label="filter runs"]');
      filter.value = 'stack'; filter.dispatchEvent(new Event('input'));
      seen.filtered = legend.rows.length;
    }
  } catch (error) { seen.error = String(error && error.stack || error); }
  const out = document.createElement('pre');
  out.id = 'seen'; out.textContent = JSON.stringify(seen);
  document.body.append(out);
});
